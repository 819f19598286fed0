//! Metrics of the waiting time for sessions, and of the share of warm sessions.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::{Registry, Unit},
};
use rcpt_pool::{Acquired, Cause, Class, Refused};
use tokio::time::Instant;

/// Buckets in seconds. Most sessions are available immediately; a check waits at most ten seconds,
/// a batch longer.
const BUCKETS: [f64; 10] = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WaitLabels {
    /// `interactive` or `batch`.
    class: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    /// `warm` for an idle session, `new` for permission to open one, `refused` for neither,
    /// `abandoned` if the probe's time ran out before.
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CauseLabels {
    cause: &'static str,
}

#[derive(Clone)]
pub struct SessionMetrics {
    waited: Family<WaitLabels, Histogram>,
    requests: Family<ResultLabels, Counter>,
    refusals: Family<CauseLabels, Counter>,
    /// Waiting times of single checks and of batches, so that no check looks up the series.
    waited_by_class: [Histogram; 2],
    /// Requests by result, in the order of [`RESULTS`], so that no check looks up the series.
    requests_by_result: [Counter; 4],
}

const RESULTS: [&str; 4] = ["warm", "new", "refused", "abandoned"];
const ABANDONED: usize = 3;
const CAUSES: [Cause; 8] = [
    Cause::Domain,
    Cause::Address,
    Cause::Refusals,
    Cause::WarmUp,
    Cause::Crowded,
    Cause::Slow,
    Cause::Rate,
    Cause::Session,
];

impl From<Cause> for CauseLabels {
    fn from(cause: Cause) -> Self {
        Self {
            cause: match cause {
                Cause::Domain => "domain",
                Cause::Address => "address",
                Cause::Refusals => "refusals",
                Cause::WarmUp => "warm_up",
                Cause::Crowded => "crowded",
                Cause::Slow => "slow",
                Cause::Rate => "rate",
                Cause::Session => "session",
            },
        }
    }
}

impl Default for SessionMetrics {
    fn default() -> Self {
        let waited: Family<WaitLabels, Histogram> =
            Family::new_with_constructor(|| Histogram::new(BUCKETS));
        let requests = Family::<ResultLabels, Counter>::default();
        let refusals = Family::<CauseLabels, Counter>::default();
        // Creates all series now: a rate wouldn't show a refusal that creates its series.
        CAUSES.map(CauseLabels::from).iter().for_each(|cause| drop(refusals.get_or_create(cause)));
        Self {
            waited_by_class: ["interactive", "batch"]
                .map(|class| waited.get_or_create(&WaitLabels { class }).clone()),
            requests_by_result: RESULTS
                .map(|result| requests.get_or_create(&ResultLabels { result }).clone()),
            waited,
            requests,
            refusals,
        }
    }
}

impl SessionMetrics {
    pub fn register(&self, registry: &mut Registry) {
        let help = "Time that a probe waits for a session with a host, by class";
        let waited = self.waited.clone();
        registry.register_with_unit("session_wait", help, Unit::Seconds, waited);
        let help = "Requests for a session with a host: an idle one, leave to open one, or neither";
        registry.register("session_requests", help, self.requests.clone());
        let help = "Requests for a session that one of our limits refused, by limit";
        registry.register("session_refusals", help, self.refusals.clone());
    }

    /// The request is counted when it is dropped: the longest waits end with the caller giving up.
    pub(crate) fn begin(&self, class: Class) -> SessionRequest<'_> {
        let [interactive, batch] = &self.waited_by_class;
        let waited = match class {
            Class::Interactive => interactive,
            Class::Batch => batch,
        };
        SessionRequest { metrics: self, waited, since: Instant::now(), result: ABANDONED }
    }
}

pub(crate) struct SessionRequest<'a> {
    metrics: &'a SessionMetrics,
    waited: &'a Histogram,
    since: Instant,
    /// Index into [`RESULTS`].
    result: usize,
}

impl SessionRequest<'_> {
    pub(crate) fn end<S: Send + 'static>(mut self, result: &Result<Acquired<S>, Refused>) {
        self.result = match result {
            Ok(Acquired::Idle(..)) => 0,
            Ok(Acquired::New(_)) => 1,
            Err(refused) => {
                self.metrics.refusals.get_or_create(&refused.cause.into()).inc();
                2
            }
        };
    }
}

impl Drop for SessionRequest<'_> {
    fn drop(&mut self) {
        self.waited.observe(self.since.elapsed().as_secs_f64());
        if let Some(requests) = self.metrics.requests_by_result.get(self.result) {
            requests.inc();
        }
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::{encoding::text::encode, registry::Registry};
    use rcpt_pool::Class;

    use super::SessionMetrics;

    #[tokio::test]
    async fn a_wait_that_is_given_up_is_counted() {
        let (metrics, mut registry) = (SessionMetrics::default(), Registry::default());
        metrics.register(&mut registry);
        drop(metrics.begin(Class::Batch));
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for line in [
            r#"session_wait_seconds_count{class="batch"} 1"#,
            r#"session_requests_total{result="abandoned"} 1"#,
        ] {
            assert!(text.lines().any(|printed| printed == line), "{line} not in\n{text}");
        }
    }
}
