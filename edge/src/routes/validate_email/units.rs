//! The units that checks cost: which callers are admitted, and how units are leased, charged and returned.

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    app::App,
    cf::clock,
    credentials::{idempotency::Idempotent, proof::Caller, random},
    error::Error,
    ledger::charge::{self, Charged, Lease, StoredAnswer},
    limits::{
        quota::{Day, seconds_to_reset},
        refusals::{Refusal, UnitLimit},
        shield::Shield,
    },
};

/// Charges the unit of a response that needs no probe, and stores `answer` under the `Idempotency-Key`, if any.
pub async fn charge(
    app: &App,
    caller: Caller,
    once: Option<&Idempotent>,
    answer: &impl Serialize,
) -> Result<Charged<String>, Error> {
    let (name, now) = (random::identifier()?, clock::now());
    let sealed = seal(app, once, answer)?;
    let kept = once.map(|once| (once, sealed.as_str()));
    let database = app.databases.of(caller.account)?;
    let charged = charge::charge(database, caller, &name, kept, now).await?;
    let charged = charged.map_err(|refusal| refuse(app, refusal, caller, now))?;
    same_request(charged, once)
}

/// Empty without a key.
fn seal(app: &App, once: Option<&Idempotent>, answer: &impl Serialize) -> Result<String, Error> {
    let Some(once) = once else { return Ok(String::new()) };
    let text = serde_json::to_string(answer).unwrap_or_default();
    once.seal(&app.config.address_secrets, &text)
}

/// The answer that a settlement or a charge stored under the `Idempotency-Key`.
///
/// # Errors
/// [`Error::internal`] if it can't be decrypted or read.
pub fn open<T: DeserializeOwned>(
    app: &App,
    once: Option<&Idempotent>,
    stored: &StoredAnswer,
) -> Result<T, Error> {
    let text = once.and_then(|once| once.open(&app.config.address_secrets, &stored.answer));
    let answer = text.and_then(|text| serde_json::from_str(&text).ok());
    answer.ok_or_else(|| Error::internal("a stored answer could not be read"))
}

/// Takes a lease on `units` units, all or none.
pub async fn lease(
    app: &App,
    caller: Caller,
    units: u32,
    once: Option<&Idempotent>,
) -> Result<Charged<Lease>, Error> {
    let (id, now) = (random::identifier()?, clock::now());
    let (database, ttl) = (app.databases.of(caller.account)?, app.config.lease_ttl);
    let lease = charge::lease(database, caller, (id, units), once, now, ttl).await?;
    same_request(lease.map_err(|refusal| refuse(app, refusal, caller, now))?, once)
}

fn same_request<T>(charged: Charged<T>, once: Option<&Idempotent>) -> Result<Charged<T>, Error> {
    match charged {
        Charged::Before(stored) if !once.is_some_and(|once| once.is(&stored.request)) => {
            Err(Error::idempotency_key_reused())
        }
        Charged::Before(stored) if stored.in_flight != 0 => Err(Error::idempotency_key_in_use()),
        charged => Ok(charged),
    }
}

/// Rejects, without any storage, a caller with a remembered rejection, and an account whose rate
/// would harm others.
///
/// An exhausted allowance doesn't stop the repeat of a check that was charged: its response may be
/// looked up at the rate of other requests.
///
/// The test keys of an account have a shield of their own, which counts each of the `checks`: nothing else limits them.
pub async fn admit(
    app: &App,
    caller: Caller,
    once: Option<&Idempotent>,
    checks: u32,
) -> Result<(), Error> {
    let now = clock::now();
    if let Some(refusal) = app.refusals.refusal_of(caller, now) {
        let may_repeat = once.is_some() && matches!(refusal, Refusal::UsedUp { .. });
        if !(may_repeat && app.shield.admits_account(&caller.party()).await) {
            return Err(error_of(refusal, caller, now));
        }
    }
    let is_test = caller.proof.is_test();
    for _ in 0..if is_test { checks } else { checks.div_ceil(LIST_SHARE) } {
        if !admits(app, caller).await {
            return Err(Error::too_many_checks(now, Shield::CHECK_PERIOD_S));
        }
    }
    Ok(())
}

/// Checks of a list that the account's shield counts as one: a list costs the storage as much as a
/// few checks.
const LIST_SHARE: u32 = 10;

/// True if the shield admits one more check.
pub async fn admits(app: &App, caller: Caller) -> bool {
    let account = caller.account.to_string();
    match caller.proof.is_test() {
        true => app.shield.admits_test(&account).await,
        false => app.shield.admits_check(&account).await,
    }
}

fn refuse(app: &App, refusal: Refusal, caller: Caller, now: u64) -> Error {
    app.refusals.learn(caller, refusal, now);
    error_of(refusal, caller, now)
}

fn error_of(refusal: Refusal, caller: Caller, now: u64) -> Error {
    let (resets_at, seconds) = (Day::of(now).resets_at(), seconds_to_reset(now));
    match refusal {
        Refusal::Dead | Refusal::Unauthorised => caller.proof.to_error().of_validation(),
        Refusal::UsedUp { limit: UnitLimit::Account { daily, .. }, .. } => {
            Error::email_checks_used_up(daily, resets_at, seconds)
        }
        Refusal::UsedUp { limit: UnitLimit::Key(limit), .. } => {
            Error::key_used_up(limit, resets_at, seconds)
        }
        Refusal::TooFewLeft { daily, welcome, limit: UnitLimit::Key(limit) } => {
            Error::too_few_of_key_left(daily.saturating_add(welcome), limit, resets_at, seconds)
        }
        Refusal::TooFewLeft {
            daily,
            welcome,
            limit: UnitLimit::Account { daily: of, welcome: of_welcome },
        } => {
            let ledger = format!("{of} {daily} {of_welcome} {welcome}");
            Error::too_few_checks_left(daily.saturating_add(welcome), &ledger, resets_at, seconds)
        }
        Refusal::TooManyInFlight => Error::too_many_in_flight(now),
    }
}

/// Charges `units` units of the lease and ends it, before the response is sent, so that no counted response is sent
/// without a charge. `answer` is stored under the `Idempotency-Key`, if any; with 0 units, nothing is.
pub async fn settle(
    app: &App,
    lease: Lease,
    units: u32,
    once: Option<&Idempotent>,
    answer: &impl Serialize,
) -> Result<(), Error> {
    let database = app.databases.of(lease.account())?;
    if units == 0 {
        return charge::release(database, lease).await;
    }
    let sealed = seal(app, once, answer)?;
    let kept = once.map(|once| (once, sealed.as_str()));
    let charged = charge::settle(database, lease, units, clock::now, kept).await?;
    if charged { Ok(()) } else { Err(expired()) }
}

/// Charges `units` units of the lease in total before results leave; the lease keeps the rest.
pub async fn settle_part(
    app: &App,
    lease: &Lease,
    units: u32,
    once: Option<&Idempotent>,
) -> Result<(), Error> {
    let database = app.databases.of(lease.account())?;
    let charged = charge::settle_part(database, lease, units, clock::now, once).await?;
    if charged { Ok(()) } else { Err(expired()) }
}

fn expired() -> Error {
    Error::upstream("the lease expired before the verdict came")
}
