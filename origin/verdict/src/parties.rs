//! Whom a reply quotes. A refusal that quotes us and not the recipient is about us, whatever its words and codes: a
//! server that verifies senders says `550 5.1.1 <our sender>: user unknown` at RCPT.

use std::ops::Range;

#[derive(Debug, Clone, Default)]
pub struct Parties<'a> {
    /// The recipient's address in its normal form; empty if it isn't known.
    pub recipient: &'a str,
    /// Our reverse-path: empty for the null sender, `None` if it isn't known.
    pub sender: Option<&'a str>,
    pub helo_names: Vec<&'a str>,
}

impl Parties<'_> {
    /// True if `text` quotes us and not the recipient, or its subject is our sender (`<sender>: …`).
    ///
    /// Our domain isn't ours alone if the recipient's domain is the same or a part of it: then only the whole sender
    /// and the HELO names count.
    pub(crate) fn are_we_meant(&self, text: &str) -> bool {
        // In URLs, and in quoted-printable.
        let text = text.to_lowercase().replace("%40", "@").replace("=40", "@");
        let recipient = self.recipient.to_lowercase();
        let sender = self.sender.map(|sender| match sender {
            "" => "<>".to_owned(),
            sender => sender.to_lowercase(),
        });
        let sender = sender.filter(|sender| *sender != recipient);
        let quoted = |name: &str| quotations(&text, name).next();
        let sender_quoted = sender.as_deref().and_then(quoted);
        if quoted(&recipient).is_some() {
            return sender_quoted.is_some_and(|place| is_subject(&text, &place));
        }
        let theirs = domain_of(&recipient);
        let ours = sender.as_deref().and_then(domain_of);
        let is_shared = |name: &str| theirs.is_some_and(|domain| are_related(domain, name));
        let domain = ours.filter(|domain| !is_shared(domain));
        let names = self.helo_names.iter().map(|name| name.to_lowercase());
        sender_quoted.is_some()
            || domain.is_some_and(|domain| quoted(domain).is_some())
            || names
                .filter(|name| theirs != Some(name.as_str()))
                .any(|name| quoted(&name).is_some())
    }

    pub(crate) fn are_we_quoted(&self, text: &str) -> bool {
        let sender = self.sender.unwrap_or_default().to_lowercase();
        let names = self.helo_names.iter().map(|name| name.to_lowercase());
        let ours = names.chain(domain_of(&sender).map(str::to_owned)).chain([sender.clone()]);
        let theirs = self.recipient.to_lowercase();
        ours.filter(|name| !theirs.ends_with(name.as_str()))
            .any(|name| quotations(text, &name).next().is_some())
    }

    pub(crate) fn without_recipient(&self, text: &str) -> String {
        let recipient = self.recipient.to_lowercase();
        let local_part = recipient.rsplit_once('@').map_or("", |(local_part, _)| local_part);
        let (mut rest, mut unnamed) = (0, String::new());
        for place in quotations(text, local_part) {
            unnamed.push_str(text.get(rest..place.start).unwrap_or_default());
            rest = place.end;
        }
        unnamed + text.get(rest..).unwrap_or_default()
    }
}

fn domain_of(address: &str) -> Option<&str> {
    address.rsplit_once('@').map(|(_, domain)| domain)
}

fn are_related(one: &str, other: &str) -> bool {
    let is_below = |below: &str, above: &str| {
        below.strip_suffix(above).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    is_below(one, other) || is_below(other, one)
}

/// Only whole names count: `b@example.org` isn't in `ab@example.org`, and `example.org` neither in `mx.example.org` nor
/// in `example.org.net`.
fn quotations<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
    let is_part = |c: char| c.is_alphanumeric() || "-_+".contains(c);
    let hits = text.match_indices(name).filter(|(_, hit)| !hit.is_empty());
    hits.map(|(start, hit)| start..start + hit.len()).filter(move |place| {
        let before = text.get(..place.start).unwrap_or_default();
        let after = text.get(place.end..).unwrap_or_default();
        let mut following = after.chars();
        let goes_on = match following.next() {
            Some('.') => following.next().is_some_and(is_part),
            next => next.is_some_and(is_part),
        };
        !before.ends_with(|c: char| is_part(c) || c == '.') && !goes_on
    })
}

/// Postfix writes `<name>: …`, and Sendmail `<name>... …`.
fn is_subject(text: &str, place: &Range<usize>) -> bool {
    let before = text.get(..place.start).unwrap_or_default();
    let after = text.get(place.end..).unwrap_or_default().trim_start_matches('>');
    before.trim_matches([' ', '<']).is_empty()
        && (after.starts_with(':') || after.starts_with("..."))
}

#[cfg(test)]
mod tests {
    use super::Parties;

    const SENDER: &str = "check@rcpt.example";

    fn are_we_meant(recipient: &str, text: &str) -> bool {
        let helo_names = vec!["probe.rcpt.example", "old.example.net"];
        Parties { recipient, sender: Some(SENDER), helo_names }.are_we_meant(text)
    }

    #[test]
    fn who_is_quoted_alone_is_meant() {
        for text in [
            "unknown address <check@rcpt.example>",
            "<CHECK@RCPT.EXAMPLE>: user unknown",
            "check@rcpt.example is not a mailbox.",
            "see http://x.example/why?id=check%40rcpt.example&r=mx",
            "rcpt.example: domain not found",
            "unknown: rcpt.example.",
            "probe.rcpt.example[192.0.2.1]: unknown host",
            "(old.example.net) unknown",
            "postmaster@rcpt.example unknown",
            "mail from check@rcpt.example to boss@other.example: unknown",
        ] {
            assert!(are_we_meant("ann@victim.example", text), "{text}");
        }
        for text in [
            "user unknown",
            "<ann@victim.example>: user unknown; from <check@rcpt.example>",
            "ann@victim.example: unknown, client probe.rcpt.example[192.0.2.1]",
            "check@rcpt.example.net unknown",
            "no-check@rcpt.example.org unknown",
            "mx.rcpt.example says unknown",
            "rcpt.example.net unknown",
            "my-rcpt.example unknown",
            "user unknown (#5.1.1)",
            "",
        ] {
            assert!(!are_we_meant("ann@victim.example", text), "{text}");
        }
    }

    #[test]
    fn of_both_the_one_is_meant_with_whom_the_reply_begins() {
        for (text, ours) in [
            ("<check@rcpt.example>: user unknown, while ann@victim.example was asked for", true),
            ("<check@rcpt.example>... User unknown (for ann@victim.example)", true),
            ("check@rcpt.example: unknown; RCPT TO:<ann@victim.example>", true),
            ("<ann@victim.example>: user unknown (check@rcpt.example:)", false),
            ("mail from check@rcpt.example to ann@victim.example: user unknown", false),
            ("check@rcpt.example -> ann@victim.example: user unknown", false),
        ] {
            assert_eq!(are_we_meant("ann@victim.example", text), ours, "{text}");
        }
    }

    #[test]
    fn a_recipient_in_our_own_domain_is_not_us() {
        for (recipient, text, ours) in [
            ("ann@rcpt.example", "<ann@rcpt.example>: user unknown", false),
            ("ann@rcpt.example", "rcpt.example: user unknown", false),
            ("ann@mail.rcpt.example", "user unknown at mail.rcpt.example", false),
            ("ann@mail.rcpt.example", "user unknown at rcpt.example", false),
            ("ann@rcpt.example", "<check@rcpt.example>: user unknown", true),
            ("ann@rcpt.example", "probe.rcpt.example: host unknown", true),
            ("ann@probe.rcpt.example", "probe.rcpt.example: host unknown", false),
            ("check@rcpt.example", "<check@rcpt.example>: user unknown", false),
            ("ann@crcpt.example", "rcpt.example: domain unknown", true),
        ] {
            assert_eq!(are_we_meant(recipient, text), ours, "{recipient}: {text}");
        }
    }

    #[test]
    fn the_null_sender_is_quoted_as_empty_brackets() {
        let parties =
            Parties { recipient: "ann@victim.example", sender: Some(""), helo_names: vec![] };
        assert!(parties.are_we_meant("<>: user unknown"));
        assert!(!parties.are_we_meant("<ann@victim.example>: user unknown"));
        assert!(!parties.are_we_meant("user unknown"));
        let nobody = Parties::default();
        assert!(!nobody.are_we_meant("<>: user unknown") && !nobody.are_we_meant(""));
    }
}
