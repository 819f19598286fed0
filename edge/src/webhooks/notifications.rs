//! Notifications about ended scans and used allowances: by email, and by a webhook in the form of Standard Webhooks
//! (docs/scans.md).

use std::sync::Arc;

use axum::{Json, extract::State};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    delivery::{Endpoint, attempt},
    event::WebhookEvent,
    url::{self, UrlRefusal},
    webhooks_sql::{self, StoredWebhook, WebhookChange},
};
use crate::{
    app::App,
    cf::clock,
    credentials::{random, session::Session, webhook_secret},
    error::{Error, PlainError},
    extract::{json_body::JsonBody, request::RequestContext},
    limits::{
        quota::date_time,
        rules::{Gate, Key, Rule},
        throttle::Attempt,
    },
};

/// How the end of a scan and the use of the daily checks are announced.
#[derive(Debug, Serialize, ToSchema)]
pub struct Notifications {
    /// True if an email is sent. Ends within ten minutes share one; there are at most 30 a day.
    pub scan_email: bool,
    /// True if an email is sent when 80 % and when all daily checks are used: at most once a week each, and not while
    /// welcome checks are left.
    pub allowance_email: bool,
    /// URL that events are sent to; null without a webhook.
    pub webhook_url: Option<String>,
    /// Signs events (Standard Webhooks); null without a webhook.
    pub webhook_secret: Option<String>,
    /// Time until which the previous secret signs too; null when it doesn't.
    pub previous_secret_until: Option<DateTime<Utc>>,
    /// The last 20 deliveries, newest first.
    pub deliveries: Vec<Delivery>,
}

impl Notifications {
    pub fn without_secret(self) -> Self {
        Self { webhook_secret: None, ..self }
    }
}

/// An event that was sent to the webhook, or is due.
#[derive(Debug, Serialize, ToSchema)]
pub struct Delivery {
    /// The header `webhook-id`.
    pub id: String,
    /// `scan.completed`, `scan.expired`, `allowance.nearly_used`, `allowance.used_up` or `webhook.test`.
    #[schema(value_type = String, example = "scan.completed")]
    pub event: String,
    /// `pending`, `delivered` or `failed`.
    #[schema(value_type = String, example = "delivered")]
    pub state: String,
    pub created_at: DateTime<Utc>,
    /// Number of attempts.
    pub attempts: u32,
    /// Time of the last attempt; null before the first.
    pub attempted_at: Option<DateTime<Utc>>,
    /// The HTTP status of the last attempt; null when there was none.
    pub status: Option<u16>,
    /// Why there was none: `no_answer` within five seconds, `no_dns`, or `not_public` when the name leads to an address
    /// that isn't public.
    pub problem: Option<String>,
}

impl From<webhooks_sql::StoredDelivery> for Delivery {
    fn from(row: webhooks_sql::StoredDelivery) -> Self {
        Self {
            id: row.id,
            event: row.kind,
            state: row.state,
            created_at: date_time(row.created_at),
            attempts: row.attempts,
            attempted_at: row.attempted_at.map(date_time),
            status: row.status,
            problem: row.problem,
        }
    }
}

async fn change(
    app: &App,
    session: Session,
    changes: &[WebhookChange<'_>],
) -> Result<(StoredWebhook, Vec<webhooks_sql::StoredDelivery>), Error> {
    let changed =
        webhooks_sql::change(app.databases.of(session.account)?, session, changes).await?;
    changed.ok_or_else(Error::invalid_session)
}

fn to_response(
    app: &App,
    settings: StoredWebhook,
    deliveries: Vec<webhooks_sql::StoredDelivery>,
) -> Json<Notifications> {
    let secret = |name: &String| {
        webhook_secret::text(&app.config.api_key_secrets, settings.account_id, name)
    };
    Json(Notifications {
        scan_email: settings.scan_mail != 0,
        allowance_email: settings.allowance_mail != 0,
        webhook_secret: settings.secret.as_ref().map(secret),
        webhook_url: settings.url,
        previous_secret_until: settings.previous_until.map(date_time),
        deliveries: deliveries.into_iter().map(Delivery::from).collect(),
    })
}

/// Show notifications
///
/// Notification settings, the webhook's secret and its last deliveries.
#[utoipa::path(
    get, path = "/v1/notifications", tag = "Scans", operation_id = "showNotifications",
    responses(
        (status = 200, description = "The settings", body = Notifications),
    ),
    security(("Session" = [])),
)]
pub async fn show(
    State(app): State<Arc<App>>,
    session: Session,
) -> Result<Json<Notifications>, Error> {
    let (settings, deliveries) = change(&app, session, &[]).await?;
    Ok(to_response(&app, settings, deliveries))
}

/// Body of `PUT /notifications`. Absent members stay unchanged.
#[derive(Deserialize, ToSchema)]
pub struct NotificationSettings {
    /// True to send an email when a scan ends.
    scan_email: Option<bool>,
    /// True to send an email when most and when all daily checks are used.
    allowance_email: Option<bool>,
    /// An `https` URL on port 443 with a public host name, at most 500 characters. An empty text removes the webhook
    /// with its deliveries.
    #[schema(example = "https://hooks.example.com/rcpt")]
    webhook_url: Option<String>,
}

/// Set notifications
///
/// A webhook gets a `POST` without an address when a scan has ended, and when 80 % and all daily checks are used. It's
/// signed as Standard Webhooks describe it. Without a 2xx answer within five seconds it's sent again after 5 minutes, then after twice as long each time, for a day.
#[utoipa::path(
    put, path = "/v1/notifications", tag = "Scans", operation_id = "updateNotifications",
    request_body = NotificationSettings,
    responses(
        (status = 200, description = "The settings", body = Notifications),
        (status = 400, description = "`invalid_body`, `invalid_webhook` or `webhook_not_public`", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn update(
    State(app): State<Arc<App>>,
    context: RequestContext,
    session: Session,
    JsonBody(body): JsonBody<NotificationSettings>,
) -> Result<Json<Notifications>, Error> {
    let secret = random::identifier()?;
    let (scan, allowance) = (body.scan_email, body.allowance_email);
    let mut changes = Vec::new();
    if scan.is_some() || allowance.is_some() {
        changes.push(WebhookChange::Mail { scan, allowance });
    }
    match body.webhook_url.as_deref() {
        None => {}
        Some("") => changes.push(WebhookChange::Remove),
        Some(url) => {
            let ours = app.config.origins.iter().chain([&app.config.portal_url]);
            url::check(url, ours.map(String::as_str)).map_err(|refusal| match refusal {
                UrlRefusal::Form(detail) => Error::invalid_webhook(detail),
                UrlRefusal::NotPublic => Error::webhook_not_public(),
            })?;
            changes.push(WebhookChange::Url { url, secret: &secret });
        }
    }
    let (settings, deliveries) = change(&app, session, &changes).await?;
    context.notify(&app, session.account);
    Ok(to_response(&app, settings, deliveries))
}

/// Seconds for which a replaced secret keeps signing.
const BOTH_SIGN_S: u64 = 24 * 60 * 60;

/// Replace the webhook's secret
///
/// For a day events are signed with both, so that nothing is lost while your server changes over.
#[utoipa::path(
    post, path = "/v1/notifications/secret", tag = "Scans", operation_id = "rotateWebhookSecret",
    responses(
        (status = 200, description = "The settings", body = Notifications),
        (status = 409, description = "`no_webhook`", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn rotate_secret(
    State(app): State<Arc<App>>,
    session: Session,
) -> Result<Json<Notifications>, Error> {
    let secret = random::identifier()?;
    let until = clock::now().saturating_add(BOTH_SIGN_S);
    let rotate = WebhookChange::Rotate { secret: &secret, until };
    let (settings, deliveries) = change(&app, session, &[rotate]).await?;
    if settings.url.is_none() {
        return Err(Error::no_webhook());
    }
    Ok(to_response(&app, settings, deliveries))
}

/// A burst of ten, then ten an hour.
const TESTS: Rule = Rule { burst: 10, interval: 6 * 60 };

/// Test the webhook
///
/// Sends one event of type `webhook.test` and waits for the answer. It isn't sent again. At most ten an hour.
#[utoipa::path(
    post, path = "/v1/notifications/test", tag = "Scans", operation_id = "testWebhook",
    responses(
        (status = 200, description = "The delivery, with the answer's status", body = Delivery),
        (status = 409, description = "`no_webhook`", body = PlainError),
        (status = 429, description = "Too many tests", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn test(State(app): State<Arc<App>>, session: Session) -> Result<Json<Delivery>, Error> {
    let (settings, _) = change(&app, session, &[]).await?;
    let (Some(url), Some(secret)) = (settings.url, settings.secret) else {
        return Err(Error::no_webhook());
    };
    let (now, random) = (clock::now(), random::identifier()?);
    let gates = vec![Gate::new(Key::webhook_test(session.account), TESTS)];
    Attempt::count(app.databases.directory(), gates, now).await?;
    let (account, id) = (session.account, format!("msg_{random}"));
    let previous = settings.previous_secret.unwrap_or_default();
    let endpoint = Endpoint { account, url: &url, secrets: [&secret, &previous] };
    let database = app.databases.of(account)?;
    webhooks_sql::begin_test(database, account, &id, now).await?;
    let answer = attempt(&app, &endpoint, &id, &WebhookEvent::of_test(now)).await;
    let now = clock::now();
    let delivery = webhooks_sql::attempted(database, account, &id, answer, true, now).await?;
    delivery.map(|row| Json(row.into())).ok_or_else(Error::no_webhook)
}
