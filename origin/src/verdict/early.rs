//! Replies to the connection itself, EHLO and MAIL: the recipient was not mentioned yet, so nothing
//! here is ever about the mailbox.

use rcpt_shared::{Reason, Stage};

use super::{Evidence, Finding, phrases::Meaning};
use crate::smtp::Reply;

pub(super) fn judge(stage: Stage, reply: &Reply) -> Finding {
    if !reply.is_transient() && !reply.is_permanent() {
        return Finding::unanswered(Reason::ProtocolError);
    }
    let evidence = Evidence::of(reply);
    if reply.is_transient() && evidence.speaks_of(Meaning::Greylisting) {
        return Finding::greylisted(reply);
    }
    // RFC 7372 §3.3: reverse DNS validation failed.
    if evidence.enhanced == Some((7, 25)) {
        return Finding::blocked(Reason::ReverseDnsRequired);
    }
    if let Some(reason) = evidence.about_us() {
        return Finding::blocked(reason);
    }
    if evidence.speaks_of(Meaning::Trouble) {
        return Finding::unanswered(Reason::ServerUnavailable);
    }
    // 500–504 are about our syntax, whatever the words were about.
    let syntax = matches!(reply.code, 500..=504);
    match evidence.enhanced {
        Some((7, _)) if reply.code == 421 || evidence.speaks_of(Meaning::TryLater) => {
            Finding::blocked(Reason::RateLimited)
        }
        Some((7, _)) => Finding::blocked(Reason::Blocked),
        // RFC 6531 §3.5: the parameter of MAIL was not taken.
        Some((6, 7)) => Finding::unanswered(Reason::Smtputf8Unsupported),
        // At MAIL an address status (RFC 3463 §3.2) is about the reverse-path.
        Some((1, _)) if stage == Stage::Mail => Finding::blocked(Reason::Blocked),
        _ if syntax => Finding::unanswered(Reason::ServerUnavailable),
        // So are, there, words about an address that does not exist.
        _ if stage == Stage::Mail && reply.is_permanent() && names_an_address(&evidence) => {
            Finding::blocked(Reason::Blocked)
        }
        _ if evidence.speaks_of(Meaning::Policy) => Finding::blocked(Reason::Blocked),
        _ => Finding::unanswered(Reason::ServerUnavailable),
    }
}

const fn names_an_address(evidence: &Evidence) -> bool {
    evidence.speaks_of(Meaning::Recipient) || evidence.speaks_of(Meaning::Domain)
}
