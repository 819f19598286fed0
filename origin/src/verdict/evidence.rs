//! What the words and the enhanced code of a reply speak of.

use super::{
    languages,
    phrases::{self, Meaning},
    text::Said,
};
use crate::smtp::Reply;

/// What is left of `Recipient address rejected` when nothing else is said.
const NOTHING: [&str; 3] = ["error", "sorry", "smtp"];
const REJECTED: [&str; 3] =
    [" recipient address rejected ", " recipient rejected ", " address rejected "];

/// What the text of a refusal speaks of.
pub(super) struct Evidence {
    meanings: u32,
    /// Subject and detail of the enhanced code. The class is the basic code's to say: servers that
    /// answer `450 5.7.1` mean to be asked again.
    pub enhanced: Option<(u16, u16)>,
}

impl Evidence {
    pub(super) fn of(reply: &Reply) -> Self {
        let said = Said::of(reply.text());
        let mut meanings = phrases::meanings(&said.text) | languages::meanings(&said.words);
        if said.names_blocklist {
            meanings |= Meaning::OurAddress.bit();
        }
        // Servers quote the address of who asks.
        if said.quotes_an_ip() {
            meanings |= Meaning::Sending.bit();
        }
        if is_merely_rejected(&said.words) {
            meanings |= Meaning::Recipient.bit();
        }
        let enhanced = reply.enhanced.map(|code| (code.subject, code.detail));
        Self { meanings, enhanced }
    }

    pub(super) const fn speaks_of(&self, meaning: Meaning) -> bool {
        self.meanings & meaning.bit() != 0
    }
}

/// The recipient is rejected, and no word says for what: it is the recipient then.
fn is_merely_rejected(words: &str) -> bool {
    REJECTED.iter().find_map(|rejected| words.split_once(rejected)).is_some_and(
        |(before, after)| {
            let mut others = before.split(' ').chain(after.split(' '));
            others.all(|word| !word.contains(char::is_alphabetic) || NOTHING.contains(&word))
        },
    )
}
