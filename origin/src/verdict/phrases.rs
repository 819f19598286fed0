//! What servers write, in lower case, each row with the provider or software it was seen at.
//!
//! A phrase is searched in the text as `evidence.rs` prepares it: words separated and surrounded by
//! single spaces, without quoted addresses.

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
    /// Unmistakably us: our address, name, sender or reputation.
    Client,
    /// Us, unless a code says otherwise.
    Policy,
    /// By its name.
    Greylisting,
    /// A request to come back: greylisting, unless a code says otherwise.
    TryLater,
    MailboxFull,
    MessageSize,
    Disabled,
    /// The recipient does not exist, or at least it is the recipient that is spoken of.
    Recipient,
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

use Meaning::{
    Client, Disabled, Greylisting, MailboxFull, MessageSize, Policy, Rate, Recipient, Relay,
    ReverseDns, TryLater,
};

pub(super) const PHRASES: &[Phrase] = &[
    row(ReverseDns, "reverse dns", "Exim, Comcast"),
    row(ReverseDns, " rdns", "Comcast"),
    row(ReverseDns, "ptr record", "Gmail"),
    row(ReverseDns, "ptr resource record", "GMX"),
    row(ReverseDns, "no ptr", "Rspamd"),
    row(ReverseDns, "reverse hostname", "Postfix"),
    row(ReverseDns, "cannot find your hostname", "Postfix"),
    row(ReverseDns, "reverse lookup", "Exim"),
    row(ReverseDns, "reverse mapping", "Sendmail"),
    row(ReverseDns, "fcrdns", "Haraka"),
    row(Relay, "relay access denied", "Postfix, Exchange Online"),
    row(Relay, "relay denied", "MDaemon"),
    row(Relay, " relaying", "Sendmail"),
    row(Relay, "relay not permitted", "Exim"),
    row(Relay, "not permitted to relay", "cPanel"),
    row(Relay, "unable to relay", "Exchange"),
    row(Relay, "cannot relay", "Exchange"),
    row(Relay, "not relay", "Mailcow"),
    row(Relay, "don't relay", "OpenSMTPD"),
    row(Relay, "relay prohibited", "Kerio"),
    row(Relay, "allowed rcpthosts", "qmail"),
    row(Rate, "too many", "Postfix, Sendmail"),
    row(Rate, "rate limit", "Exchange Online, Sendmail"),
    row(Rate, "rate-limit", "Rspamd"),
    row(Rate, "ratelimit", "Rspamd"),
    row(Rate, "at a rate", "Gmail"),
    row(Rate, "unusual rate", "Gmail"),
    row(Rate, "throttl", "Exchange Online"),
    row(Rate, "too fast", "Exim"),
    row(Rate, "too quickly", "Gmail"),
    row(Rate, "too frequent", "QQ"),
    row(Rate, "frequency limit", "QQ"),
    row(Rate, "slow down", "Exim"),
    row(Rate, "concurrent connections", "Exchange"),
    row(Rate, "connection limit", "Comcast"),
    row(Rate, "limits for how many", "Outlook.com"),
    row(Rate, "unexpected volume", "Yahoo"),
    row(Rate, "temporarily deferred", "Yahoo"),
    row(Rate, "permanently deferred", "Yahoo"),
    row(Rate, "server busy. please try again later from", "Exchange Online"),
    row(Client, "spamhaus", "Exchange Online, Yahoo"),
    row(Client, "spamcop", "Sendmail"),
    row(Client, "barracuda", "Barracuda"),
    row(Client, "sorbs", "Postfix"),
    row(Client, "uceprotect", "Postfix"),
    row(Client, "invaluement", "Postfix"),
    row(Client, "senderscore", "Cisco"),
    row(Client, "sender score", "Validity"),
    row(Client, "trustedsource", "Trellix"),
    row(Client, "csi.mimecast", "Mimecast"),
    row(Client, "ipcheck.proofpoint", "Proofpoint"),
    row(Client, "cloudmark", "Cloudmark"),
    row(Client, "dnsbl", "Comcast"),
    row(Client, " rbl", "Exim"),
    row(Client, "block list", "Outlook.com"),
    row(Client, "block-list", "GMX"),
    row(Client, "blocklist", "Postfix"),
    row(Client, "blacklist", "Mimecast"),
    row(Client, "black list", "Exim"),
    row(Client, "denylist", "Fortinet"),
    row(Client, "blocked using", "Postfix, Exchange Online"),
    row(Client, "client host", "Postfix"),
    row(Client, "your host", "Sendmail"),
    row(Client, "your ip", "Gmail"),
    row(Client, "your mail server", "Zoho"),
    row(Client, "your server", "Libero"),
    row(Client, "your access", "Cisco"),
    row(Client, "your network", "AT&T"),
    row(Client, " ip address", "Gmail"),
    row(Client, " ip is ", "Yahoo"),
    row(Client, " ip=", "T-Online"),
    row(Client, "sending ip", "Exchange Online"),
    row(Client, "sender ip", "Fortinet"),
    row(Client, "source ip", "Mimecast"),
    row(Client, "sending mta", "Cisco"),
    row(Client, "sending domain", "Exchange Online"),
    row(Client, "reputation", "Cisco, Trend Micro"),
    row(Client, "sender address", "Postfix"),
    row(Client, "sender rejected", "Comcast"),
    row(Client, "sender denied", "Exchange Online"),
    row(Client, "sender refused", "MDaemon"),
    row(Client, "sender blocked", "Symantec"),
    row(Client, "sender verif", "Exim"),
    row(Client, "sender unknown", "Domino"),
    row(Client, "sender is not", "163"),
    row(Client, "invalid sender", "qmail"),
    row(Client, "domain may not exist", "QQ"),
    row(Client, "callout", "Exim"),
    row(Client, "callback", "Exim"),
    row(Client, "helo command", "Postfix"),
    row(Client, "helo name", "Exim"),
    row(Client, " spf ", "Postfix"),
    row(Client, "spf fail", "Exim"),
    row(Client, "dmarc", "Gmail"),
    row(Client, "dkim", "Gmail"),
    row(Client, "unauthenticated", "Gmail"),
    row(Client, "unsolicited", "Gmail"),
    row(Client, "banned", "Exchange Online"),
    row(Client, "connections will not be accepted from", "Yahoo"),
    row(Client, "mail from your", "Comcast"),
    row(Client, "not accepted from", "Yahoo"),
    row(Client, "dynamic ip", "Postfix"),
    row(Client, "rejected by policy", "Symantec"),
    row(Client, "bounce attack", "QQ"),
    row(Client, "null sender", "Exim"),
    row(Client, "null reverse", "Haraka"),
    row(Policy, "access denied", "Postfix, Exim"),
    row(Policy, "access rejected", "Cisco"),
    row(Policy, "permission denied", "Exim"),
    row(Policy, "denied", "Barracuda"),
    row(Policy, "not permitted", "Exim"),
    row(Policy, "not allowed", "Sendmail"),
    row(Policy, "not authorized", "Exchange"),
    row(Policy, "not authorised", "Exim"),
    row(Policy, "prohibit", "Exim"),
    row(Policy, "policy", "iCloud"),
    row(Policy, "policies", "Mimecast"),
    row(Policy, "authenticat", "163, Sendmail"),
    row(Policy, "spam", "Mail.ru"),
    row(Policy, "abuse", "AOL"),
    row(Policy, "violat", "Proofpoint"),
    row(Policy, "security", "Mimecast"),
    row(Policy, "blocked", "Proofpoint"),
    row(Policy, "connection refused", "Cisco"),
    row(Policy, "connection rejected", "Symantec"),
    row(Policy, "service refuse", "La Poste"),
    row(Policy, "bad dns", "GMX"),
    row(Policy, "(bl)", "T-Online"),
    row(Policy, "protocol error", "Postfix postscreen"),
    row(Policy, "protocol violation", "Postfix postscreen"),
    row(Greylisting, "greylist", "Postgrey"),
    row(Greylisting, "graylist", "Rspamd"),
    row(Greylisting, "grey list", "Kerio"),
    row(Greylisting, "grey-list", "sqlgrey"),
    row(TryLater, "try again", "OpenBSD spamd"),
    row(TryLater, "try later", "La Poste"),
    row(TryLater, "retry", "Mail.ru"),
    row(TryLater, "come back later", "milter-greylist"),
    row(TryLater, "internal resource temporarily unavailable", "Mimecast"),
    row(TryLater, "internal resources are temporarily unavailable", "Mimecast"),
    row(MailboxFull, "mailbox full", "Sendmail"),
    row(MailboxFull, "mailbox is full", "Exim"),
    row(MailboxFull, "mailfolder is full", "Web.de"),
    row(MailboxFull, "inbox is full", "Gmail"),
    row(MailboxFull, "inbox full", "Zoho"),
    row(MailboxFull, "over quota", "Gmail, iCloud"),
    row(MailboxFull, "overquota", "Courier"),
    row(MailboxFull, "over its quota", "Exim"),
    row(MailboxFull, "quota exceeded", "Dovecot"),
    row(MailboxFull, "exceeded quota", "cPanel"),
    row(MailboxFull, "quota is full", "Exim"),
    row(MailboxFull, "exceeded its quota", "Exim"),
    row(MailboxFull, "out of storage", "Gmail"),
    row(MailboxFull, "storage quota", "Yahoo"),
    row(MailboxFull, "exhausted allowed storage", "Web.de"),
    row(MailboxFull, "exceeded storage", "Postfix"),
    row(MailboxFull, "exceeded its storage", "Zimbra"),
    row(MailboxFull, "mailbox size limit", "Postfix"),
    row(MailboxFull, "mailbox limit exceeded", "Domino"),
    row(MailboxFull, "mailbox has exceeded", "Rackspace"),
    row(MailboxFull, "insufficient mailbox", "MDaemon"),
    row(MessageSize, "message size", "Postfix"),
    row(MessageSize, "message too", "Exim"),
    row(MessageSize, "message exceeds", "Sendmail"),
    row(MessageSize, "maximum message", "Sendmail"),
    row(MessageSize, "maximum size", "qmail"),
    row(MessageSize, "size exceeds", "Exchange"),
    row(MessageSize, "too large", "Exchange"),
    row(MessageSize, "too big", "qmail"),
    row(Disabled, "disabled", "Yahoo, Gmail"),
    row(Disabled, "inactive", "Gmail"),
    row(Disabled, "not active", "Libero"),
    row(Disabled, "deactivated", "Zoho"),
    row(Disabled, "suspended", "163"),
    row(Recipient, "user unknown", "Postfix, Sendmail"),
    row(Recipient, "unknown user", "Exim"),
    row(Recipient, "unknown recipient", "Exim"),
    row(Recipient, "unknown address", "Exim"),
    row(Recipient, "recipient unknown", "MDaemon"),
    row(Recipient, "address unknown", "Lotus"),
    row(Recipient, "no such", "Exim, Barracuda"),
    row(Recipient, "not exist", "Gmail, ProtonMail"),
    row(Recipient, "n't exist", "Zoho"),
    row(Recipient, "not found", "Exchange Online, QQ"),
    row(Recipient, "non-existent", "QQ"),
    row(Recipient, "mailbox unavailable", "Outlook.com, GMX"),
    row(Recipient, "unrouteable", "Exim"),
    row(Recipient, "unroutable", "Exim"),
    row(Recipient, "undeliverable address", "Postfix"),
    row(Recipient, "invalid recipient", "Mimecast"),
    row(Recipient, "invalid mailbox", "Mail.ru"),
    row(Recipient, "invalid user", "163"),
    row(Recipient, "invalid address", "Kerio"),
    row(Recipient, "recipient address rejected", "Postfix, Exchange Online"),
    row(Recipient, "recipient rejected", "Exchange"),
    row(Recipient, "address rejected", "Cisco"),
    row(Recipient, "no mailbox", "qmail"),
    row(Recipient, "not a valid", "Domino"),
    row(Recipient, "not our customer", "Comcast"),
    row(Recipient, "unable to find", "Kerio"),
    row(Recipient, "doesn't have a", "Yahoo"),
    row(Recipient, "not have an account", "Yahoo"),
    row(Recipient, "destinataire invalide", "Orange"),
    row(Recipient, "user does not", "iCloud"),
];

#[cfg(test)]
mod tests {
    use super::PHRASES;

    #[test]
    fn every_row_is_lower_case_said_once_and_has_a_source() {
        for (position, row) in PHRASES.iter().enumerate() {
            assert_eq!(row.text, row.text.to_lowercase());
            assert!(!row.text.contains("  ") && !row.text.contains('@'), "{}", row.text);
            assert!(!row.seen_at.is_empty(), "{}", row.text);
            let again = PHRASES[..position].iter().any(|other| other.text == row.text);
            assert!(!again, "{} stands twice", row.text);
        }
    }
}
