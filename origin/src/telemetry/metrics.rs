//! Counters for `GET /metrics`. Labels never contain an address, a domain or a host.

use std::{fmt, sync::atomic::AtomicU64, time::Duration};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};
use rcpt_pool::{SiteStatus, Status};
use rcpt_shared::Verdict;

/// Buckets in seconds. A nearby server replies within milliseconds on an open session; the budget
/// is ten seconds.
const BUCKETS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 7.5, 10.5];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ProbeLabels {
    status: &'static str,
    reason: &'static str,
    stage: &'static str,
    /// A name from the operators' table, `other`, or `none` if no host was chosen.
    operator: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Site {
    operator: String,
    source: String,
}

#[derive(Default)]
struct Sites {
    sessions: Family<Site, Gauge>,
    idle: Family<Site, Gauge>,
    waiting: Family<Site, Gauge>,
    interval: Family<Site, Gauge<f64, AtomicU64>>,
    lowered_since: Family<Site, Gauge>,
    rests_until: Family<Site, Gauge>,
    refused_last_hour: Family<Site, Gauge>,
    cut_sessions: Family<Site, Gauge>,
}

impl Sites {
    fn register(&self, registry: &mut Registry) {
        for (name, help, family) in [
            ("operator_sessions", "Sessions in use", &self.sessions),
            ("operator_idle_sessions", "Idle sessions", &self.idle),
            ("operator_waiting", "Probes that wait for a session", &self.waiting),
            (
                "operator_lowered_since",
                "Unix time since which the rate is lowered, or 0",
                &self.lowered_since,
            ),
            (
                "operator_rests_until",
                "Unix time until which the source address rests with the operator, or 0",
                &self.rests_until,
            ),
            (
                "operator_refused_last_hour",
                "Recipients refused in the last hour",
                &self.refused_last_hour,
            ),
            (
                "operator_cut_sessions",
                "Sessions since the start that were held too long and ended because others waited",
                &self.cut_sessions,
            ),
        ] {
            registry.register(name, help, family.clone());
        }
        let help = "Time from one new session to the next";
        let interval = self.interval.clone();
        registry.register_with_unit("operator_session_interval", help, Unit::Seconds, interval);
    }

    fn show(&self, status: &SiteStatus) {
        let site = Site { operator: status.operator.clone(), source: status.source.clone() };
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let total = |total: u64| i64::try_from(total).unwrap_or(i64::MAX);
        for (family, value) in [
            (&self.sessions, count(status.sessions)),
            (&self.idle, count(status.idle)),
            (&self.waiting, count(status.waiting)),
            (&self.lowered_since, total(status.lowered_since.unwrap_or_default())),
            (&self.rests_until, total(status.rests_until.unwrap_or_default())),
            (&self.refused_last_hour, count(status.refused_last_hour)),
            (&self.cut_sessions, total(status.totals.cut)),
        ] {
            family.get_or_create(&site).set(value);
        }
        let interval = Duration::from_millis(status.interval_ms).as_secs_f64();
        self.interval.get_or_create(&site).set(interval);
    }
}

pub struct Metrics {
    registry: Registry,
    probes: Family<ProbeLabels, Counter>,
    duration: Histogram,
    in_flight: Gauge,
    at_capacity: Counter<u64, AtomicU64>,
    bad_tickets: Counter<u64, AtomicU64>,
    sites: Sites,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("rcpt_origin");
        let probes = Family::default();
        registry.register("probes", "Probes finished, by verdict", probes.clone());
        let duration = Histogram::new(BUCKETS);
        registry.register_with_unit(
            "probe_duration",
            "Time from ticket to verdict",
            Unit::Seconds,
            duration.clone(),
        );
        let in_flight = Gauge::default();
        registry.register("probes_in_flight", "Probes in progress", in_flight.clone());
        let at_capacity = Counter::default();
        registry.register(
            "at_capacity",
            "Probes refused because no permit was free",
            at_capacity.clone(),
        );
        let bad_tickets = Counter::default();
        registry.register(
            "bad_tickets",
            "Requests refused because their ticket was missing or wrong",
            bad_tickets.clone(),
        );
        let sites = Sites::default();
        sites.register(&mut registry);
        Self { registry, probes, duration, in_flight, at_capacity, bad_tickets, sites }
    }
}

impl Metrics {
    pub fn start(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    pub fn finished(&self, verdict: &Verdict, operator: &str, took: Duration) {
        let outcome = ProbeLabels {
            status: verdict.status.as_str(),
            reason: verdict.reason.as_str(),
            stage: verdict.stage.as_str(),
            operator: operator.to_owned(),
        };
        self.probes.get_or_create(&outcome).inc();
        self.duration.observe(took.as_secs_f64());
    }

    pub fn show(&self, status: &Status) {
        status.operators.iter().for_each(|site| self.sites.show(site));
    }

    pub fn at_capacity(&self) {
        self.at_capacity.inc();
    }

    pub fn bad_ticket(&self) {
        self.bad_tickets.inc();
    }

    /// The metrics in the OpenMetrics format.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

pub struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcpt_shared::{Reason, Stage, Status, Verdict};

    use super::Metrics;

    #[test]
    fn prints_what_was_counted_and_no_host() {
        let metrics = Metrics::default();
        let running = metrics.start();
        let mut verdict = Verdict::new(Status::Refused, Reason::NoSuchMailbox, Stage::Rcpt);
        verdict.mx_host = Some("aspmx.l.google.com".to_owned());
        metrics.finished(&verdict, "google", Duration::from_millis(20));
        metrics.at_capacity();
        let text = metrics.text().unwrap();
        for line in [
            r#"rcpt_origin_probes_total{status="false",reason="no_such_mailbox",stage="rcpt",operator="google"} 1"#,
            r#"rcpt_origin_probe_duration_seconds_bucket{le="0.025"} 1"#,
            "rcpt_origin_probes_in_flight 1",
            "rcpt_origin_at_capacity_total 1",
            "rcpt_origin_bad_tickets_total 0",
        ] {
            assert!(text.lines().any(|printed| printed == line), "{line} not in\n{text}");
        }
        assert!(!text.contains("aspmx"));
        drop(running);
        assert!(metrics.text().unwrap().contains("rcpt_origin_probes_in_flight 0"));
    }
}
