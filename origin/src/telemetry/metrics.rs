//! `GET /metrics`: counters of probes, the sites' state, and the process's own. Labels never contain an address, a
//! domain or a host.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::{Registry, Unit},
};
use rcpt_pool::{SiteStatus, Status};
use rcpt_shared::Verdict;

use super::{log::dropped_lines, port_check::PortCheck, status::AddressFinding};
use crate::{
    config::Validity,
    dns::{DnsMetrics, Root},
    surroundings::unix_now,
};

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
    root: Arc<Root>,
    nameserver_answers: Gauge,
    port_25_open: Gauge,
    ready: Gauge,
    not_before: Gauge,
    not_after: Gauge,
    address_findings: Family<[(&'static str, &'static str); 1], Gauge>,
    dropped_log_lines: Counter<u64, AtomicU64>,
}

impl Metrics {
    pub fn new(root: Arc<Root>, dns: &DnsMetrics) -> Self {
        let mut registry = Registry::default();
        let started = Gauge::<f64, AtomicU64>::default();
        #[expect(clippy::cast_precision_loss, reason = "exact until the year 285 million")]
        started.set(unix_now() as f64);
        let help = "Unix time at which the process started, in seconds";
        registry.register("process_start_time_seconds", help, started);
        let ours = registry.sub_registry_with_prefix("rcpt_origin");
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        ours.register("build", "What is running", build);
        dns.register(ours);
        let (in_flight, nameserver_answers, port_25_open) = <(Gauge, Gauge, Gauge)>::default();
        let (ready, not_before, not_after) = <(Gauge, Gauge, Gauge)>::default();
        for (name, help, gauge) in [
            ("probes_in_flight", "Probes in progress", &in_flight),
            (
                "nameserver_answers",
                "0 when no nameserver has answered for the root for ten seconds",
                &nameserver_answers,
            ),
            (
                "port_25_open",
                "1 unless every server of port_check failed to greet us when last asked",
                &port_25_open,
            ),
            ("ready", "1 when names are resolved and port 25 is not known to be shut", &ready),
            (
                "tls_certificate_not_before_timestamp_seconds",
                "Unix time since which the certificate of listen is valid, or 0 without one",
                &not_before,
            ),
            (
                "tls_certificate_not_after_timestamp_seconds",
                "Unix time at which the certificate of listen expires, or 0 without one",
                &not_after,
            ),
        ] {
            ours.register(name, help, gauge.clone());
        }
        let address_findings = Family::default();
        let help = "What mail servers may refuse our addresses for, by check: in two rounds in a row, or at the floor for an hour";
        ours.register("address_findings", help, Family::clone(&address_findings));
        let probes = Family::default();
        ours.register("probes", "Probes finished, by verdict", Family::clone(&probes));
        let duration = Histogram::new(BUCKETS);
        let help = "Time from ticket to verdict";
        ours.register_with_unit("probe_duration", help, Unit::Seconds, duration.clone());
        let (at_capacity, bad_tickets, dropped_log_lines) = <(Counter<_, _>, _, _)>::default();
        for (name, help, counter) in [
            ("at_capacity", "Probes refused because no permit was free", &at_capacity),
            (
                "bad_tickets",
                "Requests refused because their ticket was missing or wrong",
                &bad_tickets,
            ),
            (
                "log_lines_dropped",
                "Lines of the log dropped because nobody read it",
                &dropped_log_lines,
            ),
        ] {
            ours.register(name, help, Counter::clone(counter));
        }
        let sites = Sites::default();
        sites.register(ours);
        Self {
            registry,
            probes,
            duration,
            in_flight,
            at_capacity,
            bad_tickets,
            sites,
            root,
            nameserver_answers,
            port_25_open,
            ready,
            not_before,
            not_after,
            address_findings,
            dropped_log_lines,
        }
    }

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

    pub fn at_capacity(&self) {
        self.at_capacity.inc();
    }

    pub fn bad_ticket(&self) {
        self.bad_tickets.inc();
    }

    /// In the OpenMetrics format.
    pub fn text(
        &self,
        status: &Status,
        port_check: &PortCheck,
        reasons: &[AddressFinding],
        certificate: Option<Validity>,
    ) -> Result<String, fmt::Error> {
        status.operators.iter().for_each(|site| self.sites.show(site));
        let (answers, open) = (!self.root.is_silent(), !port_check.is_known_shut());
        self.nameserver_answers.set(answers.into());
        self.port_25_open.set(open.into());
        self.ready.set((answers && open).into());
        let ends = certificate.map_or((0, 0), |validity| (validity.not_before, validity.not_after));
        self.not_before.set(ends.0);
        self.not_after.set(ends.1);
        self.address_findings.clear();
        for check in
            ["helo_name", "reverse_name", "spf", "blocklist", "operator", "nameserver_answers"]
        {
            self.address_findings.get_or_create(&[("check", check)]).set(0);
        }
        for reason in reasons {
            self.address_findings.get_or_create(&[("check", reason.check)]).inc();
        }
        self.dropped_log_lines.inner().store(dropped_lines(), Ordering::Relaxed);
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

    use rcpt_shared::{Reason, Stage, Status as VerdictStatus, Verdict};
    use rcpt_smtp::{Dialer, Families, HeloIdentity};

    use super::{Metrics, PortCheck, Status};
    use crate::dns::Dns;

    #[test]
    fn prints_what_was_counted_and_no_host() {
        let nameserver = "127.0.0.1:53".parse().unwrap();
        let dns = Dns::new(&[nameserver], Duration::from_secs(1), Families::BOTH).unwrap();
        let (dialer, us) = (Dialer::new(Duration::from_secs(1)), HeloIdentity::unbound("us"));
        let port_check = PortCheck::new(Vec::new(), dns.names(), dialer, us);
        let metrics = Metrics::new(dns.root(), &dns.metrics());
        let text = || metrics.text(&Status::default(), &port_check, &[], None).unwrap();
        let running = metrics.start();
        let mut verdict = Verdict::new(VerdictStatus::Refused, Reason::NoSuchMailbox, Stage::Rcpt);
        verdict.mx_host = Some("aspmx.l.google.com".to_owned());
        metrics.finished(&verdict, "google", Duration::from_millis(20));
        metrics.at_capacity();
        let printed = text();
        for line in [
            r#"rcpt_origin_probes_total{status="false",reason="no_such_mailbox",stage="rcpt",operator="google"} 1"#,
            r#"rcpt_origin_probe_duration_seconds_bucket{le="0.025"} 1"#,
            "rcpt_origin_probes_in_flight 1",
            "rcpt_origin_at_capacity_total 1",
            "rcpt_origin_bad_tickets_total 0",
        ] {
            assert!(printed.lines().any(|it| it == line), "{line} not in\n{printed}");
        }
        assert!(!printed.contains("aspmx"));
        drop(running);
        assert!(text().contains("rcpt_origin_probes_in_flight 0"));
    }
}
