//! Responses of the API (`edge/openapi.json`). Members unknown to this version are in `further`, and are serialised
//! again.

use std::collections::BTreeMap;

use rcpt_shared::{CatchAll, Confidence, Deliverability, DomainKind, Status};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    pub email: String,
    #[serde(default)]
    pub verdict: Deliverability,
    pub status: Status,
    /// True if the verdict is that of a recent identical check; `None` for a malformed address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<bool>,
    /// True if the verdict hadn't arrived by the deadline; a repeat with the same `Idempotency-Key` returns it later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pending: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Details>,
    #[serde(flatten)]
    pub further: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Details {
    pub confidence: Confidence,
    /// A word such as `no_such_mailbox`. New ones may be added.
    pub reason: String,
    /// In a text that isn't an address.
    pub problem: Option<String>,
    /// Operator of the mail server, if it is a known one.
    pub operator: Option<String>,
    /// The mail server that decided.
    pub mx_host: Option<String>,
    pub smtp_code: Option<u16>,
    /// Enhanced status code of the reply (RFC 3463), such as `5.1.1`.
    pub enhanced_code: Option<String>,
    /// Text of the reply, without addresses; `None` in a cached result.
    pub smtp_text: Option<String>,
    /// Whether the domain accepts every recipient.
    #[serde(default)]
    pub catch_all: CatchAll,
    /// `None` if the text isn't an address.
    pub domain: Option<DomainFacts>,
    #[serde(default)]
    pub disposable: bool,
    #[serde(default)]
    pub role_account: bool,
    #[serde(default)]
    pub free_provider: bool,
    pub suggestion: Option<String>,
    /// Seconds after which another check may give a different result.
    pub retry_after: Option<u32>,
    #[serde(flatten)]
    pub further: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListValidation {
    /// In the order of the request.
    pub results: Vec<Validation>,
    /// Number of charged results: all but those with `fatal_exception`. `None` while a result is
    /// pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<u32>,
    /// True if a verdict hadn't arrived by the deadline; a repeat with the same `Idempotency-Key`
    /// returns all verdicts later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pending: bool,
    #[serde(flatten)]
    pub further: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    pub decision: Choice,
    /// The address to store: the text without a name and blanks around it.
    pub email: String,
    pub verdict: Deliverability,
    /// With [`Choice::Refuse`], a kind of the policy or `blocked_domain`; otherwise the verdict's reason, or why there
    /// is no verdict. New ones may be added.
    pub reason: String,
    pub message: Option<String>,
    pub suggestion: Option<String>,
    #[serde(flatten)]
    pub further: BTreeMap<String, Value>,
}

/// Whether an address may sign up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    Allow,
    Refuse,
}

/// The facts about a domain: its kind, its operator, and whether it accepts mail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DomainFacts {
    /// The domain, in lower case and in ASCII.
    pub name: String,
    /// [`DomainKind::Unknown`] also for a kind that this version doesn't know.
    pub kind: DomainKind,
    /// True if DNS names a server for the domain's mail; `None` when this couldn't be determined.
    pub accepts_mail: Option<bool>,
    /// Operator of the forwarding service or of the mail server.
    pub operator: Option<String>,
    /// [`DomainKind::Disposable`] if the domain's mail server belongs to a service for disposable mailboxes.
    pub suspected: Option<DomainKind>,
    pub evidence: Vec<DomainEvidence>,
    #[serde(flatten)]
    pub further: BTreeMap<String, Value>,
}

/// The answer about a domain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Domain {
    pub suggestion: Option<String>,
    #[serde(flatten)]
    pub facts: DomainFacts,
}

/// A piece of evidence for the kind of a domain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DomainEvidence {
    /// A word such as `list`. New ones may be added.
    pub source: String,
    pub list: Option<String>,
    /// Day of the list, `YYYY-MM-DD`.
    pub as_of: Option<String>,
    #[serde(flatten)]
    pub further: BTreeMap<String, Value>,
}

/// The plan and the remaining allowances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quota {
    pub plan: String,
    pub unlimited: bool,
    pub resets_at: String,
    pub email_checks: Allowance,
    pub scans: ScanAllowance,
    #[serde(flatten)]
    pub further: BTreeMap<String, Value>,
}

/// Today's allowance of checks, and the remaining welcome checks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Allowance {
    pub daily_allowance: i64,
    pub used_today: i64,
    pub left_today: i64,
    pub welcome_left: i64,
    #[serde(flatten)]
    pub further: BTreeMap<String, Value>,
}

/// Today's allowance of scans, and the scan credits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScanAllowance {
    pub daily_allowance: i64,
    pub used_today: i64,
    pub left_today: i64,
    pub credits: i64,
    #[serde(flatten)]
    pub further: BTreeMap<String, Value>,
}

/// The account, key and session that a sign-in returns.
#[derive(Debug, Deserialize)]
pub struct SignIn {
    pub email: String,
    pub api_key: SecretString,
    /// The session ends with [`crate::Client::sign_out`] or when it expires.
    pub token: SecretString,
}
