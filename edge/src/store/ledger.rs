//! The quota ledger (docs/trust.md, Q1–Q5).
//!
//! A check takes one unit: from the daily allowance while there is room, from the welcome checks
//! after that. A cached answer is charged at once; a fresh one holds a lease while an origin is asked.
//! Used today = charged + live leases, decided inside one statement each, which D1 runs one at a time:
//! whatever the concurrency, the sum never exceeds what is allowed.

use crate::{
    account::AccountId,
    cf::database::{Database, Param},
    credentials::proof::{Caller, Proof},
    error::Error,
    quota::{Day, Usage},
};
use constcat::concat;
use serde::Deserialize;

/// `?1` account, `?2` version of the key or the session, `?3` which of the two, `?4` day, `?5` now. One row
/// if the caller is authorised; `daily` and `welcome` say whether a unit may be taken from there, `full`
/// whether charges alone have used up both.
const WITH_ROOM: &str = "WITH room AS (
       SELECT a.id,
         p.unlimited OR p.daily_checks >
           CASE WHEN a.day < ?4 THEN 0 ELSE a.daily_charged END
           + (SELECT count(*) FROM leases l WHERE l.account_id = a.id
              AND l.source = 'daily' AND l.day = ?4 AND l.expires_at > ?5) AS daily,
         a.welcome_left >
           (SELECT count(*) FROM leases l WHERE l.account_id = a.id
            AND l.source = 'welcome' AND l.expires_at > ?5) AS welcome,
         NOT p.unlimited AND a.welcome_left = 0 AND a.day >= ?4
           AND a.daily_charged >= p.daily_checks AS full,
         p.max_in_flight, p.daily_checks AS allowance
       FROM accounts a JOIN plans p ON p.name = a.plan
       WHERE a.id = ?1 AND a.state = 'confirmed' AND CASE ?3
         WHEN 'key' THEN a.key_active = 1 AND a.key_version = ?2
         ELSE EXISTS (SELECT 1 FROM sessions s WHERE s.id = ?2 AND s.account_id = a.id)
         END) ";

/// What is left to the account `a`, in the words that `RateLimit::of_checks` reads, leases subtracted; empty where
/// nothing limits. One text, because each column costs a crossing.
const LEFT: &str =
    "(SELECT CASE WHEN p.unlimited THEN '' ELSE p.daily_checks || ' ' || max(0, p.daily_checks
     - CASE WHEN a.day < ?4 THEN 0 ELSE a.daily_charged END
     - (SELECT count(*) FROM leases l WHERE l.account_id = a.id
        AND l.source = 'daily' AND l.day = ?4 AND l.expires_at > ?5))
     || ' ' || p.welcome_checks || ' ' || max(0, a.welcome_left
     - (SELECT count(*) FROM leases l WHERE l.account_id = a.id
        AND l.source = 'welcome' AND l.expires_at > ?5)) END
   FROM plans p WHERE p.name = a.plan)";

/// Takes a unit of the room there is. `?6` the name of this charge.
const TAKE: &str = "UPDATE accounts SET
       previous_day = CASE WHEN day < ?4 THEN day ELSE previous_day END,
       previous_charged = CASE WHEN day < ?4 THEN daily_charged ELSE previous_charged END,
       daily_charged = CASE WHEN day < ?4 THEN 0 ELSE daily_charged END + room.daily,
       welcome_left = welcome_left - (1 - room.daily),
       day = max(day, ?4),
       key_day = CASE ?3 WHEN 'key' THEN max(key_day, ?4) ELSE key_day END,
       last_charge = ?6
     FROM room
     WHERE accounts.id = room.id AND (room.daily OR room.welcome)
       AND accounts.last_charge <> ?6";

// Read again by its id: a day just set is not yet an integer in RETURNING, and less than itself.
const TAKEN: &str =
    concat!(" RETURNING (SELECT ", LEFT, " FROM accounts a WHERE a.id = accounts.id) AS left_over");

const CHARGE: &str = concat!(WITH_ROOM, TAKE, TAKEN);

/// Holds a unit of the room there is. `?6` lease, `?7` when it expires; the key of its request comes behind it.
const HOLD: &str = "INSERT INTO leases (id, account_id, day, source, expires_at, idempotency)
     SELECT ?6, room.id, ?4, CASE WHEN room.daily THEN 'daily' ELSE 'welcome' END, ?7, ";

const WHILE_ROOM: &str = " FROM room
     WHERE (room.daily OR room.welcome) AND room.max_in_flight >
       (SELECT count(*) FROM leases l WHERE l.account_id = room.id AND l.expires_at > ?5)";

const HELD: &str = concat!(
    " RETURNING (SELECT a.plan <> 'free' FROM accounts a WHERE a.id = leases.account_id) AS paying, (SELECT ",
    LEFT,
    " FROM accounts a WHERE a.id = leases.account_id) AS left_over"
);

const LEASE: &str = concat!(WITH_ROOM, HOLD, "NULL", WHILE_ROOM, HELD);

/// `?1` account, `?2` the name of a charge.
const CHARGED: &str = "SELECT '' AS left_over FROM accounts WHERE id = ?1 AND last_charge = ?2";

/// No row: there is no such account any more.
const WHY: &str = concat!(
    WITH_ROOM,
    "SELECT ?3 = 'key' AND a.key_version > ?2 AS replaced, room.id IS NOT NULL AS authorised,
       coalesce(room.daily OR room.welcome, 0) AS has_room, coalesce(room.full, 0) AS full,
       coalesce(room.allowance, 0) AS allowance
     FROM accounts a LEFT JOIN room ON room.id = a.id WHERE a.id = ?1"
);

const USAGE: &str = concat!(
    WITH_ROOM,
    "SELECT p.name AS plan, p.unlimited, p.daily_checks, p.welcome_checks, p.daily_scans, a.scan_credits,
       CASE WHEN a.scans_day < ?4 THEN 0 ELSE a.scans_charged END AS scans_used,
       a.total_scans, a.completed_scans, p.scan_size,
       CASE WHEN a.day < ?4 THEN 0 ELSE a.daily_charged END
       + (SELECT count(*) FROM leases l WHERE l.account_id = a.id
          AND l.source = 'daily' AND l.day = ?4 AND l.expires_at > ?5) AS checks_used,
       a.welcome_left
       - (SELECT count(*) FROM leases l WHERE l.account_id = a.id
          AND l.source = 'welcome' AND l.expires_at > ?5) AS welcome_left
     FROM room JOIN accounts a ON a.id = room.id JOIN plans p ON p.name = a.plan"
);

/// The texts of a caller's parameters, for as long as their statement lives.
pub(super) struct Texts {
    account: String,
    session: String,
}

impl Texts {
    pub(super) fn of(caller: Caller) -> Self {
        let session = match caller.proof {
            Proof::Key { .. } => String::new(),
            Proof::Session { id } => id.to_string(),
        };
        Self { account: caller.account.to_string(), session }
    }

    pub(super) fn params(&self, caller: Caller, now: u64) -> Vec<Param<'_>> {
        let shown = match caller.proof {
            Proof::Key { version } => version.into(),
            Proof::Session { .. } => (&self.session).into(),
        };
        let day = Day::of(now).number().into();
        vec![(&self.account).into(), shown, caller.proof.kind().into(), day, now.into()]
    }
}

/// `?1` account, `?2` lease, `?3` now, `?4` version of the key that took it. Charges the day the lease was taken on: the
/// current day's counter, a new day's first charge, or the day before's. An expired lease charges nothing.
const SETTLE: &str = "
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
      day = max(accounts.day, l.day),
      key_day = CASE key_version WHEN ?4 THEN max(key_day, l.day) ELSE key_day END
    FROM leases l
    WHERE l.account_id = ?1 AND l.id = ?2 AND l.expires_at > ?3 AND accounts.id = l.account_id";

const SETTLED: &str = " RETURNING accounts.id";

const CHARGE_LEASE: &str = concat!(SETTLE, SETTLED);

mod idempotent;

pub use idempotent::{Kept, Taking, charge_once, lease_once, settle_once};

const END_LEASE: &str = "DELETE FROM leases WHERE account_id = ?1 AND id = ?2";

/// Why a unit could not be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The key was replaced or its account deleted: it never works again.
    Dead,
    /// The session is over, or the key or account is not active.
    Unauthorised,
    /// Allowance and welcome checks are used up, by charges alone or by charges and leases.
    UsedUp { by_charges: bool, allowance: u32 },
    /// As many checks are in flight as the plan allows.
    TooManyInFlight,
}

#[derive(Deserialize)]
struct Why {
    replaced: u8,
    authorised: u8,
    has_room: u8,
    full: u8,
    allowance: u32,
}

impl Why {
    const fn refusal(&self) -> Refusal {
        if self.replaced != 0 {
            Refusal::Dead
        } else if self.authorised == 0 {
            Refusal::Unauthorised
        } else if self.has_room != 0 {
            Refusal::TooManyInFlight
        } else {
            Refusal::UsedUp { by_charges: self.full != 0, allowance: self.allowance }
        }
    }
}

/// A unit held while an origin is asked.
#[derive(Debug, PartialEq, Eq)]
pub struct Lease {
    account: AccountId,
    id: String,
    /// Unix seconds.
    expires_at: u64,
    /// The version of the key that took it; 0 for a session.
    key_version: u32,
    /// The account's plan is another than the free one.
    pub is_paying: bool,
    /// What is left besides it, in the ledger's words.
    pub left_over: String,
}

/// What a lease that was taken says of its account.
#[derive(Deserialize)]
struct Taken {
    paying: u8,
    left_over: String,
}

impl Taken {
    fn lease(self, caller: Caller, id: String, expires_at: u64) -> Lease {
        let Self { paying, left_over } = self;
        Lease {
            account: caller.account,
            id,
            expires_at,
            key_version: caller.proof.key_version(),
            is_paying: paying != 0,
            left_over,
        }
    }
}

/// What is left after a charge, in the ledger's words.
#[derive(Debug, Deserialize)]
struct Left {
    left_over: String,
}

impl Lease {
    /// Whose unit it holds.
    pub const fn account(&self) -> AccountId {
        self.account
    }
}

/// Authorises and charges one cached answer, in one statement. Only a refusal costs a second one, to
/// tell its reason. Returns what is left, for `RateLimit::of_checks`.
///
/// A database that fails is asked once more, under the same name: its failure may have been that of the
/// reply alone.
pub async fn charge(
    database: &Database,
    caller: Caller,
    name: &str,
    now: u64,
) -> Result<Taking<String>, Error> {
    let texts = Texts::of(caller);
    let params = texts.params(caller, now);
    let charge = (CHARGE, [params.clone(), vec![name.into()]].concat());
    let charged: Option<Left> = match database.first(charge.clone()).await {
        Ok(charged) => charged,
        Err(_) => {
            let before = (CHARGED, vec![(&texts.account).into(), name.into()]);
            let rows = database.batch(&[before, charge]).await?;
            rows.first(0)?.or(rows.first(1)?)
        }
    };
    if let Some(Left { left_over }) = charged {
        return Ok(Taking::Taken(left_over));
    }
    refusal(database, params).await.map(Taking::Refused)
}

/// Authorises and takes a lease named `id` that expires by itself after `ttl` seconds.
pub async fn lease(
    database: &Database,
    caller: Caller,
    id: String,
    now: u64,
    ttl: u64,
) -> Result<Taking<Lease>, Error> {
    let texts = Texts::of(caller);
    let expires_at = now.saturating_add(ttl);
    let params = texts.params(caller, now);
    let lease = [params.clone(), vec![(&id).into(), expires_at.into()]].concat();
    if let Some(taken) = database.first::<Taken>((LEASE, lease)).await? {
        return Ok(Taking::Taken(taken.lease(caller, id, expires_at)));
    }
    refusal(database, params).await.map(Taking::Refused)
}

async fn refusal(database: &Database, params: Vec<Param<'_>>) -> Result<Refusal, Error> {
    let why = database.first::<Why>((WHY, params)).await?;
    Ok(why.map_or(Refusal::Dead, |why| why.refusal()))
}

/// Charges what the lease held and ends it, in one transaction. `false` when it had expired: then its
/// unit may be someone else's by now, and nothing is charged.
///
/// A database that fails is asked once more. Its failure may have been that of the reply alone; then the
/// lease has ended before its time, and only a charge ends it so.
///
/// # Errors
/// When it fails twice; the lease then expires by itself.
pub async fn charge_lease(
    database: &Database,
    lease: Lease,
    now: impl Fn() -> u64,
) -> Result<bool, Error> {
    settle(database, lease, now, None).await
}

/// `once`: what is kept of a request and of its answer.
async fn settle(
    database: &Database,
    lease: Lease,
    now: impl Fn() -> u64,
    once: Option<(&str, &str)>,
) -> Result<bool, Error> {
    match try_settle(database, &lease, now(), once).await {
        Ok(charged) => Ok(charged),
        Err(_) => {
            let now = now();
            Ok(try_settle(database, &lease, now, once).await? || now < lease.expires_at)
        }
    }
}

async fn try_settle(
    database: &Database,
    lease: &Lease,
    now: u64,
    once: Option<(&str, &str)>,
) -> Result<bool, Error> {
    let account = lease.account.to_string();
    let its: [Param<'_>; 2] = [(&account).into(), (&lease.id).into()];
    let charge = [its.as_slice(), &[now.into(), lease.key_version.into()]].concat();
    let end = (END_LEASE, its.to_vec());
    let rows = match once {
        None => database.batch(&[(CHARGE_LEASE, charge), end]).await?,
        Some((request, answer)) => {
            let keep = [charge.clone(), vec![request.into(), answer.into()]].concat();
            let charge = (idempotent::CHARGE_LEASE, charge);
            database.batch(&[charge, (idempotent::KEEP_LEASED, keep), end]).await?
        }
    };
    rows.any(0)
}

/// Ends a lease without charging it.
///
/// # Errors
/// When the database fails; the lease then expires by itself.
pub async fn release(database: &Database, lease: Lease) -> Result<(), Error> {
    let account = lease.account.to_string();
    database.run((END_LEASE, vec![(&account).into(), (&lease.id).into()])).await
}

/// What `GET /me/quota` reports; `None` when the caller is not authorised.
pub async fn usage(database: &Database, caller: Caller, now: u64) -> Result<Option<Usage>, Error> {
    database.first((USAGE, Texts::of(caller).params(caller, now))).await
}

#[cfg(test)]
mod tests {
    use super::CHARGE;

    /// What the Worker is compared with would otherwise do less for a check, and seem faster.
    #[test]
    fn the_worker_of_the_bench_charges_by_the_same_statement() {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let bench = include_str!("../../../devtools/bench/javascript.mjs");
        assert!(words(bench).contains(&words(CHARGE)));
    }
}
