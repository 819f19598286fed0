//! A policy's decision about an address, from its lists and the result of a check, without I/O.

use axum::response::{IntoResponse, Response};
use rcpt_shared::{Address, Deliverability, DomainKind, Malformed, Reason, Status, is_role};
use serde::Serialize;
use utoipa::{ToSchema, openapi::Schema};

use super::{
    super::{
        details::{MALFORMED, one_of, verdict_schema},
        result::{ValidationResult, respond},
    },
    RefusedKind,
    domains::holds,
};
use crate::{app::policies::StoredPolicy, error::rate_limit::RateLimit, json};

/// The answer about a sign-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    Allow,
    Refuse,
}

impl Choice {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Refuse => "refuse",
        }
    }
}

/// Whether an address may sign up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Decision {
    #[schema(inline)]
    pub decision: Choice,
    /// The address to store: the text without a name and blanks around it.
    pub email: String,
    #[schema(schema_with = verdict_schema)]
    pub verdict: Deliverability,
    #[schema(schema_with = reason_schema)]
    pub reason: &'static str,
    /// A sentence for the person who signs up. Null with `allow`.
    pub message: Option<&'static str>,
    /// The address that was probably meant.
    pub suggestion: Option<String>,
    #[serde(skip)]
    #[schema(ignore)]
    pub rate_limit: Option<RateLimit>,
    /// False for an address that needs a check and has no verdict yet.
    #[serde(skip)]
    #[schema(ignore)]
    pub has_result: bool,
}

const BLOCKED_DOMAIN: &str = "blocked_domain";
const ALLOWED_DOMAIN: &str = "allowed_domain";
/// Reason for an address without a verdict at the deadline.
pub const NOT_IN_TIME: &str = "not_in_time";
/// Reasons for which no check is made, besides the codes of errors.
pub const UNAVAILABLE: &str = "unavailable";
pub const THROTTLED: &str = "throttled";
pub const USED_UP: &str = "used_up";
const KEY_USED_UP: &str = "key_used_up";
const TOO_MANY_IN_FLIGHT: &str = "too_many_in_flight";
const UPSTREAM: &str = "upstream";

fn reason_schema() -> Schema {
    let kinds = ORDER.iter().map(|(kind, _)| *kind);
    let kinds = [RefusedKind::Invalid, RefusedKind::Role].into_iter().chain(kinds);
    let lists = [BLOCKED_DOMAIN, ALLOWED_DOMAIN];
    let without = [
        NOT_IN_TIME,
        USED_UP,
        KEY_USED_UP,
        THROTTLED,
        TOO_MANY_IN_FLIGHT,
        UNAVAILABLE,
        UPSTREAM,
        MALFORMED,
    ];
    let names: Vec<_> = kinds
        .map(RefusedKind::as_str)
        .chain(lists)
        .chain(without)
        .chain(Reason::ALL.map(Reason::as_str))
        .collect();
    one_of(
        &names,
        "With `refuse`: the kind of the policy's `refuse` that fits, or `blocked_domain`. With `allow`: the reason of \
         the verdict, as in a check's `details`; `allowed_domain`; or why there is no verdict, such as `not_in_time` \
         or `used_up`. New reasons may be added.",
        "disposable",
    )
}

impl IntoResponse for Decision {
    fn into_response(self) -> Response {
        respond(&self, self.rate_limit.clone(), false, self.decision.as_str())
    }
}

impl Decision {
    /// Allows an address without a result.
    pub fn allow(email: &str, reason: &'static str) -> Self {
        Self {
            decision: Choice::Allow,
            email: email.to_owned(),
            verdict: Deliverability::Unknown,
            reason,
            message: None,
            suggestion: None,
            rate_limit: None,
            has_result: false,
        }
    }

    fn refuse(email: &str, reason: &'static str, message: &'static str) -> Self {
        Self {
            decision: Choice::Refuse,
            message: Some(message),
            has_result: true,
            ..Self::allow(email, reason)
        }
    }

    pub fn is_refusal(&self) -> bool {
        self.decision == Choice::Refuse
    }
}

/// A stored policy with its lists parsed; a damaged list counts as empty.
pub struct Policy {
    refuse: Vec<RefusedKind>,
    allow: Vec<String>,
    block: Vec<String>,
    pub deadline_ms: u64,
}

impl Policy {
    pub fn of(stored: &StoredPolicy) -> Self {
        Self {
            refuse: json::read(stored.refuse.as_bytes()).unwrap_or_default(),
            allow: json::read(stored.allow_domains.as_bytes()).unwrap_or_default(),
            block: json::read(stored.block_domains.as_bytes()).unwrap_or_default(),
            deadline_ms: stored.deadline_ms,
        }
    }

    /// The policy for a call whose own policy isn't known: only the form decides.
    pub fn of_form_alone() -> Self {
        let refuse = vec![RefusedKind::Invalid];
        Self { refuse, allow: Vec::new(), block: Vec::new(), deadline_ms: 0 }
    }

    /// The decision about a text that isn't an address. While domains are blocked, no such text is allowed: it might be
    /// another spelling of one of them.
    pub fn about_no_address(&self, malformed: &Malformed) -> Decision {
        let text = malformed.text();
        let decision = if malformed.domains().iter().any(|domain| holds(&self.block, domain)) {
            Decision::refuse(text, BLOCKED_DOMAIN, BLOCKED)
        } else if self.refuses(RefusedKind::Invalid) || !self.block.is_empty() {
            Decision::refuse(text, RefusedKind::Invalid.as_str(), INVALID)
        } else {
            Decision::allow(text, MALFORMED)
        };
        let suggestion = malformed.suggestion();
        Decision { verdict: Deliverability::Undeliverable, suggestion, ..decision }
    }

    /// The decision that needs no check, because it tells the caller nothing new: by the account's own lists, the list
    /// of allowed domains first, or about a role.
    pub fn by_itself(&self, address: &Address) -> Option<Decision> {
        let email = address.as_given();
        if holds(&self.allow, address.domain()) {
            Some(Decision::allow(email, ALLOWED_DOMAIN))
        } else if holds(&self.block, address.domain()) {
            Some(Decision::refuse(email, BLOCKED_DOMAIN, BLOCKED))
        } else if self.refuses(RefusedKind::Role) && is_role(address.local_part()) {
            Some(Decision::refuse(email, RefusedKind::Role.as_str(), ROLE))
        } else {
            None
        }
    }

    pub fn refuses(&self, kind: RefusedKind) -> bool {
        self.refuse.contains(&kind)
    }

    /// The decision for an address without a result, whose domain is on the Worker's list of disposable domains.
    pub fn of_listed(email: &str) -> Decision {
        Decision::refuse(email, RefusedKind::Disposable.as_str(), DISPOSABLE)
    }

    /// The decision for the result of a check, by the kinds that the policy refuses. While a result is pending, only
    /// evidence from lists and DNS can cause a rejection.
    pub fn by_result(&self, result: &ValidationResult) -> Decision {
        let details = result.details.as_ref();
        let first_match = ORDER.iter().find(|(kind, _)| self.refuses(*kind) && is(*kind, result));
        let reason = details.map_or(Reason::Unclear.as_str(), |details| details.reason);
        let decision = match first_match {
            Some((RefusedKind::Undeliverable, _)) => {
                let kind = RefusedKind::Undeliverable.as_str();
                Decision::refuse(&result.email, kind, undeliverable(reason))
            }
            Some((kind, message)) => Decision::refuse(&result.email, kind.as_str(), message),
            None if result.pending.is_some() => Decision::allow(&result.email, NOT_IN_TIME),
            None => Decision { has_result: true, ..Decision::allow(&result.email, reason) },
        };
        Decision {
            verdict: result.verdict,
            suggestion: details.and_then(|details| details.suggestion.clone()),
            rate_limit: result.rate_limit.clone(),
            ..decision
        }
    }
}

const INVALID: &str = "This isn't an email address. Check it for typing mistakes.";
const BLOCKED: &str = "Addresses of this domain can't be used here. Use another one.";
const ROLE: &str = "Addresses shared by a group can't be used here. Use one of your own.";
const DISPOSABLE: &str = "Throw-away addresses can't be used here. Use another one.";
const NO_MAIL: &str = "This domain doesn't receive email. Check the address for typing mistakes.";
const UNDELIVERABLE: &str = "This address can't receive email. Check it for typing mistakes.";

/// Kinds that a check finds out, with texts for the person who signs up. The first kind that applies and that the
/// policy refuses is the reason.
const ORDER: [(RefusedKind, &str); 5] = [
    (RefusedKind::Disposable, DISPOSABLE),
    (RefusedKind::Parked, NO_MAIL),
    (RefusedKind::Undeliverable, UNDELIVERABLE),
    (RefusedKind::Suspected, DISPOSABLE),
    (
        RefusedKind::Relay,
        "Forwarding addresses can't be used here. Use the address of your mailbox.",
    ),
];

/// Only a mailbox or a domain that may not exist can be a typing mistake.
fn undeliverable(reason: &str) -> &'static str {
    if reason == Reason::MailboxFull.as_str() {
        "This mailbox is full. Make room in it, or use another address."
    } else if reason == Reason::MailboxDisabled.as_str() {
        "This mailbox is closed. Use another address."
    } else if reason == Reason::Restricted.as_str() {
        "This address takes no email from outside. Use another one."
    } else {
        UNDELIVERABLE
    }
}

impl RefusedKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Undeliverable => "undeliverable",
            Self::Disposable => "disposable",
            Self::Suspected => "suspected",
            Self::Relay => "relay",
            Self::Role => "role",
            Self::Parked => "parked",
        }
    }
}

fn is(kind: RefusedKind, result: &ValidationResult) -> bool {
    let domain = result.details.as_ref().and_then(|details| details.domain.as_ref());
    let is_domain = |kind| domain.is_some_and(|domain| domain.kind == kind);
    match kind {
        RefusedKind::Undeliverable => {
            matches!(result.status, Status::Refused | Status::DomainNotFound | Status::NoMxRecords)
        }
        RefusedKind::Disposable => is_domain(DomainKind::Disposable),
        RefusedKind::Parked => is_domain(DomainKind::Parked),
        RefusedKind::Relay => is_domain(DomainKind::Relay),
        RefusedKind::Suspected => domain.is_some_and(|it| it.suspected.is_some()),
        // Decided without a check.
        RefusedKind::Invalid | RefusedKind::Role => false,
    }
}

#[cfg(test)]
mod tests {
    use rcpt_shared::{Deliverability, Reason, read};

    use super::{super::RefusedKind, Choice, Policy, undeliverable};

    fn policy(refuse: &[RefusedKind], block: &[&str]) -> Policy {
        let block = block.iter().map(|domain| (*domain).to_owned()).collect();
        let allow = vec!["good.example".to_owned()];
        Policy { refuse: refuse.to_vec(), allow, block, deadline_ms: 1 }
    }

    fn decided(policy: &Policy, text: &str) -> Option<(Choice, &'static str)> {
        let decision = match read(text) {
            Ok(address) => policy.by_itself(&address),
            Err(malformed) => Some(policy.about_no_address(&malformed)),
        };
        decision.map(|decision| (decision.decision, decision.reason))
    }

    #[test]
    fn no_spelling_of_a_blocked_domain_is_allowed() {
        for refuse in [&[][..], &[RefusedKind::Invalid]] {
            let policy = policy(refuse, &["blocked.example", "xn--bcher-kva.example"]);
            for text in [
                "x@blocked.example",
                "x@BLOCKED.example",
                "x@sub.blocked.example",
                "x@blocked.example.",
                "x@blocked.example..",
                "x(comment)@blocked.example",
                "x@(comment)blocked.example",
                "x@blocked.example(comment)",
                "x@[blocked.example]",
                "x @ blocked.example",
                "x@blocked\u{3002}example",
                "x@bloc\u{ad}ked.example",
                "x@B\u{dc}CHER.example.",
                "x@xn--bcher-kva.example.",
                "a@good.example@blocked.example",
                "<x@blocked.example",
                "x@blocked.example>",
                "x@blocked.example/",
                "x@blocked.example?y=@good.example",
            ] {
                let expected = Some((Choice::Refuse, "blocked_domain"));
                assert_eq!(decided(&policy, text), expected, "{text}");
            }
            for text in ["", "nonsense", "x@other.example/"] {
                let refused = Some((Choice::Refuse, "invalid"));
                assert_eq!(decided(&policy, text), refused, "{text}");
            }
            assert_eq!(decided(&policy, "x@notblocked.example"), None);
            let allowed = Some((Choice::Allow, "allowed_domain"));
            assert_eq!(decided(&policy, "\"x@blocked.example\"@good.example"), allowed);
        }
    }

    #[test]
    fn what_is_no_address_is_allowed_only_where_the_policy_says_so_and_blocks_nothing() {
        let lax = policy(&[], &[]);
        let decision = lax.about_no_address(&read("nonsense").unwrap_err());
        assert_eq!(
            (decision.decision, decision.reason, decision.verdict),
            (Choice::Allow, "malformed", Deliverability::Undeliverable)
        );
        let malformed = read("ann@@example.org").unwrap_err();
        let strict = policy(&[RefusedKind::Invalid], &[]).about_no_address(&malformed);
        assert_eq!(strict.suggestion.as_deref(), Some("ann@example.org"));
    }

    #[test]
    fn a_role_is_refused_by_its_name_unless_the_domain_is_always_allowed() {
        let policy = policy(&[RefusedKind::Role], &[]);
        assert_eq!(decided(&policy, "Info+x@other.example"), Some((Choice::Refuse, "role")));
        assert_eq!(decided(&policy, "info@good.example"), Some((Choice::Allow, "allowed_domain")));
        assert_eq!(decided(&policy, "ann@other.example"), None);
    }

    #[test]
    fn only_what_may_be_a_typing_mistake_is_called_one() {
        for reason in Reason::ALL {
            let is_typing = undeliverable(reason.as_str()).contains("typing mistakes");
            let is_certain = matches!(
                reason,
                Reason::MailboxFull | Reason::MailboxDisabled | Reason::Restricted
            );
            assert_eq!(is_typing, !is_certain, "{reason:?}");
        }
    }
}
