//! The call of the operator's program that sells plans, signed as in Standard Webhooks. It sets plans and nothing else.

use std::sync::Arc;

use axum::{
    Json,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, HeaderName},
};
use chrono::{DateTime, Utc};
use rcpt_shared::KeyRing;
use serde::{Deserialize, Serialize};

use crate::{
    app::App,
    cf::clock,
    credentials::{
        account_reference,
        signed_message::{ID, SIGNATURE, SignedMessage, TIMESTAMP, TOLERANCE_S},
    },
    error::Error,
    extract::{
        json_body::{self, BODY_BYTES_MAX},
        request::RequestContext,
    },
    ledger::plans::{self, PlanEvent},
    limits::quota::GivenTime,
    mail::AccountEvent,
    notices,
};

pub const PATH: &str = "/v1/operator/plans";

/// A `webhook-id` is stored.
const ID_CHARS_MAX: usize = 256;

#[derive(Deserialize)]
struct PlanOrder {
    /// The account's reference, as in `GET /v1/me/plan`.
    reference: String,
    plan: String,
    /// End of the plan; absent or null if it has none.
    until: Option<GivenTime>,
    /// Time of the payment provider's event.
    occurred_at: GivenTime,
}

/// Response of `POST /operator/plans`.
#[derive(Serialize)]
pub struct PlanOutcome {
    /// The account's reference under the current secret.
    reference: String,
    plan: String,
    until: Option<DateTime<Utc>>,
    /// `false` if a newer event, or this one, was handled before; then nothing has changed.
    applied: bool,
}

/// Sets the plan of an account:
/// 1. the signature is verified before anything else and without storage;
/// 2. the body and the reference's account are read;
/// 3. unless a newer event or the same call was handled before, one transaction sets the plan and
///    its end, and stores a notice to the owner.
pub async fn set_plan(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    context: RequestContext,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<PlanOutcome>, Error> {
    let secrets = app.config.operator_secrets.as_ref().ok_or_else(Error::not_found)?;
    let body = body.map_err(|_| Error::body_too_large(BODY_BYTES_MAX))?;
    let now = clock::now();
    let id = signed_id(secrets, &headers, &body, now)?;
    let order: PlanOrder = json_body::parse(&body)?;
    let references = &app.config.api_key_secrets;
    let account = account_reference::account(references, &order.reference)
        .ok_or_else(Error::no_such_account)?;
    let outcome = plans::set(
        app.databases.of(account)?,
        &PlanEvent {
            account,
            plan: &order.plan,
            until: order.until.map_or(0, |until| seconds(until.0)),
            occurred_at_ms: occurred_at_ms(order.occurred_at.0, now)?,
            event: id,
        },
    )
    .await?;
    if !outcome.has_plan {
        return Err(Error::no_such_plan());
    }
    let after = outcome.account.ok_or_else(Error::no_such_account)?;
    if outcome.is_applied {
        let at = i64::try_from(now).unwrap_or_default();
        notices::soon(
            &app,
            &context.deferred,
            account,
            AccountEvent { at, ..AccountEvent::default() },
        );
    }
    Ok(Json(PlanOutcome {
        reference: account_reference::of(references, account),
        plan: after.plan,
        until: after.until.and_then(|until| DateTime::from_timestamp(until, 0)),
        applied: outcome.is_applied,
    }))
}

fn signed_id<'a>(
    secrets: &KeyRing,
    headers: &'a HeaderMap,
    body: &[u8],
    now: u64,
) -> Result<&'a str, Error> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(id), Some(timestamp), Some(signatures)) =
        (text(ID), text(TIMESTAMP), text(SIGNATURE))
    else {
        return Err(Error::invalid_signature());
    };
    let message = SignedMessage { id, timestamp, signatures, body };
    let is_fine = (1..=ID_CHARS_MAX).contains(&id.len()) && message.is_genuine(secrets, now);
    if is_fine { Ok(id) } else { Err(Error::invalid_signature()) }
}

/// A time before 1970 becomes 1, which is past as well.
fn seconds(time: DateTime<Utc>) -> u64 {
    u64::try_from(time.timestamp()).unwrap_or_default().max(1)
}

/// A time more than five minutes ahead is rejected: it would outrank the events until then.
fn occurred_at_ms(time: DateTime<Utc>, now: u64) -> Result<u64, Error> {
    let latest = now.saturating_add(TOLERANCE_S).saturating_mul(1_000);
    let at = u64::try_from(time.timestamp_millis()).unwrap_or_default();
    if at > latest {
        return Err(Error::invalid_body("occurred_at is more than five minutes ahead."));
    }
    Ok(at)
}
