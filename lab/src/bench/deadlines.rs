//! Measures how late responses with a deadline are while mail servers never reply, with the real
//! Worker and origin.
//!
//! - Q7: 500 checks wait for tarpits; 99 % of pending answers at most 30 ms after `deadline_ms`, from the lease on.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, Result, ensure};
use rcpt_tests::{Account, Anonymous, Stack, people::send};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};

use super::Figure;
use crate::drive::quantile;

const TARPITS: usize = 500;
const DEADLINE_MS: u32 = 1_000;
/// Checks per second, each sent at its scheduled time.
const RATE: u32 = 20;
/// Duration in seconds; with the deadline added, shorter than the ten seconds for which a tarpit holds a session.
const SECONDS: u32 = 6;

/// The 99th percentile of pending responses' delay after their deadline, in milliseconds: once as the caller measures
/// it, and once without the database's round trips.
pub async fn run() -> Result<[Figure; 2]> {
    let stack = Stack::builder().origin_env("RCPT_MAX_PROBES", "2000").start().await;
    stack.edge.sql("UPDATE plans SET max_in_flight = 10000", &[]).await;
    let accounts = [stack.edge.account().await, stack.edge.account().await];
    for account in &accounts {
        stack.edge.set(&account.email, "plan = 'unlimited'").await;
    }
    let [mut owner, mut other] = accounts;
    // Bypasses miniflare's own Workers, which admit few requests at a time.
    for account in [&mut owner, &mut other] {
        account.anonymous = Anonymous::new(&stack.edge.direct);
    }
    let mut tasks = JoinSet::new();
    for n in 0..TARPITS {
        let request = other
            .anonymous
            .check_request(&other.api_key, &format!("timeout+held-{n}@sandbox.test"));
        // Bypasses the harness's limit on concurrent requests, since all of these stay open.
        tasks.spawn(request.send());
    }
    let limit = Instant::now() + Duration::from_secs(8);
    while stack.edge.leases(&other.email).await.len() < TARPITS {
        ensure!(Instant::now() < limit, "not all tarpits are held");
        sleep(Duration::from_millis(100)).await;
    }
    let start = Instant::now();
    let mut checks = JoinSet::new();
    for n in 0..RATE * SECONDS {
        let due = start + Duration::from_secs(1) / RATE * n;
        sleep_until(due).await;
        checks.spawn(late_ms(owner.clone(), n));
    }
    let mut late = BTreeMap::new();
    while let Some(done) = checks.join_next().await {
        let (id, ms) = done??;
        late.insert(id, ms);
    }
    ensure!(!tasks.is_empty(), "the tarpits have gone");
    // Log lines are written after their responses.
    sleep(Duration::from_millis(500)).await;
    let log = stack.edge.process.log();
    let mut latencies: Vec<f64> = late.values().copied().collect();
    let mut from_lease = Vec::new();
    for line in log.lines() {
        let Some(line) = line.find('{').and_then(|start| line.get(start..)) else { continue };
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        let Some(ms) = line["request_id"].as_str().and_then(|id| late.get(id)) else { continue };
        from_lease.push(ms - line["d1_ms"].as_f64().context("d1_ms")?);
    }
    ensure!(
        from_lease.len() == latencies.len(),
        "{} log lines of {}",
        from_lease.len(),
        latencies.len()
    );
    for times in [&mut latencies, &mut from_lease] {
        times.sort_by(f64::total_cmp);
    }
    let figure = |name, times: &[f64]| Figure {
        name,
        value: quantile(times, 0.99),
        unit: "ms",
        n: times.len(),
    };
    Ok([
        figure("deadline_late_p99", &latencies),
        figure("deadline_late_from_lease_p99", &from_lease),
    ])
}

/// The id of a request, and the delay of its pending response after the deadline in milliseconds.
async fn late_ms(account: Account, n: u32) -> Result<(String, f64)> {
    let body = json!({ "email": format!("timeout+due-{n}@sandbox.test"), "deadline_ms": DEADLINE_MS, "details": true });
    let request = account.anonymous.request(Method::POST, "/validate_email");
    let request = request.header("x-api-key", &account.api_key).json(&body);
    let started = Instant::now();
    let reply = send(request).await;
    let took = started.elapsed().as_secs_f64() * 1000.0;
    ensure!(reply.body["pending"] == true, "{} {}", reply.status, reply.body);
    Ok((reply.header("x-request-id").to_owned(), took - f64::from(DEADLINE_MS)))
}
