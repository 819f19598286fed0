//! Metrics of the nameservers: queries by result, and response times.

use std::time::Duration;

use hickory_resolver::{
    net::{DnsError, NetError},
    proto::op::ResponseCode,
};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::{Registry, Unit},
};

/// Buckets in seconds. A nearby nameserver answers from its cache in a millisecond; the time limit
/// is two seconds.
const BUCKETS: [f64; 9] = [0.001, 0.0025, 0.01, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0];

/// `nameserver` is the position in the configuration, from 1.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QuestionLabels {
    nameserver: usize,
    /// `records`, `no_records`, `no_such_name`, `servfail`, `timeout` or `failed`.
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NameserverLabel {
    nameserver: usize,
}

#[derive(Clone)]
pub struct DnsMetrics {
    questions: Family<QuestionLabels, Counter>,
    duration: Family<NameserverLabel, Histogram>,
}

impl Default for DnsMetrics {
    fn default() -> Self {
        Self {
            questions: Family::default(),
            duration: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
        }
    }
}

impl DnsMetrics {
    pub fn register(&self, registry: &mut Registry) {
        let help = "Questions to nameservers, by place in the configuration and outcome";
        registry.register("dns_questions", help, self.questions.clone());
        let help = "Time from a question to its answer, whatever it is";
        let duration = self.duration.clone();
        registry.register_with_unit("dns_duration", help, Unit::Seconds, duration);
    }

    /// `position` is the nameserver's in the configuration, from 1.
    pub(super) fn count_query<T>(
        &self,
        position: usize,
        result: &Result<T, NetError>,
        took: Duration,
    ) {
        let outcome = outcome(result);
        self.questions.get_or_create(&QuestionLabels { nameserver: position, outcome }).inc();
        self.duration
            .get_or_create(&NameserverLabel { nameserver: position })
            .observe(took.as_secs_f64());
    }
}

fn outcome<T>(result: &Result<T, NetError>) -> &'static str {
    match result {
        Ok(_) => "records",
        Err(NetError::Dns(DnsError::NoRecordsFound(none))) => match none.response_code {
            ResponseCode::NXDomain => "no_such_name",
            _ => "no_records",
        },
        Err(NetError::Dns(DnsError::ResponseCode(ResponseCode::ServFail))) => "servfail",
        Err(NetError::Timeout) => "timeout",
        Err(_) => "failed",
    }
}
