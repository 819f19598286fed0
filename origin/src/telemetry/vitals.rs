//! Metrics of the whole process, such as its version, start time and readiness.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use prometheus_client::{
    encoding::text::encode_registry,
    metrics::{counter::Counter, family::Family, gauge::Gauge, info::Info},
    registry::Registry,
};

use super::{log::dropped_lines, port_check::PortCheck, status::AddressFinding};
use crate::{
    config::Validity,
    dns::{Dns, Root},
    surroundings::clock::unix_now,
};

pub struct Vitals {
    registry: Registry,
    root: Arc<Root>,
    nameserver_answers: Gauge,
    port_25_open: Gauge,
    ready: Gauge,
    not_before: Gauge,
    not_after: Gauge,
    address_findings: Family<[(&'static str, &'static str); 1], Gauge>,
    dropped_log_lines: Counter<u64, AtomicU64>,
}

impl Vitals {
    pub fn new(dns: &Dns) -> Self {
        let mut registry = Registry::default();
        let started = Gauge::<f64, AtomicU64>::default();
        #[expect(clippy::cast_precision_loss, reason = "exact until the year 285 million")]
        started.set(unix_now() as f64);
        let help = "Unix time at which the process started, in seconds";
        registry.register("process_start_time_seconds", help, started);
        let ours = registry.sub_registry_with_prefix("rcpt_origin");
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        ours.register("build", "What is running", build);
        dns.metrics().register(ours);
        let (nameserver_answers, port_25_open, ready) = <(Gauge, Gauge, Gauge)>::default();
        let (not_before, not_after) = <(Gauge, Gauge)>::default();
        for (name, help, gauge) in [
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
        let dropped_log_lines = Counter::default();
        let help = "Lines of the log dropped because nobody read it";
        ours.register("log_lines_dropped", help, dropped_log_lines.clone());
        Self {
            registry,
            root: dns.root(),
            nameserver_answers,
            port_25_open,
            ready,
            not_before,
            not_after,
            address_findings,
            dropped_log_lines,
        }
    }

    /// Without the end mark.
    pub fn text(
        &self,
        port_check: &PortCheck,
        reasons: &[AddressFinding],
        certificate: Option<Validity>,
    ) -> Result<String, fmt::Error> {
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
        encode_registry(&mut text, &self.registry)?;
        Ok(text)
    }
}
