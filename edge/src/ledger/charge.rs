//! The quota ledger (docs/security.md, Q1–Q5).
//!
//! A check costs one unit: of the daily allowance first, then of the welcome checks. A cached response is charged
//! immediately; a new check holds a lease while an origin works on it. A list's lease holds a unit per address;
//! settling it charges the counted results and returns the other units. The daily usage is the sum of charges and live
//! leases. Each statement checks the allowance itself, and D1 runs one at a time, so the sum never exceeds it. The same
//! statement verifies the caller and counts the units of a limited key. A test key costs nothing, and nothing is
//! written.

mod idempotent;
mod statements;

use crate::{
    account::AccountId,
    cf::database::{Database, Param},
    credentials::{
        idempotency::Idempotent,
        proof::{Caller, Proof},
    },
    error::Error,
    limits::{
        quota::{Day, QuotaUsage},
        refusals::{Refusal, UnitLimit},
    },
};
use serde::Deserialize;
use statements::{
    DELETE_LEASE, INSERT_LEASE, INSERT_LEASE_ONCE, SELECT_CHARGE, SELECT_REFUSAL, SELECT_USAGE,
    UPDATE_CHARGE, UPDATE_CHARGE_ONCE, UPDATE_LEASE, UPDATE_SETTLEMENT,
};

/// Texts of a caller's parameters, which must live as long as the statement.
pub struct CallerTexts {
    account: String,
    shown: String,
}

impl CallerTexts {
    pub fn of(caller: Caller) -> Self {
        Self { account: caller.account.to_string(), shown: caller.proof.text() }
    }

    pub fn proof(&self, caller: Caller) -> [Param<'_>; 3] {
        [(&self.account).into(), (&self.shown).into(), caller.proof.kind().into()]
    }

    pub fn key(&self, caller: Caller) -> Option<&str> {
        matches!(caller.proof, Proof::Key { .. }).then_some(self.shown.as_str())
    }

    pub fn params(&self, caller: Caller, now: u64) -> Vec<Param<'_>> {
        let [account, shown, kind] = self.proof(caller);
        vec![account, shown, kind, Day::of(now).number().into(), now.into()]
    }
}

#[derive(Debug)]
pub enum Charged<T> {
    Now(T),
    Before(StoredAnswer),
}

#[derive(Debug, Deserialize)]
pub struct StoredAnswer {
    pub request: String,
    pub answer: String,
    /// Nonzero while the request is in flight: it has no answer yet.
    pub in_flight: u8,
    pub left_over: String,
}

#[derive(Deserialize)]
struct RefusedCharge {
    is_over: u8,
    authorised: u8,
    daily: u32,
    welcome: u32,
    full: u8,
    allowance: u32,
    welcome_checks: u32,
    by_key: u8,
}

impl RefusedCharge {
    const fn refusal(&self, units: u32) -> Refusal {
        if self.is_over != 0 {
            Refusal::Dead
        } else if self.authorised == 0 {
            Refusal::Unauthorised
        } else if self.daily.saturating_add(self.welcome) >= units {
            Refusal::TooManyInFlight
        } else if self.daily > 0 || self.welcome > 0 {
            Refusal::TooFewLeft { daily: self.daily, welcome: self.welcome, limit: self.limit() }
        } else {
            Refusal::UsedUp { by_charges: self.full != 0, limit: self.limit() }
        }
    }
}

impl RefusedCharge {
    const fn limit(&self) -> UnitLimit {
        match self.by_key {
            0 => UnitLimit::Account { daily: self.allowance, welcome: self.welcome_checks },
            _ => UnitLimit::Key(self.allowance),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct Lease {
    account: AccountId,
    /// Empty for a test key: no row.
    id: String,
    expires_at: u64,
    pub is_paying: bool,
    /// Remaining allowance without the lease's units, in the ledger's format.
    pub left_over: String,
}

#[derive(Deserialize)]
struct LeaseRow {
    paying: u8,
    left_over: String,
}

#[derive(Debug, Deserialize)]
struct Left {
    left_over: String,
}

impl Lease {
    pub const fn account(&self) -> AccountId {
        self.account
    }

    fn of_nothing(account: AccountId) -> Self {
        let (id, left_over) = (String::new(), String::new());
        Self { account, id, expires_at: u64::MAX, is_paying: false, left_over }
    }

    const fn holds_units(&self) -> bool {
        !self.id.is_empty()
    }
}

/// Charges a cached response in one statement, and stores it under an `Idempotency-Key`. A rejection needs a second
/// round trip, to find its reason. Returns the remaining allowance, for `RateLimit::of_checks`.
///
/// A failed statement is repeated once under the same name, because only the reply may have been lost.
pub async fn charge(
    database: &Database,
    caller: Caller,
    name: &str,
    once: Option<(&Idempotent, &str)>,
    now: u64,
) -> Result<Result<Charged<String>, Refusal>, Error> {
    if caller.proof.is_test() {
        let verified = verify(database, caller, now).await?;
        return Ok(verified.map(|()| Charged::Now(String::new())));
    }
    let texts = CallerTexts::of(caller);
    let params = texts.params(caller, now);
    let mut charge = [params.clone(), vec![name.into()]].concat();
    let mut batch = match once {
        None => vec![(UPDATE_CHARGE, charge)],
        Some((key, answer)) => {
            charge.extend([Param::from(0_u64); 2].into_iter().chain(names(key)));
            let keep = [charge.clone(), vec![(&key.requests()[0]).into(), answer.into()]].concat();
            let (keep, known) = (
                (idempotent::INSERT_RESPONSE_OF_CHARGE, keep),
                (idempotent::SELECT_STORED_RESPONSE, charge.clone()),
            );
            vec![(UPDATE_CHARGE_ONCE, charge), keep, known]
        }
    };
    let stored_index = batch.len() - 1;
    let (rows, before) = match database.batch(&batch).await {
        Ok(rows) => (rows, None),
        Err(_) => {
            batch.push((SELECT_CHARGE, vec![(&texts.account).into(), name.into()]));
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
    refusal(database, params, 1).await.map(Err)
}

/// Takes the lease `id` on `units` units, all or none, for `ttl` seconds; none if the request's `Idempotency-Key` has a
/// stored response or already holds a lease.
pub async fn lease(
    database: &Database,
    caller: Caller,
    (id, units): (String, u32),
    key: Option<&Idempotent>,
    now: u64,
    ttl: u64,
) -> Result<Result<Charged<Lease>, Refusal>, Error> {
    if caller.proof.is_test() {
        let verified = verify(database, caller, now).await?;
        return Ok(verified.map(|()| Charged::Now(Lease::of_nothing(caller.account))));
    }
    let texts = CallerTexts::of(caller);
    let expires_at = now.saturating_add(ttl);
    let params = texts.params(caller, now);
    let mut lease = [params.clone(), vec![(&id).into(), expires_at.into(), units.into()]].concat();
    let batch = match key {
        None => vec![(INSERT_LEASE, lease)],
        Some(key) => {
            lease.extend(names(key));
            let once = [lease.clone(), vec![(&key.requests()[0]).into()]].concat();
            vec![(INSERT_LEASE_ONCE, once), (idempotent::SELECT_STORED_RESPONSE, lease)]
        }
    };
    let rows = match database.batch(&batch).await {
        Ok(rows) => rows,
        Err(error) => {
            // The lease may exist, with only the reply lost: without this deletion, its units would stay reserved
            // until it expires.
            let _ = database.run((DELETE_LEASE, vec![(&texts.account).into(), (&id).into()])).await;
            return Err(error);
        }
    };
    if let Some(LeaseRow { paying, left_over }) = rows.first(0)? {
        return Ok(Ok(Charged::Now(Lease {
            account: caller.account,
            id,
            expires_at,
            is_paying: paying != 0,
            left_over,
        })));
    }
    if key.is_some()
        && let Some(stored) = rows.first(1)?
    {
        return Ok(Ok(Charged::Before(stored)));
    }
    refusal(database, params, units).await.map(Err)
}

fn names(key: &Idempotent) -> [Param<'_>; 2] {
    key.names().each_ref().map(Param::from)
}

async fn refusal(
    database: &Database,
    params: Vec<Param<'_>>,
    units: u32,
) -> Result<Refusal, Error> {
    let why = database.first::<RefusedCharge>((SELECT_REFUSAL, params)).await?;
    Ok(why.map_or(Refusal::Dead, |why| why.refusal(units)))
}

async fn verify(
    database: &Database,
    caller: Caller,
    now: u64,
) -> Result<Result<(), Refusal>, Error> {
    let texts = CallerTexts::of(caller);
    let refusal = refusal(database, texts.params(caller, now), 0).await?;
    Ok(match refusal {
        Refusal::Dead | Refusal::Unauthorised => Err(refusal),
        _ => Ok(()),
    })
}

/// Charges `units` of the lease's units in total, stores the response under an `Idempotency-Key`, if any, and ends the
/// lease, in one transaction. The other units become free. Returns `false` if the lease had expired: its units may
/// belong to another check by then, so nothing more is charged.
///
/// A failed statement is repeated once. If the second attempt finds no lease before its
/// expiry, the first one charged it and only the reply was lost.
///
/// # Errors
/// When both attempts fail; the lease then expires.
pub async fn settle(
    database: &Database,
    lease: Lease,
    units: u32,
    now: impl Fn() -> u64,
    once: Option<(&Idempotent, &str)>,
) -> Result<bool, Error> {
    match charge_lease(database, &lease, (units, now()), once, true).await {
        Ok(charged) => Ok(charged),
        Err(_) => {
            let now = now();
            let charged = charge_lease(database, &lease, (units, now), once, true).await?;
            Ok(charged || now < lease.expires_at)
        }
    }
}

/// Charges the lease's units up to `units` in total; the lease keeps the rest. A repetition charges nothing more, so a
/// failed attempt is repeated once. Returns `false` if the lease had expired, or if the request has been answered.
///
/// # Errors
/// When both attempts fail: the units may have been charged.
pub async fn settle_part(
    database: &Database,
    lease: &Lease,
    units: u32,
    now: impl Fn() -> u64,
    key: Option<&Idempotent>,
) -> Result<bool, Error> {
    let once = key.map(|key| (key, ""));
    match charge_lease(database, lease, (units, now()), once, false).await {
        Ok(charged) => Ok(charged),
        Err(_) => charge_lease(database, lease, (units, now()), once, false).await,
    }
}

/// If the lease ends with it, the response is stored under the `Idempotency-Key`, if any.
async fn charge_lease(
    database: &Database,
    lease: &Lease,
    (units, now): (u32, u64),
    once: Option<(&Idempotent, &str)>,
    ends: bool,
) -> Result<bool, Error> {
    if !lease.holds_units() {
        return Ok(true);
    }
    let account = lease.account.to_string();
    let its: [Param<'_>; 2] = [(&account).into(), (&lease.id).into()];
    let [mut names, mut requests] = [["".into(); 2]; 2];
    if let Some((key, _)) = once {
        names = self::names(key);
        requests = key.requests().each_ref().map(Param::from);
    }
    let amount = [now.into(), units.into()];
    let charge = [its.as_slice(), &amount, &names, &requests].concat();
    let mut batch = vec![(UPDATE_SETTLEMENT, charge.clone())];
    if !ends {
        batch.push((UPDATE_LEASE, charge));
        return database.batch(&batch).await?.any(0);
    }
    if let Some((_, answer)) = once {
        let keep = [charge, vec![answer.into()]].concat();
        batch.push((idempotent::INSERT_RESPONSE_OF_LEASE, keep));
    }
    batch.push((DELETE_LEASE, its.to_vec()));
    database.batch(&batch).await?.any(0)
}

/// If the database fails, the lease expires.
pub async fn release(database: &Database, lease: Lease) -> Result<(), Error> {
    if !lease.holds_units() {
        return Ok(());
    }
    let account = lease.account.to_string();
    database.run((DELETE_LEASE, vec![(&account).into(), (&lease.id).into()])).await
}

pub async fn usage(
    database: &Database,
    caller: Caller,
    now: u64,
) -> Result<Option<QuotaUsage>, Error> {
    database.first((SELECT_USAGE, CallerTexts::of(caller).params(caller, now))).await
}
