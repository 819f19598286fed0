//! Converts a reply to the pool's signal.

use std::time::Duration;

use rcpt_pool::{Refusal, Signal};
use rcpt_shared::{Reason, Stage, Status};
use rcpt_smtp::Reply;
use rcpt_verdict::{Finding, Reception, Scope};

pub(super) const fn is_about_recipient(finding: Finding) -> bool {
    matches!(finding.status, Status::Accepted | Status::Refused)
}

/// Returns the signal for the pool. Greylisting and relay refusals apply to one recipient or
/// domain, and mean nothing for others.
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
    is_ours.then_some(Signal::Refused(Refusal {
        before_rcpt,
        closing,
        about_our_address,
        hint: hint.map(|seconds| Duration::from_secs(seconds.into())),
        words,
    }))
}
