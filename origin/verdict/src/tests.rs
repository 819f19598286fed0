//! `policy` tests every row of the tables of `docs/verdicts.md`; `golden` replies of real servers;
//! `words` the effect of each phrase in any context.

mod cost;
mod documented;
mod golden;
mod kinds;
mod languages;
mod parties;
mod policy;
mod reception;
mod rows;
mod wordings;
mod words;

use rcpt_shared::{Reason, Stage, Status};
use rcpt_smtp::Reply;

use super::{Finding, Parties, Scope};

/// Neither side of the conversation is known.
pub(super) fn judge(stage: Stage, reply: &Reply) -> Finding {
    super::judge(stage, reply, &Parties::default())
}

/// The scope that follows from a reason. `Blocked` has none of its own: its words decide.
fn reach(reason: Reason, code: u16, finding: &Finding) -> Scope {
    match reason {
        Reason::Blocked => finding.reception.scope,
        Reason::RateLimited => Scope::Rate,
        Reason::ReverseDnsRequired => Scope::OurAddress,
        Reason::Greylisted | Reason::RelayDenied => Scope::DomainRule,
        _ if code == 421 => Scope::Rate,
        _ => Scope::Nothing,
    }
}

/// Name, stage, reply with `\n` between its lines, status, reason.
type Case = (&'static str, Stage, &'static str, Status, Reason);

/// Reports all failing cases, not only the first.
fn check(cases: &[Case]) {
    let wrong: Vec<_> = cases
        .iter()
        .filter_map(|(name, stage, raw, status, reason)| {
            let raw = raw.replace("\\n", "\r\n") + "\r\n";
            let reply = Reply::parse(&raw).unwrap_or_else(|| panic!("{name}: not a reply: {raw}"));
            let finding = judge(*stage, &reply);
            let outcome = (finding.status, finding.reason, reach(*reason, reply.code, &finding));
            let due = (*status, *reason, finding.reception.scope);
            (outcome != due).then(|| format!("{name}: {raw}  told {outcome:?}\n  due  {due:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
