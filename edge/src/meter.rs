//! Costs of a request at storage and origins, for its log line, and the limits of a scheduled run.
//!
//! Requests interleave in an isolate only at awaits. [`metered`] sets the current meter for the duration of a poll, and
//! `cf::clock::timed` keeps the one that was current when it started: no function needs a parameter for it, and no
//! request is charged for another's work.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
};

use serde::Serialize;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Meter>>> = const { RefCell::new(None) };
}

#[derive(Debug, Default)]
pub struct Meter {
    d1: Gauge,
    d1_statements: AtomicU32,
    d1_rows_written: AtomicU32,
    cache: Gauge,
    kv: Gauge,
    origin: Gauge,
    queue: Gauge,
    run: Option<RunLimits>,
    party: Mutex<Party>,
}

/// With account and network of a request an attack can be investigated later. Requests by API key have neither, so that
/// no log shows when a customer checks.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Party {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// Limits of a scheduled run, which no caller aborts: on its D1 statements, and on the time that it
/// waits for a hanging database.
#[derive(Debug)]
pub struct RunLimits {
    statements_left: AtomicU32,
    /// Statements reserved for later steps of the run.
    reserved: AtomicU32,
    hung: Mutex<BTreeSet<u8>>,
    /// True after an email wasn't sent in time: the run sends no further emails.
    pub mail_hung: AtomicBool,
}

impl RunLimits {
    pub const PATIENCE_MS: u64 = 10_000;

    pub fn take(&self, database: u8, statements: usize) -> Result<(), &'static str> {
        if self.hung().contains(&database) {
            return Err("it hung earlier in this run");
        }
        let statements = u32::try_from(statements).unwrap_or(u32::MAX);
        let reserved = self.reserved.load(Relaxed);
        let remaining = self.statements_left.load(Relaxed).checked_sub(statements);
        let remaining = remaining
            .filter(|remaining| *remaining >= reserved)
            .ok_or("the run's statements are used up")?;
        self.statements_left.store(remaining, Relaxed);
        Ok(())
    }

    pub fn hangs(&self, database: u8) {
        self.hung().insert(database);
    }

    /// Reserves `last` statements for the end of the run, and divides the rest among this step and
    /// `others` further steps.
    pub fn share(&self, others: u32, last: u32) {
        let rest = self.statements_left.load(Relaxed).saturating_sub(last);
        let others = rest - rest / others.saturating_add(1);
        self.reserved.store(last.saturating_add(others), Relaxed);
    }

    fn hung(&self) -> MutexGuard<'_, BTreeSet<u8>> {
        // Never contended: an isolate has one thread and holds no lock across an await.
        self.hung.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
struct Gauge {
    calls: AtomicU32,
    ms: AtomicU32,
}

#[derive(Debug, Clone, Copy)]
pub enum Part {
    D1(usize),
    Cache,
    Kv,
    Origin,
    Queue,
}

#[derive(Debug, Serialize)]
pub struct Expenses {
    pub d1_trips: u32,
    pub d1_statements: u32,
    /// Written rows as D1 bills them, including index rows.
    pub d1_rows_written: u32,
    pub d1_ms: u32,
    pub cache_calls: u32,
    pub cache_ms: u32,
    pub kv_calls: u32,
    pub kv_ms: u32,
    pub origin_calls: u32,
    pub origin_ms: u32,
    #[serde(skip_serializing_if = "is_zero")]
    pub queue_calls: u32,
    #[serde(skip_serializing_if = "is_zero")]
    pub queue_ms: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Meter {
    pub fn of_run(statements: u32) -> Self {
        let run = RunLimits {
            statements_left: AtomicU32::new(statements),
            reserved: AtomicU32::new(0),
            hung: Mutex::default(),
            mail_hung: AtomicBool::new(false),
        };
        Self { run: Some(run), ..Self::default() }
    }

    pub fn party(&self) -> Party {
        self.party.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub const fn run(&self) -> Option<&RunLimits> {
        self.run.as_ref()
    }

    pub fn expenses(&self) -> Expenses {
        let of = |gauge: &Gauge| (gauge.calls.load(Relaxed), gauge.ms.load(Relaxed));
        let (d1_trips, d1_ms) = of(&self.d1);
        let (cache_calls, cache_ms) = of(&self.cache);
        let (kv_calls, kv_ms) = of(&self.kv);
        let (origin_calls, origin_ms) = of(&self.origin);
        let (queue_calls, queue_ms) = of(&self.queue);
        let d1_statements = self.d1_statements.load(Relaxed);
        let d1_rows_written = self.d1_rows_written.load(Relaxed);
        Expenses {
            d1_trips,
            d1_statements,
            d1_rows_written,
            d1_ms,
            cache_calls,
            cache_ms,
            kv_calls,
            kv_ms,
            origin_calls,
            origin_ms,
            queue_calls,
            queue_ms,
        }
    }

    pub fn add(&self, part: Part, ms: u64) {
        let gauge = match part {
            Part::D1(statements) => {
                let statements = u32::try_from(statements).unwrap_or(u32::MAX);
                self.d1_statements.fetch_add(statements, Relaxed);
                &self.d1
            }
            Part::Cache => &self.cache,
            Part::Kv => &self.kv,
            Part::Origin => &self.origin,
            Part::Queue => &self.queue,
        };
        gauge.calls.fetch_add(1, Relaxed);
        gauge.ms.fetch_add(u32::try_from(ms).unwrap_or(u32::MAX), Relaxed);
    }
}

pub fn current() -> Option<Arc<Meter>> {
    CURRENT.with_borrow(Clone::clone)
}

pub fn note(change: impl FnOnce(&mut Party)) {
    if let Some(meter) = current() {
        change(&mut meter.party.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

pub async fn metered<T>(meter: &Arc<Meter>, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    poll_fn(|context| {
        let outer = CURRENT.replace(Some(Arc::clone(meter)));
        let polled = work.as_mut().poll(context);
        CURRENT.set(outer);
        polled
    })
    .await
}

pub fn count_rows_written(rows: impl FnOnce() -> u32) {
    if let Some(meter) = current() {
        meter.d1_rows_written.fetch_add(rows(), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{Meter, RunLimits};

    fn limits(meter: &Meter) -> &RunLimits {
        meter.run().expect("of a run")
    }

    #[test]
    fn each_database_has_its_share_of_a_run_and_the_end_its_own() {
        let meter = Meter::of_run(100);
        let run = limits(&meter);
        let mut shares = [0; 3];
        for (number, others) in (0..3).zip((0..3).rev()) {
            run.share(others, 10);
            while run.take(number, 1).is_ok() {
                shares[usize::from(number)] += 1;
            }
        }
        assert_eq!(shares, [30, 30, 30]);
        run.share(0, 0);
        assert!(run.take(0, 11).is_err(), "no more than are left");
        assert!(run.take(0, 10).is_ok());
        assert!(run.take(0, 1).is_err());
    }

    #[test]
    fn what_one_database_leaves_is_for_the_others() {
        let meter = Meter::of_run(100);
        let run = limits(&meter);
        run.share(1, 0);
        assert!(run.take(0, 5).is_ok());
        run.share(0, 0);
        assert!(run.take(1, 95).is_ok());
    }

    #[test]
    fn a_database_that_hangs_is_asked_nothing_more() {
        let meter = Meter::of_run(100);
        let run = limits(&meter);
        run.hangs(1);
        assert!(run.take(1, 1).is_err());
        assert!(run.take(2, 1).is_ok());
    }
}
