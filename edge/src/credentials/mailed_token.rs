//! The token in a mailed link: the database's number and 248 random bits. The database stores only
//! the token's SHA-256.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};

pub const CONFIRMATION_TTL_S: u64 = 24 * 60 * 60;

pub const RESET_TTL_S: u64 = 60 * 60;

pub const RANDOM_BYTES: usize = 31;

/// A token as it is mailed. Never stored; hidden from `Debug`.
pub struct MailedToken(String);

/// The only form in which a mailed token is stored: 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenHash(String);

#[derive(Debug, PartialEq, Eq)]
pub struct PresentedToken {
    pub database: u8,
    pub hash: TokenHash,
}

impl MailedToken {
    pub fn new(database: u8, random: [u8; RANDOM_BYTES]) -> Self {
        Self(URL_SAFE_NO_PAD.encode([&[database], random.as_slice()].concat()))
    }

    pub fn confirmation_link(&self, portal_url: &str) -> String {
        format!("{portal_url}/verify?token={}", self.0)
    }

    pub fn reset_link(&self, portal_url: &str) -> String {
        format!("{portal_url}/reset?token={}", self.0)
    }

    pub fn change_link(&self, portal_url: &str) -> String {
        format!("{portal_url}/confirm-address?token={}", self.0)
    }

    pub fn hash(&self) -> TokenHash {
        TokenHash::of(&self.0)
    }
}

impl fmt::Debug for MailedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MailedToken(…)")
    }
}

impl TokenHash {
    /// Hash of the presented text. A plain hash is enough: 248 random bits can't be guessed.
    #[inline(never)]
    pub fn of(presented: &str) -> Self {
        Self(hex::encode(Sha256::digest(presented)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl PresentedToken {
    /// `None` if the text isn't a token. A forged token can name any database, but leads only to a lookup of a hash
    /// that doesn't exist.
    #[inline(never)]
    pub fn parse(presented: &str) -> Option<Self> {
        let mut bytes = [0; RANDOM_BYTES + 1];
        let length = URL_SAFE_NO_PAD.decode_slice(presented, &mut bytes).ok()?;
        let [database, ..] = bytes;
        (length == bytes.len()).then(|| Self { database, hash: TokenHash::of(presented) })
    }
}

#[cfg(test)]
mod tests {
    use super::{MailedToken, PresentedToken, TokenHash};

    #[test]
    fn the_link_carries_the_token_and_the_hash_matches_what_comes_back() {
        let token = MailedToken::new(200, [0xfb; 31]);
        let portal = "https://portal.example";
        let links = [token.reset_link(portal), token.change_link(portal)];
        let link = token.confirmation_link(portal);
        let presented = link.strip_prefix("https://portal.example/verify?token=").unwrap();
        assert_eq!(presented.len(), 43);
        let pages = ["reset", "confirm-address"];
        assert_eq!(links, pages.map(|page| format!("{portal}/{page}?token={presented}")));
        assert_eq!(TokenHash::of(presented), token.hash());
        assert_ne!(TokenHash::of(presented.split_at(42).0), token.hash());
        let parsed = PresentedToken::parse(presented).unwrap();
        assert_eq!(parsed, PresentedToken { database: 200, hash: token.hash() });
    }

    #[test]
    fn what_is_no_token_does_not_parse() {
        let long = "A".repeat(44);
        for junk in ["", "x", "ä", "no token at all", &long, long.split_at(42).0] {
            assert_eq!(PresentedToken::parse(junk), None, "{junk}");
        }
        assert_eq!(PresentedToken::parse(long.split_at(43).0).map(|token| token.database), Some(0));
    }

    #[test]
    fn hides_itself_from_debug() {
        assert_eq!(format!("{:?}", MailedToken::new(0, [1; 31])), "MailedToken(…)");
    }
}
