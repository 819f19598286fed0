//! Enhanced status codes (RFC 3463).

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnhancedCode {
    pub class: u8,
    pub subject: u16,
    pub detail: u16,
}

impl EnhancedCode {
    /// Parses the code at the start of `text` (RFC 2034 §4), and returns it with the rest.
    pub fn leading(text: &str) -> Option<(Self, &str)> {
        // A quick check, because most reply lines have no code.
        let [class @ (b'2' | b'4' | b'5'), b'.', ..] = text.as_bytes() else { return None };
        let part_of_it = |octet: u8| octet.is_ascii_digit() || octet == b'.';
        let end = text.bytes().position(|octet| !part_of_it(octet)).unwrap_or(text.len());
        let (code, rest) = text.split_at_checked(end)?;
        let mut parts = code.as_bytes().split(|octet| *octet == b'.').skip(1);
        let code = Self {
            class: class - b'0',
            subject: component(parts.next()?)?,
            detail: component(parts.next()?)?,
        };
        // With a fourth number, the text would be an IP address.
        parts.next().is_none().then_some((code, rest))
    }

    /// Parses the forms that some servers use instead: `#5.1.0 …` (Cisco) and `… (#5.1.1)` (qmail).
    pub fn after_hash(text: &str) -> Option<Self> {
        text.split('#').skip(1).find_map(|rest| Self::leading(rest).map(|(code, _)| code))
    }
}

/// A component has one to three digits (RFC 3463 §2).
fn component(digits: &[u8]) -> Option<u16> {
    if !(1..=3).contains(&digits.len()) {
        return None;
    }
    Some(digits.iter().fold(0, |number, digit| number * 10 + u16::from(digit - b'0')))
}

impl fmt::Display for EnhancedCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.class, self.subject, self.detail)
    }
}

#[cfg(test)]
mod tests {
    use super::EnhancedCode;

    #[test]
    fn reads_a_leading_code() {
        for (text, code, rest) in [
            ("5.1.1 No such user", "5.1.1", " No such user"),
            ("4.7.650 rate limited", "4.7.650", " rate limited"),
            ("2.1.5", "2.1.5", ""),
            ("5.7.1: no", "5.7.1", ": no"),
        ] {
            let (read, after) = EnhancedCode::leading(text).unwrap();
            assert_eq!((read.to_string().as_str(), after), (code, rest), "{text}");
        }
    }

    #[test]
    fn takes_nothing_else_for_a_code() {
        for text in
            ["", "5", "5.1", "3.1.1", "192.0.2.1", "5.1.1.1", "5.1.1234", "x5.1.1", "5..1", "5.1.ä"]
        {
            assert_eq!(EnhancedCode::leading(text), None, "{text}");
        }
    }

    #[test]
    fn reads_the_code_after_a_hash() {
        for (text, code) in [
            ("#5.1.0 Address rejected.", Some("5.1.0")),
            ("sorry, no mailbox here by that name. (#5.1.1)", Some("5.1.1")),
            ("ticket #12345, see (#5.7.1)", Some("5.7.1")),
            ("ticket #12345", None),
        ] {
            let read = EnhancedCode::after_hash(text).map(|code| code.to_string());
            assert_eq!(read.as_deref(), code, "{text}");
        }
    }
}
