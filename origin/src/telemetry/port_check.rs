//! Whether mail servers can be connected to at all. Most clouds shut port 25 until they are asked, and
//! a shut port looks like the recipient's fault: it must be our alarm and no user's verdict.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    net::TcpStream,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::config::Server;

/// How long an answer stands: load balancers ask every few seconds, and the servers asked are others'.
const OPEN_STANDS: Duration = Duration::from_secs(60);
const SHUT_STANDS: Duration = Duration::from_secs(15);

/// The servers that are tried, and what came of it last.
pub struct PortCheck {
    servers: Vec<Server>,
    patience: Duration,
    /// Held while trying: a second question waits for the answer to the first.
    trying: tokio::sync::Mutex<()>,
    last: Mutex<Option<(bool, Instant)>>,
}

impl PortCheck {
    pub fn new(servers: Vec<Server>, patience: Duration) -> Arc<Self> {
        let trying = tokio::sync::Mutex::new(());
        Arc::new(Self { servers, patience, trying, last: Mutex::new(None) })
    }

    /// A mail server has spoken to us: the port is open.
    pub fn banner_seen(&self) {
        if !self.servers.is_empty() {
            self.remember(true);
        }
    }

    /// Whether one of the servers could be connected to lately; `true` when none is configured.
    pub async fn is_open(&self) -> bool {
        if self.servers.is_empty() {
            return true;
        }
        if let Some(open) = self.recall() {
            return open;
        }
        let _trying = self.trying.lock().await;
        if let Some(open) = self.recall() {
            return open;
        }
        let open = self.any_connects().await;
        self.remember(open);
        open
    }

    /// Whether the port is known to be shut, without trying.
    pub fn is_known_shut(&self) -> bool {
        !self.servers.is_empty() && self.recall() == Some(false)
    }

    /// Keeps the answer fresh, so that a request need not wait for it. Never returns.
    pub async fn watch(self: Arc<Self>) {
        if self.servers.is_empty() {
            std::future::pending::<()>().await;
        }
        loop {
            self.is_open().await;
            sleep(SHUT_STANDS).await;
        }
    }

    async fn any_connects(&self) -> bool {
        let mut trials = JoinSet::new();
        for server in self.servers.clone() {
            trials.spawn(connects(server, self.patience));
        }
        while let Some(trial) = trials.join_next().await {
            if trial.unwrap_or(false) {
                return true;
            }
        }
        false
    }

    /// Whether `server` accepts a connection.
    pub async fn connects(&self, server: &Server) -> bool {
        connects(server.clone(), self.patience).await
    }

    fn recall(&self) -> Option<bool> {
        let (open, at) = (*self.last.lock().unwrap_or_else(PoisonError::into_inner))?;
        let stands = if open { OPEN_STANDS } else { SHUT_STANDS };
        (at.elapsed() < stands).then_some(open)
    }

    fn remember(&self, open: bool) {
        let now = Some((open, Instant::now()));
        let before =
            std::mem::replace(&mut *self.last.lock().unwrap_or_else(PoisonError::into_inner), now);
        match before {
            Some((before, _)) if before == open => {}
            _ if open => tracing::info!("port 25 is open"),
            _ => tracing::error!("port 25 is shut: no server of port_check can be connected to"),
        }
    }
}

async fn connects(server: Server, patience: Duration) -> bool {
    let connecting = TcpStream::connect((server.host.as_str(), server.port));
    matches!(timeout(patience, connecting).await, Ok(Ok(_)))
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use tokio::net::TcpListener;

    use super::{PortCheck, Server};

    fn check(ports: &[u16]) -> Arc<PortCheck> {
        let servers = ports.iter().map(|port| Server { host: "127.0.0.1".to_owned(), port: *port });
        PortCheck::new(servers.collect(), Duration::from_secs(5))
    }

    async fn shut() -> u16 {
        TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
    }

    #[tokio::test]
    async fn one_server_that_answers_is_enough_and_none_configured_is_no_alarm() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let open = listener.local_addr().unwrap().port();
        assert!(check(&[]).is_open().await);
        assert!(check(&[shut().await, open]).is_open().await);
        let checked = check(&[shut().await]);
        assert!(!checked.is_open().await);
        assert!(!checked.is_open().await, "told again from memory");
        assert!(checked.is_known_shut());
    }

    #[tokio::test]
    async fn a_banner_of_any_server_shows_that_it_is_open() {
        let checked = check(&[shut().await]);
        checked.banner_seen();
        assert!(checked.is_open().await && !checked.is_known_shut());
    }
}
