//! Queries to the recursive nameservers, with a cache.

mod answers;
mod metrics;
pub mod mx;
mod nameservers;
mod root;
mod transport;

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use hickory_resolver::{
    net::NetError,
    proto::rr::{Name, RData, RecordType},
};
use parking_lot::RwLock;
use tokio::time::{Instant, timeout};

use crate::config::Families;
use answers::{Answer, Answers, Records};
pub use answers::{Flight, SingleFlight};
pub use metrics::DnsMetrics;
use nameservers::Nameservers;
pub use nameservers::{Ask, Honesty};
use rcpt_pool::HashKey;
pub use root::Root;

/// Time to wait for the IPv6 answer once there are IPv4 addresses (RFC 8305 §3).
const RESOLUTION_DELAY: Duration = Duration::from_millis(50);
/// Longest cache time of a record, even if its TTL is longer.
const MAX_CACHED: Duration = Duration::from_secs(3_600);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {
    /// The name doesn't exist (NXDOMAIN).
    NoSuchName,
    /// The name exists without such records, or its CNAME chain is too long.
    NoRecords,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mx {
    pub preference: u16,
    /// Host in lower case without the final dot; empty for the root.
    pub exchange: Arc<str>,
}

pub struct Dns {
    nameservers: Arc<Nameservers>,
    families: Families,
    order: HashKey,
    mx: Answers<Mx>,
    v4: Answers<IpAddr>,
    v6: Answers<IpAddr>,
    /// Addresses that a nameserver gave to a name that doesn't exist.
    invented: RwLock<Vec<IpAddr>>,
}

impl Dns {
    /// `timeout` applies to each query to a nameserver; `families` selects the types of address records.
    pub fn new(
        nameservers: &[SocketAddr],
        timeout: Duration,
        families: Families,
    ) -> Result<Self, NetError> {
        let nameservers = Nameservers::new(nameservers, timeout)?;
        Ok(Self::of(nameservers, families, HashKey::default()))
    }

    /// Creates a resolver for `nameserver`, which may be a simulation; `order` sorts hosts of equal preference.
    pub fn over(
        nameserver: Arc<dyn Ask>,
        timeout: Duration,
        families: Families,
        order: HashKey,
    ) -> Self {
        Self::of(Nameservers::over(nameserver, timeout), families, order)
    }

    fn of(nameservers: Nameservers, families: Families, order: HashKey) -> Self {
        Self {
            nameservers: Arc::new(nameservers),
            families,
            order,
            mx: Answers::default(),
            v4: Answers::default(),
            v6: Answers::default(),
            invented: RwLock::default(),
        }
    }

    /// The key that sorts hosts of equal preference: one order per domain, so that its checks share sessions. Orders
    /// differ between domains, so that all hosts are used (RFC 5321 §5.1).
    pub const fn order(&self) -> HashKey {
        self.order
    }

    pub async fn mx(&self, domain: &str) -> Records<Mx> {
        self.mx.about(domain, || self.question(domain, RecordType::MX, mx)).await
    }

    /// The addresses of a host (lower case), with families alternating, IPv4 first, where reverse DNS and reputation
    /// are more often in order. If we connect over one family, the other's addresses are returned only for a host
    /// without other addresses: an unreachable host mustn't look unknown.
    pub async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, NoAnswer> {
        let ask = |kind| move || self.question(host, kind, address);
        let v4 = self.v4.about(host, ask(RecordType::A));
        let v6 = self.v6.about(host, ask(RecordType::AAAA));
        let addresses = match self.families {
            Families { ipv6: false, .. } => one_else_other(v4, v6).await,
            Families { ipv4: false, .. } => one_else_other(v6, v4).await,
            Families { ipv4: true, ipv6: true } => both(v4, v6).await,
        };
        self.believed(addresses?)
    }

    /// Removes invented addresses: a host that has only these may not exist, and its mail server is a stranger's.
    fn believed(&self, mut addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, NoAnswer> {
        let invented = self.invented.read();
        addresses.retain(|ip| !invented.contains(ip));
        if addresses.is_empty() { Err(NoAnswer::Failed) } else { Ok(addresses) }
    }

    /// Asks each nameserver about names whose answer is known. Addresses that a nameserver invents aren't believed from
    /// then on.
    pub async fn examine(&self) -> Vec<Honesty> {
        let all = self.nameservers.examine().await;
        *self.invented.write() =
            all.iter().filter_map(|it| it.invented.clone()).flatten().collect();
        all
    }

    pub fn mx_until(&self, domain: &str) -> Option<Instant> {
        self.mx.cached(domain).map(|(_, until)| until)
    }

    /// The cached result of [`Dns::addresses`] with its expiry; `None` if it isn't cached, or if the host has no
    /// address in our families.
    pub fn known_addresses(&self, host: &str) -> Option<(Vec<IpAddr>, Instant)> {
        let (records, until) = match self.families {
            Families { ipv6: false, .. } => self.v4.cached(host)?,
            Families { ipv4: false, .. } => self.v6.cached(host)?,
            Families { ipv4: true, ipv6: true } => {
                let ((v4, one), (v6, other)) = (self.v4.cached(host)?, self.v6.cached(host)?);
                return Some((self.believed(either(v4, v6).ok()?).ok()?, one.min(other)));
            }
        };
        Some((self.believed(records.ok()?.to_vec()).ok()?, until))
    }

    /// In both families, even if we connect over one only.
    pub async fn all_addresses(&self, host: &str) -> Result<Vec<IpAddr>, NoAnswer> {
        let ask = |kind| move || self.question(host, kind, address);
        let v4 = self.v4.about(host, ask(RecordType::A));
        let v6 = self.v6.about(host, ask(RecordType::AAAA));
        let (v4, v6) = tokio::join!(v4, v6);
        either(v4, v6)
    }

    /// The IPv4 addresses of a name, such as a blocklist's entry.
    pub async fn addresses_v4(&self, name: &str) -> Result<Arc<[Ipv4Addr]>, NoAnswer> {
        let v4 = |data: &RData| match data {
            RData::A(a) => Some(a.0),
            _ => None,
        };
        self.nameservers.records(name, RecordType::A, v4).await.records
    }

    /// The names in an address's reverse records, in lower case without the final dot.
    pub async fn reverse(&self, ip: IpAddr) -> Result<Arc<[String]>, NoAnswer> {
        let name = Name::from(ip).to_ascii();
        let host = |data: &RData| match data {
            RData::PTR(ptr) => Some(ptr.0.to_ascii().trim_end_matches('.').to_ascii_lowercase()),
            _ => None,
        };
        self.nameservers.records(&name, RecordType::PTR, host).await.records
    }

    /// The TXT records of a name, each with its strings joined (RFC 7208 §3.3).
    pub async fn texts(&self, name: &str) -> Result<Arc<[String]>, NoAnswer> {
        let text = |data: &RData| match data {
            RData::TXT(txt) => Some(String::from_utf8_lossy(&txt.txt_data.concat()).into_owned()),
            _ => None,
        };
        self.nameservers.records(name, RecordType::TXT, text).await.records
    }

    pub fn metrics(&self) -> DnsMetrics {
        self.nameservers.metrics.clone()
    }

    pub fn root(&self) -> Arc<Root> {
        self.nameservers.root.clone()
    }

    /// Looks up names beside the probes, without their cache.
    pub fn names(&self) -> Names {
        Names(self.nameservers.clone())
    }

    fn question<T: Send + Sync + 'static>(
        &self,
        name: &str,
        kind: RecordType,
        data: fn(&RData) -> Option<T>,
    ) -> impl Future<Output = Answer<T>> + Send + use<T> {
        let (nameservers, name) = (self.nameservers.clone(), name.to_owned());
        async move { nameservers.records(&name, kind, data).await }
    }
}

#[derive(Clone)]
pub struct Names(Arc<Nameservers>);

impl Names {
    pub async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, NoAnswer> {
        let ask = async |kind| self.0.records(host, kind, address).await.records;
        let (v4, v6) = tokio::join!(ask(RecordType::A), ask(RecordType::AAAA));
        either(v4, v6)
    }
}

fn mx(data: &RData) -> Option<Mx> {
    let RData::MX(mx) = data else { return None };
    let mut exchange = mx.exchange.to_ascii().to_ascii_lowercase();
    if exchange.ends_with('.') {
        exchange.pop();
    }
    Some(Mx { preference: mx.preference, exchange: Arc::from(exchange) })
}

fn address(data: &RData) -> Option<IpAddr> {
    match data {
        RData::A(a) => Some(IpAddr::V4(a.0)),
        RData::AAAA(aaaa) => Some(IpAddr::V6(aaaa.0)),
        _ => None,
    }
}

/// Once there are IPv4 addresses, the IPv6 query has little time left (RFC 8305 §3).
async fn both(
    v4: impl Future<Output = Records<IpAddr>>,
    v6: impl Future<Output = Records<IpAddr>>,
) -> Result<Vec<IpAddr>, NoAnswer> {
    let (mut v4, mut v6) = (pin!(v4), pin!(v6));
    let (v4, v6) = tokio::select! {
        // From the cache, both answers are ready immediately.
        biased;
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

async fn one_else_other(
    dialled: impl Future<Output = Records<IpAddr>>,
    other: impl Future<Output = Records<IpAddr>>,
) -> Result<Vec<IpAddr>, NoAnswer> {
    match dialled.await {
        Err(NoAnswer::NoRecords) => other.await,
        records => records,
    }
    .map(|addresses| addresses.to_vec())
}

fn either(v4: Records<IpAddr>, v6: Records<IpAddr>) -> Result<Vec<IpAddr>, NoAnswer> {
    let (v4, v6) = match (v4, v6) {
        (Err(NoAnswer::Failed), Err(_)) | (Err(_), Err(NoAnswer::Failed)) => {
            return Err(NoAnswer::Failed);
        }
        (Err(absent), Err(_)) => return Err(absent),
        (v4, v6) => (v4.unwrap_or_else(|_| [].into()), v6.unwrap_or_else(|_| [].into())),
    };
    let longest = v4.len().max(v6.len());
    let addresses = (0..longest).flat_map(|i| [v4.get(i), v6.get(i)]).flatten().copied().collect();
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::{NoAnswer, either};

    fn ips<T: FromIterator<IpAddr>>(texts: &[&str]) -> T {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn the_families_alternate_and_one_is_enough() {
        let v4 = || Ok(ips(&["192.0.2.1", "192.0.2.2"]));
        let v6 = || Ok(ips(&["2001:db8::1"]));
        assert_eq!(either(v4(), v6()), Ok(ips(&["192.0.2.1", "2001:db8::1", "192.0.2.2"])));
        for absent in [NoAnswer::Failed, NoAnswer::NoRecords, NoAnswer::NoSuchName] {
            assert_eq!(either(v4(), Err(absent)), Ok(ips(&["192.0.2.1", "192.0.2.2"])));
            assert_eq!(either(Err(absent), v6()), Ok(ips(&["2001:db8::1"])));
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
