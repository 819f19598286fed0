//! The recursive nameservers, asked one after the other.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use hickory_resolver::{
    Resolver, TokioResolver,
    config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts},
    lookup::Lookup,
    net::{DnsError, NetError, runtime::TokioRuntimeProvider},
    proto::{
        op::ResponseCode,
        rr::{Name, RData, RecordType},
    },
};
use tokio::time::{Instant, timeout};

use super::{MAX_CACHED, NoAnswer, answers::Answer};

/// It is our failure after the second nameserver (docs/verdicts.md).
const NAMESERVERS_ASKED: usize = 2;
/// Longest CNAME chain believed.
const MAX_CNAME_STEPS: usize = 8;
/// An absence is believed at most this long, whatever its SOA record says.
const MAX_CACHED_NEGATIVE: Duration = Duration::from_secs(300);

/// How long a nameserver that failed to answer is asked second.
const FAILED_LASTS: Duration = Duration::from_secs(60);

/// The nameservers, asked one after the other; one that failed lately after the other.
pub(super) struct Nameservers {
    all: Vec<Nameserver>,
    /// For one question to one nameserver.
    timeout: Duration,
}

struct Nameserver {
    resolver: TokioResolver,
    /// For one that does not know EDNS (RFC 6891 §7): it answers FORMERR or NOTIMP.
    without_edns: TokioResolver,
    knows_edns: AtomicBool,
    failed: Mutex<Option<Instant>>,
}

impl Nameserver {
    fn new(address: SocketAddr, timeout: Duration) -> Result<Self, NetError> {
        Ok(Self {
            resolver: resolver(address, timeout, true)?,
            without_edns: resolver(address, timeout, false)?,
            knows_edns: AtomicBool::new(true),
            failed: Mutex::new(None),
        })
    }

    async fn lookup(&self, name: &Name, kind: RecordType) -> Result<Lookup, NetError> {
        if self.knows_edns.load(Ordering::Relaxed) {
            let answer = self.resolver.lookup(name.clone(), kind).await;
            if !matches!(
                answer,
                Err(NetError::Dns(DnsError::ResponseCode(
                    ResponseCode::FormErr | ResponseCode::NotImp
                )))
            ) {
                return answer;
            }
        }
        let answer = self.without_edns.lookup(name.clone(), kind).await;
        if answer.is_ok() {
            self.knows_edns.store(false, Ordering::Relaxed);
        }
        answer
    }

    fn has_failed(&self) -> bool {
        let failed = *self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.is_some_and(|at| at.elapsed() < FAILED_LASTS)
    }

    fn note_failure(&self) {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

impl Nameservers {
    pub(super) fn new(addresses: &[SocketAddr], timeout: Duration) -> Result<Self, NetError> {
        let nameservers = addresses.iter().take(NAMESERVERS_ASKED);
        let all = nameservers
            .map(|nameserver| Nameserver::new(*nameserver, timeout))
            .collect::<Result<_, _>>()?;
        Ok(Self { all, timeout })
    }

    /// Those that have not failed lately first.
    fn in_health_order(&self) -> impl Iterator<Item = &Nameserver> {
        let healthy = self.all.iter().filter(|nameserver| !nameserver.has_failed());
        healthy.chain(self.all.iter().filter(|nameserver| nameserver.has_failed()))
    }

    /// Whether one of them answers at all.
    pub(super) async fn are_reachable(&self) -> bool {
        let root = Name::root();
        for nameserver in &self.all {
            let asking = nameserver.lookup(&root, RecordType::NS);
            let asked = timeout(self.timeout, asking).await;
            match asked {
                Ok(Ok(_) | Err(NetError::Dns(DnsError::NoRecordsFound(_)))) => return true,
                // An authoritative server refuses the root and is there all the same.
                Ok(Err(NetError::Dns(DnsError::ResponseCode(code))))
                    if code != ResponseCode::ServFail =>
                {
                    return true;
                }
                Ok(Err(_)) | Err(_) => {}
            }
        }
        false
    }

    /// The records of `name` that `data` picks from those of this kind.
    pub(super) async fn records<T>(
        &self,
        name: &str,
        kind: RecordType,
        data: impl Fn(&RData) -> Option<T>,
    ) -> Answer<T> {
        let Ok(mut fqdn) = Name::from_ascii(name) else {
            return Answer { records: Err(NoAnswer::NoRecords), until: None };
        };
        // Without it the search list of the system would be tried.
        fqdn.set_fqdn(true);
        for nameserver in self.in_health_order() {
            match timeout(self.timeout, nameserver.lookup(&fqdn, kind)).await {
                Ok(Ok(lookup)) => {
                    let records = records_of(&lookup, data);
                    let until = Instant::from_std(lookup.valid_until());
                    let longest = Instant::now() + MAX_CACHED_NEGATIVE;
                    let until = if records.is_ok() { until } else { until.min(longest) };
                    return Answer { records, until: Some(until) };
                }
                Ok(Err(NetError::Dns(DnsError::NoRecordsFound(none)))) => {
                    let absent = match none.response_code {
                        ResponseCode::NXDomain => NoAnswer::NoSuchName,
                        _ => NoAnswer::NoRecords,
                    };
                    // RFC 2308 §5: without a SOA record it is not to be remembered.
                    let ttl = none.negative_ttl.map(|ttl| Duration::from_secs(ttl.into()));
                    let until = ttl.map(|ttl| Instant::now() + ttl.min(MAX_CACHED_NEGATIVE));
                    return Answer { records: Err(absent), until };
                }
                // SERVFAIL is about the name as often as about the nameserver.
                Ok(Err(NetError::Dns(DnsError::ResponseCode(_)))) => {}
                Ok(Err(_)) | Err(_) => nameserver.note_failure(),
            }
        }
        Answer { records: Err(NoAnswer::Failed), until: None }
    }
}

fn records_of<T>(
    lookup: &Lookup,
    data: impl Fn(&RData) -> Option<T>,
) -> Result<Arc<[T]>, NoAnswer> {
    let answers = lookup.answers().iter().map(|record| &record.data);
    let steps = answers.clone().filter(|data| matches!(data, RData::CNAME(_))).count();
    let found: Arc<[T]> = answers.filter_map(data).collect();
    if found.is_empty() || steps > MAX_CNAME_STEPS { Err(NoAnswer::NoRecords) } else { Ok(found) }
}

/// A resolver that asks one nameserver and nothing else: which of them is asked next is decided here,
/// as docs/verdicts.md says, and not by the library's statistics.
fn resolver(
    nameserver: SocketAddr,
    timeout: Duration,
    edns: bool,
) -> Result<TokioResolver, NetError> {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()]
        .into_iter()
        .map(|mut connection| {
            connection.port = nameserver.port();
            connection
        })
        .collect();
    let server = NameServerConfig::new(nameserver.ip(), true, connections);
    let config = ResolverConfig::from_parts(None, Vec::new(), vec![server]);
    let mut options = ResolverOpts::default();
    options.timeout = timeout;
    options.attempts = 0;
    options.edns0 = edns;
    options.use_hosts_file = ResolveHosts::Never;
    options.preserve_intermediates = true;
    options.positive_max_ttl = Some(MAX_CACHED);
    // What is remembered is remembered in `answers`, ready for use.
    options.cache_size = 0;
    // Two questions for each of 512 probes, the default `max_probes`, at once.
    options.max_active_requests = 1_024;
    Resolver::builder_with_config(config, TokioRuntimeProvider::default())
        .with_options(options)
        .build()
}
