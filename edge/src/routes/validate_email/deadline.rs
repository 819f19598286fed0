//! Responses by the caller's deadline: the verdict, or the evidence known at the deadline.
//!
//! After a pending response the check continues, as it does when a client disconnects: its lease is
//! settled when the probe ends. A repeat of the request with the same `Idempotency-Key` finds the
//! response stored under the key. Without a key, no response is stored.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use rcpt_shared::{DomainReport, Tenant};
use serde_json::{Map, Value};

use super::{Check, ValidationResult, details::Details, units};
use crate::{
    app::App,
    cf::clock,
    credentials::{idempotency::Idempotent, proof::Caller, tenant},
    error::{Error, rate_limit::RateLimit},
    extract::request::RequestContext,
    ledger::charge::{Charged, Lease},
    limits::quota::seconds_to_reset,
};

/// Allowed range of `deadline_ms`.
const RANGE: std::ops::RangeInclusive<u64> = 300..=10_000;
/// Seconds after which a pending verdict may be available.
pub const RETRY_AFTER_S: u64 = 2;
/// First and longest pause, in milliseconds, between two polls for the response of the first
/// request with the same `Idempotency-Key`.
const LOOK_MS: u64 = 250;
const LONGEST_LOOK_MS: u64 = 1_000;
/// Milliseconds before the deadline at which the last poll starts: a poll is a round trip to the
/// account's database.
const LAST_LOOK_MS: u64 = 100;

/// Parses the member `deadline_ms` of a body.
pub fn of(body: &Map<String, Value>) -> Result<Option<u64>, Error> {
    let Some(value) = body.get("deadline_ms") else { return Ok(None) };
    // 500.0 is a whole number too, in JSON Schema.
    let whole = value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0);
    let deadline = whole.map(|number| number as u64).filter(|deadline| RANGE.contains(deadline));
    deadline.map(Some).ok_or_else(|| {
        Error::invalid_body("The 'deadline_ms' field must be a whole number from 300 to 10000.")
    })
}

enum AtDeadline {
    Answered(Box<ValidationResult>),
    /// The remaining allowance without the lease's units; `None` if the first request with the same `Idempotency-Key`
    /// holds the lease.
    Pending(Option<RateLimit>),
}

fn answered(result: ValidationResult) -> AtDeadline {
    AtDeadline::Answered(Box::new(result))
}

impl Check {
    /// `deadline_ms` counts from the first request for a lease.
    pub(super) async fn by_deadline(
        self,
        deadline_ms: u64,
        app: Arc<App>,
        caller: Caller,
        context: RequestContext,
    ) -> Result<ValidationResult, Error> {
        let (address, details) = (self.address.clone(), self.details);
        let facts = {
            let (app, domain) = (Arc::clone(&app), address.domain().to_owned());
            let id = context.id.clone();
            async move { facts_about(&app, &domain, &id, caller, deadline_ms).await }
        };
        let check = self.ask_by_deadline(deadline_ms, app, caller, context);
        let (found, facts) = match details {
            true => beside(check, facts).await,
            false => (check.await, None),
        };
        match found? {
            AtDeadline::Answered(result) => Ok(*result),
            AtDeadline::Pending(rate_limit) => {
                let pending_details = || Details::pending(&address, facts.flatten(), RETRY_AFTER_S);
                let pending = ValidationResult::pending(&address, details.then(pending_details));
                Ok(ValidationResult { rate_limit, ..pending })
            }
        }
    }

    async fn ask_by_deadline(
        self,
        deadline_ms: u64,
        app: Arc<App>,
        caller: Caller,
        context: RequestContext,
    ) -> Result<AtDeadline, Error> {
        let once = self.once.as_ref();
        let (charged, end) = lease_or_answer(deadline_ms, &app, caller, 1, once).await?;
        let lease = match charged {
            Some(Charged::Now(lease)) => lease,
            Some(Charged::Before(stored)) => {
                return self.repeat_answer(&app, &stored).map(answered);
            }
            None => return Ok(AtDeadline::Pending(None)),
        };
        let rate_limit = RateLimit::of_checks(&lease.left_over, seconds_to_reset(clock::now()));
        let time_left = Duration::from_millis(end.saturating_sub(clock::now_ms()));
        let check = Self { awaited_until: Some(end), ..self };
        match clock::within(time_left, check.leased(app, lease, caller, context)).await {
            Some(answer) => answer.map(answered),
            None => Ok(AtDeadline::Pending(rate_limit)),
        }
    }
}

/// Takes a lease on `units` units, or returns the response of the first request with the same `Idempotency-Key`. Also
/// returns the deadline in milliseconds of the Worker's clock. While the first request is in flight, polls for its
/// response with growing pauses; if the first fails, this request replaces it. Returns `None` at the deadline.
pub async fn lease_or_answer(
    deadline_ms: u64,
    app: &App,
    caller: Caller,
    units: u32,
    once: Option<&Idempotent>,
) -> Result<(Option<Charged<Lease>>, u64), Error> {
    let (mut pause, mut end) = (LOOK_MS, None);
    loop {
        let charged = units::lease(app, caller, units, once).await;
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

/// Starts halfway to the deadline, when most verdicts have arrived and the probe already has the domain's records.
async fn facts_about(
    app: &App,
    domain: &str,
    request_id: &str,
    caller: Caller,
    deadline_ms: u64,
) -> Option<DomainReport> {
    let until = clock::now_ms().saturating_add(deadline_ms);
    clock::sleep(Duration::from_millis(deadline_ms / 2)).await;
    let tenant = tenant::name(&app.config.address_secrets, caller.account);
    let tenant = Tenant { name: &tenant, paying: false };
    app.origins.domain_report(domain, request_id, tenant, until).await.ok()
}

/// The result of `work`, and that of `aside` if `aside` completes no later.
pub async fn beside<T, U>(
    work: impl Future<Output = T>,
    aside: impl Future<Output = U>,
) -> (T, Option<U>) {
    let (mut work, mut aside) = (pin!(work), pin!(aside));
    let mut early_facts = None;
    let done = poll_fn(|context| {
        if early_facts.is_none()
            && let Poll::Ready(done) = aside.as_mut().poll(context)
        {
            early_facts = Some(done);
        }
        work.as_mut().poll(context)
    });
    let done = done.await;
    (done, early_facts)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::of;

    #[test]
    fn a_deadline_is_a_whole_number_within_its_range() {
        let read = |value: Value| {
            let Value::Object(body) = json!({ "deadline_ms": value }) else { panic!() };
            of(&body).map_err(|error| format!("{error:?}"))
        };
        for good in [300, 301, 10_000] {
            assert_eq!(read(json!(good)), Ok(Some(good)));
        }
        assert_eq!(read(json!(500.0)), Ok(Some(500)));
        for bad in [
            json!(299),
            json!(10_001),
            json!(0),
            json!(-1),
            json!(500.5),
            json!("500"),
            Value::Null,
            json!([500]),
        ] {
            let error = read(bad.clone()).unwrap_err();
            assert!(
                error.contains("'deadline_ms'") && error.contains("300 to 10000"),
                "{bad}: {error}"
            );
        }
        assert_eq!(of(&serde_json::Map::new()).ok(), Some(None));
    }
}
