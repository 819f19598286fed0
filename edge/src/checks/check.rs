//! A check of 1 to 100 addresses, by the steps of docs/architecture.md: look, lease, ask, settle, remember.
//!
//! At the deadline, the results that have arrived are charged and given out. The check continues, as it does if the
//! client disconnects: its lease is settled when the last answer has come. A repeat of the request with the same
//! `Idempotency-Key` finds that answer.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use futures_util::future::join_all;
use rcpt_shared::{Address, DomainReport, Tenant, Verdict, sandbox::http_status};

use super::{
    list::{Answers, DistinctAddress, List, ListAnswer},
    result::ListResult,
    units::{charge, lease, lease_or_answer, open, permit, settle, settle_part},
};
use crate::{
    app::App,
    cf::{clock, log, verdict_cache::CachedVerdict},
    credentials::{idempotency::Idempotent, keyed_names, proof::Caller},
    error::Error,
    extract::request::RequestContext,
    ledger::charge::{Charged, Lease, StoredAnswer},
    limits::quota::{Day, seconds_to_reset},
    outbound::origin_batch::{BatchCall, BatchItem},
};

/// An address without a verdict within this time isn't charged.
const BUDGET_MS: u64 = 20_000;
/// Milliseconds of the lease's lifetime reserved for settling it.
const SETTLING_MS: u64 = 5_000;
/// Milliseconds before the deadline at which the results of a list that have arrived are charged, in one round trip to
/// the account's database; at most a quarter of the deadline. An address alone has nothing to charge by then.
const CHARGING_MS: u64 = 100;

/// Addresses to check for a caller whom the shield has admitted.
pub struct Check {
    pub app: Arc<App>,
    pub context: RequestContext,
    pub caller: Caller,
    /// Present if the request has an `Idempotency-Key`.
    pub once: Option<Idempotent>,
    pub list: List,
    pub deadline_ms: Option<u64>,
}

/// # Errors
/// [`Error::test_key`], those of the ledger, the error assigned to a sandbox address, or [`Error::upstream`] if there
/// is nothing to answer.
pub async fn answer(check: Check) -> Result<ListResult, Error> {
    permit(check.caller, check.list.domains())?;
    let answers = Answers::none_of(&check.list);
    let work = Work { check, answers };
    if work.check.list.is_single()
        && let Some(known) = work.look().await?
    {
        return Ok(known);
    }
    let work = Arc::new(work);
    let Some(deadline_ms) = work.check.deadline_ms else { return work.unhurried().await };
    let facts = work.facts(deadline_ms);
    let (result, facts) = beside(Box::pin(Arc::clone(&work).by(deadline_ms)), facts).await;
    let mut result = result?;
    if let Some(report) = facts.flatten() {
        work.check.list.add_facts(&mut result, report);
    }
    Ok(result)
}

struct Work {
    check: Check,
    answers: Answers,
}

impl Work {
    /// A test key's check leaves nothing in the caches, finds nothing there, and is never counted.
    const fn is_test(&self) -> bool {
        self.check.caller.proof.is_test()
    }

    /// Charges a single check that needs no origin: of no address, or with a recent verdict.
    async fn look(&self) -> Result<Option<ListResult>, Error> {
        let Check { app, context, caller, once, list, .. } = &self.check;
        if let Some(one) = list.distinct().first() {
            let known = match self.is_test() {
                true => None,
                false => app.verdicts.get(&one.key, clock::now()).await,
            };
            let Some(known) = known else { return Ok(None) };
            self.answers.set(0, ListAnswer::Before(known));
        }
        let stored = self.answers.to_stored(list);
        match charge((app, &context.deferred), *caller, once.as_ref(), &stored).await {
            Ok(Charged::Now(left)) => Ok(Some(self.result().leaving(&left))),
            Ok(Charged::Before(stored)) => self.repeat(&stored).map(Some),
            // The first request with this `Idempotency-Key` is still in flight: wait for its response.
            Err(error) if self.check.deadline_ms.is_some() && error.is_key_in_use() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn result(&self) -> ListResult {
        let result = self.check.list.result(&self.answers);
        if self.is_test() { ListResult { counted: Some(0), ..result } } else { result }
    }

    fn repeat(&self, stored: &StoredAnswer) -> Result<ListResult, Error> {
        let Check { app, once, list, .. } = &self.check;
        let answers = Answers::from_stored(open(app, once.as_ref(), stored)?);
        Ok(list.result(&answers).leaving(&stored.left_over))
    }

    async fn unhurried(self: Arc<Self>) -> Result<ListResult, Error> {
        let Check { app, context, caller, once, list, .. } = &self.check;
        match lease(app, *caller, list.units(), once.as_ref()).await? {
            Charged::Now(lease) => {
                let left_over = lease.left_over.clone();
                let deferred = context.deferred.clone();
                let work = async move {
                    self.settle(self.find_out(lease.is_paying, None).await, lease).await
                };
                let result = deferred.outliving(work).await.unwrap_or_else(cut_off)?;
                Ok(result.leaving(&left_over))
            }
            Charged::Before(stored) => self.repeat(&stored),
        }
    }

    /// `deadline_ms` counts from the first request for a lease.
    async fn by(self: Arc<Self>, deadline_ms: u64) -> Result<ListResult, Error> {
        let Check { app, context, caller, once, list, .. } = &self.check;
        let units = list.units();
        let (charged, end) =
            lease_or_answer(deadline_ms, app, *caller, units, once.as_ref()).await?;
        let lease = match charged {
            Some(Charged::Now(lease)) => lease,
            Some(Charged::Before(stored)) => return self.repeat(&stored),
            // The first request with this `Idempotency-Key` is still in flight.
            None => return Ok(list.unsettled_result()),
        };
        let left_over = lease.left_over.clone();
        let charging_ms = if list.is_single() { 0 } else { CHARGING_MS.min(deadline_ms / 4) };
        let work = Arc::clone(&self).until(end, charging_ms, lease);
        let answered = context.deferred.outliving(work);
        let result = match clock::within(time_until(end), answered).await {
            Some(result) => result.unwrap_or_else(cut_off)?,
            // The charge for the results at the deadline takes too long, so none of them leaves.
            None => list.unsettled_result(),
        };
        Ok(result.leaving(&left_over))
    }

    /// `end` is in milliseconds of the Worker's clock.
    async fn until(
        self: Arc<Self>,
        end: u64,
        charging_ms: u64,
        lease: Lease,
    ) -> Result<ListResult, Error> {
        let mut finding = Box::pin({
            let (work, is_paying) = (Arc::clone(&self), lease.is_paying);
            async move { work.find_out(is_paying, Some(end)).await }
        });
        let time = time_until(end.saturating_sub(charging_ms));
        if let Some(found) = clock::within(time, finding.as_mut()).await {
            return self.settle(found, lease).await;
        }
        let Check { app, context, once, list, .. } = &self.check;
        let snapshot = self.answers.clone();
        let charging = async {
            match list.charged_positions(&snapshot) {
                0 => Ok(()),
                units => settle_part(app, &lease, units, once.as_ref()).await,
            }
        };
        let (charged, found) = beside(charging, finding.as_mut()).await;
        let rest = Arc::clone(&self);
        context.deferred.after_response(async move {
            let found = match found {
                Some(found) => found,
                None => finding.await,
            };
            if let Err(error) = rest.settle(found, lease).await {
                log::failure("the rest of a check", &error);
            }
        });
        Ok(match charged {
            Ok(()) => list.pending_result(&snapshot),
            Err(error) => {
                log::failure("the results of a list at its deadline", &error);
                list.unsettled_result()
            }
        })
    }

    async fn settle(&self, found: Result<(), Error>, lease: Lease) -> Result<ListResult, Error> {
        let Check { app, context, once, list, .. } = &self.check;
        let answers = &self.answers;
        let found = found.map(|()| (list.charged_positions(answers), answers.to_stored(list)));
        settle((app, &context.deferred), lease, once.as_ref(), found).await?;
        if !self.is_test() {
            let fresh = answers.fresh_of(list);
            join_all(fresh.iter().map(|(one, verdict)| self.remember(one, verdict))).await;
        }
        Ok(self.result())
    }

    /// `awaited_until` is when the caller takes what is known, in milliseconds of the Worker's clock.
    async fn find_out(&self, is_paying: bool, awaited_until: Option<u64>) -> Result<(), Error> {
        let Self { check: Check { app, list, .. }, answers } = self;
        let now = clock::now();
        let mut errors = list.distinct().iter().filter_map(|one| sandbox_error(&one.address, now));
        if let Some(error) = errors.next() {
            return Err(error);
        }
        if !self.is_test() && !list.is_single() {
            let reads = list.distinct().iter().map(|one| app.verdicts.get(&one.key, now));
            for (index, cached) in join_all(reads).await.into_iter().enumerate() {
                if let Some(cached) = cached {
                    answers.set(index, ListAnswer::Before(cached));
                }
            }
        }
        let (positions, addresses): (Vec<_>, Vec<_>) = answers.missing_of(list).into_iter().unzip();
        let tenant =
            keyed_names::of_account(&app.config.address_secrets, self.check.caller.account);
        let tenant = Tenant { name: &tenant, paying: is_paying };
        match addresses.as_slice() {
            [] => {}
            [address] if list.is_single() => self.ask_alone(address, tenant, awaited_until).await?,
            addresses => self.ask_together(&positions, addresses, tenant, awaited_until).await?,
        }
        let is_empty = list.charged_positions(answers) == 0 && answers.has_no_verdict();
        if is_empty { Err(Error::upstream("no address of a list was asked about")) } else { Ok(()) }
    }

    /// Identical checks at the same time share one request to an origin.
    async fn ask_alone(
        &self,
        address: &Address,
        tenant: Tenant<'_>,
        awaited_until: Option<u64>,
    ) -> Result<(), Error> {
        let Check { app, context, list, .. } = &self.check;
        let Some(one) = list.distinct().first() else { return Ok(()) };
        let (id, remembers) = (&context.id, !self.is_test());
        let ask = async |deadline| {
            app.origins.probe(address, id, tenant, deadline, awaited_until, remembers).await
        };
        // A caller who takes what is known doesn't wait with those who wait for all of it.
        let kind = if awaited_until.is_some() { "awaited " } else { "" };
        let mut verdict = app.in_flight.join(&[kind, &one.key].concat(), ask).await?;
        if self.is_test() {
            // A live key's check may have been joined.
            verdict.seen_before = None;
        }
        self.answers.set(0, ListAnswer::Now(Box::new(verdict)));
        Ok(())
    }

    async fn ask_together(
        &self,
        positions: &[usize],
        addresses: &[Address],
        tenant: Tenant<'_>,
        awaited_until: Option<u64>,
    ) -> Result<(), Error> {
        let Check { app, context, .. } = &self.check;
        let heard = |index: usize, item: &BatchItem| {
            if let Some(position) = positions.get(index) {
                self.answers.set(*position, ListAnswer::of(item));
            }
        };
        let life_ms = app.config.lease_ttl.saturating_mul(1_000);
        let budget_ms = BUDGET_MS.min(life_ms.saturating_sub(SETTLING_MS));
        let deadline = clock::now_ms().saturating_add(budget_ms);
        let request_id = context.id.as_str();
        let call =
            BatchCall { request_id, tenant, urgent: true, deadline, awaited_until, heard: &heard };
        for (index, item) in app.origins.probe_batch(addresses, call).await?.iter().enumerate() {
            heard(index, item);
        }
        Ok(())
    }

    /// An address that an origin knows from an earlier check is also cached globally, which costs money. Both entries
    /// expire together.
    async fn remember(&self, one: &DistinctAddress, verdict: &Verdict) {
        let Check { app, context, .. } = &self.check;
        let now = clock::now();
        let ttl = app.config.cache.of_verdict(verdict.status, Some(verdict.reason));
        let age = verdict.seen_before.unwrap_or_default();
        let ttl = ttl.unwrap_or_default().saturating_sub(age);
        if ttl == 0 {
            return;
        }
        let entry = CachedVerdict::new(verdict, now.saturating_add(ttl), one.address.domain());
        app.verdicts.put_here(&one.key, &entry, now).await;
        if verdict.seen_before.is_some() {
            let (app, key) = (Arc::clone(app), one.key.clone());
            context.deferred.after_response(async move {
                app.verdicts.put_everywhere(&key, &entry, now).await;
            });
        }
    }

    /// Starts halfway to the deadline, when most verdicts have arrived and the probe already has the domain's records.
    fn facts(&self, deadline_ms: u64) -> impl Future<Output = Option<DomainReport>> + use<> {
        let Check { app, context, caller, list, .. } = &self.check;
        let one = list.distinct().first().filter(|_| list.is_single() && list.shows_details());
        let asked = one.map(|one| (Arc::clone(app), one.address.clone(), context.id.clone()));
        let account = caller.account;
        async move {
            let (app, address, id) = asked?;
            let until = clock::now_ms().saturating_add(deadline_ms);
            clock::sleep(Duration::from_millis(deadline_ms / 2)).await;
            let tenant = keyed_names::of_account(&app.config.address_secrets, account);
            let tenant = Tenant { name: &tenant, paying: false };
            app.origins.domain_report(address.domain(), &id, tenant, until).await.ok()
        }
    }
}

fn cut_off<T>() -> Result<T, Error> {
    Err(Error::internal("a check was cut off"))
}

/// `end` is in milliseconds of the Worker's clock.
fn time_until(end: u64) -> Duration {
    Duration::from_millis(end.saturating_sub(clock::now_ms()))
}

const SANDBOX_DAILY_CHECKS: u32 = 100;

/// The error assigned to a sandbox address; `None` for all other addresses. `now` is in Unix seconds.
fn sandbox_error(address: &Address, now: u64) -> Option<Error> {
    let cause = "an address of the sandbox";
    Some(match http_status(address)? {
        429 => {
            let (resets_at, seconds) = (Day::of(now).resets_at(), seconds_to_reset(now));
            Error::email_checks_used_up(SANDBOX_DAILY_CHECKS, resets_at, seconds)
        }
        502 => Error::upstream(cause),
        _ => Error::unavailable(cause),
    })
}

/// The result of `work`, and that of `aside` if `aside` completes no later.
async fn beside<T, U>(
    work: impl Future<Output = T>,
    aside: impl Future<Output = U>,
) -> (T, Option<U>) {
    let (mut work, mut aside) = (pin!(work), pin!(aside));
    let mut early = None;
    let done = poll_fn(|context| {
        if early.is_none()
            && let Poll::Ready(done) = aside.as_mut().poll(context)
        {
            early = Some(done);
        }
        work.as_mut().poll(context)
    });
    (done.await, early)
}
