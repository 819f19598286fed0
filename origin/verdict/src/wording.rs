//! The words of a refusal that the rules can't decide, for comparison with what the server says to a name that doesn't
//! exist (docs/verdicts.md).

use std::net::IpAddr;

use rcpt_smtp::Reply;

use super::{Finding, Parties, text::Said};

/// The rules after which a permanent refusal at RCPT is undecided.
const UNDECIDED: [&str; 4] =
    ["5yz.otherwise", "5yz.sending", "5yz.address-code-of-sending", "5yz.disabled-code-of-sending"];
/// Longest number that names a reason, as in `LPN007_426`; a longer one is a time or a session's.
const REASON_DIGITS_MAX: usize = 3;

/// Keyed hashes of a reply's codes and words: nothing of the text is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wording {
    as_said: u64,
    /// The recipient's local part is left out. It may also be an ordinary word, such as `user`.
    unnamed: u64,
}

impl Wording {
    /// `None` if the rules decided, or if the reply quotes our side or any IP address: then it is about us.
    /// `finding` is the reply's at RCPT.
    #[must_use]
    pub fn of(
        reply: &Reply,
        finding: &Finding,
        parties: &Parties<'_>,
        hash: impl Fn(&str) -> u64,
    ) -> Option<Self> {
        finding.rule.filter(|rule| UNDECIDED.contains(rule))?;
        let text = reply.beginning().to_lowercase();
        if holds_an_ip(&text) || parties.are_we_quoted(&text) {
            return None;
        }
        let codes = match reply.enhanced {
            Some(enhanced) => format!("{} {enhanced}", reply.code),
            None => reply.code.to_string(),
        };
        let hash = |text: &str| hash(&format!("{codes}{}", without_ids(&Said::of(text).text)));
        Some(Self { as_said: hash(&text), unnamed: hash(&parties.without_recipient(&text)) })
    }

    /// True if the replies differ in nothing but the recipient and ids.
    #[must_use]
    pub fn is_same_as(self, other: Self) -> bool {
        let of = |it: Self| [it.as_said, it.unnamed];
        of(self).iter().any(|hash| of(other).contains(hash))
    }
}

fn holds_an_ip(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_hexdigit() || matches!(c, '.' | ':');
    let mut words = text.split(|c| !is_part(c));
    words.any(|word| {
        word.trim_matches(['.', ':']).parse::<IpAddr>().is_ok() || word.parse::<IpAddr>().is_ok()
    })
}

/// Without numbers of sessions, messages and times, which differ between two equal answers. Enhanced codes stay.
fn without_ids(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    for word in text.split(' ') {
        let runs = || word.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty());
        let numbers = runs().filter(|run| run.bytes().all(|octet| octet.is_ascii_digit())).count();
        let is_code = numbers == 3 && matches!(runs().next(), Some("4" | "5"));
        for run in runs().filter(|run| is_code || (numbers < 2 && !is_id(run))) {
            words.push(' ');
            words.push_str(run);
        }
    }
    words
}

/// Letters and digits by turns, or a long number.
fn is_id(run: &str) -> bool {
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    let kinds: Vec<_> = run.bytes().map(|octet| octet.is_ascii_digit()).collect();
    let turns = kinds.windows(2).filter(|pair| pair.first() != pair.last()).count();
    digits > REASON_DIGITS_MAX || turns > 1
}

#[cfg(test)]
mod tests {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};

    use rcpt_shared::Stage;
    use rcpt_smtp::Reply;

    use super::{REASON_DIGITS_MAX, Wording, is_id};
    use crate::{Parties, judge};

    fn wording(recipient: &str, raw: &str) -> Option<Wording> {
        let parties = Parties {
            recipient,
            sender: Some("check@rcpt.example"),
            helo_names: vec!["probe.rcpt.example"],
        };
        let reply = Reply::parse(&(raw.replace("\\n", "\r\n") + "\r\n")).unwrap();
        let finding = judge(Stage::Rcpt, &reply, &parties);
        let hash = |text: &str| {
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            hasher.finish()
        };
        Wording::of(&reply, &finding, &parties, hash)
    }

    fn are_same(one: &str, other: &str) -> bool {
        let one = wording("ann@victim.example", one).unwrap();
        let other = wording("xyz@victim.example", other).unwrap();
        one.is_same_as(other)
    }

    #[test]
    fn the_same_words_to_two_recipients_are_the_same() {
        for (one, other) in [
            ("550 kielletty", "550 KIELLETTY"),
            ("550 ann ei ole", "550 xyz ei ole"),
            ("550 <ann@victim.example> ei ole", "550 <xyz@victim.example> ei ole"),
            ("550 ei ole (mx7.victim.example)", "550 ei ole (mx12.victim.example)"),
            ("550 ei ole 4Zx1Y23q", "550 ei ole 9Ab7C88x"),
            ("550 ei ole 1732745001", "550 ei ole 1732745907"),
            ("550 ei ole 12:34:56", "550 ei ole 12:35:02"),
            ("550-ei\\n550 ole", "550-ei\\n550 ole"),
        ] {
            assert!(are_same(one, other), "{one} / {other}");
        }
    }

    #[test]
    fn another_code_reason_or_word_is_not_the_same() {
        for (one, other) in [
            ("550 kielletty", "551 kielletty"),
            ("550 kielletty", "550 5.0.0 kielletty"),
            ("550 kielletty", "550 kielletty tapahtuma"),
            ("550 ei ole LPN007_426", "550 ei ole LPN007_510"),
            ("550 ei ole [-5]", "550 ei ole [-9]"),
            ("550 ei ole (#5.0.0)", "550 ei ole (#5.9.1)"),
            ("550 ann ei ole", "550 bob ei ole"),
            ("550 no", "550"),
        ] {
            assert!(!are_same(one, other), "{one} / {other}");
        }
    }

    #[test]
    fn a_name_that_is_a_word_of_the_reply_hides_nothing() {
        let user = wording("tapahtuma@victim.example", "550 kielletty tapahtuma").unwrap();
        let other = wording("xyz@victim.example", "550 kielletty tapahtuma").unwrap();
        assert!(user.is_same_as(other));
    }

    #[test]
    fn what_the_rules_decide_or_quotes_our_side_is_not_compared() {
        for raw in [
            "250 ok",
            "450 kielletty",
            "421 kielletty",
            "550 5.1.1 kielletty",
            "550 user unknown",
            "550 5.7.1 kielletty",
            "550 kielletty 192.0.2.1",
            "550 kielletty [2001:db8::1]",
            "550 kielletty http://x.example/?ip=192.0.2.1",
            "550 kielletty probe.rcpt.example",
            "550 kielletty check@rcpt.example",
            "550 check@rcpt.example -> ann@victim.example kielletty",
        ] {
            assert_eq!(wording("ann@victim.example", raw), None, "{raw}");
        }
        for raw in [
            "550 kielletty",
            "550 your message",
            "550 5.1.1 your message",
            "550 5.2.1 your message",
        ] {
            assert!(wording("ann@victim.example", raw).is_some(), "{raw}");
        }
    }

    #[test]
    fn an_id_has_letters_and_digits_by_turns_or_a_long_number() {
        let (short, long) = ("7".repeat(REASON_DIGITS_MAX), "7".repeat(REASON_DIGITS_MAX + 1));
        let ids = ["a", "spam1", "2nd", &short, &long, "a1b", "4bQx7Zk2"].map(is_id);
        assert_eq!(ids, [false, false, false, false, true, true, true]);
    }
}
