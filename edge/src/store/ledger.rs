//! The quota ledger (docs/trust.md, Q1–Q5).
//!
//! A check takes one unit: from the daily allowance while there is room, from the welcome checks
//! after that. A cached answer is charged at once; a fresh one holds a lease while an origin is asked. The lease of a list
//! holds a unit for each address, and settling it charges those that were answered and returns the others.
//! Used today = charged + live leases, decided inside one statement each, which D1 runs one at a time:
//! whatever the concurrency, the sum never exceeds what is allowed.

mod idempotent;
mod of_named_keys;
mod statements;

use crate::{
    account::AccountId,
    cf::database::{Database, Param},
    credentials::{
        idempotency::Idempotent,
        named_key::KeyId,
        proof::{Caller, Proof},
    },
    error::Error,
    limits::{
        quota::{Day, QuotaUsage},
        refusals::Refusal,
    },
};
use of_named_keys::{CHARGE_KEY, SETTLE_KEY, for_caller};
use serde::Deserialize;
use statements::{CHARGE, CHARGE_ONCE, CHARGED, END_LEASE, LEASE, LEASE_ONCE, SETTLE, USAGE, WHY};

/// The texts of a caller's parameters, for as long as their statement lives.
pub(super) struct CallerTexts {
    account: String,
    /// Of a session or a named key.
    shown: String,
}

impl CallerTexts {
    pub(super) fn of(caller: Caller) -> Self {
        Self { account: caller.account.to_string(), shown: caller.proof.text() }
    }

    /// Account, version of the key or session, and which of the two.
    pub(super) fn proof(&self, caller: Caller) -> [Param<'_>; 3] {
        let shown = match caller.proof {
            Proof::Key { version } => version.into(),
            Proof::Named { .. } | Proof::Session { .. } => (&self.shown).into(),
        };
        [(&self.account).into(), shown, caller.proof.kind().into()]
    }

    pub(super) fn params(&self, caller: Caller, now: u64) -> Vec<Param<'_>> {
        let [account, shown, kind] = self.proof(caller);
        vec![account, shown, kind, Day::of(now).number().into(), now.into()]
    }
}

/// A unit for a check: taken now, or earlier by a request with the same `Idempotency-Key`.
#[derive(Debug)]
pub enum Charged<T> {
    Now(T),
    Before(StoredAnswer),
}

/// The stored answer under an `Idempotency-Key`.
#[derive(Debug, Deserialize)]
pub struct StoredAnswer {
    /// A hash of the request; empty while the first one with the key is in flight.
    pub request: String,
    pub answer: String,
    pub left_over: String,
}

#[derive(Deserialize)]
struct RefusedCharge {
    replaced: u8,
    authorised: u8,
    units_left: u32,
    full: u8,
    allowance: u32,
}

impl RefusedCharge {
    /// Of a caller who wanted so many units.
    const fn refusal(&self, units: u32) -> Refusal {
        if self.replaced != 0 {
            Refusal::Dead
        } else if self.authorised == 0 {
            Refusal::Unauthorised
        } else if self.units_left >= units {
            Refusal::TooManyInFlight
        } else if self.units_left > 0 {
            Refusal::TooFewLeft { left: self.units_left, allowance: self.allowance }
        } else {
            Refusal::UsedUp { by_charges: self.full != 0, allowance: self.allowance }
        }
    }
}

/// Units held while an origin is asked.
#[derive(Debug, PartialEq, Eq)]
pub struct Lease {
    account: AccountId,
    id: String,
    /// Unix seconds.
    expires_at: u64,
    /// The version of the key that took it; 0 for a session.
    key_version: u32,
    /// The named key that took it.
    key: Option<KeyId>,
    /// The account's plan is another than the free one.
    pub is_paying: bool,
    /// The remaining allowance besides it, in the ledger's format.
    pub left_over: String,
}

/// Columns about the account that the statement for a lease returns.
#[derive(Deserialize)]
struct LeaseRow {
    paying: u8,
    left_over: String,
}

/// The remaining allowance after a charge, in the ledger's format.
#[derive(Debug, Deserialize)]
struct Left {
    left_over: String,
}

impl Lease {
    /// The account whose units it holds.
    pub const fn account(&self) -> AccountId {
        self.account
    }
}

/// Authorises and charges one cached answer, in one statement; for a request with a key it stores the answer in the
/// same transaction, unless the key was answered before. Only a refusal costs a second round trip, for its reason.
/// Returns the remaining allowance, for `RateLimit::of_checks`.
///
/// A database that fails is asked once more, under the same name: its failure may have been that of the reply alone.
pub async fn charge(
    database: &Database,
    caller: Caller,
    name: &str,
    once: Option<(&Idempotent, &str)>,
    now: u64,
) -> Result<Result<Charged<String>, Refusal>, Error> {
    let of = |sql| for_caller(caller, sql);
    let texts = CallerTexts::of(caller);
    let params = texts.params(caller, now);
    let mut charge = [params.clone(), vec![name.into()]].concat();
    let mut batch = match once {
        None => vec![(of(CHARGE), charge)],
        Some((key, answer)) => {
            charge.extend([Param::from(0_u64); 2].into_iter().chain(names(key)));
            let keep = [charge.clone(), vec![key.request().into(), answer.into()]].concat();
            let (keep, known) =
                ((idempotent::KEEP_CHARGED, keep), (of(idempotent::KNOWN), charge.clone()));
            vec![(of(CHARGE_ONCE), charge), keep, known]
        }
    };
    let stored_index = batch.len() - 1;
    if caller.proof.named().is_some() {
        batch.push((CHARGE_KEY, [params.clone(), vec![name.into()]].concat()));
    }
    let (rows, before) = match database.batch(&batch).await {
        Ok(rows) => (rows, None),
        Err(_) => {
            batch.push((CHARGED, vec![(&texts.account).into(), name.into()]));
            (database.batch(&batch).await?, Some(batch.len() - 1))
        }
    };
    for index in [Some(0), before].into_iter().flatten() {
        if let Some(Left { left_over }) = rows.first(index)? {
            return Ok(Ok(Charged::Now(left_over)));
        }
    }
    if once.is_some()
        && let Some(stored) = rows.first(stored_index)?
    {
        return Ok(Ok(Charged::Before(stored)));
    }
    refusal(database, caller, params, 1).await.map(Err)
}

/// Authorises and takes a lease of so many units, all or none, named `id`. It expires by itself after `ttl` seconds. None is taken
/// where its key was answered or holds a lease.
pub async fn lease(
    database: &Database,
    caller: Caller,
    (id, units): (String, u32),
    key: Option<&Idempotent>,
    now: u64,
    ttl: u64,
) -> Result<Result<Charged<Lease>, Refusal>, Error> {
    let of = |sql| for_caller(caller, sql);
    let texts = CallerTexts::of(caller);
    let expires_at = now.saturating_add(ttl);
    let params = texts.params(caller, now);
    let mut lease = [params.clone(), vec![(&id).into(), expires_at.into(), units.into()]].concat();
    let batch = match key {
        None => vec![(of(LEASE), lease)],
        Some(key) => {
            lease.extend(names(key));
            vec![(of(LEASE_ONCE), lease.clone()), (of(idempotent::KNOWN), lease)]
        }
    };
    let rows = match database.batch(&batch).await {
        Ok(rows) => rows,
        Err(error) => {
            // Only the reply may have been lost. Its unit must not be held for the lease's whole life.
            let _ = database.run((END_LEASE, vec![(&texts.account).into(), (&id).into()])).await;
            return Err(error);
        }
    };
    if let Some(LeaseRow { paying, left_over }) = rows.first(0)? {
        return Ok(Ok(Charged::Now(Lease {
            account: caller.account,
            id,
            expires_at,
            key_version: caller.proof.key_version(),
            key: caller.proof.named(),
            is_paying: paying != 0,
            left_over,
        })));
    }
    if key.is_some()
        && let Some(stored) = rows.first(1)?
    {
        return Ok(Ok(Charged::Before(stored)));
    }
    refusal(database, caller, params, units).await.map(Err)
}

/// The names of a request's key: its own, and the one that it has under the secret before.
fn names(key: &Idempotent) -> [Param<'_>; 2] {
    key.names().each_ref().map(Param::from)
}

async fn refusal(
    database: &Database,
    caller: Caller,
    params: Vec<Param<'_>>,
    units: u32,
) -> Result<Refusal, Error> {
    let why = database.first::<RefusedCharge>((for_caller(caller, WHY), params)).await?;
    Ok(why.map_or(Refusal::Dead, |why| why.refusal(units)))
}

/// Charges so many of the lease's units, keeps the answer of a request under a key, and ends the lease, in one transaction: the
/// other units are free again. `false` when it had expired: then its units may be someone else's by now, and nothing is charged.
///
/// A database that fails is asked once more. Its failure may have been that of the reply alone; then the
/// lease has ended before its time, and only a charge ends it so.
///
/// # Errors
/// When it fails twice; the lease then expires.
pub async fn settle(
    database: &Database,
    lease: Lease,
    units: u32,
    now: impl Fn() -> u64,
    once: Option<(&Idempotent, &str)>,
) -> Result<bool, Error> {
    match try_settle(database, &lease, units, now(), once).await {
        Ok(charged) => Ok(charged),
        Err(_) => {
            let now = now();
            Ok(try_settle(database, &lease, units, now, once).await? || now < lease.expires_at)
        }
    }
}

async fn try_settle(
    database: &Database,
    lease: &Lease,
    units: u32,
    now: u64,
    once: Option<(&Idempotent, &str)>,
) -> Result<bool, Error> {
    let account = lease.account.to_string();
    let its: [Param<'_>; 2] = [(&account).into(), (&lease.id).into()];
    let charge = [its.as_slice(), &[now.into(), lease.key_version.into(), units.into()]].concat();
    let mut batch = vec![(SETTLE, charge.clone())];
    if lease.key.is_some() {
        batch.push((SETTLE_KEY, charge.clone()));
    }
    if let Some((key, answer)) = once {
        let keep = [charge, vec![key.request().into(), answer.into()]].concat();
        batch.push((idempotent::KEEP_LEASED, keep));
    }
    batch.push((END_LEASE, its.to_vec()));
    database.batch(&batch).await?.any(0)
}

/// Ends a lease without charging it.
///
/// # Errors
/// When the database fails; the lease then expires.
pub async fn release(database: &Database, lease: Lease) -> Result<(), Error> {
    let account = lease.account.to_string();
    database.run((END_LEASE, vec![(&account).into(), (&lease.id).into()])).await
}

/// Returns the values for `GET /me/quota`; `None` if the caller isn't authorised.
pub async fn usage(
    database: &Database,
    caller: Caller,
    now: u64,
) -> Result<Option<QuotaUsage>, Error> {
    database.first((for_caller(caller, USAGE), CallerTexts::of(caller).params(caller, now))).await
}
