//! Delivers the webhooks that ended scans and used allowances have stored: immediately if possible, otherwise every
//! five minutes.

use futures_util::future::join_all;

use super::{
    event::WebhookEvent,
    request::{self, DeliveryAttempt, ReceiverAnswer},
    webhooks_sql::{self, DueDelivery},
};
use crate::{
    account::AccountId,
    app::App,
    cf::{clock, database::Database, log},
    credentials::webhook_secret,
    error::Error,
    notices,
};

/// The platform allows six open connections per invocation.
const CONNECTIONS_MAX: u32 = 6;

const RUN_S: u64 = 15;

/// Delivers until none is due or the time is over. Endpoints whose last delivery succeeded come first.
pub async fn run(app: &App, turn: u64) {
    let until = clock::now().saturating_add(RUN_S);
    for failing in [false, true] {
        loop {
            let mut is_more = false;
            for (number, database) in app.databases.in_turn(turn) {
                if clock::now() >= until {
                    return;
                }
                match round(app, database, failing).await {
                    Ok(attempts) => is_more |= attempts > 0,
                    Err(error) => log::failure(&format!("webhooks in database {number}"), &error),
                }
            }
            if !is_more {
                break;
            }
        }
    }
}

async fn round(app: &App, database: &Database, failing: bool) -> Result<usize, Error> {
    let due = webhooks_sql::claim(database, None, failing, CONNECTIONS_MAX, clock::now()).await?;
    join_all(due.iter().map(|due| deliver(app, database, due))).await;
    Ok(due.len())
}

/// Delivers one webhook of an account, unless its endpoint failed last time: such a webhook waits for the next run.
pub async fn deliver_at_once(app: &App, account: AccountId) -> Result<(), Error> {
    let database = app.databases.of(account)?;
    for due in webhooks_sql::claim(database, Some(account), false, 1, clock::now()).await? {
        deliver(app, database, &due).await;
    }
    Ok(())
}

/// Older notices of the account are sent first.
const NOTICES_MAX: u64 = 4;

/// Emails an account's notices and delivers its webhook, after an event of both. The scheduled run retries after a
/// failure.
pub async fn announce(app: &App, account: AccountId) {
    let notices = match app.databases.of(account) {
        Ok(database) => notices::send(app, database, Some(account), NOTICES_MAX).await.map(drop),
        Err(error) => Err(error),
    };
    for outcome in [notices, deliver_at_once(app, account).await] {
        if let Err(error) = outcome {
            log::failure("an event", &error);
        }
    }
}

async fn deliver(app: &App, database: &Database, due: &DueDelivery) {
    let endpoint = Endpoint {
        account: due.account_id,
        url: &due.url,
        secrets: [&due.secret, &due.previous_secret],
    };
    let event = WebhookEvent::of(due.event.clone());
    let answer = attempt(app, &endpoint, &due.id, &event).await;
    let now = clock::now();
    let reported =
        webhooks_sql::attempted(database, due.account_id, &due.id, answer, false, now).await;
    if let Err(error) = reported {
        log::failure("webhook", &error);
    }
}

pub struct Endpoint<'a> {
    pub account: AccountId,
    pub url: &'a str,
    pub secrets: [&'a str; 2],
}

pub async fn attempt(
    app: &App,
    endpoint: &Endpoint<'_>,
    id: &str,
    event: &WebhookEvent,
) -> ReceiverAnswer {
    let Endpoint { account, url, secrets } = *endpoint;
    // The event is made of texts and numbers, which always serialise.
    let body = &serde_json::to_string(event).unwrap_or_default();
    let timestamp = clock::now();
    let signed = (id, timestamp, body.as_str());
    let signature =
        webhook_secret::signatures(&app.config.api_key_secrets, account, secrets, signed);
    let attempt = DeliveryAttempt { url, id, timestamp, signature: &signature, body };
    request::send(app.config.dns_url.as_deref(), &attempt).await
}
