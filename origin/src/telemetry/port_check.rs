//! Whether mail servers can be connected to at all. Most clouds shut port 25 until they are asked, and
//! a shut port looks like the recipient's fault: it must be an operator's alarm and no user's verdict.

use std::time::Duration;

use tokio::{
    net::TcpStream,
    sync::Mutex,
    time::{Instant, timeout},
};

use crate::config::Server;

/// How long an answer stands: load balancers ask every few seconds, and the servers asked are others'.
const OPEN_STANDS: Duration = Duration::from_secs(300);
const SHUT_STANDS: Duration = Duration::from_secs(15);

/// The servers that are tried, and what came of it last.
pub struct PortCheck {
    servers: Vec<Server>,
    patience: Duration,
    last: Mutex<Option<(bool, Instant)>>,
}

impl PortCheck {
    pub fn new(servers: Vec<Server>, patience: Duration) -> Self {
        Self { servers, patience, last: Mutex::new(None) }
    }

    /// Whether one of the servers could be connected to lately; `true` when none is configured.
    pub async fn is_open(&self) -> bool {
        if self.servers.is_empty() {
            return true;
        }
        // Held while trying: a second question waits for the answer to the first.
        let mut last = self.last.lock().await;
        if let Some((open, at)) = *last {
            let stands = if open { OPEN_STANDS } else { SHUT_STANDS };
            if at.elapsed() < stands {
                return open;
            }
        }
        let mut open = false;
        for server in &self.servers {
            if self.connects(server).await {
                open = true;
                break;
            }
        }
        *last = Some((open, Instant::now()));
        open
    }

    /// Whether `server` accepts a connection.
    pub async fn connects(&self, server: &Server) -> bool {
        let connecting = TcpStream::connect((server.host.as_str(), server.port));
        matches!(timeout(self.patience, connecting).await, Ok(Ok(_)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::net::TcpListener;

    use super::{PortCheck, Server};

    fn check(ports: &[u16]) -> PortCheck {
        let servers = ports.iter().map(|port| Server { host: "127.0.0.1".to_owned(), port: *port });
        PortCheck::new(servers.collect(), Duration::from_secs(5))
    }

    #[tokio::test]
    async fn one_server_that_answers_is_enough_and_none_configured_is_no_alarm() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let open = listener.local_addr().unwrap().port();
        let shut = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        assert!(check(&[]).is_open().await);
        assert!(check(&[shut, open]).is_open().await);
        let checked = check(&[shut]);
        assert!(!checked.is_open().await);
        assert!(!checked.is_open().await, "told again from memory");
    }
}
