//! Connecting: addresses raced as in Happy Eyeballs, from the configured source addresses.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use tokio::{
    net::{TcpSocket, TcpStream},
    task::JoinSet,
    time::{sleep, timeout},
};

use super::HeloIdentity;

/// RFC 8305 §5: the recommended delay before the next address is tried beside the last.
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// Why there is no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unconnected {
    #[error("refused, unreachable or silent")]
    Theirs,
    /// Out of ports or descriptors: says nothing about the server.
    #[error("no socket to connect with")]
    Ours,
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

    /// Connects to the first of `addresses` that accepts. It and those that failed are taken out of
    /// `addresses`; what remains is still to be tried.
    ///
    /// # Errors
    /// [`Unconnected`] when none accepts: `Ours` if that was so for any of them.
    pub async fn race(
        &self,
        from: &HeloIdentity,
        addresses: &mut Vec<SocketAddr>,
    ) -> Result<(TcpStream, SocketAddr), Unconnected> {
        if let [only] = addresses[..] {
            // The common case needs no task.
            addresses.clear();
            return self.connect(from, only).await.map(|stream| (stream, only));
        }
        Box::pin(self.race_all(from, addresses)).await
    }

    async fn race_all(
        &self,
        from: &HeloIdentity,
        addresses: &mut Vec<SocketAddr>,
    ) -> Result<(TcpStream, SocketAddr), Unconnected> {
        let mut failure = Unconnected::Theirs;
        let mut attempts = JoinSet::new();
        let mut waiting = addresses.clone().into_iter();
        loop {
            match waiting.next() {
                Some(address) => {
                    let connecting = connect(from.source_for(address), address, self.timeout);
                    attempts.spawn(async move { (address, connecting.await) });
                }
                None if attempts.is_empty() => return Err(failure),
                None => {}
            }
            let more = waiting.len() > 0;
            tokio::select! {
                Some(ended) = attempts.join_next() => {
                    // A task that panicked has lost its address: it stays, and the caller bounds it.
                    let Ok((address, result)) = ended else { continue };
                    addresses.retain(|other| *other != address);
                    match result {
                        Ok(stream) => return Ok((stream, address)),
                        Err(Unconnected::Ours) => failure = Unconnected::Ours,
                        Err(Unconnected::Theirs) => {}
                    }
                }
                () = sleep(ATTEMPT_DELAY), if more => {}
            }
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
        connect(from.source_for(address), address, self.timeout).await
    }
}

async fn connect(
    source: Option<IpAddr>,
    address: SocketAddr,
    within: Duration,
) -> Result<TcpStream, Unconnected> {
    let socket = socket(source, address).map_err(|_| Unconnected::Ours)?;
    match timeout(within, socket.connect(address)).await {
        Ok(Ok(stream)) => Ok(stream),
        // Linux reports an exhausted port range only now.
        Ok(Err(error)) if error.kind() == io::ErrorKind::AddrNotAvailable => Err(Unconnected::Ours),
        Ok(Err(_)) | Err(_) => Err(Unconnected::Theirs),
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
    async fn the_first_address_that_accepts_wins_and_the_rest_remain() {
        let (_first, accepting) = listener().await;
        let (_second, never_tried) = listener().await;
        let mut addresses = vec![refusing().await, accepting, never_tried];
        let (stream, address) = dialer().race(&from(None), &mut addresses).await.unwrap();
        assert_eq!((address, stream.peer_addr().unwrap()), (accepting, accepting));
        assert_eq!(addresses, [never_tried]);
    }

    #[tokio::test]
    async fn when_none_accepts_none_remains() {
        for count in [1, 3] {
            let mut addresses = Vec::new();
            for _ in 0..count {
                addresses.push(refusing().await);
            }
            assert_eq!(
                dialer().race(&from(None), &mut addresses).await.unwrap_err(),
                Unconnected::Theirs
            );
            assert!(addresses.is_empty());
        }
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
        let mut addresses = vec![address, refusing().await];
        let failure = dialer().race(&nowhere, &mut addresses).await.unwrap_err();
        assert_eq!(failure, Unconnected::Ours);
    }
}
