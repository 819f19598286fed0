//! Replies to RCPT: the only stage where a refusal may be about the mailbox.

use rcpt_shared::{Reason, Status};

use super::{Evidence, Finding, phrases::Meaning};
use crate::smtp::Reply;

/// RFC 7372 §3.3.
const REVERSE_DNS_FAILED: (u16, u16) = (7, 25);
/// RFC 3463 §3.6.
const TOO_MANY_RECIPIENTS: (u16, u16) = (5, 3);

pub(super) fn judge(reply: &Reply) -> Finding {
    match reply.code {
        // 252 is "cannot verify, but will accept": RFC 5321 §4.3.2 tells a client to go by the first
        // digit, but 220 and 221 are answers to something else.
        250..=252 => Finding::new(Status::Accepted, Reason::Accepted),
        400..=499 => transient(reply, &Evidence::of(reply)),
        500..=599 => permanent(reply, &Evidence::of(reply)),
        _ => Finding::unanswered(Reason::ProtocolError),
    }
}

fn transient(reply: &Reply, evidence: &Evidence) -> Finding {
    let speaks_of = |meaning| evidence.speaks_of(meaning);
    if speaks_of(Meaning::Greylisting) {
        return Finding::greylisted(reply);
    }
    if evidence.enhanced == Some((2, 2)) && evidence.about_us().is_none() {
        return Finding::refused(Reason::MailboxFull);
    }
    // Mail system and network status (RFC 3463 §3.4, §3.5): their trouble, in which an "IP address" may
    // be one of theirs; save that Sendmail says 4.4.0 of our reverse DNS, and Exchange 4.3.2 of our rate.
    if matches!(evidence.enhanced, Some((3 | 4, _))) {
        return match evidence.about_us() {
            Some(reason @ (Reason::ReverseDnsRequired | Reason::RateLimited)) => {
                Finding::blocked(reason)
            }
            _ => Finding::unanswered(Reason::ServerUnavailable),
        };
    }
    if evidence.enhanced == Some(REVERSE_DNS_FAILED) {
        return Finding::blocked(Reason::ReverseDnsRequired);
    }
    if let Some(reason) = evidence.about_us() {
        return Finding::blocked(reason);
    }
    if speaks_of(Meaning::Trouble) {
        return Finding::unanswered(Reason::ServerUnavailable);
    }
    match (evidence.enhanced, reply.code) {
        (Some((7, _)), 450 | 451) | (Some((2, 0)), _) => Finding::greylisted(reply),
        (Some((2, 1)), _) | (Some((7, _)), 421) => Finding::blocked(Reason::RateLimited),
        (Some((7, _) | (1, 7 | 8)), _) => Finding::blocked(Reason::Blocked),
        // Protocol and content status (RFC 3463 §3.6, §3.7).
        (Some((5 | 6, _)), _) => Finding::unanswered(Reason::ServerUnavailable),
        (_, 421) => Finding::blocked(Reason::RateLimited),
        _ if speaks_of(Meaning::MailboxFull) => Finding::refused(Reason::MailboxFull),
        _ if speaks_of(Meaning::TryLater) => Finding::greylisted(reply),
        _ if speaks_of(Meaning::Policy) => Finding::blocked(Reason::Blocked),
        _ => Finding::unanswered(Reason::ServerUnavailable),
    }
}

fn permanent(reply: &Reply, evidence: &Evidence) -> Finding {
    let speaks_of = |meaning| evidence.speaks_of(meaning);
    if evidence.enhanced == Some(REVERSE_DNS_FAILED) {
        return Finding::blocked(Reason::ReverseDnsRequired);
    }
    if let Some(reason) = evidence.about_us() {
        return Finding::blocked(reason);
    }
    // Some say for ever and mean for now.
    if speaks_of(Meaning::Greylisting) {
        return Finding::greylisted(reply);
    }
    if speaks_of(Meaning::Trouble) {
        return Finding::unanswered(Reason::ServerUnavailable);
    }
    let recipient = speaks_of(Meaning::Recipient);
    let mailbox = recipient || speaks_of(Meaning::Disabled) || speaks_of(Meaning::MailboxFull);
    match evidence.enhanced {
        // 5.1.7 and 5.1.8 are about the sender's address (RFC 3463 §3.2).
        Some((7, _) | (1, 7 | 8)) => Finding::blocked(Reason::Blocked),
        // A code about the mailbox, and words about policy and no mailbox: AOL and others did that.
        Some((1 | 2, _)) if speaks_of(Meaning::Policy) && !mailbox => {
            Finding::blocked(Reason::Blocked)
        }
        // "Bad destination system address" (RFC 3463 §3.2), which Stalwart says of a mailbox.
        Some((1, 2)) if !recipient || speaks_of(Meaning::Domain) => {
            Finding::refused(Reason::DomainRefusesMail)
        }
        // RFC 7505 §4.2 pairs 5.1.10 with 556; Exchange uses it for an unknown recipient.
        Some((1, detail)) if reply.code == 556 && (detail == 10 || speaks_of(Meaning::Domain)) => {
            Finding::refused(Reason::DomainRefusesMail)
        }
        // 552 is of storage (RFC 5321 §4.2.3) and the text agrees: Comcast and Orange say so by 5.1.1.
        Some((1, _)) if reply.code == 552 && speaks_of(Meaning::MailboxFull) => {
            Finding::refused(Reason::MailboxFull)
        }
        Some((1, _)) => Finding::refused(Reason::NoSuchMailbox),
        Some((2, 1)) => Finding::refused(Reason::MailboxDisabled),
        Some((2, 2)) => Finding::refused(Reason::MailboxFull),
        Some((6, 7)) => Finding::unanswered(Reason::Smtputf8Unsupported),
        // By its name a mailing list that cannot be expanded; OpenSMTPD says it of every address that its
        // table of addresses lacks.
        Some((2, 4)) => Finding::refused(Reason::NoSuchMailbox),
        // The message is larger than the mailbox or the system takes; we sent none.
        Some((2, 3) | (3, 4)) => Finding::unanswered(Reason::ProtocolError),
        // Exchange Online's recipient lookup; otherwise a routing status.
        Some((4, _)) if recipient => Finding::refused(Reason::NoSuchMailbox),
        Some((4, _)) if speaks_of(Meaning::Policy) => Finding::blocked(Reason::Blocked),
        Some((4, _)) => Finding::unanswered(Reason::ServerUnavailable),
        _ => by_code_and_text(reply, evidence, recipient),
    }
}

/// The enhanced code is absent, or says nothing about whom the refusal is about.
fn by_code_and_text(reply: &Reply, evidence: &Evidence, recipient: bool) -> Finding {
    let speaks_of = |meaning| evidence.speaks_of(meaning);
    if matches!(reply.code, 500..=504 | 555) {
        return Finding::unanswered(Reason::ProtocolError);
    }
    if speaks_of(Meaning::MailboxFull) {
        return Finding::refused(Reason::MailboxFull);
    }
    // Of a message that was not sent yet.
    if speaks_of(Meaning::MessageSize) {
        return Finding::unanswered(Reason::ProtocolError);
    }
    if speaks_of(Meaning::Policy) {
        return Finding::blocked(Reason::Blocked);
    }
    if speaks_of(Meaning::Disabled) {
        return Finding::refused(Reason::MailboxDisabled);
    }
    if speaks_of(Meaning::Outage) {
        return Finding::unanswered(Reason::ServerUnavailable);
    }
    if recipient && !speaks_of(Meaning::Domain) {
        return Finding::refused(Reason::NoSuchMailbox);
    }
    match (evidence.enhanced, reply.code) {
        // RFC 7504, RFC 7505 §4.2: the host or the domain takes no mail.
        (_, 521 | 556) => Finding::refused(Reason::DomainRefusesMail),
        // Mail system, protocol and content status (RFC 3463 §3.4, §3.6, §3.7): no word about a mailbox.
        (Some((3, _)), _) => Finding::unanswered(Reason::ServerUnavailable),
        (Some(TOO_MANY_RECIPIENTS), _) => Finding::blocked(Reason::RateLimited),
        (Some((5 | 6, _)), _) => Finding::unanswered(Reason::ProtocolError),
        (_, 550 | 551 | 553) if speaks_of(Meaning::TryLater) => {
            Finding::unanswered(Reason::ServerUnavailable)
        }
        (_, 550 | 551 | 553) if speaks_of(Meaning::Domain) => {
            Finding::refused(Reason::DomainRefusesMail)
        }
        (_, 550 | 551 | 553) if speaks_of(Meaning::Sending) => Finding::perhaps_blocked(),
        (_, 550 | 551 | 553) => Finding::refused(Reason::NoSuchMailbox),
        // RFC 5321 §4.2.3: exceeded storage allocation.
        (_, 552) => Finding::refused(Reason::MailboxFull),
        // 554 is "transaction failed", and other codes say as little.
        _ => Finding::blocked(Reason::Blocked),
    }
}
