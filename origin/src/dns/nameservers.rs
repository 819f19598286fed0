//! The recursive nameservers, asked one after the other.

use std::{net::SocketAddr, sync::Arc, time::Duration};

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

/// The nameservers, asked one after the other.
pub(super) struct Nameservers {
    resolvers: Vec<TokioResolver>,
    /// For one question to one nameserver.
    timeout: Duration,
}

impl Nameservers {
    pub(super) fn new(addresses: &[SocketAddr], timeout: Duration) -> Result<Self, NetError> {
        let resolvers = addresses
            .iter()
            .take(NAMESERVERS_ASKED)
            .map(|nameserver| resolver(*nameserver, timeout))
            .collect::<Result<_, _>>()?;
        Ok(Self { resolvers, timeout })
    }

    /// Whether one of them answers at all.
    pub(super) async fn are_reachable(&self) -> bool {
        for resolver in &self.resolvers {
            let asked = timeout(self.timeout, resolver.lookup(Name::root(), RecordType::NS)).await;
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
        for resolver in &self.resolvers {
            match timeout(self.timeout, resolver.lookup(fqdn.clone(), kind)).await {
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
                Ok(Err(_)) | Err(_) => {}
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
fn resolver(nameserver: SocketAddr, timeout: Duration) -> Result<TokioResolver, NetError> {
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
