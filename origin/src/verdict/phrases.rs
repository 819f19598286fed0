//! What servers write, in lower case, each row with the provider or software it was seen at.
//!
//! A phrase is searched in the text as `evidence.rs` prepares it: words separated and surrounded by
//! single spaces, without quoted addresses. Sisimai is a library that reads bounces, and lists what it met.

mod about_moment;
mod about_recipient;
mod about_us;
mod idioms;

use about_moment::ABOUT_MOMENT;
use about_recipient::ABOUT_RECIPIENT;
use about_us::ABOUT_US;
pub(super) use idioms::IDIOMS;

/// What a phrase speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Meaning {
    /// Unmistakably us: the name of our address.
    ReverseDns,
    /// Unmistakably us: we may not send through them.
    Relay,
    /// Unmistakably us: too often, too much, too fast.
    Rate,
    /// Unmistakably us: our address, name, sender, connection or reputation.
    Client,
    /// Us, unless a code says otherwise.
    Policy,
    /// Our side of the conversation: us, unless a code or a word about the recipient says otherwise.
    Sending,
    /// By its name, or in the fixed words of a software that does it.
    Greylisting,
    /// A request to come back: greylisting, unless a code says otherwise.
    TryLater,
    /// The server's own, whoever asks for whom, and whatever the code.
    Trouble,
    /// The server fails at the moment, unless a code says otherwise.
    Outage,
    MailboxFull,
    MessageSize,
    Disabled,
    /// The recipient does not exist, or at least it is the recipient that is spoken of.
    Recipient,
    /// The recipient's domain has no mail here.
    Domain,
}

impl Meaning {
    pub(super) const fn bit(self) -> u16 {
        1 << self as u16
    }
}

pub(super) struct Phrase {
    pub text: &'static str,
    pub meaning: Meaning,
    #[cfg_attr(not(test), expect(dead_code, reason = "the row's provenance, for the reader"))]
    pub seen_at: &'static str,
}

const fn row(meaning: Meaning, text: &'static str, seen_at: &'static str) -> Phrase {
    Phrase { text, meaning, seen_at }
}

/// All but the idioms.
pub(super) fn phrases() -> impl Iterator<Item = &'static Phrase> {
    [ABOUT_US, ABOUT_RECIPIENT, ABOUT_MOMENT].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{IDIOMS, phrases};

    #[test]
    fn every_row_is_lower_case_said_once_and_has_a_source() {
        let mut said = HashSet::new();
        for row in phrases().chain(IDIOMS) {
            assert_eq!(row.text, row.text.to_lowercase());
            assert!(!row.text.contains("  ") && !row.text.contains('@'), "{}", row.text);
            assert!(!row.seen_at.is_empty(), "{}", row.text);
            assert!(said.insert(row.text), "{} stands twice", row.text);
        }
    }

    #[test]
    fn every_idiom_hides_a_phrase_that_means_something_else() {
        for idiom in IDIOMS {
            let hidden =
                phrases().any(|row| idiom.text.contains(row.text) && row.meaning != idiom.meaning);
            assert!(hidden, "{} could be an ordinary phrase", idiom.text);
        }
    }
}
