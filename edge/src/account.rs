//! An account's id, state and address.

pub mod disposable_domains;
pub mod mailbox;

use std::fmt;

use rcpt_shared::{Address, FormatError, Malformed, read_bare};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// 8 bits for the number of the account's database, and 56 random bits, so that an id reveals no count. 16 hexadecimal
/// digits, since D1 accepts no integer above 2^53.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AccountId(u64);

impl AccountId {
    pub const fn from_u64(id: u64) -> Self {
        Self(id)
    }

    pub const fn new(database: u8, [a, b, c, d, e, f, g]: [u8; 7]) -> Self {
        Self(u64::from_be_bytes([database, a, b, c, d, e, f, g]))
    }

    pub const fn database(self) -> u8 {
        let [database, ..] = self.0.to_be_bytes();
        database
    }

    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// `None` unless the text has 16 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        plain.then(|| u64::from_str_radix(text, 16).ok().map(Self))?
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for AccountId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AccountId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom("not an account id"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountState {
    Confirmed,
    Deactivated,
}

/// The address under which an account is registered. Unlike checked addresses, account addresses are compared
/// case-insensitively: `Ann@` and `ann@` are one person, who may type either.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountAddress(Address);

impl AccountAddress {
    /// Fails unless the text is an RFC 5321 mailbox.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        Address::parse(text).map(Self)
    }

    /// Reads what the owner typed. The text is neither trimmed nor normalised: its owner can correct it.
    pub fn read(text: &str) -> Result<Self, Malformed> {
        read_bare(text).map(Self)
    }

    pub fn as_given(&self) -> &str {
        self.0.as_given()
    }

    pub fn domain(&self) -> &str {
        self.0.domain()
    }

    /// The address and its parts, none of which is allowed as a password.
    pub fn parts(&self) -> [&str; 3] {
        [self.0.normal(), self.0.local_part(), self.0.domain()]
    }

    /// True if the local part is quoted. Such an address can't be an account's: in emails it could say anything, and one
    /// mailbox would have many spellings.
    pub fn is_quoted(&self) -> bool {
        self.0.local_part().starts_with('"')
    }

    /// The form for comparisons. Only ASCII letters are folded: `K` (U+212A) isn't `k`, and may be somebody else's.
    pub fn folded(&self) -> String {
        self.0.normal().to_ascii_lowercase()
    }

    /// The same for all spellings that the provider treats alike.
    pub fn mailbox(&self) -> String {
        mailbox::canonical(&self.folded())
    }
}

#[cfg(test)]
mod tests {
    use super::{AccountAddress, AccountId};

    #[test]
    fn an_id_is_sixteen_digits_and_reads_back() {
        let id = AccountId::from_u64(0x00ab);
        assert_eq!(id.to_string(), "00000000000000ab");
        assert_eq!(AccountId::parse("00000000000000ab"), Some(id));
        for junk in ["", "ab", "+0000000000000ab", "00000000000000xx", "000000000000000ab"] {
            assert_eq!(AccountId::parse(junk), None, "{junk}");
        }
    }

    #[test]
    fn an_id_begins_with_the_number_of_its_database() {
        let id = AccountId::new(0xfe, [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!((id.to_string().as_str(), id.database()), ("fe01020304050607", 0xfe));
    }

    #[test]
    fn accounts_do_not_differ_by_case() {
        let folded = |text| AccountAddress::parse(text).unwrap().folded();
        assert_eq!(folded("Ann@Example.ORG"), folded("ann@example.org"));
        assert_ne!(folded("ann@example.org"), folded("anne@example.org"));
        assert_ne!(folded("\u{212a}ate@example.org"), folded("kate@example.org"));
    }
}
