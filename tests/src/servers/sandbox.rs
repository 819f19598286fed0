//! The sandbox: addresses with documented verdicts, without any network.
//!
//! Origin reaches the sandbox through explicit routes, like a mail server's transport map.

use std::{net::SocketAddr, time::Duration};

use anyhow::Result;
use rcpt_shared::sandbox::{self, Behaviour, SLOW_S};

use super::smtp_server::{Answer, SmtpServer};

/// A domain of the same server that isn't a sandbox domain for the edge: scans retry it like any other domain.
pub const LATER: &str = "later.test";

/// A running sandbox mail server.
#[derive(Debug)]
pub struct Sandbox {
    server: SmtpServer,
}

impl Sandbox {
    /// Starts on a free port of 127.0.0.1.
    pub fn start() -> Result<Self> {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        Ok(Self { server: SmtpServer::start(any, answer)? })
    }

    /// The mail server, whose record tests read.
    pub fn server(&self) -> &SmtpServer {
        &self.server
    }

    /// The routes in the form of origin's `RCPT_ROUTES`. Origin itself produces the verdicts that need no
    /// reply.
    pub fn routes(&self) -> String {
        let server = self.server.address();
        format!("{}={server},{LATER}={server}", sandbox::DOMAIN)
    }
}

/// The sandbox's reply for a recipient.
fn answer(recipient: &str) -> Answer {
    let (local, domain) = recipient.rsplit_once('@').unwrap_or((recipient, ""));
    let domain = if domain == LATER { sandbox::DOMAIN } else { domain };
    match sandbox::find_parts(local, &domain.to_ascii_lowercase()).map(|case| case.behaviour) {
        Some(Behaviour::Reply(line)) => Answer::reply(line),
        Some(Behaviour::SlowReply(line)) => {
            Answer::After(Duration::from_secs(SLOW_S), line.to_owned())
        }
        Some(Behaviour::Silence) => Answer::Silence,
        Some(Behaviour::AcceptsAll) => Answer::accept(),
        _ => Answer::unknown(),
    }
}
