//! The service under measurement.

use std::{collections::HashMap, net::SocketAddr, sync::Arc};

use anyhow::{Result, anyhow, ensure};
use rcpt_origin::{Config, State, probe::Asking};
use rcpt_shared::{Address, Status};
use tokio::task::JoinSet;

use crate::nameserver::Nameserver;

/// An origin that finds `server` as the mail host of every domain, by way of DNS, and may open as many
/// sessions with it as it likes.
pub async fn start(
    server: SocketAddr,
    nameserver: &Nameserver,
    settings: &[(&str, &str)],
) -> Result<Arc<State>> {
    let (port, nameserver) = (server.port().to_string(), nameserver.address.to_string());
    let mut values = HashMap::from([
        ("RCPT_HELO_NAME", "probe.example.com"),
        ("RCPT_MAIL_FROM", "<>"),
        ("RCPT_TICKET_SECRETS", "k1:QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE"),
        ("RCPT_NAMESERVERS", &nameserver),
        ("RCPT_SMTP_PORT", &port),
        ("RCPT_ALLOW_NETWORKS", "127.0.0.0/8"),
        ("RCPT_OPERATOR_SESSIONS", "100000"),
        // A thousand wait for two sessions.
        ("RCPT_MAX_PROBES", "10000"),
        ("RCPT_MACHINE_SESSIONS", "100000"),
        ("RCPT_NETWORK_SESSIONS", "100000"),
        ("RCPT_SESSION_INTERVAL_MS", "0"),
        ("RCPT_RECIPIENTS_PER_MINUTE", "1000000"),
    ]);
    values.extend(settings.iter().copied());
    let config = Config::parse("", &|name| values.get(name).map(ToString::to_string));
    Ok(State::new(config.map_err(|mistakes| anyhow!("{mistakes}"))?)?)
}

/// Asks about the `n`th address of `domain` and expects it to be accepted.
pub async fn accepted(state: &State, n: usize, domain: &str) -> Result<()> {
    let address = Address::parse(&format!("user{n}@{domain}"))?;
    let verdict = state.prober.probe(&address, &Asking::default()).await;
    ensure!(verdict.status == Status::Accepted, "{verdict:?}");
    Ok(())
}

/// Asks about `count` addresses of one domain, `in_flight` at any time.
pub async fn accepted_all(state: &Arc<State>, count: usize, in_flight: usize) -> Result<()> {
    let mut workers = JoinSet::new();
    for worker in 0..in_flight {
        let state = state.clone();
        workers.spawn(async move {
            for n in (worker..count).step_by(in_flight) {
                accepted(&state, n, "example.org").await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = workers.join_next().await {
        done??;
    }
    Ok(())
}
