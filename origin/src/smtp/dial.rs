//! Connecting: the two families raced as in Happy Eyeballs, from the configured source addresses.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    pin::pin,
    time::Duration,
};

use futures_util::FutureExt as _;
use tokio::{
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use super::HeloIdentity;

/// RFC 8305 §5: the recommended delay before the other family is tried beside the first.
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// Why there is no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unconnected {
    #[error("refused, unreachable or silent")]
    Theirs,
    /// Out of ports or descriptors, no route, or forbidden by our own firewall: says nothing about the
    /// server.
    #[error("no way to connect from here")]
    Ours,
}

/// What came of trying an address; the greatest of several is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Failed {
    /// No route to the address, forbidden on this machine or switched off, which may be so for one family alone: a
    /// server that the other family found shut is not excused by it.
    NoWay,
    Theirs,
    NoSocket,
}

impl From<Failed> for Unconnected {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Theirs => Self::Theirs,
            Failed::NoWay | Failed::NoSocket => Self::Ours,
        }
    }
}

/// Opens connections to mail servers.
#[derive(Debug, Clone, Copy)]
pub struct Dialer {
    timeout: Duration,
}

impl Dialer {
    /// `timeout` is for one address.
    pub const fn new(timeout: Duration) -> Self {
        Self { timeout }
    }

    /// Connects to the first of `addresses` that accepts. The addresses of a family are tried one after
    /// the other, so that a server never sees a connection that is not used beside one that is. The
    /// address that accepted and those that failed are taken out of `addresses`; what remains is still to
    /// be tried.
    ///
    /// # Errors
    /// [`Unconnected`] when none accepts.
    pub async fn race(
        &self,
        from: &HeloIdentity,
        addresses: &mut Vec<SocketAddr>,
    ) -> Result<(TcpStream, SocketAddr), Unconnected> {
        if let [only] = addresses[..] {
            addresses.clear();
            return self.connect(from, only).await.map(|stream| (stream, only));
        }
        Box::pin(self.race_families(from, addresses)).await
    }

    async fn race_families(
        &self,
        from: &HeloIdentity,
        addresses: &mut Vec<SocketAddr>,
    ) -> Result<(TcpStream, SocketAddr), Unconnected> {
        let preferred = addresses.first().is_some_and(SocketAddr::is_ipv4);
        let (mut first, mut second): (Vec<_>, Vec<_>) =
            addresses.iter().partition(|address| address.is_ipv4() == preferred);
        let won = self.race_two(from, &mut first, &mut second).await;
        addresses.retain(|address| first.contains(address) || second.contains(address));
        won.map_err(Unconnected::from)
    }

    async fn race_two(
        &self,
        from: &HeloIdentity,
        first: &mut Vec<SocketAddr>,
        second: &mut Vec<SocketAddr>,
    ) -> Result<(TcpStream, SocketAddr), Failed> {
        let mut first = pin!(self.one_after_the_other(from, first));
        let mut second = pin!(self.one_after_the_other(from, second));
        if let Ok(ended) = timeout(ATTEMPT_DELAY, &mut first).await {
            return match ended {
                Ok(connected) => Ok(connected),
                Err(failed) => second.await.map_err(|other| other.max(failed)),
            };
        }
        tokio::select! {
            ended = &mut first => match ended {
                Ok(connected) => Ok(connected),
                Err(failed) => second.await.map_err(|other| other.max(failed)),
            },
            ended = &mut second => match ended {
                Ok(connected) => Ok(connected),
                Err(failed) => first.await.map_err(|other| other.max(failed)),
            },
        }
    }

    /// Takes each address out of `addresses` once it is known whether it accepts.
    async fn one_after_the_other(
        &self,
        from: &HeloIdentity,
        addresses: &mut Vec<SocketAddr>,
    ) -> Result<(TcpStream, SocketAddr), Failed> {
        let mut failure = Failed::NoWay;
        while let Some(address) = addresses.first().copied() {
            let tried = self.try_one(from, address).await;
            addresses.remove(0);
            match tried {
                Ok(stream) => return Ok((stream, address)),
                Err(failed) => failure = failure.max(failed),
            }
        }
        Err(failure)
    }

    /// Connects to `address`.
    ///
    /// # Errors
    /// [`Unconnected`]; a server that does not answer within the configured time is `Theirs`.
    pub async fn connect(
        &self,
        from: &HeloIdentity,
        address: SocketAddr,
    ) -> Result<TcpStream, Unconnected> {
        Ok(self.try_one(from, address).await?)
    }

    async fn try_one(&self, from: &HeloIdentity, address: SocketAddr) -> Result<TcpStream, Failed> {
        if !from.reaches(address.ip()) {
            return Err(Failed::NoWay);
        }
        connect(from.source_for(address), address, self.timeout).await
    }
}

async fn connect(
    source: Option<IpAddr>,
    address: SocketAddr,
    within: Duration,
) -> Result<TcpStream, Failed> {
    let socket = socket(source, address).map_err(|_| Failed::NoSocket)?;
    let mut connecting = pin!(socket.connect(address));
    // What our own system objects to, it says at once. Later the same errors are words of routers on the
    // way (ICMP), as good as silence.
    match connecting.as_mut().now_or_never() {
        Some(Ok(stream)) => return Ok(stream),
        Some(Err(error)) => return Err(objection(&error)),
        None => {}
    }
    match timeout(within, connecting).await {
        Ok(Ok(stream)) => Ok(stream),
        // Linux reports an exhausted port range only now.
        Ok(Err(error)) if error.kind() == io::ErrorKind::AddrNotAvailable => Err(Failed::NoSocket),
        Ok(Err(_)) | Err(_) => Err(Failed::Theirs),
    }
}

/// What an error means that our own system gave instead of sending anything.
fn objection(error: &io::Error) -> Failed {
    match error.kind() {
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::PermissionDenied => Failed::NoWay,
        io::ErrorKind::AddrNotAvailable => Failed::NoSocket,
        // The loopback refuses at once.
        _ => Failed::Theirs,
    }
}

fn socket(source: Option<IpAddr>, address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    if let Some(source) = source {
        socket.bind(SocketAddr::new(source, 0))?;
    }
    Ok(socket)
}

#[cfg(test)]
mod tests;
