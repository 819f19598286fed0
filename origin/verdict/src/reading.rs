//! The meaning of a reply's words and enhanced code.

use std::cell::OnceCell;

use rcpt_smtp::Reply;

use super::{
    Parties, languages,
    phrases::{self, Meaning},
    text::Said,
};

/// The reply's text is searched only when a rule needs it: most replies are judged by their codes alone.
pub(super) struct Reading<'a> {
    text: &'a str,
    parties: &'a Parties<'a>,
    meanings: OnceCell<u32>,
    /// Subject and detail of the enhanced code. Only the basic code gives the class: servers that
    /// send `450 5.7.1` expect a retry.
    pub enhanced: Option<(u16, u16)>,
}

impl<'a> Reading<'a> {
    pub(super) fn of(reply: &'a Reply, parties: &'a Parties<'a>) -> Self {
        let enhanced = reply.enhanced.map(|code| (code.subject, code.detail));
        Self { text: reply.beginning(), parties, meanings: OnceCell::new(), enhanced }
    }

    /// True also if there are no words about a mailbox or its domain.
    pub(super) fn is_understood(&self) -> bool {
        use Meaning::{
            Address, Disabled, Domain, Mailbox, MailboxFull, NoDomain, Quota, Recipient,
            RecipientDenied, Unavailable, Wordless,
        };
        [
            Address,
            Disabled,
            Domain,
            Mailbox,
            MailboxFull,
            NoDomain,
            Quota,
            Recipient,
            RecipientDenied,
            Unavailable,
            Wordless,
        ]
        .into_iter()
        .any(|meaning| self.speaks_of(meaning))
    }

    pub(super) fn phrase(
        reply: &Reply,
        is_wanted: impl Fn(Meaning) -> bool,
    ) -> Option<&'static str> {
        let said = Said::of(reply.beginning());
        phrases::found(&said.text, &is_wanted).or_else(|| languages::found(&said.words, &is_wanted))
    }

    pub(super) fn speaks_of(&self, meaning: Meaning) -> bool {
        self.meanings.get_or_init(|| meanings(self.text, self.parties)) & meaning.bit() != 0
    }
}

fn meanings(text: &str, parties: &Parties<'_>) -> u32 {
    let plain_text = Said::of(text);
    let mut meanings = phrases::meanings(&plain_text.text) | languages::meanings(&plain_text.words);
    if plain_text.names_blocklist {
        meanings |= Meaning::OurAddress.bit();
    }
    if parties.are_we_meant(text) {
        meanings |= Meaning::OurName.bit();
    }
    if !plain_text.words.contains(char::is_alphabetic) {
        meanings |= Meaning::Wordless.bit();
    }
    // An IP address that a server quotes is the client's.
    if plain_text.quotes_an_ip() {
        meanings |= Meaning::Sending.bit();
    }
    if plain_text.merely_rejects_the_recipient() {
        meanings |= Meaning::Recipient.bit();
    }
    meanings
}
