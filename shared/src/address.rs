//! Email addresses: RFC 5321 §4.1.2 mailboxes, with the internationalised forms of RFC 6531.

mod bidi;
mod domain;
pub(crate) mod marks;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub(crate) use domain::{LABELS_MAX, to_a_labels};
use marks::{has_hidden, is_blank};

/// Greatest length in bytes (RFC 5321 §4.5.3.1.1).
pub(crate) const LOCAL_PART_BYTES_MAX: usize = 64;
/// RFC 5321 §4.5.3.1.3 allows a path of 256 bytes, two of which are the angle brackets.
pub(crate) const ADDRESS_BYTES_MAX: usize = 254;
/// No longer domain is converted: a character of a label has at most four bytes in UTF-8, and at least one in an
/// A-label.
const DOMAIN_BYTES_MAX: usize = 4 * ADDRESS_BYTES_MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    #[error("there is no `@` between a local part and a domain")]
    NoAt,
    #[error("the local part is not a dot-atom or a quoted string of at most 64 octets")]
    LocalPart,
    #[error("the domain is not a host name of labels of at most 63 octets")]
    Domain,
    #[error("the address is longer than 254 octets")]
    TooLong,
}

/// A mailbox to which mail can be addressed: an RFC 5321 `Local-part "@" Domain`. The local part may contain UTF-8 (RFC
/// 6531), and the domain may be internationalised (UTS #46). Address literals (`user@[192.0.2.1]`) are rejected.
///
/// Two addresses are equal if the service treats them as identical (`docs/api.md`, Caching): the same local part
/// byte for byte, and the same domain after lower-casing and conversion to A-labels.
#[derive(Clone)]
pub struct Address {
    given: String,
    normal: String,
    /// Length of the local part in bytes, in `given` and in `normal`: only the domain is rewritten.
    local_len: usize,
}

impl Address {
    /// Parses an address exactly, as programs send it; [`read`](crate::read) reads the text of a person or a file.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        // A quoted local part may contain an `@`; a domain can't.
        let (local, domain) = text.rsplit_once('@').ok_or(FormatError::NoAt)?;
        if local.is_empty() || local.len() > LOCAL_PART_BYTES_MAX || !is_local_part(local) {
            return Err(FormatError::LocalPart);
        }
        if domain.len() > DOMAIN_BYTES_MAX || has_hidden(domain) {
            return Err(FormatError::Domain);
        }
        let domain = to_a_labels(domain).ok_or(FormatError::Domain)?;
        let normal = format!("{local}@{domain}");
        if normal.len() > ADDRESS_BYTES_MAX {
            return Err(FormatError::TooLong);
        }
        Ok(Self { given: text.to_owned(), local_len: local.len(), normal })
    }

    #[must_use]
    pub fn as_given(&self) -> &str {
        &self.given
    }

    /// The normal form, which identical addresses share; mail servers get this form.
    #[must_use]
    pub fn normal(&self) -> &str {
        &self.normal
    }

    #[must_use]
    pub fn local_part(&self) -> &str {
        self.normal.get(..self.local_len).unwrap_or_default()
    }

    /// In lower-case A-labels, without a trailing dot.
    #[must_use]
    pub fn domain(&self) -> &str {
        self.normal.get(self.local_len + 1..).unwrap_or_default()
    }

    /// True if the mail server must offer SMTPUTF8 (RFC 6531) for this recipient.
    #[must_use]
    pub fn needs_smtputf8(&self) -> bool {
        !self.local_part().is_ascii()
    }
}

impl PartialEq for Address {
    fn eq(&self, other: &Self) -> bool {
        self.normal == other.normal
    }
}

impl Eq for Address {}

/// Doesn't show the address: `{:?}` may end up in logs, which contain no checked addresses
/// (docs/security.md, A10).
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Address(…)")
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.normal)
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // The error names the broken rule without the text, because it may be logged.
        Self::parse(&text).map_err(de::Error::custom)
    }
}

/// Matches `Dot-string / Quoted-string` of RFC 5321 §4.1.2, extended by RFC 6531 §3.3. A character that nobody sees
/// names no mailbox, so it is left to [`has_hidden`] only where a domain may have it too.
fn is_local_part(local: &str) -> bool {
    let begins_with_mark = |text: &str| text.chars().next().is_some_and(bidi::is_mark);
    match local.strip_prefix('"') {
        _ if has_hidden(local) => false,
        Some(rest) => rest
            .strip_suffix('"')
            .is_some_and(|content| !begins_with_mark(content) && is_quoted_content(content)),
        None => {
            !begins_with_mark(local)
                && local.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atext))
        }
    }
}

fn is_atext(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || is_utf8_text(c)
}

fn is_quoted_content(content: &str) -> bool {
    let mut chars = content.chars();
    while let Some(c) = chars.next() {
        let fine = match c {
            '\\' => chars.next().is_some_and(|escaped| (' '..='~').contains(&escaped)),
            '"' => false,
            ' '..='~' => true,
            other => is_utf8_text(other),
        };
        if !fine {
            return false;
        }
    }
    true
}

/// Matches `UTF8-non-ascii` of RFC 6532, without controls, blanks, the sign for a lost character, and characters that
/// have no meaning between two parties: those for private use, and noncharacters.
fn is_utf8_text(c: char) -> bool {
    !c.is_ascii() && !c.is_control() && !is_blank(c) && c != LOST && !is_meaningless(c)
}

/// The sign that decoders write for a character that they can't read.
pub(crate) const LOST: char = char::REPLACEMENT_CHARACTER;

const fn is_meaningless(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{f0000}'..)
        || c as u32 & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Address, FormatError};
    use crate::read;

    #[test]
    fn keeps_the_form_given_and_knows_the_normal_form() {
        for (given, normal) in [
            ("Ann.Smith@Example.ORG", "Ann.Smith@example.org"),
            ("a+tag@example.org", "a+tag@example.org"),
            ("!#$%&'*+-/=?^_`{|}~@example.org", "!#$%&'*+-/=?^_`{|}~@example.org"),
            (r#""ann smith"@example.org"#, r#""ann smith"@example.org"#),
            (r#""a\"b\\c@d"@example.org"#, r#""a\"b\\c@d"@example.org"#),
            (r#"""@example.org"#, r#"""@example.org"#),
            ("δοκιμή@παράδειγμα.ελ", "δοκιμή@xn--hxajbheg2az3al.xn--qxam"),
            ("ann@BÜCHER.example", "ann@xn--bcher-kva.example"),
            ("ann@xn--bcher-kva.example", "ann@xn--bcher-kva.example"),
            ("ann@faß.de", "ann@xn--fa-hia.de"),
            ("ann@ex\u{ff41}mple.org", "ann@example.org"),
            ("ann@💌.example", "ann@xn--rr8h.example"),
            ("ann@❤\u{fe0f}.example", "ann@xn--qei.example"),
            ("❤\u{fe0f}@example.org", "❤\u{fe0f}@example.org"),
            ("نامه\u{200c}ای@example.org", "نامه\u{200c}ای@example.org"),
            ("ann@نامه\u{200c}ای.example", "ann@xn--mgba3gch31f060k.example"),
            ("my\u{300}@example.org", "my\u{300}@example.org"),
            ("ann@localhost", "ann@localhost"),
            ("ann@r3---sn-4g5e.example", "ann@r3---sn-4g5e.example"),
        ] {
            let address = Address::parse(given).unwrap_or_else(|error| panic!("{given}: {error}"));
            assert_eq!((address.as_given(), address.normal()), (given, normal));
            assert_eq!(format!("{}@{}", address.local_part(), address.domain()), normal);
            assert_eq!(Address::parse(normal).unwrap(), address, "{given}");
        }
    }

    #[test]
    fn refuses_what_is_not_a_mailbox() {
        use FormatError::{Domain, LocalPart, NoAt, TooLong};
        let long_label = "x".repeat(64);
        let long_domain = ["y".repeat(60).as_str(); 4].join(".");
        for (text, error) in [
            ("", NoAt),
            ("plain", NoAt),
            ("@example.org", LocalPart),
            ("a@b@example.org", LocalPart),
            (".a@example.org", LocalPart),
            ("a.@example.org", LocalPart),
            ("a..b@example.org", LocalPart),
            ("a b@example.org", LocalPart),
            ("a(b)@example.org", LocalPart),
            ("\"a@example.org", LocalPart),
            ("\"a\"b\"@example.org", LocalPart),
            ("\"a\\\"@example.org", LocalPart),
            ("\"@example.org", LocalPart),
            ("a\r\nRCPT TO:<x>@example.org", LocalPart),
            ("\"a\r\n\"@example.org", LocalPart),
            ("\"a\0\"@example.org", LocalPart),
            ("\"a\\\n\"@example.org", LocalPart),
            ("a\u{7f}@example.org", LocalPart),
            ("a\u{85}b@example.org", LocalPart),
            ("a\u{2028}b@example.org", LocalPart),
            ("a\u{a0}b@example.org", LocalPart),
            ("a\u{200b}b@example.org", LocalPart),
            ("\u{202a}a@example.org", LocalPart),
            ("a\u{200d}b@example.org", LocalPart),
            ("\"a\u{2060}b\"@example.org", LocalPart),
            ("\"a\u{3000}b\"@example.org", LocalPart),
            ("\u{300}@example.org", LocalPart),
            ("\"\u{300}\"@example.org", LocalPart),
            ("a\u{fffd}b@example.org", LocalPart),
            ("\u{e000}@example.org", LocalPart),
            ("\u{2fffe}@example.org", LocalPart),
            ("\u{10fffd}@example.org", LocalPart),
            (&format!("{}@example.org", "a".repeat(65)), LocalPart),
            (&format!("{}@example.org", "é".repeat(33)), LocalPart),
            (&format!("{}@example.org", "a".repeat(300)), LocalPart),
            ("a@", Domain),
            ("a@.", Domain),
            ("a@example.org.", Domain),
            ("a@.example.org", Domain),
            ("a@example..org", Domain),
            ("a@-example.org", Domain),
            ("a@example-.org", Domain),
            ("a@exa_mple.org", Domain),
            ("a@exam ple.org", Domain),
            ("a@example.org\r\n", Domain),
            ("a@example.org\0", Domain),
            ("a@exam\u{200b}ple.org", Domain),
            ("a@exam\u{ad}ple.org", Domain),
            ("a@exam\u{fe0f}ple.org", Domain),
            ("a@example.org\u{200e}", Domain),
            ("a@[192.0.2.1]", Domain),
            ("a@[IPv6:2001:db8::1]", Domain),
            ("a@192.0.2.1", Domain),
            ("a@xn--\u{e9}.org", Domain),
            ("a@xn--zz--.example", Domain),
            (&format!("a@{long_label}.org"), Domain),
            (&format!("{}@{long_domain}", "a".repeat(64)), TooLong),
        ] {
            assert_eq!(Address::parse(text).unwrap_err(), error, "{text:?}");
        }
    }

    #[test]
    fn the_longest_allowed_parts_are_allowed() {
        assert!(Address::parse(&format!("{}@example.org", "a".repeat(64))).is_ok());
        assert!(Address::parse(&format!("a@{}.org", "x".repeat(63))).is_ok());
        let domain = format!("{}.example", ["y".repeat(59).as_str(); 3].join("."));
        let longest = format!("{}@{domain}", "a".repeat(64));
        assert!(Address::parse(&longest).is_ok(), "{}", longest.len());
    }

    #[test]
    fn identical_means_same_local_part_and_same_domain() {
        let parse = |text| Address::parse(text).unwrap();
        assert_eq!(parse("ann@bücher.example"), parse("ann@XN--BCHER-KVA.EXAMPLE"));
        assert_ne!(parse("Ann@example.org"), parse("ann@example.org"));
    }

    #[test]
    fn hides_from_debug_and_from_errors() {
        let address = Address::parse("secret@example.org").unwrap();
        assert_eq!(format!("{address:?}"), "Address(…)");
        let error = serde_json::from_str::<Address>("\"secret@@\"").unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn no_input_panics_and_no_parsed_address_can_break_a_line(input in any::<String>()) {
            if let Ok(address) = read(&input) {
                prop_assert!(input.contains(address.as_given()));
                prop_assert!(!address.normal().chars().any(char::is_control));
                prop_assert_eq!(Address::parse(address.normal()).unwrap(), address);
            }
        }

        #[test]
        fn addresses_near_the_grammar_parse_to_a_stable_normal_form(
            local in r#"["a-zé. \\@<>\r\n]{0,12}"#, domain in r"[a-zA-Zé。.\-_0-9\r]{0,16}",
        ) {
            if let Ok(address) = Address::parse(&format!("{local}@{domain}")) {
                prop_assert!(address.domain().bytes().all(
                    |b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.'));
                prop_assert!(!address.normal().contains(['\r', '\n', '\0']));
                let again = Address::parse(address.normal()).unwrap();
                prop_assert_eq!(again.normal(), address.normal());
            }
        }
    }
}
