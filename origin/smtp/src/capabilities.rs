//! The extensions that a server lists in its reply to EHLO (RFC 5321 §4.1.1.1).

use super::Reply;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    pub pipelining: bool,
    pub starttls: bool,
    pub smtputf8: bool,
}

impl Capabilities {
    /// The reply's first line is the greeting and is ignored.
    pub fn parse(ehlo: &Reply) -> Self {
        let mut offered = Self::default();
        for line in ehlo.lines().skip(1) {
            let keyword = line.split_ascii_whitespace().next().unwrap_or_default();
            let is = |name: &str| keyword.eq_ignore_ascii_case(name);
            offered.pipelining |= is("PIPELINING");
            offered.starttls |= is("STARTTLS");
            offered.smtputf8 |= is("SMTPUTF8");
        }
        offered
    }
}

#[cfg(test)]
mod tests {
    use super::{Capabilities, Reply};

    fn parsed(raw: &str) -> Capabilities {
        Capabilities::parse(&Reply::parse(raw).unwrap())
    }

    #[test]
    fn reads_keywords_in_any_case_and_ignores_their_parameters() {
        let offered = parsed(
            "250-mx\r\n250-SIZE 1000\r\n250-pipelining\r\n250-StartTLS now\r\n250 SMTPUTF8\r\n",
        );
        assert_eq!(offered, Capabilities { pipelining: true, starttls: true, smtputf8: true });
    }

    #[test]
    fn the_greeting_offers_nothing() {
        assert_eq!(parsed("250 PIPELINING STARTTLS SMTPUTF8\r\n"), Capabilities::default());
        assert_eq!(parsed("250-mx\r\n250 XPIPELINING\r\n"), Capabilities::default());
    }
}
