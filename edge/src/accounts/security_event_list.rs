//! Security events of an account, shown to its owner.

use std::sync::Arc;

use axum::{Json, extract::State};
use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    app::App,
    cf::clock,
    credentials::session::Session,
    error::Error,
    ledger::security_events::{self, StoredEvent},
};

/// Security events of the account.
#[derive(Debug, Serialize, ToSchema)]
pub struct SecurityEvents {
    /// Newest first; at most 100, of the last 90 days.
    events: Vec<SecurityEvent>,
}

/// An action on the account, or an attempt. Sign-ins are listed one by one; each other kind has one event for each day
/// in UTC.
#[derive(Debug, Serialize, ToSchema)]
pub struct SecurityEvent {
    /// Sign-in: `signed_in`, `sign_in_failed`, `wrong_code`, `wrong_password` (required again within a session),
    /// `passkey_failed`, `passkey_added` or `passkey_removed`.
    /// Password and codes: `password_changed`, `two_factor_on`, `two_factor_off`, `recovery_code_used` or
    /// `recovery_codes_replaced`. Keys: `key_replaced`, `key_shown`, `key_made` or `key_ended_itself`.
    /// Address: `email_change_asked` or `email_changed`. Changes that were stopped: `changes_stopped`. Recovery by an operator:
    /// `recovery_pending`, `recovery_stopped` or `account_recovered`. Others: `webhook_changed`, `guard_changed`,
    /// `guard_secret_replaced`, `session_ended` (one session, in the list of sessions), `signed_out_everywhere` or `data_exported`. More may be
    /// added.
    #[schema(example = "signed_in")]
    kind: String,
    /// Time of the event; of several on one day, of the last one.
    at: DateTime<Utc>,
    /// Number of such events on that day.
    count: u32,
    /// Such as `Firefox on Linux`, of the last time. Null when it isn't known.
    browser: Option<String>,
    /// Two letters (ISO 3166), such as `DE`, of the last time. Null when it isn't known.
    country: Option<String>,
}

impl SecurityEvent {
    fn of(event: StoredEvent) -> Result<Self, Error> {
        let if_known = |text: String| Some(text).filter(|text| !text.is_empty());
        let at = DateTime::from_timestamp(event.at, 0);
        Ok(Self {
            at: at.ok_or_else(|| Error::internal("an event's time is out of range"))?,
            kind: event.kind,
            count: event.count,
            browser: if_known(event.browser),
            country: if_known(event.country),
        })
    }
}

/// List security events
///
/// Sign-ins, failed attempts, and changes that decide who can use the account. Failed attempts don't displace other
/// events.
#[utoipa::path(
    get, path = "/v1/me/events", tag = "Account", operation_id = "securityEvents",
    responses((status = 200, description = "The events", body = SecurityEvents)),
    security(("Session" = [])),
)]
pub async fn list(
    State(app): State<Arc<App>>,
    session: Session,
) -> Result<Json<SecurityEvents>, Error> {
    let database = app.databases.of(session.account)?;
    let events = security_events::list(database, session, clock::now()).await?;
    let events = events.ok_or_else(Error::invalid_session)?.into_iter().map(SecurityEvent::of);
    Ok(Json(SecurityEvents { events: events.collect::<Result<_, _>>()? }))
}
