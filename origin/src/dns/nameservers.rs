//! The recursive nameservers, queried one after the other.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use hickory_resolver::{
    Resolver,
    config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts},
    lookup::Lookup,
    net::{DnsError, NetError, NoRecords},
    proto::{
        op::ResponseCode,
        rr::{Name, RData, RecordType},
    },
};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};

use super::{DnsMetrics, MAX_CACHED, NoAnswer, Root, answers::Answer, transport::Transport};

/// Maximum number of nameservers used; if all fail, the failure is ours (docs/verdicts.md).
const NAMESERVERS_MAX: usize = 2;
const MAX_CNAME_STEPS: usize = 8;
/// Longest cache time of an absence, even if its SOA record allows more.
const MAX_CACHED_NEGATIVE: Duration = Duration::from_secs(300);

/// Time for which a nameserver that was passed over is tried second.
const PASSED_OVER_LIFETIME: Duration = Duration::from_secs(60);

/// A domain that will always have MX records: IANA's, with a null MX (RFC 2606, RFC 7505).
const EXISTING_DOMAIN: &str = "example.com.";

/// A nameserver's answers about names whose answer is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Honesty {
    pub nameserver: usize,
    pub invented: Option<Vec<IpAddr>>,
    /// Whether MX records are passed on; `None` without an answer.
    pub passes_mx: Option<bool>,
}

pub(super) struct Nameservers {
    all: Vec<Arc<Nameserver>>,
    pub(super) root: Arc<Root>,
    pub(super) metrics: DnsMetrics,
}

impl Nameservers {
    pub(super) fn new(addresses: &[SocketAddr], timeout: Duration) -> Result<Self, NetError> {
        let metrics = DnsMetrics::default();
        let all = addresses
            .iter()
            .take(NAMESERVERS_MAX)
            .zip(1..)
            .map(|(address, position)| {
                let [resolver, without_edns] =
                    [resolver(*address, timeout, true)?, resolver(*address, timeout, false)?];
                let (resolver, without_edns) = (Arc::new(resolver), Arc::new(without_edns));
                let metrics = metrics.clone();
                Ok(Arc::new(Nameserver::new(resolver, without_edns, timeout, position, metrics)))
            })
            .collect::<Result<_, NetError>>()?;
        let of_root = |address: &SocketAddr| Ok(Arc::new(resolver(*address, timeout, false)?) as _);
        let of_root = addresses.iter().take(NAMESERVERS_MAX).map(of_root);
        let root = Root::new(of_root.collect::<Result<_, NetError>>()?, timeout);
        Ok(Self { all, root, metrics })
    }

    pub(super) fn over(nameserver: Arc<dyn Ask>, timeout: Duration) -> Self {
        let metrics = DnsMetrics::default();
        let same = nameserver.clone();
        let root = Root::new(vec![nameserver.clone()], timeout);
        let only = Nameserver::new(nameserver, same, timeout, 1, metrics.clone());
        Self { all: vec![Arc::new(only)], root, metrics }
    }

    pub(super) async fn records<T>(
        &self,
        name: &str,
        kind: RecordType,
        data: impl Fn(&RData) -> Option<T>,
    ) -> Answer<T> {
        let Ok(mut fqdn) = Name::from_ascii(name) else {
            return Answer { records: Err(NoAnswer::NoRecords), until: None };
        };
        // An absolute name isn't tried with a search list.
        fqdn.set_fqdn(true);
        let mut mute = Vec::new();
        for nameserver in self.in_order() {
            let answer = match nameserver.lookup(fqdn.clone(), kind).await {
                Ok(lookup) => of_records(&lookup, &data),
                Err(NetError::Dns(DnsError::NoRecordsFound(none))) => of_absence(&none),
                // Failing to resolve this name is usually the name's own fault.
                Err(NetError::Dns(DnsError::ResponseCode(ResponseCode::ServFail))) => continue,
                Err(_) => {
                    mute.push(nameserver);
                    continue;
                }
            };
            // If no nameserver responds, that says nothing about a single nameserver.
            mute.into_iter().for_each(pass_over);
            nameserver.responded();
            return answer;
        }
        Answer { records: Err(NoAnswer::Failed), until: None }
    }

    pub(super) async fn examine(&self) -> Vec<Honesty> {
        let invented_name = format!("rcpt-{:016x}.com.", rand::random::<u64>());
        let of = |nameserver: &Arc<Nameserver>| {
            let (nameserver, invented_name) = (Arc::clone(nameserver), invented_name.clone());
            async move {
                let ask = async |name: &str, kind| {
                    let name = Name::from_ascii(name).ok()?;
                    match nameserver.lookup(name, kind).await {
                        Ok(lookup) => Some(Ok(lookup)),
                        Err(NetError::Dns(DnsError::NoRecordsFound(none))) => Some(Err(none)),
                        Err(_) => None,
                    }
                };
                let (invented, mx) = tokio::join!(
                    ask(&invented_name, RecordType::A),
                    ask(EXISTING_DOMAIN, RecordType::MX)
                );
                Honesty {
                    nameserver: nameserver.position,
                    invented: invented.map(|answer| match answer {
                        Ok(lookup) => {
                            records_of(&lookup, super::address).unwrap_or_default().to_vec()
                        }
                        Err(_) => Vec::new(),
                    }),
                    passes_mx: mx.map(|answer| answer.is_ok()),
                }
            }
        };
        futures_util::future::join_all(self.all.iter().map(of)).await
    }

    fn in_order(&self) -> Vec<&Arc<Nameserver>> {
        let mut all: Vec<_> = self.all.iter().collect();
        if all.len() > 1 {
            all.sort_by_cached_key(|nameserver| !nameserver.is_due());
        }
        all
    }
}

/// Demotes the nameserver to second place for a minute, or until it answers for the root, which every recursor knows.
/// Silence about one name may be the fault of that name's owner.
fn pass_over(nameserver: &Arc<Nameserver>) {
    nameserver.pass_over();
    if nameserver.verifying.swap(true, Ordering::Relaxed) {
        return;
    }
    let nameserver = Arc::clone(nameserver);
    tokio::spawn(async move {
        let response = nameserver.lookup(Name::root(), RecordType::NS).await;
        if matches!(response, Ok(_) | Err(NetError::Dns(DnsError::NoRecordsFound(_)))) {
            nameserver.responded();
        }
        nameserver.verifying.store(false, Ordering::Relaxed);
    });
}

pub trait Ask: Send + Sync {
    fn lookup(&self, name: Name, kind: RecordType) -> BoxFuture<'_, Result<Lookup, NetError>>;
}

impl Ask for Resolver<Transport> {
    fn lookup(&self, name: Name, kind: RecordType) -> BoxFuture<'_, Result<Lookup, NetError>> {
        Box::pin(self.lookup(name, kind))
    }
}

struct Nameserver {
    resolver: Arc<dyn Ask>,
    /// Resolver for nameservers without EDNS (RFC 6891 §7).
    without_edns: Arc<dyn Ask>,
    /// Time limit of one query, with its repetition without EDNS.
    timeout: Duration,
    position: usize,
    metrics: DnsMetrics,
    /// Time from which the nameserver is tried first again; set if another nameserver had to answer in its place.
    due: Mutex<Option<Instant>>,
    verifying: AtomicBool,
}

impl Nameserver {
    fn new(
        resolver: Arc<dyn Ask>,
        without_edns: Arc<dyn Ask>,
        timeout: Duration,
        position: usize,
        metrics: DnsMetrics,
    ) -> Self {
        Self {
            resolver,
            without_edns,
            timeout,
            position,
            metrics,
            due: Mutex::default(),
            verifying: AtomicBool::new(false),
        }
    }

    async fn lookup(&self, name: Name, kind: RecordType) -> Result<Lookup, NetError> {
        let within = |time, asking| async move {
            let since = Instant::now();
            let result = timeout(time, asking).await.unwrap_or(Err(NetError::Timeout));
            self.metrics.count_query(self.position, &result, since.elapsed());
            result
        };
        let began = Instant::now();
        // Half of the time: a nameserver, or a firewall before it, may drop queries with EDNS.
        let answer = within(self.timeout / 2, self.resolver.lookup(name.clone(), kind)).await;
        let is_about_edns = matches!(
            answer,
            Err(NetError::Timeout
                | NetError::Dns(DnsError::ResponseCode(
                    // BADVERS and BADSIG are one number.
                    ResponseCode::FormErr
                        | ResponseCode::NotImp
                        | ResponseCode::BADVERS
                        | ResponseCode::BADSIG
                )))
        );
        if !is_about_edns {
            return answer;
        }
        // Not remembered: the answer may be that of a single name's own nameserver.
        let left = self.timeout.saturating_sub(began.elapsed());
        within(left, self.without_edns.lookup(name, kind)).await
    }

    /// True if the nameserver is tried in its configured position. Of many concurrent queries, only one tests whether
    /// the nameserver responds again.
    fn is_due(&self) -> bool {
        let mut due = self.due.lock();
        match *due {
            None => true,
            Some(at) if at > Instant::now() => false,
            Some(_) => {
                *due = Some(Instant::now() + PASSED_OVER_LIFETIME);
                true
            }
        }
    }

    fn pass_over(&self) {
        *self.due.lock() = Some(Instant::now() + PASSED_OVER_LIFETIME);
    }

    fn responded(&self) {
        *self.due.lock() = None;
    }
}

fn of_records<T>(lookup: &Lookup, data: impl Fn(&RData) -> Option<T>) -> Answer<T> {
    let records = records_of(lookup, data);
    let until = Instant::from_std(lookup.valid_until());
    let longest = Instant::now() + MAX_CACHED_NEGATIVE;
    let until = if records.is_ok() { until } else { until.min(longest) };
    Answer { records, until: Some(until) }
}

fn of_absence<T>(none: &NoRecords) -> Answer<T> {
    let absent = match none.response_code {
        ResponseCode::NXDomain => NoAnswer::NoSuchName,
        _ => NoAnswer::NoRecords,
    };
    // Without a SOA record the answer mustn't be cached (RFC 2308 §5).
    let ttl = none.negative_ttl.map(|ttl| Duration::from_secs(ttl.into()));
    let until = ttl.map(|ttl| Instant::now() + ttl.min(MAX_CACHED_NEGATIVE));
    Answer { records: Err(absent), until }
}

fn records_of<T>(
    lookup: &Lookup,
    data: impl Fn(&RData) -> Option<T>,
) -> Result<Arc<[T]>, NoAnswer> {
    let answers = lookup.answers().iter().map(|record| &record.data);
    let steps = answers.clone().filter(|data| matches!(data, RData::CNAME(_))).count();
    let records: Arc<[T]> = answers.filter_map(data).collect();
    if records.is_empty() || steps > MAX_CNAME_STEPS {
        Err(NoAnswer::NoRecords)
    } else {
        Ok(records)
    }
}

/// A resolver for a single nameserver: the next nameserver is chosen here, as described in docs/verdicts.md,
/// and not by the library's statistics.
fn resolver(
    nameserver: SocketAddr,
    timeout: Duration,
    edns: bool,
) -> Result<Resolver<Transport>, NetError> {
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
    // `answers` already caches the results in final form.
    options.cache_size = 0;
    // Never the limit: each of at most `max_probes` probes has two concurrent queries.
    options.max_active_requests = 65_536;
    Resolver::builder_with_config(config, Transport::default()).with_options(options).build()
}
