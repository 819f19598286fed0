//! A policy's decision about an address, from its lists and the result of a check, without I/O.

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use rcpt_shared::{DomainKind, Status};
use serde::Serialize;
use utoipa::ToSchema;

use super::{super::validate_email::ValidationResult, RefusedKind, domains::holds};
use crate::{error::Outcome, store::guard::StoredPolicy};

/// Whether an address may sign up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Decision {
    /// `allow` or `refuse`.
    #[schema(value_type = String, example = "refuse")]
    pub decision: &'static str,
    /// The kind of `refuse` that fits, or `blocked_domain`. With `allow`: `accepted`, `allowed_domain`, `not_in_time`, or why nothing
    /// could be found out, such as `used_up` or `unavailable`. New reasons may be added.
    #[schema(value_type = String, example = "disposable")]
    pub reason: &'static str,
    /// A sentence for the person who signs up. Null with `allow`.
    pub message: Option<&'static str>,
    /// The address that was probably meant.
    pub suggestion: Option<String>,
}

impl IntoResponse for Decision {
    fn into_response(self) -> Response {
        let outcome = Outcome(self.decision);
        let mut response = Json(self).into_response();
        response.extensions_mut().insert(outcome);
        response
    }
}

impl Decision {
    pub fn allow(reason: &'static str) -> Self {
        Self { decision: "allow", reason, message: None, suggestion: None }
    }

    pub fn refuse(reason: &'static str, message: &'static str, suggestion: Option<String>) -> Self {
        Self { decision: "refuse", reason, message: Some(message), suggestion }
    }

    pub fn is_refusal(&self) -> bool {
        self.message.is_some()
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
            refuse: serde_json::from_str(&stored.refuse).unwrap_or_default(),
            allow: serde_json::from_str(&stored.allow_domains).unwrap_or_default(),
            block: serde_json::from_str(&stored.block_domains).unwrap_or_default(),
            deadline_ms: stored.deadline_ms,
        }
    }

    /// Returns the decision of the account's own lists for a domain, if they contain it. The list
    /// of allowed domains is consulted first.
    pub fn by_own_lists(&self, domain: &str) -> Option<Decision> {
        if holds(&self.allow, domain) {
            Some(Decision::allow("allowed_domain"))
        } else {
            self.by_block_list(domain)
        }
    }

    /// Returns the decision of the list of blocked domains, if it contains the domain. A text that isn't an address is
    /// compared with this list alone, so that no spelling gets past it.
    pub fn by_block_list(&self, domain: &str) -> Option<Decision> {
        holds(&self.block, domain).then(|| Decision::refuse("blocked_domain", BLOCKED, None))
    }

    /// Returns the decision for the result of a check, by the kinds that the policy refuses. While a result is pending,
    /// only evidence from lists and DNS can cause a rejection.
    pub fn by_result(&self, result: &ValidationResult) -> Decision {
        let is_pending = result.pending.is_some();
        let suggestion = || result.details.as_ref().and_then(|details| details.suggestion.clone());
        let first_match =
            ORDER.iter().find(|(kind, _)| self.refuse.contains(kind) && is(*kind, result));
        match first_match {
            Some((kind, message)) => Decision::refuse(kind.as_str(), message, suggestion()),
            None => {
                let reason = if is_pending { "not_in_time" } else { "accepted" };
                Decision { suggestion: suggestion(), ..Decision::allow(reason) }
            }
        }
    }
}

const BLOCKED: &str = "Addresses of this domain can't be used here. Use another one.";

/// Kinds and texts for the person who signs up. The first kind that applies and
/// that the policy refuses is the reason.
const ORDER: [(RefusedKind, &str); 7] = [
    (RefusedKind::Invalid, "This isn't an email address. Check it for typing mistakes."),
    (RefusedKind::Disposable, "Throw-away addresses can't be used here. Use another one."),
    (
        RefusedKind::Parked,
        "This domain doesn't receive email. Check the address for typing mistakes.",
    ),
    (RefusedKind::Undeliverable, "This address can't receive email. Check it for typing mistakes."),
    (RefusedKind::Suspected, "Throw-away addresses can't be used here. Use another one."),
    (
        RefusedKind::Relay,
        "Forwarding addresses can't be used here. Use the address of your mailbox.",
    ),
    (RefusedKind::Role, "Addresses shared by a group can't be used here. Use one of your own."),
];

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
    let details = result.details.as_ref();
    let domain = details.and_then(|details| details.domain.as_ref());
    let is_domain = |kind| domain.is_some_and(|domain| domain.kind == kind);
    match kind {
        RefusedKind::Invalid => result.status == Status::InvalidFormat,
        // Earlier releases of an origin send only the status.
        RefusedKind::Undeliverable => {
            matches!(result.status, Status::Refused | Status::DomainNotFound | Status::NoMxRecords)
        }
        RefusedKind::Disposable => is_domain(DomainKind::Disposable),
        RefusedKind::Parked => is_domain(DomainKind::Parked),
        RefusedKind::Relay => is_domain(DomainKind::Relay),
        RefusedKind::Suspected => domain.is_some_and(|it| it.suspected.is_some()),
        RefusedKind::Role => details.is_some_and(|details| details.role_account),
    }
}
