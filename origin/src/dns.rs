//! Questions to the recursive nameservers, and what they may answer.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    pin::pin,
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
use tokio::time::timeout;

/// `verdicts.md`: it is our failure after the second nameserver.
const NAMESERVERS_ASKED: usize = 2;
/// Longest CNAME chain believed.
const MAX_CNAME_STEPS: usize = 8;
/// RFC 8305 §3: time the other family gets once one has answered.
const RESOLUTION_DELAY: Duration = Duration::from_millis(50);
/// A record is asked for again at least this often, whatever its TTL.
const MAX_CACHED: Duration = Duration::from_secs(3_600);
const MAX_CACHED_NEGATIVE: Duration = Duration::from_secs(300);

/// Why a question has no records for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {
    /// NXDOMAIN.
    NoSuchName,
    /// The name exists, without such records; or its CNAME chain is endless.
    NoRecords,
    /// SERVFAIL, timeout or nonsense from every nameserver asked.
    Failed,
}

/// An MX record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mx {
    pub preference: u16,
    /// Lower case, without the final dot; empty for the root.
    pub exchange: String,
}

/// The nameservers, each with its cache.
pub struct Dns {
    resolvers: Vec<TokioResolver>,
    /// For one question to one nameserver.
    timeout: Duration,
}

impl Dns {
    /// # Errors
    /// [`NetError`] when the resolver cannot be set up.
    pub fn new(nameservers: &[SocketAddr], timeout: Duration) -> Result<Self, NetError> {
        let resolvers = nameservers
            .iter()
            .take(NAMESERVERS_ASKED)
            .map(|nameserver| resolver(*nameserver, timeout))
            .collect::<Result<_, _>>()?;
        Ok(Self { resolvers, timeout })
    }

    /// The MX records of a domain.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub async fn mx(&self, domain: &str) -> Result<Vec<Mx>, NoAnswer> {
        let records = self.ask(domain, RecordType::MX, |data| match data {
            RData::MX(mx) => {
                let mut exchange = mx.exchange.to_ascii().to_ascii_lowercase();
                if exchange.ends_with('.') {
                    exchange.pop();
                }
                Some(Mx { preference: mx.preference, exchange })
            }
            _ => None,
        });
        records.await
    }

    /// The addresses of a host, the families alternating, IPv4 first: a probe's reputation and reverse
    /// DNS are most often in order there.
    ///
    /// # Errors
    /// [`NoAnswer`] when neither family has any.
    pub async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, NoAnswer> {
        let mut v4 = pin!(self.ask(host, RecordType::A, |data| match data {
            RData::A(a) => Some(IpAddr::V4(a.0)),
            _ => None,
        }));
        let mut v6 = pin!(self.ask(host, RecordType::AAAA, |data| match data {
            RData::AAAA(aaaa) => Some(IpAddr::V6(aaaa.0)),
            _ => None,
        }));
        let (v4, v6) = tokio::select! {
            v4 = &mut v4 => {
                let v6 = if v4.is_ok() {
                    timeout(RESOLUTION_DELAY, v6).await.unwrap_or(Err(NoAnswer::Failed))
                } else {
                    v6.await
                };
                (v4, v6)
            }
            v6 = &mut v6 => (v4.await, v6),
        };
        either(v4, v6)
    }

    /// The IPv4 addresses of a name, which may be an entry of a blocklist.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub async fn addresses_v4(&self, name: &str) -> Result<Vec<Ipv4Addr>, NoAnswer> {
        let records = self.ask(name, RecordType::A, |data| match data {
            RData::A(a) => Some(a.0),
            _ => None,
        });
        records.await
    }

    /// The names that an address leads back to, in lower case without the final dot.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub async fn reverse(&self, ip: IpAddr) -> Result<Vec<String>, NoAnswer> {
        let name = Name::from(ip).to_ascii();
        let records = self.ask(&name, RecordType::PTR, |data| match data {
            RData::PTR(ptr) => Some(ptr.0.to_ascii().trim_end_matches('.').to_ascii_lowercase()),
            _ => None,
        });
        records.await
    }

    /// Whether a nameserver answers at all.
    pub async fn is_reachable(&self) -> bool {
        for resolver in &self.resolvers {
            resolver.clear_lookup_cache(Name::root(), RecordType::NS);
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

    async fn ask<T>(
        &self,
        name: &str,
        kind: RecordType,
        data: impl Fn(&RData) -> Option<T>,
    ) -> Result<Vec<T>, NoAnswer> {
        let mut fqdn = Name::from_ascii(name).map_err(|_| NoAnswer::NoRecords)?;
        // Without it the search list of the system would be tried.
        fqdn.set_fqdn(true);
        for resolver in &self.resolvers {
            match timeout(self.timeout, resolver.lookup(fqdn.clone(), kind)).await {
                Ok(Ok(lookup)) => return records(&lookup, data),
                Ok(Err(NetError::Dns(DnsError::NoRecordsFound(none)))) => {
                    return Err(match none.response_code {
                        ResponseCode::NXDomain => NoAnswer::NoSuchName,
                        _ => NoAnswer::NoRecords,
                    });
                }
                Ok(Err(_)) | Err(_) => {}
            }
        }
        Err(NoAnswer::Failed)
    }
}

fn records<T>(lookup: &Lookup, data: impl Fn(&RData) -> Option<T>) -> Result<Vec<T>, NoAnswer> {
    let answers = lookup.answers().iter().map(|record| &record.data);
    let steps = answers.clone().filter(|data| matches!(data, RData::CNAME(_))).count();
    let found: Vec<T> = answers.filter_map(data).collect();
    if found.is_empty() || steps > MAX_CNAME_STEPS { Err(NoAnswer::NoRecords) } else { Ok(found) }
}

/// Both families as one list, alternating.
fn either(
    v4: Result<Vec<IpAddr>, NoAnswer>,
    v6: Result<Vec<IpAddr>, NoAnswer>,
) -> Result<Vec<IpAddr>, NoAnswer> {
    let (v4, v6) = match (v4, v6) {
        (Err(NoAnswer::Failed), Err(_)) | (Err(_), Err(NoAnswer::Failed)) => {
            return Err(NoAnswer::Failed);
        }
        (Err(absent), Err(_)) => return Err(absent),
        (v4, v6) => (v4.unwrap_or_default(), v6.unwrap_or_default()),
    };
    let longest = v4.len().max(v6.len());
    let addresses = (0..longest).flat_map(|i| [v4.get(i), v6.get(i)]).flatten().copied().collect();
    Ok(addresses)
}

/// A resolver that asks one nameserver and nothing else: which of them is asked next is decided here,
/// by what `verdicts.md` says, and not by the library's statistics.
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
    options.negative_max_ttl = Some(MAX_CACHED_NEGATIVE);
    // Two questions for each of 512 probes, the default `max_probes`, at once.
    options.max_active_requests = 1_024;
    Resolver::builder_with_config(config, TokioRuntimeProvider::default())
        .with_options(options)
        .build()
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::{NoAnswer, either};

    fn ips(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn the_families_alternate_and_one_is_enough() {
        let v4 = || Ok(ips(&["192.0.2.1", "192.0.2.2"]));
        let v6 = || Ok(ips(&["2001:db8::1"]));
        assert_eq!(either(v4(), v6()), Ok(ips(&["192.0.2.1", "2001:db8::1", "192.0.2.2"])));
        for absent in [NoAnswer::Failed, NoAnswer::NoRecords, NoAnswer::NoSuchName] {
            assert_eq!(either(v4(), Err(absent)), v4());
            assert_eq!(either(Err(absent), v6()), v6());
        }
    }

    #[test]
    fn a_host_is_without_address_only_when_both_families_say_so() {
        use NoAnswer::{Failed, NoRecords, NoSuchName};
        for (v4, v6, together) in [
            (NoRecords, NoRecords, NoRecords),
            (NoSuchName, NoSuchName, NoSuchName),
            (Failed, NoRecords, Failed),
            (NoRecords, Failed, Failed),
            (Failed, Failed, Failed),
        ] {
            assert_eq!(either(Err(v4), Err(v6)), Err(together));
        }
    }
}
