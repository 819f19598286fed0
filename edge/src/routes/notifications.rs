//! What the owner of an account is told when a scan ends: by email, and by a webhook in the form of Standard
//! Webhooks (docs/scans.md).

use std::sync::Arc;

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse as _, Response},
};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    background::webhooks::attempt,
    cf::{
        clock,
        webhook_url::{self, Refusal},
    },
    credentials::{random, session::Session, webhook_secret},
    error::{Error, PlainError},
    extract::json_body::JsonBody,
    store::{
        throttle,
        webhooks::{self, Change, Due},
    },
    throttle::{Key, Rule},
};

/// What you're told when a scan ends, and how.
#[derive(Debug, Serialize, ToSchema)]
pub struct Notifications {
    /// Whether an email is sent, at most one an hour.
    pub scan_email: bool,
    /// Where events are sent to; null when nowhere.
    pub webhook_url: Option<String>,
    /// Signs events (Standard Webhooks); null without a webhook.
    pub webhook_secret: Option<String>,
    /// Until when the secret before this one signs too; null when it doesn't.
    pub previous_secret_until: Option<DateTime<Utc>>,
    /// The last 20 deliveries, newest first.
    pub deliveries: Vec<Delivery>,
}

/// An event that was sent to the webhook, or is to be.
#[derive(Debug, Serialize, ToSchema)]
pub struct Delivery {
    /// The header `webhook-id`.
    pub id: String,
    /// `scan.completed`, `scan.expired` or `webhook.test`.
    #[schema(value_type = String, example = "scan.completed")]
    pub event: String,
    /// `pending`, `delivered` or `failed`.
    #[schema(value_type = String, example = "delivered")]
    pub state: String,
    pub created_at: DateTime<Utc>,
    /// How often it was tried.
    pub attempts: u32,
    /// When it was tried last; null when it wasn't yet.
    pub attempted_at: Option<DateTime<Utc>>,
    /// The HTTP status of the last attempt; null when there was none.
    pub status: Option<u16>,
    /// Why there was none: `no_answer` within five seconds, `no_dns`, or `not_public` when the name leads to an address
    /// that isn't public.
    pub problem: Option<String>,
}

/// Makes the changes and reads what is set then.
async fn change(app: &App, session: Session, changes: &[Change<'_>]) -> Result<Due, Error> {
    let changed = webhooks::change(app.databases.of(session.account)?, session, changes).await?;
    changed.ok_or_else(Error::invalid_session)
}

fn json(text: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// [`Notifications`], which the database has shaped but for the secret.
fn shown(app: &App, settings: &Due) -> Response {
    let Due { account_id, secret, body, .. } = settings;
    let secret = if secret.is_empty() {
        "null".to_owned()
    } else {
        // Base64 needs no escapes.
        format!("\"{}\"", webhook_secret::text(&app.config.api_key_secrets, *account_id, secret))
    };
    let rest = body.strip_prefix('{').unwrap_or_default();
    json(format!("{{\"webhook_secret\":{secret},{rest}"))
}

/// Show notifications
///
/// What you're told when a scan ends, the webhook's secret and its last deliveries.
#[utoipa::path(
    get, path = "/v1/notifications", tag = "Scans", operation_id = "notifications",
    responses(
        (status = 200, description = "The settings", body = Notifications),
        (status = 401, description = "The session token is missing or no longer valid", body = PlainError),
        (status = 429, description = "Too many requests", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn show(State(app): State<Arc<App>>, session: Session) -> Result<Response, Error> {
    Ok(shown(&app, &change(&app, session, &[]).await?))
}

/// Body of `PUT /notifications`. What is absent stays as it is.
#[derive(Deserialize, ToSchema)]
pub struct NotificationSettings {
    /// Whether an email is sent when a scan ends.
    scan_email: Option<bool>,
    /// An `https` URL on port 443 with a public host name, at most 500 characters. An empty text removes the webhook
    /// with its deliveries.
    #[schema(example = "https://hooks.example.com/rcpt")]
    webhook_url: Option<String>,
}

/// Set notifications
///
/// A webhook gets a `POST` with the scan's counts and no address when a scan has ended, signed as Standard Webhooks
/// describe it. Without a 2xx answer within five seconds it's sent again, later and later, for a day.
#[utoipa::path(
    put, path = "/v1/notifications", tag = "Scans", operation_id = "updateNotifications",
    request_body = NotificationSettings,
    responses(
        (status = 200, description = "The settings", body = Notifications),
        (status = 400, description = "`invalid_body`, `invalid_webhook` or `webhook_not_public`", body = PlainError),
        (status = 401, description = "The session token is missing or no longer valid", body = PlainError),
        (status = 429, description = "Too many requests", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn update(
    State(app): State<Arc<App>>,
    session: Session,
    JsonBody(body): JsonBody<NotificationSettings>,
) -> Result<Response, Error> {
    let secret = random::identifier()?;
    let mut changes = Vec::from_iter(body.scan_email.map(Change::Mail));
    match body.webhook_url.as_deref() {
        None => {}
        Some("") => changes.push(Change::Remove),
        Some(url) => {
            let ours = app.config.origins.iter().chain([&app.config.portal_url]);
            webhook_url::check(url, ours.map(String::as_str)).map_err(|refusal| match refusal {
                Refusal::Form(detail) => Error::invalid_webhook(detail),
                Refusal::NotPublic => Error::webhook_not_public(),
            })?;
            changes.push(Change::Url { url, secret: &secret });
        }
    }
    Ok(shown(&app, &change(&app, session, &changes).await?))
}

/// Seconds for which a replaced secret signs too.
const BOTH_SIGN: u64 = 24 * 60 * 60;

/// Replace the webhook's secret
///
/// For a day events are signed with both, so that nothing is lost while your server changes over.
#[utoipa::path(
    post, path = "/v1/notifications/secret", tag = "Scans", operation_id = "rotateWebhookSecret",
    responses(
        (status = 200, description = "The settings", body = Notifications),
        (status = 401, description = "The session token is missing or no longer valid", body = PlainError),
        (status = 409, description = "`no_webhook`", body = PlainError),
        (status = 429, description = "Too many requests", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn rotate_secret(
    State(app): State<Arc<App>>,
    session: Session,
) -> Result<Response, Error> {
    let secret = random::identifier()?;
    let until = clock::now().saturating_add(BOTH_SIGN);
    let changed = change(&app, session, &[Change::Rotate { secret: &secret, until }]).await?;
    if changed.url.is_empty() { Err(Error::no_webhook()) } else { Ok(shown(&app, &changed)) }
}

/// Test deliveries of an account: ten at once, and ten an hour.
const TESTS: Rule = Rule { burst: 10, interval: 6 * 60 };

/// Test the webhook
///
/// Sends one event of type `webhook.test` and waits for the answer. It isn't sent again. At most ten an hour.
#[utoipa::path(
    post, path = "/v1/notifications/test", tag = "Scans", operation_id = "testWebhook",
    responses(
        (status = 200, description = "What came of it", body = Delivery),
        (status = 401, description = "The session token is missing or no longer valid", body = PlainError),
        (status = 409, description = "`no_webhook`", body = PlainError),
        (status = 429, description = "Too many tests", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn test(State(app): State<Arc<App>>, session: Session) -> Result<Response, Error> {
    let due = change(&app, session, &[]).await?;
    if due.url.is_empty() {
        return Err(Error::no_webhook());
    }
    let (now, random) = (clock::now(), random::identifier()?);
    let keys = [(Key::webhook_test(session.account), TESTS)];
    throttle::admit(app.databases.directory(), &keys, &random, now).await?.or_throttled()?;
    let at = i64::try_from(now).ok().and_then(|now| DateTime::from_timestamp(now, 0));
    let at = at.map(|at| at.format("%Y-%m-%dT%H:%M:%SZ").to_string()).unwrap_or_default();
    let body = format!(r#"{{"type":"webhook.test","timestamp":"{at}","data":{{}}}}"#);
    let due = Due { id: format!("msg_{random}"), body, ..due };
    let (database, account) = (app.databases.of(session.account)?, session.account);
    webhooks::begin_test(database, account, &due.id, &due.body, now).await?;
    let answer = attempt(&app, &due).await;
    let now = clock::now();
    let delivery = webhooks::attempted(database, account, &due.id, answer, true, now).await?;
    delivery.map(|delivery| json(delivery.body)).ok_or_else(Error::no_webhook)
}
