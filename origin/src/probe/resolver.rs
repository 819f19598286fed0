//! Resolves mail hosts to socket addresses that we may connect to. A plan is a domain's mail hosts in order, with the
//! addresses of the first: made from cached answers of DNS that have passed the configuration's checks, it expires with
//! the first of them, or on a reload.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use moka::sync::Cache;
use tokio::{net::lookup_host, time::Instant};

use crate::{
    config::OptOuts,
    dns::{
        Dns, Mx, NoAnswer,
        mx::{self, guard::Guard},
    },
};

/// With ten hosts, a domain can make us connect to forty addresses at most.
const MAX_ADDRESSES: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressSource<'a> {
    InDns,
    /// From the domain's plan; the addresses have passed every check.
    Planned(&'a [SocketAddr]),
    /// From a route, which gives the port: DNS, the address guard and the pool's limits don't apply.
    ByRoute(u16),
}

pub(super) struct Resolver {
    pub dns: Dns,
    pub guard: Guard,
    pub smtp_port: u16,
}

impl Resolver {
    pub(super) async fn addresses(
        &self,
        host: &str,
        source: AddressSource<'_>,
    ) -> Result<Vec<SocketAddr>, Unresolved> {
        match source {
            AddressSource::Planned(addresses) => Ok(addresses.to_vec()),
            AddressSource::InDns => self.usable_addresses(host).await,
            AddressSource::ByRoute(port) => {
                // Uses the system's resolver for `host:port`, because a route may use a local name.
                let addresses = lookup_host((host, port)).await;
                Ok(addresses.map(|ips| ips.take(MAX_ADDRESSES).collect()).unwrap_or_default())
            }
        }
    }

    /// Resolves the name once and filters the result. We connect to these literal addresses, so a
    /// name whose addresses change after the check (DNS rebinding) gains nothing.
    async fn usable_addresses(&self, host: &str) -> Result<Vec<SocketAddr>, Unresolved> {
        if !mx::is_resolvable(host) {
            return Err(Unresolved::NoSuchName);
        }
        match self.dns.addresses(host).await {
            Ok(addresses) => Ok(self.select_permitted(addresses)),
            Err(NoAnswer::NoRecords) => Ok(Vec::new()),
            Err(NoAnswer::NoSuchName) => Err(Unresolved::NoSuchName),
            Err(NoAnswer::Failed) => Err(Unresolved::DnsFailed),
        }
    }

    fn select_permitted(&self, addresses: Vec<IpAddr>) -> Vec<SocketAddr> {
        let permitted = addresses.into_iter().filter(|ip| self.guard.permits(*ip));
        permitted.map(|ip| SocketAddr::new(ip, self.smtp_port)).take(MAX_ADDRESSES).collect()
    }

    /// `None` unless the needed answers are cached and the first host's addresses may be used.
    pub(super) fn plan(
        &self,
        domain: &str,
        hosts: &[Mx],
        opt_outs: &OptOuts,
        epoch: u64,
    ) -> Option<Plan> {
        let first = hosts.first().filter(|mx| mx::is_resolvable(&mx.exchange))?;
        let mx_until = self.dns.mx_until(domain)?;
        let (addresses, until) = self.dns.known_addresses(&first.exchange)?;
        let addresses = self.select_permitted(addresses);
        let is_usable = !addresses.is_empty()
            && !addresses.iter().any(|address| opt_outs.include_address(address.ip()));
        let until = until.min(mx_until);
        is_usable.then(|| Plan { hosts: hosts.to_vec(), addresses, until, epoch })
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Unresolved {
    NoSuchName,
    /// No nameserver resolved the name, which says nothing about the host.
    DnsFailed,
}

/// About 300 bytes each: 6 MB.
const MAX_PLANS: u64 = 20_000;

pub(super) struct Plan {
    pub hosts: Vec<Mx>,
    pub addresses: Vec<SocketAddr>,
    pub until: Instant,
    pub epoch: u64,
}

pub(super) struct Plans {
    plans: Cache<Arc<str>, Arc<Plan>>,
    /// Number of calls of [`Self::forget_all`]: a plan begun before the last call is discarded.
    epoch: AtomicU64,
}

impl Default for Plans {
    fn default() -> Self {
        Self { plans: Cache::new(MAX_PLANS), epoch: AtomicU64::new(0) }
    }
}

impl Plans {
    /// Must be read before the configuration from which a plan is made.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    pub(super) fn of(&self, domain: &str) -> Option<Arc<Plan>> {
        let plan = self.plans.get(domain)?;
        (plan.epoch == self.epoch() && plan.until > Instant::now()).then_some(plan)
    }

    pub(super) fn keep(&self, domain: &str, plan: Plan) -> Arc<Plan> {
        let plan = Arc::new(plan);
        self.plans.insert(Arc::from(domain), Arc::clone(&plan));
        plan
    }

    /// Must be called after the configuration was replaced.
    pub(super) fn forget_all(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.plans.invalidate_all();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, advance};

    use super::{Mx, Plan, Plans};

    fn plan(epoch: u64) -> Plan {
        Plan {
            hosts: vec![Mx { preference: 10, exchange: "mx.example".into() }],
            addresses: vec![([192, 0, 2, 1], 25).into()],
            until: Instant::now() + Duration::from_secs(60),
            epoch,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_plan_ends_with_its_answers_and_with_a_reload_also_one_that_was_begun_before() {
        let plans = Plans::default();
        let before = plans.epoch();
        plans.keep("a.example", plan(before));
        assert!(plans.of("a.example").is_some() && plans.of("b.example").is_none());
        plans.forget_all();
        assert!(plans.of("a.example").is_none());
        plans.keep("a.example", plan(before));
        assert!(plans.of("a.example").is_none(), "made by the configuration of before");
        plans.keep("a.example", plan(plans.epoch()));
        assert!(plans.of("a.example").is_some());
        advance(Duration::from_secs(60)).await;
        assert!(plans.of("a.example").is_none());
    }
}
