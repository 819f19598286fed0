//! Resolves a mail host to socket addresses that we may connect to.

use std::net::{IpAddr, SocketAddr};

use tokio::net::lookup_host;

use super::plans::Plan;
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
    /// Empty if the host has no usable address.
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
