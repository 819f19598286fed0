//! Connecting from the configured source addresses, the two families raced as in Happy Eyeballs. Only
//! families are raced: two connections to one family would be a second session with one server.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    pin::pin,
    time::Duration,
};

use tokio::{
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use super::HeloIdentity;

/// RFC 8305 §5: the recommended delay before the next address is tried beside the last.
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// Why there is no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unconnected {
    #[error("refused, unreachable or silent")]
    Theirs,
    /// Out of ports or descriptors, or a firewall of ours: says nothing about the server.
    #[error("no socket to connect with")]
    Ours,
    /// This machine has no way to that network, as to IPv6 where there is none.
    #[error("no route")]
    NoNetwork,
}

/// Opens connections to mail servers.
pub struct Dialer {
    timeout: Duration,
}

impl Dialer {
    /// `timeout` is for one address.
    pub const fn new(timeout: Duration) -> Self {
        Self { timeout }
    }

    /// Connects to `first`. Where that takes a while, or fails, `second` is asked for an address of the
    /// other family, which is connected to beside it. The first that accepts is returned.
    ///
    /// # Errors
    /// [`Unconnected`], that of the two which tells more.
    pub async fn race(
        &self,
        from: &HeloIdentity,
        first: SocketAddr,
        second: impl FnOnce() -> Option<SocketAddr>,
        within: Duration,
    ) -> Result<(TcpStream, SocketAddr), Unconnected> {
        let connecting = |address| async move {
            let stream = self.connect_within(from, address, within).await?;
            Ok((stream, address))
        };
        let mut ahead = pin!(connecting(first));
        let failure = match timeout(ATTEMPT_DELAY, &mut ahead).await {
            Ok(Ok(connected)) => return Ok(connected),
            Ok(Err(failure)) => Some(failure),
            Err(_) => None,
        };
        let beside = second().map(|address| Box::pin(connecting(address)));
        match (failure, beside) {
            (Some(failure), None) => Err(failure),
            (None, None) => ahead.await,
            (Some(failure), Some(beside)) => beside.await.map_err(|other| failure.and(other)),
            (None, Some(mut beside)) => tokio::select! {
                ended = &mut ahead => match ended {
                    Ok(connected) => Ok(connected),
                    Err(failure) => beside.await.map_err(|other| failure.and(other)),
                },
                ended = &mut beside => match ended {
                    Ok(connected) => Ok(connected),
                    Err(failure) => ahead.await.map_err(|other| failure.and(other)),
                },
            },
        }
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
        self.connect_within(from, address, self.timeout).await
    }

    /// As [`Dialer::connect`], within the configured time and `within`.
    ///
    /// # Errors
    /// [`Unconnected`].
    pub async fn connect_within(
        &self,
        from: &HeloIdentity,
        address: SocketAddr,
        within: Duration,
    ) -> Result<TcpStream, Unconnected> {
        let socket = socket(from.source_for(address), address).map_err(|_| Unconnected::Ours)?;
        match timeout(within.min(self.timeout), socket.connect(address)).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(Unconnected::because_of(&error)),
            Err(_) => Err(Unconnected::Theirs),
        }
    }
}

impl Unconnected {
    fn because_of(error: &io::Error) -> Self {
        match error.kind() {
            // Linux reports an exhausted port range only now. A firewall of ours says EPERM or EACCES.
            io::ErrorKind::AddrNotAvailable | io::ErrorKind::PermissionDenied => Self::Ours,
            io::ErrorKind::NetworkUnreachable => Self::NoNetwork,
            _ => Self::Theirs,
        }
    }

    /// Of two failures to reach one host, the one that tells.
    pub const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Ours, _) | (_, Self::Ours) => Self::Ours,
            (Self::Theirs, _) | (_, Self::Theirs) => Self::Theirs,
            (Self::NoNetwork, Self::NoNetwork) => Self::NoNetwork,
        }
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
mod tests {
    use std::{net::SocketAddr, time::Duration};

    use tokio::net::TcpListener;

    use super::{Dialer, Unconnected};
    use crate::{config::SourceAddress, smtp::HeloIdentity};

    const PATIENCE: Duration = Duration::from_secs(5);

    async fn listener() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    /// A port that was just free refuses connections.
    async fn refusing() -> SocketAddr {
        listener().await.1
    }

    fn dialer() -> Dialer {
        Dialer::new(Duration::from_secs(5))
    }

    fn from(source: Option<&str>) -> HeloIdentity {
        let source = source
            .map(|ip| SourceAddress { ip: ip.parse().unwrap(), helo_name: None })
            .into_iter()
            .collect::<Vec<_>>();
        HeloIdentity::all("probe.example.com", &source).remove(0)
    }

    #[tokio::test]
    async fn the_first_that_accepts_wins_and_the_other_is_not_connected_to() {
        let (_first, accepting) = listener().await;
        let (second, never_tried) = listener().await;
        let race = |first, second| async move {
            let raced = dialer().race(&from(None), first, || Some(second), PATIENCE).await;
            raced.map(|(_, address)| address)
        };
        assert_eq!(race(accepting, never_tried).await, Ok(accepting));
        let waited = tokio::time::timeout(Duration::from_millis(300), second.accept()).await;
        assert!(waited.is_err(), "the second was connected to");
        assert_eq!(race(refusing().await, accepting).await, Ok(accepting));
        assert_eq!(race(refusing().await, refusing().await).await, Err(Unconnected::Theirs));
    }

    #[tokio::test]
    async fn connects_from_the_address_of_the_identity() {
        let (listener, address) = listener().await;
        for source in ["127.0.0.2", "127.0.0.3"] {
            let _stream = dialer().connect(&from(Some(source)), address).await.unwrap();
            assert_eq!(listener.accept().await.unwrap().1.ip().to_string(), source);
        }
    }

    #[tokio::test]
    async fn a_socket_that_cannot_be_had_is_our_failure() {
        let (_listener, address) = listener().await;
        let nowhere = from(Some("192.0.2.1"));
        let failure = dialer().connect(&nowhere, address).await.unwrap_err();
        assert_eq!(failure, Unconnected::Ours);
        let other = refusing().await;
        let failure = dialer().race(&nowhere, address, || Some(other), PATIENCE).await.unwrap_err();
        assert_eq!(failure, Unconnected::Ours);
    }
}
