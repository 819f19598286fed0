//! The meaning of a reply's words and enhanced code.

use std::cell::OnceCell;

use rcpt_smtp::Reply;

use super::{
    Parties, languages,
    phrases::{self, Meaning},
    text::Said,
};

/// Enhanced code x.7.10, "encryption needed" (RFC 5248).
const ENCRYPTION_NEEDED: (u16, u16) = (7, 10);

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

    /// True if `reply`, received without TLS, demands TLS, by its code or by any word about encryption. Sendmail
    /// (`encryption too weak`), Exchange, Mimecast and Gmail use other codes.
    pub(super) fn demands_tls(&self, reply: &Reply) -> bool {
        if reply.is_positive() {
            return false;
        }
        // `530 Must issue a STARTTLS command first` (RFC 3207 §4) may use any words. The code can also demand a
        // password (RFC 4954 §6), which encryption doesn't replace.
        let unnamed = reply.code == 530 && !self.speaks_of(Meaning::Policy);
        self.enhanced == Some(ENCRYPTION_NEEDED) || self.speaks_of(Meaning::Encryption) || unnamed
    }

    pub(super) fn speaks_of(&self, meaning: Meaning) -> bool {
        self.meanings.get_or_init(|| meanings(self.text, self.parties)) & meaning.bit() != 0
    }
}

/// Words between a state and its cause, in the form of [`Said::text`].
const CAUSES: [&str; 22] = [
    " because ",
    " due to ",
    " for violat",
    " for abus",
    " for spam",
    " as a result of ",
    " wegen ",
    " aufgrund ",
    " en raison ",
    " suite a ",
    " debido ",
    " devido ",
    " a causa ",
    " wegens ",
    " vanwege ",
    " z powodu ",
    " из-за ",
    " за нарушени",
    " nedeniyle ",
    " pa grund ",
    " zaradi ",
    " через порушен",
];

/// The meanings, but without a policy that is only the cause of a mailbox's state: `account closed due to abuse`.
fn with_causes(said: &Said) -> u32 {
    use Meaning::{Disabled, Policy, Recipient, Sender, Sending};
    let all = meanings_of(said);
    let has = |meanings: u32, some: &[Meaning]| some.iter().any(|it| meanings & it.bit() != 0);
    if !has(all, &[Policy]) || has(all, &[Sender, Sending]) {
        return all;
    }
    let cause = CAUSES.iter().filter_map(|cause| said.text.find(cause)).min();
    let state = cause
        .and_then(|cause| said.text.get(..cause))
        .map_or(0, |state| meanings_of(&Said::of(state)));
    if has(state, &[Disabled, Recipient]) && !has(state, &[Policy]) {
        all & !Policy.bit()
    } else {
        all
    }
}

fn meanings_of(said: &Said) -> u32 {
    phrases::meanings(&said.text) | languages::meanings(&said.words)
}

fn meanings(text: &str, parties: &Parties<'_>) -> u32 {
    let plain_text = Said::of(text);
    let mut meanings = with_causes(&plain_text);
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

#[cfg(test)]
mod tests {
    use rcpt_shared::Stage;
    use rcpt_smtp::Reply;

    use crate::tests::judge;

    fn demanded(raw: &str) -> bool {
        judge(Stage::Rcpt, &Reply::parse(&format!("{raw}\r\n")).unwrap()).demands_tls
    }

    #[test]
    fn a_refusal_that_names_encryption_demands_it() {
        for reply in [
            "530 Must issue a STARTTLS command first",
            "530 5.7.0 no",
            "400 STARTTLS is required first.",
            "451 5.7.3 STARTTLS is required to send mail",
            "550 5.7.1 Session encryption is required",
            "503 5.7.0 encryption too weak 0 less than 112",
            "421 4.7.0 TLS required for RCPT domain, closing connection.",
            "550 5.7.29 This message was not sent over a TLS connection.",
            "554 5.7.10 nope",
            "553 Must use SSL.",
            "550 Verschl\u{fc}sselung erforderlich",
            "550 Only encrypted sessions (https://example.org/help)",
        ] {
            assert!(demanded(reply), "{reply}");
        }
    }

    #[test]
    fn no_other_refusal_does() {
        for reply in [
            "250 2.1.5 TLS is fine",
            "530 5.7.1 Authentication required",
            "550 5.1.1 No such user",
            "550 5.1.1 encryption.example.org: no such user",
            "550 see https://starttls.example.org/encryption",
            "550 <tls@example.org> unknown",
            "550 5.1.1 title settled",
        ] {
            assert!(!demanded(reply), "{reply}");
        }
    }
}
