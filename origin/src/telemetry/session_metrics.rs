//! How long probes wait for a session, and how many of those they get are warm.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::{Registry, Unit},
};
use rcpt_pool::{Acquired, Class, Refused};
use tokio::time::Instant;

/// Seconds. Most sessions are there at once; a check waits ten seconds at most, a batch for longer.
const BUCKETS: [f64; 10] = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WaitLabels {
    /// `interactive` or `batch`.
    class: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    /// `warm` for an idle session, `new` for leave to open one, `refused` for neither, `abandoned` where the probe's time was
    /// over first.
    result: &'static str,
}

/// Requests for sessions with mail hosts. Clones count together.
#[derive(Clone)]
pub struct SessionMetrics {
    waited: Family<WaitLabels, Histogram>,
    requests: Family<ResultLabels, Counter>,
}

impl Default for SessionMetrics {
    fn default() -> Self {
        Self {
            waited: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            requests: Family::default(),
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
    }

    /// Begins a request, which is counted when it is dropped: whoever waits longest gives up.
    pub(crate) fn begin(&self, class: Class) -> SessionRequest<'_> {
        let class = match class {
            Class::Interactive => "interactive",
            Class::Batch => "batch",
        };
        SessionRequest { metrics: self, class, since: Instant::now(), result: "abandoned" }
    }
}

pub(crate) struct SessionRequest<'a> {
    metrics: &'a SessionMetrics,
    class: &'static str,
    since: Instant,
    result: &'static str,
}

impl SessionRequest<'_> {
    pub(crate) fn end<S: Send + 'static>(mut self, result: &Result<Acquired<S>, Refused>) {
        self.result = match result {
            Ok(Acquired::Idle(..)) => "warm",
            Ok(Acquired::New(_)) => "new",
            Err(_) => "refused",
        };
    }
}

impl Drop for SessionRequest<'_> {
    fn drop(&mut self) {
        let (class, result) = (self.class, self.result);
        let waited = self.metrics.waited.get_or_create(&WaitLabels { class });
        waited.observe(self.since.elapsed().as_secs_f64());
        self.metrics.requests.get_or_create(&ResultLabels { result }).inc();
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
