//! Requested reset links whose emails haven't been sent, in the directory's database.

use serde::Deserialize;

use crate::{
    account::AccountAddress,
    cf::database::{Database, Statement},
    error::Error,
    limits::{
        rules::Gate,
        throttle::{self, Admission},
    },
};

/// Seconds after which an email with no recorded result is retried, because its isolate has ended.
const RETRY_S: u64 = 60;
/// Seconds for which sending an email is retried: the lifetime of its link.
const LIFETIME_S: u64 = 60 * 60;

#[derive(Debug, Deserialize)]
pub struct DueMail {
    pub mailbox: String,
    pub email: String,
}

impl DueMail {
    pub fn of(address: &AccountAddress) -> Self {
        Self { mailbox: address.mailbox(), email: address.as_given().to_owned() }
    }
}

/// `?5` key that must have admitted attempt `?6`.
const INSERT_MAIL_DUE: &str = "
    INSERT INTO mail_due (mailbox, email, due_at, expires_at)
    SELECT ?1, ?2, ?3, ?4
    WHERE EXISTS (SELECT 1 FROM throttles WHERE key = ?5 AND last_attempt = ?6)
    ON CONFLICT (mailbox) DO UPDATE
      SET email = excluded.email, due_at = excluded.due_at, expires_at = excluded.expires_at";

/// Stores the email if the gates admit the attempt, in the same transaction. The caller sends it; after a minute, the
/// scheduled run does.
pub async fn ask(
    directory: &Database,
    gates: &[Gate],
    attempt: &str,
    address: &AccountAddress,
    now: u64,
) -> Result<Admission, Error> {
    let mailbox = address.mailbox();
    let last = gates.last().map(|gate| gate.key.as_str()).unwrap_or_default();
    let insert: Statement<'_> = (
        INSERT_MAIL_DUE,
        vec![
            (&mailbox).into(),
            address.as_given().into(),
            now.saturating_add(RETRY_S).into(),
            now.saturating_add(LIFETIME_S).into(),
            last.into(),
            attempt.into(),
        ],
    );
    throttle::admit_and(directory, gates, attempt, now, Some(insert)).await
}

const DELETE_MAIL_DUE: &str = "DELETE FROM mail_due WHERE mailbox = ?1";

pub async fn handed_over(directory: &Database, mailbox: &str) -> Result<(), Error> {
    directory.run((DELETE_MAIL_DUE, vec![mailbox.into()])).await
}

const UPDATE_MAIL_DUE: &str = "UPDATE mail_due SET due_at = ?2 WHERE mailbox = ?1";

pub async fn failed(directory: &Database, mailbox: &str, now: u64) -> Result<(), Error> {
    directory.run((UPDATE_MAIL_DUE, vec![mailbox.into(), now.into()])).await
}

/// `?1` now, `?2` time of the next attempt, `?3` row limit.
const CLAIM_MAIL_DUE: &str = "
    UPDATE mail_due SET due_at = ?2
    WHERE mailbox IN (
      SELECT mailbox FROM mail_due WHERE due_at <= ?1 AND expires_at > ?1
      ORDER BY due_at LIMIT CAST(?3 AS INTEGER))
    RETURNING mailbox, email";

pub async fn claim(directory: &Database, rows_max: u64, now: u64) -> Result<Vec<DueMail>, Error> {
    let params = vec![now.into(), now.saturating_add(RETRY_S).into(), rows_max.into()];
    directory.batch(&[(CLAIM_MAIL_DUE, params)]).await?.all(0)
}
