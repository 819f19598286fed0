//! The units that checks cost: which callers are admitted, how units are leased, charged and returned, and when the
//! account's owner learns that few are left.

use std::{sync::Arc, time::Duration};

use rcpt_shared::sandbox::is_domain;
use serde::{Serialize, de::DeserializeOwned};

use super::allowance_sql;
use crate::{
    account::AccountId,
    app::App,
    cf::{clock, deferred::Deferred, log},
    credentials::{idempotency::Idempotent, proof::Caller, random},
    error::{Error, rate_limit::numbers},
    json,
    ledger::charge::{self, Charged, Lease, StoredAnswer},
    limits::{
        quota::{Day, seconds_to_reset},
        refusals::{Refusal, UnitLimit},
        shield::Shield,
    },
    webhooks::delivery,
};

/// Charges the unit of a response that needs no probe, and stores `answer` under the `Idempotency-Key`, if any.
pub async fn charge(
    (app, deferred): (&Arc<App>, &Deferred),
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
    if let Charged::Now(left_over) = &charged {
        warn(app, deferred, caller.account, left_over, 1);
    }
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
    let answer = text.and_then(|text| json::read(text.as_bytes()).ok());
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

/// First and longest pause, in milliseconds, between two polls for the response of the first
/// request with the same `Idempotency-Key`.
const LOOK_MS: u64 = 250;
const LONGEST_LOOK_MS: u64 = 1_000;
/// Milliseconds before the deadline at which the last poll starts: a poll is a round trip to the
/// account's database.
const LAST_LOOK_MS: u64 = 100;

/// Like [`lease`], with a deadline: also returns its end in milliseconds of the Worker's clock, counted from the first
/// answer of the database. While the first request with the same `Idempotency-Key` is in flight, polls for its
/// response with growing pauses; if it fails, this request replaces it. Returns `None` at the deadline.
pub async fn lease_or_answer(
    deadline_ms: u64,
    app: &App,
    caller: Caller,
    units: u32,
    once: Option<&Idempotent>,
) -> Result<(Option<Charged<Lease>>, u64), Error> {
    let (mut pause, mut end) = (LOOK_MS, None);
    loop {
        let charged = lease(app, caller, units, once).await;
        let now = clock::now_ms();
        let end = *end.get_or_insert(now.saturating_add(deadline_ms));
        match charged {
            Err(error) if error.is_key_in_use() => {}
            charged => return Ok((Some(charged?), end)),
        }
        let time_left = end.saturating_sub(now);
        let until_last = time_left.saturating_sub(LAST_LOOK_MS);
        if until_last == 0 {
            clock::sleep(Duration::from_millis(time_left)).await;
            return Ok((None, end));
        }
        clock::sleep(Duration::from_millis(pause.min(until_last))).await;
        pause = (pause * 2).min(LONGEST_LOOK_MS);
    }
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

/// Requires that the caller may ask about these domains: a test key only about those of the sandbox.
///
/// # Errors
/// [`Error::test_key`].
pub fn permit<'a>(caller: Caller, domains: impl IntoIterator<Item = &'a str>) -> Result<(), Error> {
    let is_permitted = !caller.proof.is_test() || domains.into_iter().all(is_domain);
    if is_permitted { Ok(()) } else { Err(Error::test_key()) }
}

/// Checks of a list that the account's shield counts as one: a list costs the storage as much as a
/// few checks.
const LIST_SHARE: u32 = 10;

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

/// Ends the lease, before the response is sent, so that no counted response is sent without a charge. What was `found`
/// has the number of units to charge, and an answer to store under the `Idempotency-Key`, if any; with 0 units, nothing
/// is stored. If nothing was found, nothing is charged.
///
/// # Errors
/// That of `found`, or the ledger's.
pub async fn settle<T: Serialize>(
    (app, deferred): (&Arc<App>, &Deferred),
    lease: Lease,
    once: Option<&Idempotent>,
    found: Result<(u32, T), Error>,
) -> Result<T, Error> {
    let database = app.databases.of(lease.account())?;
    let (units, answer) = match found {
        Ok((units @ 1.., answer)) => (units, answer),
        nothing => {
            charge::release(database, lease).await?;
            return nothing.map(|(_, answer)| answer);
        }
    };
    let sealed = seal(app, once, &answer)?;
    let kept = once.map(|once| (once, sealed.as_str()));
    let (account, left_over) = (lease.account(), lease.left_over.clone());
    if !charge::settle(database, lease, units, clock::now, kept).await? {
        return Err(expired());
    }
    warn(app, deferred, account, &left_over, units);
    Ok(answer)
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

/// `left_over` is the ledger's text about what is left. Only a charge of `units` that may have reached a mark asks the
/// database, after the response.
fn warn(app: &Arc<App>, deferred: &Deferred, account: AccountId, left_over: &str, units: u32) {
    if !reaches_a_mark(left_over, units) {
        return;
    }
    let app = Arc::clone(app);
    deferred.after_response(async move {
        if let Err(error) = tell(&app, account).await {
            log::failure("the notice of an allowance", &error);
        }
    });
}

async fn tell(app: &App, account: AccountId) -> Result<(), Error> {
    let (database, id) = (app.databases.of(account)?, random::identifier()?);
    if allowance_sql::mark(database, account, &id, clock::now()).await? {
        delivery::announce(app, account).await;
    }
    Ok(())
}

/// True if nothing is left; or at most 20 %, and more than 15 % before the charge. What leases hold isn't left, so the
/// charge that reaches 80 % may come somewhat later than the one that leaves 20 %.
fn reaches_a_mark(left_over: &str, units: u32) -> bool {
    let of_account = left_over.rsplit('|').next().unwrap_or_default();
    let mut numbers = numbers(of_account);
    let (Some(daily), Some(left), Some(0)) = (numbers.next(), numbers.next(), numbers.nth(1))
    else {
        return false;
    };
    left == 0 || left * 5 <= daily && (left + i64::from(units)) * 20 > daily * 3
}

#[cfg(test)]
mod tests {
    use super::reaches_a_mark;

    #[test]
    fn the_marks_are_80_percent_and_all_of_the_account_s_daily_checks() {
        for (left_over, units, reaches) in [
            ("100 21 50 0", 1, false),
            ("100 20 50 0", 1, true),
            ("100 15 50 0", 1, true),
            ("100 14 50 0", 1, false),
            ("100 1 50 0", 1, false),
            ("100 0 50 0", 1, true),
            // While welcome checks are left, nothing is refused.
            ("100 20 50 1", 1, false),
            ("100 0 50 1", 1, false),
            // A list may pass both marks at once.
            ("100 5 50 0", 30, true),
            ("100 0 50 0", 30, true),
            // Small allowances.
            ("1 0 0 0", 1, true),
            ("3 1 0 0", 1, false),
            ("5 1 0 0", 1, true),
            ("0 0 50 0", 1, true),
            // A key's limit is before the bar.
            ("10 0 |100 60 50 0", 1, false),
            ("10 5 |100 20 50 0", 1, true),
            ("10 0 |", 1, false),
            ("", 1, false),
        ] {
            assert_eq!(reaches_a_mark(left_over, units), reaches, "{left_over:?} after {units}");
        }
    }
}
