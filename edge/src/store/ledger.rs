//! The quota ledger (architecture §5, trust Q1–Q5).
//!
//! A check takes one unit: from the daily allowance while there is room, from the welcome checks
//! after that. A cached answer is charged at once; a fresh one holds a lease while an origin is asked.
//! Used today = charged + live leases, decided inside one statement each, which D1 runs one at a time:
//! whatever the concurrency, the sum never exceeds what is allowed.

use serde::Deserialize;

use crate::{
    account::AccountId,
    caller::{Caller, Proof},
    cf::database::Database,
    error::Error,
    quota::{Day, Usage},
};

/// A statement for each kind of proof: one authorises by key version, one by session version.
struct ByProof {
    key: &'static str,
    session: &'static str,
}

impl ByProof {
    const fn of(&self, caller: Caller) -> &'static str {
        match caller.proof {
            Proof::Key { .. } => self.key,
            Proof::Session { .. } => self.session,
        }
    }
}

macro_rules! by_proof {
    ($macro:ident) => {
        ByProof {
            key: $macro!("a.key_active = 1 AND a.key_version = ?2"),
            session: $macro!("a.session_version = ?2"),
        }
    };
}

/// `?1` account, `?2` version, `?3` day, `?4` now. One row if the caller is authorised; `daily` and
/// `welcome` say whether a unit may be taken from there.
macro_rules! room {
    ($authorised:literal) => {
        concat!(
            "WITH room AS (
               SELECT a.id,
                 p.unlimited OR p.daily_checks >
                   CASE WHEN a.day < ?3 THEN 0 ELSE a.daily_charged END
                   + (SELECT count(*) FROM leases l WHERE l.account_id = a.id
                      AND l.source = 'daily' AND l.day = ?3 AND l.expires_at > ?4) AS daily,
                 a.welcome_left >
                   (SELECT count(*) FROM leases l WHERE l.account_id = a.id
                    AND l.source = 'welcome' AND l.expires_at > ?4) AS welcome
               FROM accounts a JOIN plans p ON p.name = a.plan
               WHERE a.id = ?1 AND a.state = 'confirmed' AND ",
            $authorised,
            ")"
        )
    };
}

macro_rules! charge {
    ($authorised:literal) => {
        concat!(
            room!($authorised),
            "UPDATE accounts SET
               previous_day = CASE WHEN day < ?3 THEN day ELSE previous_day END,
               previous_charged = CASE WHEN day < ?3 THEN daily_charged ELSE previous_charged END,
               daily_charged = CASE WHEN day < ?3 THEN 0 ELSE daily_charged END + room.daily,
               welcome_left = welcome_left - (1 - room.daily),
               day = max(day, ?3)
             FROM room
             WHERE accounts.id = room.id AND (room.daily OR room.welcome)
             RETURNING accounts.id"
        )
    };
}

macro_rules! lease {
    ($authorised:literal) => {
        concat!(
            room!($authorised),
            "INSERT INTO leases (id, account_id, day, source, expires_at)
             SELECT ?5, room.id, ?3, CASE WHEN room.daily THEN 'daily' ELSE 'welcome' END, ?6
             FROM room WHERE room.daily OR room.welcome
             RETURNING account_id AS id"
        )
    };
}

macro_rules! authorised {
    ($authorised:literal) => {
        concat!(
            "SELECT a.id FROM accounts a WHERE a.id = ?1 AND a.state = 'confirmed' AND ",
            $authorised
        )
    };
}

macro_rules! usage {
    ($authorised:literal) => {
        concat!(
            "SELECT p.name AS plan, p.unlimited, p.daily_checks, p.daily_scans, a.scan_credits,
               CASE WHEN a.day < ?3 THEN 0 ELSE a.daily_charged END
               + (SELECT count(*) FROM leases l WHERE l.account_id = a.id
                  AND l.source = 'daily' AND l.day = ?3 AND l.expires_at > ?4) AS checks_used,
               a.welcome_left
               - (SELECT count(*) FROM leases l WHERE l.account_id = a.id
                  AND l.source = 'welcome' AND l.expires_at > ?4) AS welcome_left
             FROM accounts a JOIN plans p ON p.name = a.plan
             WHERE a.id = ?1 AND a.state = 'confirmed' AND ",
            $authorised
        )
    };
}

const CHARGE: ByProof = by_proof!(charge);
const LEASE: ByProof = by_proof!(lease);
const AUTHORISED: ByProof = by_proof!(authorised);
const USAGE: ByProof = by_proof!(usage);

/// `?1` lease, `?2` now. Charges the day the lease was taken on: the current day's counter, a new
/// day's first charge, or the day before's. An expired lease charges nothing.
const CHARGE_LEASE: &str = "
    UPDATE accounts SET
      previous_day = CASE
        WHEN accounts.day < l.day THEN accounts.day
        WHEN accounts.day > l.day THEN max(previous_day, l.day)
        ELSE previous_day END,
      previous_charged = CASE
        WHEN accounts.day < l.day THEN daily_charged
        WHEN accounts.day > l.day AND previous_day = l.day
          THEN previous_charged + (l.source = 'daily')
        -- The day of the lease had no charge until now.
        WHEN accounts.day > l.day AND previous_day < l.day THEN (l.source = 'daily')
        ELSE previous_charged END,
      daily_charged = CASE
        WHEN accounts.day < l.day THEN (l.source = 'daily')
        WHEN accounts.day = l.day THEN daily_charged + (l.source = 'daily')
        ELSE daily_charged END,
      welcome_left = welcome_left - (l.source = 'welcome'),
      day = max(accounts.day, l.day)
    FROM leases l
    WHERE l.id = ?1 AND l.expires_at > ?2 AND accounts.id = l.account_id
    RETURNING accounts.id";

const END_LEASE: &str = "DELETE FROM leases WHERE id = ?1";

/// Only that a row came back matters.
#[derive(Deserialize)]
struct Found {}

/// Why a unit could not be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The key or session is not the account's own any more, or the account is not active.
    Unauthorised,
    /// Allowance and welcome checks are used up.
    UsedUp,
}

/// A unit held while an origin is asked.
#[derive(Debug, PartialEq, Eq)]
pub struct Lease {
    id: String,
    /// Unix seconds.
    expires_at: u64,
}

/// Authorises and charges one cached answer, in one statement. Only a refusal costs a second one, to
/// tell its reason.
///
/// # Errors
/// [`Error::unavailable`] when the database fails.
pub async fn charge(
    database: &Database,
    caller: Caller,
    now: u64,
) -> Result<Result<(), Refusal>, Error> {
    let account = caller.account.to_string();
    let day = Day::of(now).number();
    let params = vec![(&account).into(), caller.version().into(), day.into(), now.into()];
    match database.first::<Found>((CHARGE.of(caller), params)).await? {
        Some(Found {}) => Ok(Ok(())),
        None => Ok(Err(refusal(database, caller, &account).await?)),
    }
}

/// Authorises and takes a lease named `id` that expires by itself after `ttl` seconds.
///
/// # Errors
/// As [`charge`].
pub async fn lease(
    database: &Database,
    caller: Caller,
    id: String,
    now: u64,
    ttl: u64,
) -> Result<Result<Lease, Refusal>, Error> {
    let account = caller.account.to_string();
    let day = Day::of(now).number();
    let expires_at = now.saturating_add(ttl);
    let params = vec![
        (&account).into(),
        caller.version().into(),
        day.into(),
        now.into(),
        (&id).into(),
        expires_at.into(),
    ];
    match database.first::<Found>((LEASE.of(caller), params)).await? {
        Some(Found {}) => Ok(Ok(Lease { id, expires_at })),
        None => Ok(Err(refusal(database, caller, &account).await?)),
    }
}

async fn refusal(database: &Database, caller: Caller, account: &str) -> Result<Refusal, Error> {
    let params = vec![account.into(), caller.version().into()];
    let authorised = database.first::<Found>((AUTHORISED.of(caller), params)).await?.is_some();
    Ok(if authorised { Refusal::UsedUp } else { Refusal::Unauthorised })
}

/// Charges what the lease held and ends it, in one transaction. `false` when it had expired: then its
/// unit may be someone else's by now, and nothing is charged.
///
/// A database that fails is asked once more. Its failure may have been that of the reply alone; then the
/// lease has ended before its time, and only a charge ends it so.
///
/// # Errors
/// As [`charge`], when it fails twice; the lease then expires by itself.
pub async fn charge_lease(
    database: &Database,
    lease: Lease,
    now: impl Fn() -> u64,
) -> Result<bool, Error> {
    match try_charge_lease(database, &lease, now()).await {
        Ok(charged) => Ok(charged),
        Err(_) => {
            let now = now();
            Ok(try_charge_lease(database, &lease, now).await? || now < lease.expires_at)
        }
    }
}

async fn try_charge_lease(database: &Database, lease: &Lease, now: u64) -> Result<bool, Error> {
    let rows = database
        .batch(&[
            (CHARGE_LEASE, vec![(&lease.id).into(), now.into()]),
            (END_LEASE, vec![(&lease.id).into()]),
        ])
        .await?;
    Ok(rows.first::<Found>(0)?.is_some())
}

/// Ends a lease without charging it.
///
/// # Errors
/// As [`charge`]; the lease then expires by itself.
pub async fn release(database: &Database, lease: Lease) -> Result<(), Error> {
    database.batch(&[(END_LEASE, vec![(&lease.id).into()])]).await.map(drop)
}

/// What `GET /me/quota` reports; `None` when the caller is not authorised.
///
/// # Errors
/// As [`charge`].
pub async fn usage(database: &Database, caller: Caller, now: u64) -> Result<Option<Usage>, Error> {
    let account: AccountId = caller.account;
    let account = account.to_string();
    let day = Day::of(now).number();
    let params = vec![(&account).into(), caller.version().into(), day.into(), now.into()];
    database.first((USAGE.of(caller), params)).await
}
