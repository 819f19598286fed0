//! The ledger of requests under an `Idempotency-Key`: one charge for each key, however often it is sent (docs/trust.md,
//! Q6). Which key was answered is decided by the statements that charge.

use constcat::concat;
use serde::Deserialize;

use super::{
    END_LEASE, HELD, HOLD, LEFT, Lease, Left, Refusal, SETTLE, SETTLED, TAKE, TAKEN, Taken, Texts,
    WHILE_ROOM, WITH_ROOM, refusal, settle,
};
use crate::{
    cf::database::Database,
    credentials::{idempotency::Idempotent, proof::Caller},
    error::Error,
};

/// What is kept under the key of a request (`?8` and `?9`), or that a lease is held under it.
const KNOWN: &str = concat!(
    WITH_ROOM,
    "SELECT k.request, k.answer, ",
    LEFT,
    " AS left_over
     FROM room JOIN accounts a ON a.id = room.id JOIN idempotency_keys k ON k.account_id = a.id
     WHERE k.name IN (?8, ?9) AND k.expires_at > ?5
     UNION ALL
     SELECT '', '', '' FROM room JOIN leases l ON l.account_id = room.id
     WHERE l.idempotency IN (?8, ?9) AND l.expires_at > ?5"
);

/// Demands that there is neither.
const AND_NOT_KNOWN: &str =
    " AND NOT EXISTS (SELECT 1 FROM idempotency_keys k WHERE k.account_id = room.id
        AND k.name IN (?8, ?9) AND k.expires_at > ?5)
      AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.account_id = room.id
        AND l.idempotency IN (?8, ?9) AND l.expires_at > ?5)";

const CHARGE: &str = concat!(WITH_ROOM, TAKE, AND_NOT_KNOWN, TAKEN);
const LEASE: &str = concat!(WITH_ROOM, HOLD, "?8", WHILE_ROOM, AND_NOT_KNOWN, HELD);

/// `$key`, `$request`, `$answer` and `$now` name parameters. Kept for a day. An account that has had more than 50,000
/// checks on one is remembered for an hour: one account must not fill a database that others live in too.
macro_rules! keep {
    ($now:literal, $key:literal, $request:literal, $answer:literal, $from:literal) => {
        concat!(
            "INSERT INTO idempotency_keys (account_id, name, request, answer, expires_at) SELECT a.id, ",
            $key,
            ", ",
            $request,
            ", ",
            $answer,
            ", CASE WHEN a.daily_charged > 50000 THEN 3600 ELSE 86400 END + ",
            $now,
            " FROM accounts a ",
            $from,
            " ON CONFLICT (account_id, name) DO UPDATE SET request = excluded.request,
                answer = excluded.answer, expires_at = excluded.expires_at
              WHERE idempotency_keys.expires_at <= ",
            $now
        )
    };
}

/// `?6` the name of the charge, `?10` request, `?11` answer.
const KEEP_CHARGED: &str =
    keep!("?5", "?8", "?10", "?11", "WHERE a.id = ?1 AND a.last_charge = ?6");

/// A key that was answered meanwhile charges nothing: clocks of two Workers may differ about when a lease ends.
pub(super) const CHARGE_LEASE: &str = concat!(
    SETTLE,
    " AND NOT EXISTS (SELECT 1 FROM idempotency_keys k WHERE k.account_id = ?1
        AND k.name = l.idempotency AND k.expires_at > ?3)",
    SETTLED
);

/// `?1` account, `?2` lease, `?3` now, `?5` request, `?6` answer.
pub(super) const KEEP_LEASED: &str = keep!(
    "?3",
    "l.idempotency",
    "?5",
    "?6",
    "JOIN leases l ON l.account_id = a.id WHERE a.id = ?1 AND l.id = ?2 AND l.expires_at > ?3"
);

/// What is kept under a key.
#[derive(Debug, Deserialize)]
pub struct Kept {
    /// What it was sent with; empty while the first request with it is in flight.
    pub request: String,
    pub answer: String,
    pub left_over: String,
}

/// What came of taking a unit.
#[derive(Debug)]
pub enum Taking<T, R = Refusal> {
    Taken(T),
    /// The key has its unit.
    Kept(Kept),
    Refused(R),
}

/// Charges one cached answer and keeps it, in one batch, unless the key was answered before. A database that fails is
/// asked once more: if only the reply was lost, its own answer is found.
pub async fn charge_once(
    database: &Database,
    caller: Caller,
    name: &str,
    (key, answer): (&Idempotent, &str),
    now: u64,
) -> Result<Taking<String>, Error> {
    let texts = Texts::of(caller);
    let params = texts.params(caller, now);
    let [first, second] = key.names();
    let once = [params.clone(), vec![name.into(), 0_u64.into(), first.into(), second.into()]];
    let once = once.concat();
    let keep = [once.clone(), vec![key.request().into(), answer.into()]].concat();
    let batch = [(KNOWN, once.clone()), (CHARGE, once), (KEEP_CHARGED, keep)];
    let rows = match database.batch(&batch).await {
        Ok(rows) => rows,
        Err(_) => database.batch(&batch).await?,
    };
    if let Some(kept) = rows.first(0)? {
        return Ok(Taking::Kept(kept));
    }
    if let Some(Left { left_over }) = rows.first(1)? {
        return Ok(Taking::Taken(left_over));
    }
    refusal(database, params).await.map(Taking::Refused)
}

/// Authorises and takes a lease under the key, unless the key was answered or holds a lease.
pub async fn lease_once(
    database: &Database,
    caller: Caller,
    id: String,
    key: &Idempotent,
    now: u64,
    ttl: u64,
) -> Result<Taking<Lease>, Error> {
    let texts = Texts::of(caller);
    let expires_at = now.saturating_add(ttl);
    let params = texts.params(caller, now);
    let [first, second] = key.names();
    let once = vec![(&id).into(), expires_at.into(), first.into(), second.into()];
    let once = [params.clone(), once].concat();
    let rows = match database.batch(&[(KNOWN, once.clone()), (LEASE, once)]).await {
        Ok(rows) => rows,
        Err(error) => {
            // Only the reply may have been lost. The key must not stay in use for the lease's whole life.
            let _ = database.run((END_LEASE, vec![(&texts.account).into(), (&id).into()])).await;
            return Err(error);
        }
    };
    if let Some(kept) = rows.first(0)? {
        return Ok(Taking::Kept(kept));
    }
    if let Some(taken) = rows.first::<Taken>(1)? {
        return Ok(Taking::Taken(taken.lease(caller, id, expires_at)));
    }
    refusal(database, params).await.map(Taking::Refused)
}

/// Charges what the lease held, keeps the answer and ends the lease, in one transaction. `false` when it had expired.
pub async fn settle_once(
    database: &Database,
    lease: Lease,
    now: impl Fn() -> u64,
    key: &Idempotent,
    answer: &str,
) -> Result<bool, Error> {
    settle(database, lease, now, Some((key.request(), answer))).await
}
