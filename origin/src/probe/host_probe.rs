//! A question to one host: its manner, its progress, and the time that it spends on waiting and DNS.

use std::{
    future::poll_fn,
    net::IpAddr,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
    time::Duration,
};

use arc_swap::ArcSwap;
use rcpt_pool::{Pool, Question, Wait};
use rcpt_shared::{CatchAll, Stage, Verdict};
use rcpt_verdict::Wording;
use tokio::time::{Instant, timeout_at};

use super::{
    client::{Client, HostSession},
    resolver::{AddressSource, Resolver},
};
use crate::{config::Config, dns::Flight, lists::MailRoute};

/// Longest wait for the control recipient's result behind an acceptance.
pub(super) const EVIDENCE_WAIT_MAX: Duration = Duration::from_secs(3);

/// `host.rs` finds addresses and sessions for the question, `conversation.rs` asks it in a session.
pub(super) struct HostProbe<'a> {
    pub resolver: &'a Resolver,
    pub client: &'a Arc<Client>,
    pub pool: &'a Arc<Pool<HostSession>>,
    pub config: &'a ArcSwap<Config>,
    pub question: &'a Question,
    pub host: &'a str,
    pub address_source: AddressSource<'a>,
    /// See [`Manner::invents`].
    pub invents: bool,
    /// Number of hosts left to ask that know as much as this one.
    pub more_hosts: usize,
    /// True if other hosts have a better preference: this host may accept everything because it knows less.
    pub is_backup: bool,
}

/// A list has more patience than a person, and may leave the invention to its domain's last address.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// Time for one address, DNS included and waits for a session not.
    pub budget: Duration,
    /// True if an acceptance is followed by the control recipient, should the evidence be missing.
    pub invents: bool,
    /// When somebody takes what is known; `None` if they wait for all of it. The probe goes on behind that moment.
    pub awaited_until: Option<Instant>,
    /// When nobody hears the answer any more.
    pub ends: Instant,
}

impl Manner {
    /// When an accepted address is answered without its evidence: when somebody takes what is known, unless that moment
    /// has passed.
    pub(super) fn evidence_until(self, now: Instant) -> Instant {
        let last = self.ends.min(now + EVIDENCE_WAIT_MAX);
        self.awaited_until.filter(|until| *until > now).map_or(last, |until| last.min(until))
    }
}

impl HostProbe<'_> {
    pub(super) const fn is_list(&self) -> bool {
        matches!(self.question.wait, Wait::InBatch(_))
    }

    pub(super) const fn by_route(&self) -> bool {
        matches!(self.address_source, AddressSource::ByRoute(_))
    }
}

const CHECK_INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct Progress {
    pub stage: Stage,
    pub mx_host: Option<Arc<str>>,
    /// The verdict, while only a backup host's word is missing.
    pub settled: Option<Box<Verdict>>,
    /// The control recipient's result, which belongs to the verdict and isn't there yet.
    pub learning: Option<Flight<CatchAll>>,
    /// The domain's mail hosts; `None` until they are known. A probe without details may leave it `None`.
    pub route: Option<MailRoute>,
    /// The words of a list's last refusal at RCPT, if the rules can't decide it.
    pub undecided: Option<Wording>,
    /// True if the probe has been admitted by the limits of its domain.
    pub admitted: bool,
    /// True if a host that couldn't be asked has answered about a recipient within a day.
    pub has_spoken: bool,
    /// The machine that refused the recipient in a used session.
    pub refused_by: Option<IpAddr>,
    /// Addresses of the host to which connecting was tried.
    pub tried: Vec<IpAddr>,
    pub times: Arc<Times>,
}

/// Times that don't count as the server's.
pub(super) struct Times {
    /// Time spent waiting for a session while the limits are used up.
    pub waiting: Stopwatch,
    pub dns: Stopwatch,
}

impl Progress {
    /// True if a server that `had` this time had less than half of the `usual` time because the check waited for a
    /// session or for DNS.
    pub(super) fn took_time_of(&self, had: Duration, usual: Duration) -> bool {
        let lost = self.times.waiting.total() + self.times.dns.total();
        had < usual / 2 && had + lost >= usual / 2
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            stage: Stage::Dns,
            mx_host: None,
            settled: None,
            learning: None,
            route: None,
            undecided: None,
            admitted: false,
            has_spoken: false,
            refused_by: None,
            tried: Vec::new(),
            times: Arc::new(Times::from_now()),
        }
    }
}

impl Times {
    fn from_now() -> Self {
        let now = Instant::now();
        Self { waiting: Stopwatch::made_at(now), dns: Stopwatch::made_at(now) }
    }
}

/// Sum of durations, in nanoseconds, which needs no lock.
pub(super) struct Stopwatch {
    made: Instant,
    total: AtomicU64,
    since: AtomicU64,
}

impl Stopwatch {
    const fn made_at(made: Instant) -> Self {
        Self { made, total: AtomicU64::new(0), since: AtomicU64::new(0) }
    }

    /// Work that is ready at its first poll takes no time, and no clock is read.
    pub(super) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        if let Some(done) = poll_fn(|cx| Poll::Ready(as_ready(work.as_mut().poll(cx)))).await {
            return done;
        }
        self.since.store(self.now().max(1), Ordering::Relaxed);
        let done = work.await;
        let since = self.since.swap(0, Ordering::Relaxed);
        self.total.fetch_add(self.now().saturating_sub(since), Ordering::Relaxed);
        done
    }

    pub(super) fn is_running(&self) -> bool {
        self.since.load(Ordering::Relaxed) > 0
    }

    pub(super) fn total(&self) -> Duration {
        let running = match self.since.load(Ordering::Relaxed) {
            0 => 0,
            since => self.now().saturating_sub(since),
        };
        Duration::from_nanos(self.total.load(Ordering::Relaxed) + running)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.made.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

fn as_ready<T>(polled: Poll<T>) -> Option<T> {
    match polled {
        Poll::Ready(done) => Some(done),
        Poll::Pending => None,
    }
}

/// Time `lost` to waiting and DNS isn't counted. The probe waits for a session until the deadline, and then has its
/// whole budget.
pub(super) async fn within_own_budget<T>(
    mut work: impl Future<Output = T> + Unpin,
    budget: Duration,
    deadline: Instant,
    lost: impl Fn() -> Duration,
    is_waiting: impl Fn() -> bool,
) -> Option<T> {
    let started = Instant::now();
    let last = deadline + budget;
    loop {
        let mut end = (started + budget + lost()).max(Instant::now() + CHECK_INTERVAL).min(last);
        if is_waiting() {
            end = end.min(deadline.max(Instant::now() + CHECK_INTERVAL));
        }
        if let Ok(done) = timeout_at(end, &mut work).await {
            return Some(done);
        }
        let now = Instant::now();
        let used = started.elapsed().saturating_sub(lost());
        if used >= budget || now >= last || (now >= deadline && is_waiting()) {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{EVIDENCE_WAIT_MAX, Manner};

    #[tokio::test(start_paused = true)]
    async fn evidence_is_waited_for_until_what_is_known_is_taken_and_never_beyond_the_end() {
        let now = Instant::now();
        let after = |awaited_ms: Option<u64>, ends_ms| {
            let at = |ms| now + Duration::from_millis(ms);
            let awaited_until = awaited_ms.map(at);
            let manner =
                Manner { budget: Duration::ZERO, invents: true, awaited_until, ends: at(ends_ms) };
            manner.evidence_until(now) - now
        };
        let ms = Duration::from_millis;
        assert_eq!(after(None, 60_000), EVIDENCE_WAIT_MAX);
        assert_eq!(after(Some(1_500), 60_000), ms(1_500));
        assert_eq!(after(Some(1), 60_000), ms(1));
        assert_eq!(after(Some(0), 60_000), EVIDENCE_WAIT_MAX, "the caller has what was known");
        assert_eq!(after(Some(9_000), 60_000), EVIDENCE_WAIT_MAX);
        assert_eq!(
            [after(None, 500), after(Some(1_500), 500), after(None, 0)],
            [ms(500), ms(500), ms(0)]
        );
    }
}
