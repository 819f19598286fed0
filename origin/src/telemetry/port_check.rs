//! Watches whether outbound port 25 is open. Most clouds block it, which looks like the recipient's fault: it must
//! raise an alarm and never decide a user's verdict.

use std::{fmt, net::SocketAddr, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use parking_lot::Mutex;
use rcpt_shared::Stage;
use rcpt_smtp::{Connection, Dialer, Failure, Greeting, HeloIdentity, Session};
use tokio::time::{Instant, sleep, timeout};

use crate::{config::Server, dns::Names};

const OPEN_LIFETIME: Duration = Duration::from_secs(60);
/// Interval between checks while the port is blocked. The servers belong to third parties, and load balancers poll
/// `/ready` every few seconds.
pub const BLOCKED_INTERVAL: Duration = Duration::from_secs(15);
/// Time limit for the connection to one server, and once more for its banner.
const BANNER_TIMEOUT: Duration = Duration::from_secs(6);

pub struct PortCheck {
    servers: Vec<Server>,
    names: Names,
    dialer: Dialer,
    identity: ArcSwap<HeloIdentity>,
    state: Mutex<PortState>,
    /// Held during a check, so that concurrent callers wait for its result.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone, Copy)]
enum PortState {
    Unknown,
    /// A mail server sent its banner at this time.
    Heard(Instant),
    /// At this time every server had been tried, and no server had sent a banner.
    AllFailed(Instant),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unheard {
    NoAddress,
    Unconnected,
    NoBanner,
}

impl fmt::Display for Unheard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoAddress => "has no address",
            Self::Unconnected => "cannot be connected to",
            Self::NoBanner => "accepts a connection and sends no SMTP banner",
        })
    }
}

impl PortCheck {
    /// Creates the check. Without `servers` the port is assumed to be open.
    pub fn new(
        servers: Vec<Server>,
        names: Names,
        dialer: Dialer,
        identity: HeloIdentity,
    ) -> Arc<Self> {
        let (state, asking) = (Mutex::new(PortState::Unknown), tokio::sync::Mutex::default());
        let identity = ArcSwap::from_pointee(identity);
        Arc::new(Self { servers, names, dialer, identity, state, asking })
    }

    /// Uses this identity for further connections: the previous identity may have lost its address.
    pub fn dial_as(&self, identity: Arc<HeloIdentity>) {
        self.identity.store(identity);
    }

    pub fn banner_seen(&self) {
        if !self.servers.is_empty() {
            self.record(true);
        }
    }

    /// True if every server failed in the last check, and no banner has arrived since. Makes no connection.
    pub fn is_known_shut(&self) -> bool {
        matches!(*self.state.lock(), PortState::AllFailed(_))
    }

    /// True if the port is open: a banner was received within the last minute, or is received now. Within 15 seconds
    /// after a failed check, false without another check; without `servers`, always true.
    pub async fn is_open(&self) -> bool {
        if let Some(open) = self.fresh() {
            return open;
        }
        let _asking = self.asking.lock().await;
        if let Some(open) = self.fresh() {
            return open;
        }
        let Some(open) = self.any_greets().await else { return true };
        self.record(open);
        open
    }

    /// Checks the port whenever the known state is too old; never returns.
    pub async fn watch(self: Arc<Self>) {
        loop {
            self.is_open().await;
            sleep(BLOCKED_INTERVAL).await;
        }
    }

    pub async fn greets(&self, server: &Server) -> Result<(), Unheard> {
        let stream = timeout(BANNER_TIMEOUT, self.connect(server));
        let stream = stream.await.unwrap_or(Err(Unheard::Unconnected))?;
        let mut stage = Stage::Banner;
        let identity = self.identity.load_full();
        let opening =
            Session::open(stream, &identity.helo_name, Greeting::default(), None, &mut stage);
        match timeout(BANNER_TIMEOUT, opening).await {
            Ok(Ok(session)) => {
                session.quit(());
                Ok(())
            }
            // A refusal is a reply too, and a later stage shows that the banner was received.
            Ok(Err(Failure::Refused(..))) => Ok(()),
            Ok(Err(_)) | Err(_) if stage > Stage::Banner => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Unheard::NoBanner),
        }
    }

    async fn connect(
        &self,
        Server { host, port }: &Server,
    ) -> Result<Box<dyn Connection>, Unheard> {
        let addresses = match host.parse() {
            Ok(address) => vec![address],
            Err(_) => self.names.addresses(host).await.unwrap_or_default(),
        };
        let (identity, mut failure) = (self.identity.load_full(), Unheard::NoAddress);
        for address in addresses {
            match self.dialer.connect(&identity, SocketAddr::new(address, *port)).await {
                Ok(stream) => return Ok(stream),
                Err(_) => failure = Unheard::Unconnected,
            }
        }
        Err(failure)
    }

    /// `None` if no server has an address: a failure of DNS says nothing about the port.
    async fn any_greets(&self) -> Option<bool> {
        let mut greetings: FuturesUnordered<_> =
            self.servers.iter().map(|server| self.greets(server)).collect();
        let mut is_tried = false;
        while let Some(greeting) = greetings.next().await {
            match greeting {
                Ok(()) => return Some(true),
                Err(unheard) => is_tried |= unheard != Unheard::NoAddress,
            }
        }
        is_tried.then_some(false)
    }

    fn fresh(&self) -> Option<bool> {
        if self.servers.is_empty() {
            return Some(true);
        }
        match *self.state.lock() {
            PortState::Heard(at) if at.elapsed() < OPEN_LIFETIME => Some(true),
            PortState::AllFailed(at) if at.elapsed() < BLOCKED_INTERVAL => Some(false),
            PortState::Unknown | PortState::Heard(_) | PortState::AllFailed(_) => None,
        }
    }

    fn record(&self, open: bool) {
        let now = Instant::now();
        let news = if open { PortState::Heard(now) } else { PortState::AllFailed(now) };
        match (std::mem::replace(&mut *self.state.lock(), news), open) {
            (PortState::AllFailed(_), true) => tracing::info!("port 25 is open again"),
            (PortState::Unknown | PortState::Heard(_), false) => {
                tracing::error!("port 25 is shut: no server of port_check greets us");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
