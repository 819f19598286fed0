//! Webhooks that announce the end of a scan and the use of an allowance, and their deliveries. Each account has one in
//! progress, and a failing endpoint is paused: no endpoint delays other accounts' deliveries.

use constcat::concat;
use serde::Deserialize;

use super::{event::Announced, request::ReceiverAnswer};
use crate::{
    account::AccountId,
    cf::database::{Database, Param, Statement},
    credentials::session::Session,
    error::Error,
    ledger::{
        IN_SESSION,
        notices::{deed, told},
    },
};

#[derive(Debug, Deserialize)]
pub struct DueDelivery {
    pub account_id: AccountId,
    pub url: String,
    pub secret: String,
    /// Name of the previous secret; empty if it no longer signs.
    pub previous_secret: String,
    pub id: String,
    #[serde(flatten)]
    pub event: Announced,
}

#[derive(Debug, Deserialize)]
pub struct StoredDelivery {
    pub id: String,
    pub kind: String,
    pub state: String,
    pub created_at: u64,
    pub attempts: u32,
    pub attempted_at: Option<u64>,
    pub status: Option<u16>,
    pub problem: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct StoredWebhook {
    pub account_id: AccountId,
    pub scan_mail: u8,
    pub allowance_mail: u8,
    pub url: Option<String>,
    pub secret: Option<String>,
    pub previous_secret: Option<String>,
    /// Present while the previous secret still signs.
    pub previous_until: Option<u64>,
}

const SELECT_SETTINGS: &str = concat!(
    "SELECT id AS account_id, scan_mail, allowance_mail, url, secret,
       CASE WHEN previous_until > unixepoch() THEN previous_secret END AS previous_secret,
       CASE WHEN previous_until > unixepoch() THEN previous_until END AS previous_until
     FROM accounts LEFT JOIN webhooks w ON w.account_id = accounts.id WHERE accounts.",
    IN_SESSION
);

const SELECT_DELIVERIES: &str = concat!(
    "SELECT d.id, d.kind, d.state, d.created_at, d.attempts, d.attempted_at, d.status, d.problem
     FROM webhook_deliveries d WHERE d.account_id = (SELECT id FROM accounts WHERE ",
    IN_SESSION,
    ") ORDER BY d.created_at DESC, d.id DESC LIMIT 20"
);

/// `?3` whether ends of scans are mailed, `?4` whether used allowances are; 2 leaves a setting as it is.
const UPDATE_MAIL: &str = concat!(
    "UPDATE accounts SET scan_mail = CASE ?3 WHEN 2 THEN scan_mail ELSE ?3 END,
       allowance_mail = CASE ?4 WHEN 2 THEN allowance_mail ELSE ?4 END WHERE ",
    IN_SESSION
);

/// `?3` URL, `?4` name of a new webhook's secret. After a change of the URL, a failing endpoint's
/// pause is shortened to at most five minutes. The pause isn't dropped, so that changing the URL repeatedly causes no
/// additional requests.
const UPSERT_WEBHOOK: &str = concat!(
    "INSERT INTO webhooks (account_id, url, secret) SELECT id, ?3, ?4 FROM accounts WHERE ",
    IN_SESSION,
    " ON CONFLICT (account_id) DO UPDATE SET url = excluded.url, failures = min(failures, 1),
       free_at = min(free_at, unixepoch() + 300)"
);

const INSERT_CHANGED: [&str; 2] = deed!(
    "webhook_changed",
    "NOT EXISTS (SELECT 1 FROM webhooks WHERE account_id = accounts.id AND url = ?3) AND ",
    IN_SESSION
);
const INSERT_REMOVED: [&str; 2] = deed!(
    "webhook_changed",
    "EXISTS (SELECT 1 FROM webhooks WHERE account_id = accounts.id) AND ",
    IN_SESSION
);

const DELETE_WEBHOOK: &str = concat!(
    "DELETE FROM webhooks WHERE account_id IN (SELECT id FROM accounts WHERE ",
    IN_SESSION,
    ")"
);

/// `?3` name of the new secret, `?4` time until which the previous one signs.
const UPDATE_SECRET: &str = concat!(
    "UPDATE webhooks SET previous_secret = secret, secret = ?3, previous_until = ?4
     WHERE account_id IN (SELECT id FROM accounts WHERE ",
    IN_SESSION,
    ")"
);

#[derive(Debug)]
pub enum WebhookChange<'a> {
    /// Whether the end of a scan and a used allowance are mailed; `None` leaves it as it is.
    Mail {
        scan: Option<bool>,
        allowance: Option<bool>,
    },
    /// `secret` is the name of the secret if the webhook is new.
    Url {
        url: &'a str,
        secret: &'a str,
    },
    Remove,
    /// The previous secret signs until `until` (Unix seconds).
    Rotate {
        secret: &'a str,
        until: u64,
    },
}

fn with<'a>(own: &[Param<'a>], more: &[Param<'a>]) -> Vec<Param<'a>> {
    [own, more].concat()
}

/// Applies all changes or none, and returns the new settings with the last deliveries. Returns
/// `None` if the session has ended.
pub async fn change(
    database: &Database,
    session: Session,
    changes: &[WebhookChange<'_>],
) -> Result<Option<(StoredWebhook, Vec<StoredDelivery>)>, Error> {
    let (id, session) = session.texts();
    let own: &[Param<'_>] = &[(&id).into(), (&session).into()];
    let mut statements: Vec<Statement<'_>> = Vec::new();
    for change in changes {
        let statement = match *change {
            WebhookChange::Mail { scan, allowance } => {
                let mail = [scan, allowance].map(|is_on| is_on.map_or(2, u32::from).into());
                (UPDATE_MAIL, with(own, &mail))
            }
            WebhookChange::Url { url, secret } => {
                statements.extend(told(INSERT_CHANGED, &with(own, &[url.into()])));
                (UPSERT_WEBHOOK, with(own, &[url.into(), secret.into()]))
            }
            WebhookChange::Remove => {
                statements.extend(told(INSERT_REMOVED, own));
                (DELETE_WEBHOOK, own.to_vec())
            }
            WebhookChange::Rotate { secret, until } => {
                (UPDATE_SECRET, with(own, &[secret.into(), until.into()]))
            }
        };
        statements.push(statement);
    }
    let read = statements.len();
    statements.extend([(SELECT_SETTINGS, own.to_vec()), (SELECT_DELIVERIES, own.to_vec())]);
    let rows = database.batch(&statements).await?;
    let Some(settings) = rows.first(read)? else { return Ok(None) };
    Ok(Some((settings, rows.all(read + 1)?)))
}

/// Seconds after which an attempt without a recorded result is repeated.
const LEASE_S: u64 = 60;

/// Selects the webhooks to claim: `?1` now, `?2` account or `''` for all, `?3` row limit, `?4` whether to select
/// endpoints that failed last time.
const FREE_WEBHOOKS: &str = "
    SELECT w.account_id FROM webhooks w
    JOIN accounts a ON a.id = w.account_id AND a.state = 'confirmed'
    WHERE w.free_at <= ?1 AND (?2 = '' OR w.account_id = ?2) AND (w.failures > 0) = ?4
      AND w.account_id IN (SELECT account_id FROM webhook_deliveries WHERE state = 'pending')
    ORDER BY w.free_at, w.account_id LIMIT CAST(?3 AS INTEGER)";
const SELECT_DUE: &str = concat!(
    "SELECT w.account_id, w.url, w.secret,
       CASE WHEN w.previous_until > ?1 THEN w.previous_secret ELSE '' END AS previous_secret,
       d.id, d.kind, d.created_at, d.scan_id, d.total, d.answered, d.counts, d.by_verdict
     FROM webhooks w JOIN webhook_deliveries d ON d.account_id = w.account_id AND d.id = (
       SELECT n.id FROM webhook_deliveries n WHERE n.account_id = w.account_id AND n.state = 'pending'
       ORDER BY n.attempts, n.created_at, n.id LIMIT 1)
     WHERE w.account_id IN (",
    FREE_WEBHOOKS,
    ")"
);
const UPDATE_CLAIMED: &str =
    concat!("UPDATE webhooks SET free_at = ?1 + ?5 WHERE account_id IN (", FREE_WEBHOOKS, ")");

/// Claims one delivery for each free endpoint, of one account or all, up to a limit. `failing`
/// selects endpoints that failed last time instead of working ones.
pub async fn claim(
    database: &Database,
    account: Option<AccountId>,
    failing: bool,
    most: u32,
    now: u64,
) -> Result<Vec<DueDelivery>, Error> {
    let account = account.map(|id| id.to_string()).unwrap_or_default();
    let free: Vec<Param<'_>> =
        vec![now.into(), (&account).into(), most.into(), u32::from(failing).into()];
    let claim = with(&free, &[LEASE_S.into()]);
    database.batch(&[(SELECT_DUE, free), (UPDATE_CLAIMED, claim)]).await?.all(0)
}

const INSERT_TEST: &str = "
    INSERT INTO webhook_deliveries (account_id, id, kind, state, created_at)
    SELECT account_id, ?2, 'webhook.test', 'failed', ?3 FROM webhooks WHERE account_id = ?1";

pub async fn begin_test(
    database: &Database,
    account: AccountId,
    id: &str,
    now: u64,
) -> Result<(), Error> {
    let account = account.to_string();
    let params = vec![(&account).into(), id.into(), now.into()];
    database.run((INSERT_TEST, params)).await
}

const UPDATE_DELIVERY: &str =
    "UPDATE webhook_deliveries SET attempts = attempts + 1, attempted_at = ?3, status = nullif(?4, 0),
       problem = nullif(?5, ''), state = CASE WHEN ?6 = 1 THEN 'delivered' ELSE state END
     WHERE account_id = ?1 AND id = ?2
     RETURNING id, kind, state, created_at, attempts, attempted_at, status, problem";

/// `?1` account, `?2` now. Waiting deliveries are due immediately.
const UPDATE_WEBHOOK_WORKS: &str =
    "UPDATE webhooks SET failures = 0, free_at = ?2 WHERE account_id = ?1";
/// `?1` account, `?2` now. Pauses the endpoint for 5 minutes, then twice as long each time, up to 4
/// hours. A broken endpoint gets about ten requests a day, regardless of the number of waiting deliveries.
const UPDATE_WEBHOOK_FAILS: &str = "
    UPDATE webhooks SET failures = failures + 1,
      free_at = ?2 + min(14400, 300 << min(failures, 6))
    WHERE account_id = ?1";

/// Records an attempt and returns the delivery's new state; `None` if the webhook was removed. A
/// failed test doesn't affect waiting deliveries.
pub async fn attempted(
    database: &Database,
    account: AccountId,
    id: &str,
    answer: ReceiverAnswer,
    is_test: bool,
    now: u64,
) -> Result<Option<StoredDelivery>, Error> {
    let account = account.to_string();
    let is_taken = answer.is_ok_and(|status| (200..300).contains(&status));
    let params: Vec<Param<'_>> = vec![
        (&account).into(),
        id.into(),
        now.into(),
        answer.map_or(0, u32::from).into(),
        answer.err().unwrap_or_default().into(),
        u32::from(is_taken).into(),
    ];
    let mut statements: Vec<Statement<'_>> = vec![(UPDATE_DELIVERY, params)];
    if is_taken || !is_test {
        let of_endpoint = if is_taken { UPDATE_WEBHOOK_WORKS } else { UPDATE_WEBHOOK_FAILS };
        statements.push((of_endpoint, vec![(&account).into(), now.into()]));
    }
    database.batch(&statements).await?.first(0)
}
