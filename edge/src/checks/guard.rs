//! The sign-up guard: decides within a deadline which addresses an account's own forms reject. An
//! address that couldn't be checked is allowed.

mod decision;
mod domains;
pub mod hook;
mod judgement;

use std::sync::Arc;

use axum::{Json, extract::State};
use chrono::{DateTime, NaiveDate, Utc};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use utoipa::ToSchema;

pub use decision::{__path_decide, decide};
pub use hook::{__path_supabase, supabase};

use crate::{
    app::{App, policies::StoredPolicy},
    cf::clock,
    checks::guard_sql::{self, OwnerAction, PolicyChange, RefusalCount},
    credentials::{guard_hook::GuardHook, session::Session},
    error::{Error, PlainError},
    extract::{json_body::StrictBody, request::RequestContext},
    json,
    limits::quota::date_time,
};

const DEADLINE_RANGE_MS: std::ops::RangeInclusive<u64> = 300..=4_000;
/// Per list.
const DOMAINS_MAX: usize = 200;
/// Seconds for which a replaced hook keeps working.
const BOTH_WORK_S: u64 = 24 * 60 * 60;

/// Kinds of addresses that a policy may reject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefusedKind {
    /// No email address.
    Invalid,
    /// The address can't receive mail.
    Undeliverable,
    /// A throw-away mailbox, by our lists.
    Disposable,
    /// Its mail server is a throw-away service's.
    Suspected,
    /// A forwarding service, such as Hide My Email.
    Relay,
    /// A role, such as `info@`.
    Role,
    /// Its mail servers are a parking service's.
    Parked,
}

/// The rules of sign-up forms.
#[derive(Debug, Serialize, ToSchema)]
pub struct GuardPolicy {
    /// Kinds of addresses that are rejected.
    pub refuse: Vec<RefusedKind>,
    /// Domains that are always allowed, including their subdomains.
    pub allow_domains: Vec<String>,
    /// Domains that are always rejected, including their subdomains.
    pub block_domains: Vec<String>,
    /// Milliseconds after which an undecided address is allowed.
    pub deadline_ms: u64,
    /// Null in an export.
    pub supabase: Option<SupabaseHook>,
    /// Rejections of the last 30 days, newest first.
    pub refusals: Vec<DailyRefusals>,
}

/// The hook for Supabase's *Before User Created*.
#[derive(Debug, Serialize, ToSchema)]
pub struct SupabaseHook {
    /// Its path at this service.
    #[schema(example = "/v1/guard/hooks/supabase/0000000000000000000000000000000000000")]
    pub path: String,
    /// The secret that Supabase signs with.
    pub secret: String,
    /// Time until which the previous path and secret work too; null if they don't.
    pub previous_until: Option<DateTime<Utc>>,
}

/// Rejections of one day for one reason.
#[derive(Debug, Serialize, ToSchema)]
pub struct DailyRefusals {
    /// The day, in UTC.
    pub date: NaiveDate,
    /// A kind of `refuse`, or `blocked_domain`.
    pub reason: String,
    pub count: u64,
}

/// Body of `PUT /guard`. Absent members stay unchanged.
// A misspelt member of a policy would leave a form open without a word.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GuardSettings {
    /// Kinds of addresses to reject.
    #[serde(default)]
    #[schema(nullable = false)]
    pub refuse: Option<Vec<RefusedKind>>,
    /// Domains to allow always, including their subdomains.
    #[serde(default)]
    #[schema(nullable = false, max_items = 200)]
    pub allow_domains: Option<Vec<String>>,
    /// Domains to reject always, including their subdomains.
    #[serde(default)]
    #[schema(nullable = false, max_items = 200)]
    pub block_domains: Option<Vec<String>>,
    /// Milliseconds after which an undecided address is allowed.
    #[serde(default)]
    #[schema(nullable = false, minimum = 300, maximum = 4_000)]
    pub deadline_ms: Option<u64>,
    // Members of the policy that can't be set: a program may send back what it has read.
    #[serde(default, rename = "supabase")]
    #[schema(ignore)]
    _supabase: IgnoredAny,
    #[serde(default, rename = "refusals")]
    #[schema(ignore)]
    _refusals: IgnoredAny,
}

impl GuardPolicy {
    /// The policy without the hook and its secret.
    pub fn without_secret(mut self) -> Self {
        self.supabase = None;
        self
    }
}

impl GuardSettings {
    fn change(self) -> Result<PolicyChange, Error> {
        if self.deadline_ms.is_some_and(|deadline| !DEADLINE_RANGE_MS.contains(&deadline)) {
            let detail = "The 'deadline_ms' field must be a whole number from 300 to 4000.";
            return Err(Error::invalid_body(detail));
        }
        let refuse = self.refuse.map(|mut kinds| {
            kinds.sort_unstable_by_key(|kind| *kind as u8);
            kinds.dedup();
            serde_json::to_string(&kinds).unwrap_or_default()
        });
        let allow = self.allow_domains.map(|list| domains::read("allow_domains", &list));
        let block = self.block_domains.map(|list| domains::read("block_domains", &list));
        let (allow, block) = (allow.transpose()?, block.transpose()?);
        let text = |list: Vec<String>| serde_json::to_string(&list).unwrap_or_default();
        Ok(PolicyChange {
            refuse,
            allow_domains: allow.map(text),
            block_domains: block.map(text),
            deadline_ms: self.deadline_ms,
        })
    }
}

async fn act(app: &App, session: Session, action: OwnerAction) -> Result<Json<GuardPolicy>, Error> {
    let database = app.databases.of(session.account)?;
    let changes = !matches!(action, OwnerAction::Read);
    let done = guard_sql::act(database, session, action, clock::now()).await?;
    if changes {
        app.policies.forget(session.account);
    }
    let (stored, refusals) = done.ok_or_else(Error::invalid_session)?;
    Ok(Json(to_response(app, stored, refusals)))
}

fn to_response(app: &App, stored: StoredPolicy, refusals: Vec<RefusalCount>) -> GuardPolicy {
    let keys = &app.config.api_key_secrets;
    let hook = GuardHook { account: stored.account_id, version: stored.hook_version };
    let previous = stored.previous_until;
    let refusals = refusals.into_iter().map(|row| DailyRefusals {
        date: date_time(row.day.saturating_mul(24 * 60 * 60)).date_naive(),
        reason: row.reason,
        count: row.count,
    });
    GuardPolicy {
        refuse: json::read(stored.refuse.as_bytes()).unwrap_or_default(),
        allow_domains: json::read(stored.allow_domains.as_bytes()).unwrap_or_default(),
        block_domains: json::read(stored.block_domains.as_bytes()).unwrap_or_default(),
        deadline_ms: stored.deadline_ms,
        supabase: Some(SupabaseHook {
            path: format!("/v1/guard/hooks/supabase/{}", hook.name(keys)),
            secret: hook.secret(keys),
            previous_until: (previous > clock::now()).then(|| date_time(previous)),
        }),
        refusals: refusals.collect(),
    }
}

/// Show the sign-up guard
///
/// The rules of your sign-up forms, the hook for your auth product, and the numbers of refusals.
#[utoipa::path(
    get, path = "/v1/guard", tag = "Guard", operation_id = "showGuard",
    responses(
        (status = 200, description = "The policy", body = GuardPolicy),
    ),
    security(("Session" = [])),
)]
pub async fn show(
    State(app): State<Arc<App>>,
    session: Session,
) -> Result<Json<GuardPolicy>, Error> {
    act(&app, session, OwnerAction::Read).await
}

/// Set the sign-up guard
///
/// The whole body is checked first: if anything is wrong, nothing changes. A change applies everywhere within ten
/// seconds.
#[utoipa::path(
    put, path = "/v1/guard", tag = "Guard", operation_id = "updateGuard",
    request_body = GuardSettings,
    responses(
        (status = 200, description = "The policy", body = GuardPolicy),
        (status = 400, description = "`invalid_body`: an unknown member or kind, a text that is no domain, or a number out of its range", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn update(
    State(app): State<Arc<App>>,
    context: RequestContext,
    session: Session,
    StrictBody(body): StrictBody<GuardSettings>,
) -> Result<Json<GuardPolicy>, Error> {
    act(&app, session, OwnerAction::Change(body.change()?, context.event())).await
}

/// Replace the guard's hook
///
/// The hook gets another path and another secret. The previous ones work for a day, so that no sign-up is lost while
/// you change over.
#[utoipa::path(
    post, path = "/v1/guard/secret", tag = "Guard", operation_id = "rotateGuardSecret",
    responses(
        (status = 200, description = "The policy", body = GuardPolicy),
    ),
    security(("Session" = [])),
)]
pub async fn rotate_secret(
    State(app): State<Arc<App>>,
    context: RequestContext,
    session: Session,
) -> Result<Json<GuardPolicy>, Error> {
    let until = clock::now().saturating_add(BOTH_WORK_S);
    act(&app, session, OwnerAction::Rotate { until, event: context.event() }).await
}

#[cfg(test)]
mod tests {
    use super::{GuardSettings, RefusedKind};

    fn change(body: &str) -> Result<(Option<String>, Option<String>), String> {
        let settings: GuardSettings = crate::extract::json_body::parse_strict(body.as_bytes())
            .map_err(|error| format!("{error:?}"))?;
        let change = settings.change().map_err(|error| format!("{error:?}"))?;
        Ok((change.refuse, change.allow_domains))
    }

    #[test]
    fn a_setting_that_is_absent_is_no_change_and_lists_are_kept_in_one_form() {
        assert_eq!(change("{}"), Ok((None, None)));
        let body = r#"{"refuse":["relay","invalid","relay"],"allow_domains":["Example.ORG.","b\u00fccher.example"]}"#;
        let refuse = Some(r#"["invalid","relay"]"#.to_owned());
        let domains = Some(r#"["example.org","xn--bcher-kva.example"]"#.to_owned());
        assert_eq!(change(body), Ok((refuse, domains)));
        assert_eq!(change(r#"{"refuse":[]}"#), Ok((Some("[]".to_owned()), None)));
    }

    #[test]
    fn bad_settings_are_named() {
        let many = format!(r#"{{"block_domains":[{}"a.example"]}}"#, r#""a.example","#.repeat(200));
        for (body, text) in [
            (
                r#"{"refuse":["catch_all"]}"#,
                "'refuse[0]' field can't be 'catch_all'. It is one of: invalid, undeliverable,",
            ),
            (r#"{"refuse":"relay"}"#, "'refuse' field must be a list"),
            (r#"{"allow_domains":["example.org","ann@example.org"]}"#, "'allow_domains[1]'"),
            (r#"{"block_domains":["com"]}"#, "'block_domains[0]'"),
            (many.as_str(), "'block_domains' field must have 200 domains at most"),
            (r#"{"deadline_ms":299}"#, "300 to 4000"),
            (r#"{"deadline_ms":4001}"#, "300 to 4000"),
            (
                r#"{"block_domain":["a.example"]}"#,
                "'block_domain' field. Did you mean 'block_domains'?",
            ),
            (r#"{"deadline":1}"#, "Did you mean 'deadline_ms'?"),
            (r#"{"daily":1}"#, "There is no 'daily' field."),
        ] {
            let error = change(body).unwrap_err();
            assert!(error.contains(text) && error.contains("invalid_body"), "{body}: {error}");
        }
    }

    #[test]
    fn kinds_have_the_names_of_the_documents() {
        let kinds = serde_json::to_string(&[RefusedKind::Invalid, RefusedKind::Parked]).unwrap();
        assert_eq!(kinds, r#"["invalid","parked"]"#);
    }
}
