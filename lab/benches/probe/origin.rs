//! The service under measurement.

use std::{collections::HashMap, net::SocketAddr, sync::Arc};

use anyhow::{Result, anyhow, ensure};
use rcpt_origin::{Config, State};
use rcpt_pool::{Asker, Question};
use rcpt_shared::{Address, Status};
use tokio::task::JoinSet;

use crate::nameserver::Nameserver;

pub const TICKET_SECRETS: &str = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE";

/// Starts an origin that finds `server` in DNS as the mail host of every domain, and may open any
/// number of sessions.
pub async fn start(
    server: SocketAddr,
    nameserver: &Nameserver,
    settings: &[(&str, &str)],
) -> Result<Arc<State>> {
    start_at(server, nameserver.address, settings)
}

pub fn start_at(
    server: SocketAddr,
    nameserver: SocketAddr,
    settings: &[(&str, &str)],
) -> Result<Arc<State>> {
    let (port, nameserver) = (server.port().to_string(), nameserver.to_string());
    let mut values = HashMap::from([
        ("RCPT_HELO_NAME", "probe.example.com"),
        ("RCPT_MAIL_FROM", "<>"),
        ("RCPT_TICKET_SECRETS", TICKET_SECRETS),
        ("RCPT_NAMESERVERS", &nameserver),
        ("RCPT_SMTP_PORT", &port),
        ("RCPT_ALLOW_NETWORKS", "127.0.0.0/8"),
        ("RCPT_OPERATOR_SESSIONS", "100000"),
        // At most half as many checks may wait for a session.
        ("RCPT_MAX_PROBES", "10000"),
        ("RCPT_MACHINE_SESSIONS", "100000"),
        ("RCPT_NETWORK_SESSIONS", "100000"),
        ("RCPT_SESSION_INTERVAL_MS", "0"),
        ("RCPT_RECIPIENTS_PER_MINUTE", "1000000"),
        // As at an operator that is known; elsewhere it is ten.
        ("RCPT_SESSION_RECIPIENTS", "100"),
    ]);
    values.extend(settings.iter().copied());
    let config = Config::parse("", &|name| values.get(name).map(ToString::to_string));
    Ok(State::new(config.map_err(|mistakes| anyhow!("{mistakes}"))?)?)
}

/// Checks the `n`th address of `domain` and expects it to be accepted.
pub async fn expect_accepted(state: &State, n: usize, domain: &str) -> Result<()> {
    expect_status(state, n, domain, &Asker::default(), Status::Accepted).await
}

/// Checks `count` addresses of one domain, `in_flight` at a time.
pub async fn expect_all_accepted(state: &Arc<State>, count: usize, in_flight: usize) -> Result<()> {
    expect_all(state, count, in_flight, "example.org", &Asker::default(), Status::Accepted).await
}

async fn expect_status(
    state: &State,
    n: usize,
    domain: &str,
    asker: &Asker,
    status: Status,
) -> Result<()> {
    let address = Address::parse(&format!("user{n}@{domain}"))?;
    let question = Question { asker: asker.clone(), ..state.prober.question(address) };
    let verdict = state.prober.probe(&question, None).await;
    ensure!(verdict.status == status, "{verdict:?}");
    Ok(())
}

/// Checks `count` addresses of `domain`, `in_flight` at a time, and expects this `status` for each.
pub async fn expect_all(
    state: &Arc<State>,
    count: usize,
    in_flight: usize,
    domain: &'static str,
    asker: &Asker,
    status: Status,
) -> Result<()> {
    let mut workers = JoinSet::new();
    for worker in 0..in_flight {
        let (state, asker) = (state.clone(), asker.clone());
        workers.spawn(async move {
            for n in (worker..count).step_by(in_flight) {
                expect_status(&state, n, domain, &asker, status).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = workers.join_next().await {
        done??;
    }
    Ok(())
}
