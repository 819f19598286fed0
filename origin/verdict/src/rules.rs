//! The policy as tables of rows, each with conditions that must all hold, and the result: the first matching row gives
//! a reply's status and reason. A test compares them with `docs/verdicts.md`.

mod before_rcpt;
mod rcpt_permanent;
mod rcpt_transient;

use rcpt_shared::{Reason, Stage, Status};

use crate::{Scope, phrases::Meaning, reading::Reading};
use before_rcpt::BEFORE_RCPT;
use rcpt_permanent::RCPT_PERMANENT;
use rcpt_transient::RCPT_TRANSIENT;

/// Subject and detail of an enhanced status code; only the basic code gives the class.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Enhanced {
    Subject(u16),
    Exactly(u16, u16),
}

impl Enhanced {
    const fn covers(self, (subject, detail): (u16, u16)) -> bool {
        match self {
            Self::Subject(wanted) => subject == wanted,
            Self::Exactly(wanted, which) => subject == wanted && detail == which,
        }
    }
}

/// An empty column matches everything.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    pub name: &'static str,
    stage: Option<Stage>,
    classes: &'static [u16],
    codes: &'static [u16],
    enhanced: &'static [Enhanced],
    says: &'static [Meaning],
    silent_on: &'static [Meaning],
    pub status: Status,
    pub reason: Reason,
    pub scope: Scope,
}

/// A row continues with its conditions and ends with one of the conclusions.
const fn rule(name: &'static str) -> Rule {
    Rule {
        name,
        stage: None,
        classes: &[],
        codes: &[],
        enhanced: &[],
        says: &[],
        silent_on: &[],
        status: Status::BlockedByProvider,
        reason: Reason::Unclear,
        scope: Scope::Nothing,
    }
}

impl Rule {
    const fn stage(self, stage: Stage) -> Self {
        Self { stage: Some(stage), ..self }
    }

    const fn classes(self, classes: &'static [u16]) -> Self {
        Self { classes, ..self }
    }

    const fn codes(self, codes: &'static [u16]) -> Self {
        Self { codes, ..self }
    }

    const fn enhanced(self, enhanced: &'static [Enhanced]) -> Self {
        Self { enhanced, ..self }
    }

    const fn says(self, says: &'static [Meaning]) -> Self {
        Self { says, ..self }
    }

    const fn silent_on(self, silent_on: &'static [Meaning]) -> Self {
        Self { silent_on, ..self }
    }

    const fn concludes(self, status: Status, reason: Reason, scope: Scope) -> Self {
        Self { status, reason, scope, ..self }
    }

    const fn accepted(self) -> Self {
        self.concludes(Status::Accepted, Reason::Accepted, Scope::Nothing)
    }

    const fn refused(self, reason: Reason) -> Self {
        self.concludes(Status::Refused, reason, Scope::Nothing)
    }

    const fn unanswered(self, reason: Reason) -> Self {
        self.concludes(Status::SmtpConnectError, reason, Scope::Nothing)
    }

    /// The policy may be the domain's own.
    const fn blocked(self) -> Self {
        self.concludes(Status::BlockedByProvider, Reason::Blocked, Scope::DomainRule)
    }

    /// Other domains at the server give the same reply.
    const fn our_address(self) -> Self {
        self.concludes(Status::BlockedByProvider, Reason::Blocked, Scope::OurAddress)
    }

    const fn reverse_dns_required(self) -> Self {
        self.concludes(Status::BlockedByProvider, Reason::ReverseDnsRequired, Scope::OurAddress)
    }

    const fn relay_denied(self) -> Self {
        self.concludes(Status::BlockedByProvider, Reason::RelayDenied, Scope::DomainRule)
    }

    const fn rate_limited(self) -> Self {
        self.concludes(Status::BlockedByProvider, Reason::RateLimited, Scope::Rate)
    }

    const fn greylisted(self) -> Self {
        self.concludes(Status::BlockedByProvider, Reason::Greylisted, Scope::DomainRule)
    }

    /// The mailbox exists but gets too much mail; no other recipient is affected.
    const fn busy(self) -> Self {
        self.concludes(Status::BlockedByProvider, Reason::MailboxBusy, Scope::Nothing)
    }

    /// A possible refusal of us withholds a `false`, but affects no later recipient.
    const fn perhaps_blocked(self) -> Self {
        self.concludes(Status::BlockedByProvider, Reason::Blocked, Scope::Nothing)
    }

    /// The reply is about neither the recipient nor us. Later recipients are unaffected.
    const fn unclear(self) -> Self {
        self.concludes(Status::BlockedByProvider, Reason::Unclear, Scope::Nothing)
    }

    pub(crate) fn asks_for(&self, meaning: Meaning) -> bool {
        self.says.contains(&meaning)
    }

    pub(crate) fn fits(&self, stage: Stage, code: u16, reading: &Reading<'_>) -> bool {
        let says = |meaning: &Meaning| reading.speaks_of(*meaning);
        let covered = |code| self.enhanced.iter().any(|enhanced| enhanced.covers(code));
        self.stage.is_none_or(|wanted| wanted == stage)
            && (self.classes.is_empty() || self.classes.contains(&(code / 100)))
            && (self.codes.is_empty() || self.codes.contains(&code))
            && (self.enhanced.is_empty() || reading.enhanced.is_some_and(covered))
            && (self.says.is_empty() || self.says.iter().any(says))
            && !self.silent_on.iter().any(says)
    }

    #[cfg(test)]
    const fn is_unconditional(&self) -> bool {
        self.stage.is_none()
            && self.classes.is_empty()
            && self.codes.is_empty()
            && self.enhanced.is_empty()
            && self.says.is_empty()
            && self.silent_on.is_empty()
    }
}

/// Formats the row as in `docs/verdicts.md`, without its last column: `,` between alternatives, `;` between conditions.
#[cfg(test)]
impl Rule {
    pub(crate) fn documented(&self) -> String {
        let listed = |parts: Vec<String>| parts.join(", ");
        let joined = |parts: [String; 3]| {
            parts.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join("; ")
        };
        let stage = self.stage.map(|stage| format!("{stage:?}")).unwrap_or_default();
        let classes = self.classes.iter().map(|class| format!("{class}yz"));
        let codes = listed(classes.chain(self.codes.iter().map(u16::to_string)).collect());
        let enhanced = self.enhanced.iter().map(|enhanced| match enhanced {
            Enhanced::Subject(subject) => format!("x.{subject}.*"),
            Enhanced::Exactly(subject, detail) => format!("x.{subject}.{detail}"),
        });
        let names_of = |meanings: &[Meaning]| listed(meanings.iter().map(|it| it.name()).collect());
        let silent_on = names_of(self.silent_on);
        let not = if silent_on.is_empty() { String::new() } else { format!("not {silent_on}") };
        let scope = match self.scope {
            Scope::Nothing => "",
            Scope::OurAddress => "; our address",
            Scope::DomainRule => "; domain",
            Scope::Rate => "; rate",
        };
        format!(
            "| `{}` | {} | {} | {}, {}{scope} |",
            self.name,
            joined([stage, codes, listed(enhanced.collect())]),
            joined([names_of(self.says), not, String::new()]),
            self.status.as_str(),
            self.reason.as_str(),
        )
    }
}

/// RCPT answered with 2yz or 3yz.
const RCPT_POSITIVE: &[Rule] = &[
    // 252 is "cannot verify, but will accept". 211, 214, 220, 221, 235 and 253 are replies to other commands.
    rule("2yz.accepted").codes(&[250, 251, 252]).accepted(),
    rule("2yz.out-of-place").unanswered(Reason::ProtocolError),
];

/// The first match decides. The last rule of each table matches everything.
pub(super) const fn of(stage: Stage, code: u16) -> &'static [Rule] {
    match (stage, code / 100) {
        (Stage::Rcpt, 4) => RCPT_TRANSIENT,
        (Stage::Rcpt, 5) => RCPT_PERMANENT,
        (Stage::Rcpt, _) => RCPT_POSITIVE,
        _ => BEFORE_RCPT,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rcpt_shared::Stage;

    use crate::rules;

    #[test]
    fn each_table_ends_with_a_rule_without_conditions_and_names_are_said_once() {
        let mut names = HashSet::new();
        for (stage, code) in
            [(Stage::Mail, 550), (Stage::Rcpt, 250), (Stage::Rcpt, 450), (Stage::Rcpt, 550)]
        {
            let (last, others) = rules::of(stage, code).split_last().unwrap();
            assert!(last.is_unconditional(), "{}", last.name);
            for rule in others {
                assert!(!rule.is_unconditional(), "{} hides the rules below it", rule.name);
            }
            names.extend(rules::of(stage, code).iter().map(|rule| rule.name));
        }
        let all = [(Stage::Mail, 550), (Stage::Rcpt, 250), (Stage::Rcpt, 450), (Stage::Rcpt, 550)];
        let count: usize = all.iter().map(|(stage, code)| rules::of(*stage, *code).len()).sum();
        assert_eq!(names.len(), count);
    }
}
