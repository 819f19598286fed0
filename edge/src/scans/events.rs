//! Events of ended scans, for programs that poll instead of receiving webhooks: `rcpt listen`, or a server
//! behind a firewall.

use std::sync::Arc;

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    scan_call::ScanCall,
    scans_sql::{self, Cursor, StoredScan},
};
use crate::{
    app::App,
    error::{Error, PlainError},
    webhooks::event::{Announced, WebhookEvent},
};

/// A page of events.
#[derive(Serialize, ToSchema)]
pub struct EventPage {
    /// Oldest first.
    pub events: Vec<ListedEvent>,
    /// Value of `after` for the next events, even if there are none yet.
    pub next: String,
}

/// An event, as a webhook gets it.
#[derive(Serialize, ToSchema)]
pub struct ListedEvent {
    /// The header `webhook-id` of the webhook.
    pub id: String,
    /// The body of the webhook.
    pub event: WebhookEvent,
}

impl From<StoredScan> for Announced {
    fn from(scan: StoredScan) -> Self {
        Self {
            scan_id: scan.id,
            kind: format!("scan.{}", scan.state),
            created_at: scan.ended_at.unwrap_or_default(),
            total: scan.total,
            answered: scan.answered,
            counts: scan.counts,
            by_verdict: scan.by_verdict,
        }
    }
}

const LISTED_S: u64 = 24 * 60 * 60;
const PAGE_ROWS: u32 = 100;

/// The API description has the same pattern (`routes/openapi/completion.rs`).
fn cursor(text: &str) -> Option<Cursor> {
    let (ended_at, scan) = text.split_once('.')?;
    let is_a_time = ended_at.len() <= 15 && ended_at.bytes().all(|byte| byte.is_ascii_digit());
    let is_a_scan = scan.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_a_time && is_a_scan).then_some(())?;
    Some(Cursor { ended_at: ended_at.parse().ok()?, scan: scan.to_owned() })
}

/// List events
///
/// Scans of the account that completed or expired within the last 24 hours, as webhooks get them. A scan is listed about a
/// second after its end. Pass `next` as `after`: nothing is lost or listed twice.
#[utoipa::path(
    get, path = "/v1/events", tag = "Scans", operation_id = "listEvents",
    params(("after" = Option<String>, Query, description = "`next` of the previous page; by default from the beginning")),
    responses(
        (status = 200, description = "At most 100 events", body = EventPage),
        (status = 400, description = "`invalid_query`", body = PlainError),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn list(State(app): State<Arc<App>>, call: ScanCall) -> Result<Json<EventPage>, Error> {
    let after = call.query("after").unwrap_or("0.");
    let cursor = cursor(after).ok_or_else(|| {
        Error::invalid_query("The 'after' parameter must be the 'next' of a page of events.")
    })?;
    let (database, since) = (app.databases.of(call.caller.account)?, call.now - LISTED_S);
    let ended = scans_sql::events_after(database, call.caller, &cursor, since, PAGE_ROWS).await?;
    let ended = ended.ok_or_else(|| call.caller.proof.to_error())?;
    let next =
        ended.last().map(|scan| format!("{}.{}", scan.ended_at.unwrap_or_default(), scan.id));
    let next = next.unwrap_or_else(|| after.to_owned());
    let events = ended.into_iter().map(|scan| ListedEvent {
        id: WebhookEvent::id_of(&scan.id),
        event: WebhookEvent::of(scan.into()),
    });
    Ok(Json(EventPage { events: events.collect(), next }))
}
