//! Converts a reply to the pool's signal.

use std::time::Duration;

use rcpt_pool::{Refusal, Signal};
use rcpt_shared::{Reason, Stage, Status};
use rcpt_smtp::Reply;
use rcpt_verdict::{Finding, Reception, Scope};

pub(super) const fn is_about_recipient(finding: Finding) -> bool {
    matches!(finding.status, Status::Accepted | Status::Refused)
}

/// The rules that read greylisting by name. Only such a reply isn't a refused recipient: a server that greylists
/// expects it of every client, and doesn't ban for it. Other words for a retry may be an unknown recipient's.
const GREYLISTING_BY_NAME: [&str; 2] = ["4yz.greylisting", "5yz.greylisting"];

/// `None` if the reply has no effect. Greylisting and relay refusals apply to one recipient or domain, and mean nothing
/// for others.
pub(super) fn signal<'a>(
    finding: Finding,
    stage: Stage,
    reply: &Reply,
    words: &'a str,
) -> Option<Signal<'a>> {
    if is_about_recipient(finding) {
        return Some(Signal::Answered { refused: finding.status == Status::Refused });
    }
    let Reception { scope, hint } = finding.reception;
    let (closing, before_rcpt) = (reply.code == 421, stage < Stage::Rcpt);
    let blocked = finding.status == Status::BlockedByProvider;
    let is_ours = match finding.reason {
        Reason::Greylisted | Reason::RelayDenied => closing,
        _ => scope != Scope::Nothing || closing || (blocked && before_rcpt),
    };
    let about_our_address = match scope {
        Scope::OurAddress => true,
        Scope::Rate => matches!(finding.reason, Reason::Blocked | Reason::ReverseDnsRequired),
        Scope::DomainRule | Scope::Nothing => false,
    };
    if is_ours {
        return Some(Signal::Refused(Refusal {
            before_rcpt,
            closing,
            about_our_address,
            about_our_rate: !about_our_address
                && (scope == Scope::Rate || (closing && scope == Scope::Nothing)),
            is_trouble: !blocked || finding.reason == Reason::Greylisted,
            hint: hint.map(|seconds| Duration::from_secs(seconds.into())),
            words,
        }));
    }
    let is_greylisting = finding.rule.is_some_and(|rule| GREYLISTING_BY_NAME.contains(&rule));
    (!before_rcpt && !reply.is_positive() && !is_greylisting).then_some(Signal::Unread)
}

#[cfg(test)]
mod tests {
    use rcpt_verdict::{Parties, judge};

    use super::{Reply, Signal, Stage, signal};

    fn is_refused(stage: Stage, reply: &str) -> bool {
        let reply = Reply::parse(&format!("{reply}\r\n")).unwrap();
        match signal(judge(stage, &reply, &Parties::default()), stage, &reply, "") {
            Some(Signal::Answered { refused }) => refused,
            Some(Signal::AcceptedLikeAny) | None => false,
            Some(Signal::Refused(refusal)) => !refusal.before_rcpt,
            Some(Signal::Unread) => true,
        }
    }

    #[test]
    fn each_reply_at_rcpt_is_a_refused_recipient_but_acceptance_and_greylisting_by_name() {
        for reply in [
            "550 5.1.1 User unknown",
            "554 5.7.1 Relay access denied",
            "550 sorry, there is nobody called that way over here",
            "550 naslov ni pravi",
            "550",
            "450 4.2.0 try again later",
            "451 4.7.1 try again later",
            "451 unknown local part",
            "450 4.1.1 unverified address",
            "450 4.7.1 rate limit exceeded for your IP",
            "450 4.2.1 The user is receiving mail too quickly",
            "452 4.2.2 Mailbox full",
            "451 4.3.0 Internal error",
            "421 4.7.0 Too many recipients",
            "550 5.7.1 blocked using zen.spamhaus.org",
            "577 no",
        ] {
            assert!(is_refused(Stage::Rcpt, reply), "{reply}");
            assert!(!is_refused(Stage::Mail, reply), "{reply}");
        }
        for reply in [
            "250 ok",
            "252 perhaps",
            "220 what?",
            "450 4.2.0 Greylisted, see http://postgrey.schweikert.ch/",
            "451 4.7.1 Greylisting in action, please come back later",
        ] {
            assert!(!is_refused(Stage::Rcpt, reply), "{reply}");
        }
    }
}
