//! From a mail host to the socket addresses that may be dialled.

use std::net::SocketAddr;

use tokio::net::lookup_host;

use crate::{
    dns::{Dns, NoAnswer},
    mx::{self, guard::Guard},
};

/// Addresses tried of one host: two of each family, and no domain can make us connect to more than
/// ten hosts × four addresses.
const MAX_ADDRESSES: usize = 4;

/// How a host was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// In DNS.
    InDns,
    /// Configured, with its port: neither DNS nor the address guard nor the pool's limits apply.
    ByRoute(u16),
}

pub(super) struct Resolver {
    pub dns: Dns,
    pub guard: Guard,
    pub smtp_port: u16,
}

impl Resolver {
    /// The addresses of `host`; none when it has no usable one.
    ///
    /// # Errors
    /// [`Unresolved`].
    pub(super) async fn addresses(
        &self,
        host: &str,
        found: Found,
    ) -> Result<Vec<SocketAddr>, Unresolved> {
        match found {
            Found::InDns => self.usable_addresses(host).await,
            Found::ByRoute(port) => {
                // `host:port` by the system's own means: a route may name what only it knows.
                let addresses = lookup_host((host, port)).await;
                Ok(addresses.map(|found| found.take(MAX_ADDRESSES).collect()).unwrap_or_default())
            }
        }
    }

    /// Resolved once, filtered, and these literals are what is dialled: a name that changes its mind
    /// between check and use (DNS rebinding) gains nothing.
    async fn usable_addresses(&self, host: &str) -> Result<Vec<SocketAddr>, Unresolved> {
        if !mx::is_resolvable(host) {
            return Err(Unresolved::NoSuchName);
        }
        match self.dns.addresses(host).await {
            Ok(found) => {
                let permitted = found.into_iter().filter(|ip| self.guard.permits(*ip));
                let sockets = permitted.map(|ip| SocketAddr::new(ip, self.smtp_port));
                Ok(sockets.take(MAX_ADDRESSES).collect())
            }
            Err(NoAnswer::NoRecords) => Ok(Vec::new()),
            Err(NoAnswer::NoSuchName) => Err(Unresolved::NoSuchName),
            Err(NoAnswer::Failed) => Err(Unresolved::DnsFailed),
        }
    }
}

/// Why a host has no address.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unresolved {
    /// The name does not exist, or is none that can.
    NoSuchName,
    /// No nameserver had an answer, which says nothing about the host.
    DnsFailed,
}
