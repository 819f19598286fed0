//! Connects from the configured source addresses. Only the two families are raced (Happy Eyeballs): two connections to
//! the same family would be two sessions with one server.

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

/// RFC 8305 §5: recommended delay before the other family is tried in parallel.
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// Two of the largest replies.
const RECEIVE_BUFFER_BYTES: u32 = 16 * 1_024;

/// Reason why connecting to an address failed; of several failures, the greatest is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConnectFailure {
    /// The address is unreachable from here: no route, or blocked or switched off on this machine. The cause may affect
    /// one family only, and doesn't excuse a server that refuses over the other family.
    NoWay,
    /// Refused, unreachable or silent. All else is our failure, and says nothing about the server.
    Theirs,
    /// No free port or descriptor.
    NoSocket,
}

#[derive(Clone)]
pub struct Dialer {
    timeout: Duration,
    network: Arc<dyn Network>,
}

impl Dialer {
    pub fn new(timeout: Duration) -> Self {
        Self::over(Arc::new(Tcp), timeout)
    }

    pub fn over(network: Arc<dyn Network>, timeout: Duration) -> Self {
        Self { timeout, network }
    }

    pub const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Connects to `first`. If that fails or takes longer than 250 ms, `second` returns an address of the other family,
    /// which is tried in parallel. The error is the more informative of the two failures.
    pub async fn race(
        &self,
        from: &HeloIdentity,
        first: SocketAddr,
        second: impl FnOnce() -> Option<SocketAddr>,
        within: Duration,
    ) -> Result<(Box<dyn Connection>, SocketAddr), ConnectFailure> {
        let connecting = |address| async move {
            let stream = self.try_one(from, address, within).await?;
            Ok((stream, address))
        };
        let mut ahead = pin!(connecting(first));
        let failed = match timeout(ATTEMPT_DELAY, &mut ahead).await {
            Ok(Ok(connected)) => return Ok(connected),
            Ok(Err(failed)) => Some(failed),
            Err(_) => None,
        };
        let beside = second().map(|address| Box::pin(connecting(address)));
        match (failed, beside) {
            (Some(failed), None) => Err(failed),
            (None, None) => ahead.await,
            (Some(failed), Some(beside)) => beside.await.map_err(|other| other.max(failed)),
            (None, Some(mut beside)) => tokio::select! {
                biased;
                ended = &mut ahead => match ended {
                    Ok(connected) => Ok(connected),
                    Err(failed) => beside.await.map_err(|other| other.max(failed)),
                },
                ended = &mut beside => match ended {
                    Ok(connected) => Ok(connected),
                    Err(failed) => ahead.await.map_err(|other| other.max(failed)),
                },
            },
        }
    }

    /// A server that doesn't respond within the time limit is `Theirs`.
    pub async fn connect(
        &self,
        from: &HeloIdentity,
        address: SocketAddr,
    ) -> Result<Box<dyn Connection>, ConnectFailure> {
        self.try_one(from, address, self.timeout).await
    }

    async fn try_one(
        &self,
        from: &HeloIdentity,
        address: SocketAddr,
        within: Duration,
    ) -> Result<Box<dyn Connection>, ConnectFailure> {
        if !from.reaches(address.ip()) {
            return Err(ConnectFailure::NoWay);
        }
        self.network.connect(from.source_for(address), address, within.min(self.timeout)).await
    }
}

pub trait Network: Send + Sync {
    fn connect(
        &self,
        source: Option<IpAddr>,
        address: SocketAddr,
        within: Duration,
    ) -> BoxFuture<'static, Result<Box<dyn Connection>, ConnectFailure>>;
}

pub trait Connection: AsyncRead + AsyncWrite + Unpin + Send + Sync + fmt::Debug {
    /// Does nothing on a network without such a delay.
    fn set_nodelay(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Connection for TcpStream {
    fn set_nodelay(&self) -> io::Result<()> {
        Self::set_nodelay(self, true)
    }
}

impl Connection for DuplexStream {}

struct Tcp;

impl Network for Tcp {
    fn connect(
        &self,
        source: Option<IpAddr>,
        address: SocketAddr,
        within: Duration,
    ) -> BoxFuture<'static, Result<Box<dyn Connection>, ConnectFailure>> {
        Box::pin(async move {
            let stream: Box<dyn Connection> = Box::new(connect(source, address, within).await?);
            Ok(stream)
        })
    }
}

async fn connect(
    source: Option<IpAddr>,
    address: SocketAddr,
    within: Duration,
) -> Result<TcpStream, ConnectFailure> {
    let socket = socket(source, address).map_err(|_| ConnectFailure::NoSocket)?;
    let mut connecting = pin!(socket.connect(address));
    // Errors of our own system are reported immediately. Later, the same errors come from routers
    // (ICMP) and mean as little as silence.
    if let Some(connected) = connecting.as_mut().now_or_never() {
        return connected.map_err(|error| classify(error.kind(), true));
    }
    match timeout(within, connecting).await {
        Ok(connected) => connected.map_err(|error| classify(error.kind(), false)),
        Err(_) => Err(ConnectFailure::Theirs),
    }
}

/// `at_once` means that our own system reported the error before sending anything.
fn classify(error: io::ErrorKind, at_once: bool) -> ConnectFailure {
    match error {
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::PermissionDenied if at_once => {
            ConnectFailure::NoWay
        }
        // Linux reports late that no port is free.
        io::ErrorKind::AddrNotAvailable => ConnectFailure::NoSocket,
        // The loopback interface refuses a connection immediately.
        _ => ConnectFailure::Theirs,
    }
}

fn socket(source: Option<IpAddr>, address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    if let Some(source) = source {
        socket.bind(SocketAddr::new(source, 0))?;
    }
    socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES)?;
    Ok(socket)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceAddress {
    pub ip: IpAddr,
    /// The address's own HELO name; `None` for the configured default.
    pub helo_name: Option<String>,
    /// Unix time since which mail servers have seen this address. `None` for an established address.
    pub since: Option<u64>,
    /// True if only accounts without a plan use the address.
    pub is_for_free: bool,
}

/// The IP families of connections to mail servers, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Families {
    pub ipv4: bool,
    pub ipv6: bool,
}

impl Families {
    pub const BOTH: Self = Self { ipv4: true, ipv6: true };

    /// The families of `sources`, or both if there are none and the system chooses the address. If only one family has
    /// an address, the other family isn't used. The reverse record of an address that the system chose wouldn't contain
    /// the HELO name.
    pub fn of<'a>(sources: impl IntoIterator<Item = &'a SourceAddress>) -> Self {
        let mut families = Self { ipv4: false, ipv6: false };
        for source in sources {
            families.ipv4 |= source.ip.is_ipv4();
            families.ipv6 |= source.ip.is_ipv6();
        }
        if families.ipv4 || families.ipv6 { families } else { Self::BOTH }
    }

    pub const fn include(self, ip: IpAddr) -> bool {
        match ip {
            IpAddr::V4(_) => self.ipv4,
            IpAddr::V6(_) => self.ipv6,
        }
    }
}

/// A HELO name with its addresses. If a family has no address, the system chooses the address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeloIdentity {
    pub helo_name: String,
    v4: Option<IpAddr>,
    v6: Option<IpAddr>,
    families: Families,
    /// Unix time since which mail servers have seen the identity's newest address.
    since: Option<u64>,
    is_for_free: bool,
}

impl HeloIdentity {
    /// The identities made of `sources`, at least one: each name's nth IPv4 address is combined with its nth IPv6
    /// address. Each identity connects over `families`, or by default over those of its addresses.
    pub fn all(
        helo_name: &str,
        sources: &[SourceAddress],
        families: Option<Families>,
    ) -> Vec<Self> {
        let mut identities: Vec<Self> = Vec::new();
        for source in sources {
            let name = source.helo_name.as_deref().unwrap_or(helo_name);
            let lacks_family = |identity: &&mut Self| {
                let family = if source.ip.is_ipv4() { identity.v4 } else { identity.v6 };
                let fits = identity.is_for_free == source.is_for_free;
                identity.helo_name == name && family.is_none() && fits
            };
            match identities.iter_mut().find(lacks_family) {
                Some(identity) => identity.take(source),
                None => {
                    let mut identity = Self::unbound(name);
                    identity.take(source);
                    identities.push(identity);
                }
            }
        }
        if identities.is_empty() {
            identities.push(Self::unbound(helo_name));
        }
        for identity in &mut identities {
            identity.families = families.unwrap_or_else(|| identity.own_families());
        }
        identities
    }

    /// Creates an identity without addresses, so that the system chooses them.
    pub fn unbound(helo_name: &str) -> Self {
        let helo_name = helo_name.to_owned();
        Self {
            helo_name,
            v4: None,
            v6: None,
            families: Families::BOTH,
            since: None,
            is_for_free: false,
        }
    }

    fn take(&mut self, source: &SourceAddress) {
        let address = if source.ip.is_ipv4() { &mut self.v4 } else { &mut self.v6 };
        *address = Some(source.ip);
        self.since = self.since.max(source.since);
        self.is_for_free = source.is_for_free;
    }

    const fn own_families(&self) -> Families {
        match (self.v4, self.v6) {
            (None, None) => Families::BOTH,
            (v4, v6) => Families { ipv4: v4.is_some(), ipv6: v6.is_some() },
        }
    }

    pub const fn source_for(&self, peer: SocketAddr) -> Option<IpAddr> {
        if peer.is_ipv4() { self.v4 } else { self.v6 }
    }

    pub const fn reaches(&self, ip: IpAddr) -> bool {
        self.families.include(ip)
    }

    pub const fn since(&self) -> Option<u64> {
        self.since
    }

    pub const fn is_for_free(&self) -> bool {
        self.is_for_free
    }

    pub const fn class_name(&self) -> &'static str {
        if self.is_for_free { "free" } else { "known" }
    }

    /// The identity's addresses, or else its HELO name.
    pub fn label(&self) -> String {
        let addresses: Vec<_> = self.addresses().map(|ip| ip.to_string()).collect();
        if addresses.is_empty() { self.helo_name.clone() } else { addresses.join(" ") }
    }

    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.v4.into_iter().chain(self.v6)
    }
}

#[cfg(test)]
mod tests;
