//! The unit that a check takes: who may have one, and what its charge comes to.

use rcpt_shared::Status;

use crate::{
    app::App,
    cf::{clock, shield::Shield},
    credentials::{idempotency::Idempotent, proof::Caller, random},
    error::Error,
    quota::{Day, seconds_to_reset},
    store::ledger::{self, Kept, Lease, Refusal},
};

/// A unit for a check, or what is kept of the check that had it before.
pub enum Unit<T> {
    Taken(T),
    Kept(Kept),
}

/// `once` with what is to be kept of its answer.
pub async fn charge(
    app: &App,
    caller: Caller,
    once: Option<(&Idempotent, &str)>,
) -> Result<Unit<String>, Error> {
    let now = clock::now();
    let name = random::identifier()?;
    let database = app.databases.of(caller.account)?;
    let charged = match once {
        None => ledger::charge(database, caller, &name, now).await?,
        Some(once) => ledger::charge_once(database, caller, &name, once, now).await?,
    };
    unit(app, charged, once.map(|(once, _)| once), caller, now)
}

pub async fn lease(
    app: &App,
    caller: Caller,
    once: Option<&Idempotent>,
) -> Result<Unit<Lease>, Error> {
    let now = clock::now();
    let id = random::identifier()?;
    let (database, ttl) = (app.databases.of(caller.account)?, app.config.lease_ttl);
    let lease = match once {
        None => ledger::lease(database, caller, id, now, ttl).await?,
        Some(once) => ledger::lease_once(database, caller, id, once, now, ttl).await?,
    };
    unit(app, lease, once, caller, now)
}

/// What is kept is for the same request only.
fn unit<T>(
    app: &App,
    outcome: ledger::Taking<T>,
    once: Option<&Idempotent>,
    caller: Caller,
    now: u64,
) -> Result<Unit<T>, Error> {
    match outcome {
        ledger::Taking::Taken(unit) => Ok(Unit::Taken(unit)),
        ledger::Taking::Kept(kept) if kept.request.is_empty() => {
            Err(Error::idempotency_key_in_use())
        }
        ledger::Taking::Kept(kept) if once.is_some_and(|once| once.is(&kept.request)) => {
            Ok(Unit::Kept(kept))
        }
        ledger::Taking::Kept(_) => Err(Error::idempotency_key_reused()),
        ledger::Taking::Refused(refusal) => Err(refused(app, refusal, caller, now)),
    }
}

/// Turns away, without any storage, a caller who is known to be refused, and an account that asks at a rate
/// that would be everybody's trouble.
///
/// A used-up allowance does not stop the repeat of a check that was counted; it is looked for as often as the
/// account may ask for its quota.
pub async fn admit(app: &App, caller: Caller, once: Option<&Idempotent>) -> Result<(), Error> {
    let now = clock::now();
    if let Some(refusal) = app.refusals.known(caller, now) {
        let may_repeat = once.is_some() && matches!(refusal, Refusal::UsedUp { .. });
        if !(may_repeat && app.shield.admits_account(&caller.party()).await) {
            return Err(error_of(refusal, caller, now));
        }
    }
    if !app.shield.admits_check(&caller.account.to_string()).await {
        return Err(Error::too_many_checks(now, Shield::PERIOD_OF_CHECKS));
    }
    Ok(())
}

fn refused(app: &App, refusal: Refusal, caller: Caller, now: u64) -> Error {
    app.refusals.learn(caller, refusal, now);
    error_of(refusal, caller, now)
}

fn error_of(refusal: Refusal, caller: Caller, now: u64) -> Error {
    match refusal {
        Refusal::Dead | Refusal::Unauthorised => caller.proof.refused().of_validation(),
        Refusal::UsedUp { allowance, .. } => {
            Error::email_checks_used_up(allowance, Day::of(now).resets_at(), seconds_to_reset(now))
        }
        Refusal::TooManyInFlight => Error::too_many_in_flight(now),
    }
}

/// Ends the lease before the answer leaves: an answer that was given is an answer that was charged.
pub async fn settle(
    app: &App,
    lease: Lease,
    status: Status,
    once: Option<(&Idempotent, &str)>,
) -> Result<(), Error> {
    let database = app.databases.of(lease.account())?;
    if !status.counts() {
        return ledger::release(database, lease).await;
    }
    let charged = match once {
        None => ledger::charge_lease(database, lease, clock::now).await?,
        Some((once, answer)) => {
            ledger::settle_once(database, lease, clock::now, once, answer).await?
        }
    };
    if charged { Ok(()) } else { Err(Error::upstream("the lease expired before the verdict came")) }
}
