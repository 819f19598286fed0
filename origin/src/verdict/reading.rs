//! What the words and the enhanced code of a reply speak of.

use super::{
    languages,
    phrases::{self, Meaning},
    text::Said,
};
use crate::smtp::Reply;

/// What the text of a refusal speaks of.
pub(super) struct Reading {
    meanings: u32,
    /// Subject and detail of the enhanced code. The class is the basic code's to say: servers that
    /// answer `450 5.7.1` mean to be asked again.
    pub enhanced: Option<(u16, u16)>,
}

impl Reading {
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
        if said.merely_rejects_the_recipient() {
            meanings |= Meaning::Recipient.bit();
        }
        let enhanced = reply.enhanced.map(|code| (code.subject, code.detail));
        Self { meanings, enhanced }
    }

    pub(super) const fn speaks_of(&self, meaning: Meaning) -> bool {
        self.meanings & meaning.bit() != 0
    }
}
