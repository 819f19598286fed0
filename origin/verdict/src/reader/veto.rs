//! Abstention for replies that may be about us, or that say too little.

use std::net::{Ipv4Addr, Ipv6Addr};

use rcpt_smtp::Reply;

use super::{features::Features, model::Model};

/// Reason why the reader gives no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abstention {
    /// The reply contains a security code (5.7.x).
    SecurityCode,
    IpAddress,
    Url,
    OurName,
    /// A server or a fault is named, which may be the missing or unknown thing.
    Thing,
    /// The subject may be in the cut-off rest.
    TooLong,
    FewKnownWords,
    /// An unknown word may be the subject: `peer does not exist`.
    UnknownWord,
}

impl Abstention {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SecurityCode => "a code of security, 5.7.x",
            Self::IpAddress => "an IP address",
            Self::Url => "a URL",
            Self::OurName => "our name",
            Self::Thing => "a machine, a service or a fault",
            Self::TooLong => "more text than it reads",
            Self::FewKnownWords => "too few known words",
            Self::UnknownWord => "a word that it doesn't know",
        }
    }
}

/// Returns the reason to abstain if `reply` may be about us.
pub(super) fn of_text<'a>(
    reply: &Reply,
    our_names: impl IntoIterator<Item = &'a str>,
) -> Option<Abstention> {
    let text = reply.beginning().to_ascii_lowercase();
    let is_ours = |name: &str| !name.is_empty() && text.contains(&name.to_ascii_lowercase());
    if reply.enhanced.is_some_and(|code| code.subject == 7) || text.contains("5.7.") {
        Some(Abstention::SecurityCode)
    } else if text.contains("://") || text.contains("www.") {
        Some(Abstention::Url)
    } else if names_an_ip(&text) {
        Some(Abstention::IpAddress)
    } else if our_names.into_iter().any(is_ours) {
        Some(Abstention::OurName)
    } else {
        None
    }
}

/// Returns the reason to abstain if the words name a machine, are too many, or aren't known to
/// `model`.
pub(super) fn of_words(features: &Features, model: &Model) -> Option<Abstention> {
    if features.names_thing {
        return Some(Abstention::Thing);
    }
    if features.is_cut {
        return Some(Abstention::TooLong);
    }
    let known_words = model.known_words(features);
    if known_words < usize::from(model.words_min) {
        Some(Abstention::FewKnownWords)
    } else if known_words < features.words.len() {
        Some(Abstention::UnknownWord)
    } else {
        None
    }
}

/// Returns whether the text contains an IP address, even within a word: `host=mx[192.0.2.1]`.
fn names_an_ip(text: &str) -> bool {
    let of_v4 = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
    let of_v6 = text.split(|c: char| !(c.is_ascii_hexdigit() || c == ':'));
    of_v4.map(|run| run.trim_matches('.')).any(|run| run.parse::<Ipv4Addr>().is_ok())
        || of_v6.filter(|run| run.len() > 3).any(|run| run.parse::<Ipv6Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use rcpt_smtp::Reply;

    use super::{Abstention, of_text};

    #[test]
    fn what_may_be_about_us_is_a_veto() {
        use Abstention::{IpAddress, OurName, SecurityCode, Url};
        for (raw, due) in [
            ("550 5.7.1 nobody here", Some(SecurityCode)),
            ("550 nobody here (#5.7.1)", Some(SecurityCode)),
            ("550 nobody here, see https://a.example/", Some(Url)),
            ("550 nobody here, see www.a.example", Some(Url)),
            ("550 nobody here [192.0.2.1]", Some(IpAddress)),
            ("550 nobody here host=mx[192.0.2.1]:", Some(IpAddress)),
            ("550 nobody here 192.0.2.1.", Some(IpAddress)),
            ("550 nobody here (2001:db8::1)", Some(IpAddress)),
            ("550 nobody here, Probe.Rcpt.Example", Some(OurName)),
            ("550 5.1.0 nobody here: 12:30", None),
            ("550 nobody here, version 1.2.3", None),
        ] {
            let reply = Reply::parse(&format!("{raw}\r\n")).unwrap();
            assert_eq!(of_text(&reply, ["probe.rcpt.example"]), due, "{raw}");
        }
    }
}
