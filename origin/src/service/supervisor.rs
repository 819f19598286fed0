//! Messages to the service manager (sd_notify(3)), and the sockets that it passes (sd_listen_fds(3)). Without one
//! nothing is sent.

use std::{env, io, net::SocketAddr, time::Duration};

use listenfd::ListenFd;
use sd_notify::NotifyState;
use tokio::{
    net::{TcpListener, TcpSocket},
    time::interval,
};

/// The kernel's `somaxconn` may reduce it. A client that finds the queue full retries a second later. Tokio's default
/// of 128 is less than the number of concurrent probes.
const BACKLOG: u32 = 4_096;

pub fn ready() {
    tell(&[NotifyState::Ready]);
}

pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Reports to the watchdog that the runtime is alive, twice in each of its periods; returns immediately if there is no
/// watchdog.
pub async fn keep_alive() {
    let Some(period) = watchdog() else { return };
    let mut ticks = interval(period / 2);
    loop {
        ticks.tick().await;
        tell(&[NotifyState::Watchdog]);
    }
}

fn tell(states: &[NotifyState<'_>]) {
    // Fails if the service manager doesn't listen. Nothing depends on success.
    let _ = sd_notify::notify(states);
}

fn watchdog() -> Option<Duration> {
    sd_notify::watchdog_enabled().filter(|period| !period.is_zero())
}

/// Works even if another process has just stopped using the address.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Sockets on which the service manager listens for this process: ports below 1024 then need no capability, and a
/// restart refuses no connection.
pub struct PassedSockets {
    sockets: ListenFd,
    names: Vec<String>,
}

impl PassedSockets {
    /// The sockets named in the environment, each under the name of its setting (`FileDescriptorName=`).
    pub fn from_service_manager() -> Self {
        let names = env::var("LISTEN_FDNAMES").unwrap_or_default();
        let names = names.split(':').map(str::to_owned).collect();
        Self { sockets: ListenFd::from_env(), names }
    }

    /// The socket passed for `setting`, or else a new socket bound to `address`. The error is a sentence that names the
    /// setting.
    pub async fn listener(
        &mut self,
        setting: &str,
        address: SocketAddr,
    ) -> Result<TcpListener, String> {
        let entry = self.names.iter_mut().enumerate().find(|(_, name)| *name == setting);
        let passed_socket = entry.map(|(position, name)| {
            name.clear();
            self.sockets.take_tcp_listener(position)
        });
        match passed_socket.transpose() {
            Ok(Some(Some(listener))) => listener
                .set_nonblocking(true)
                .and_then(|()| TcpListener::from_std(listener))
                .map_err(|error| format!("{setting}: the socket of the service manager: {error}")),
            Ok(_) => listen(address)
                .map_err(|error| format!("{setting}: cannot bind {address}: {error}")),
            Err(error) => Err(format!("{setting}: the socket of the service manager: {error}")),
        }
    }

    /// Names of sockets without a listener: nobody accepts connections to them.
    pub fn unused_names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str).filter(|name| !name.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        net::{SocketAddr, TcpStream},
        time::Duration,
    };

    use super::listen;

    #[tokio::test]
    async fn more_connections_wait_to_be_accepted_than_by_default() {
        for any in ["127.0.0.1:0", "[::1]:0"] {
            let listener = listen(any.parse().unwrap()).unwrap();
            let address: SocketAddr = listener.local_addr().unwrap();
            // Nobody accepts these connections. A connection that found the queue full would be retried for minutes.
            let connect = |_| TcpStream::connect_timeout(&address, Duration::from_secs(10));
            let waiting: Result<Vec<_>, _> = (0..300).map(connect).collect();
            assert_eq!(waiting.unwrap().len(), 300);
        }
    }
}
