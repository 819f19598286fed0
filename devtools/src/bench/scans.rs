//! What scans cost and how fast they are (docs/trust.md, S4), and what a single check notices of one.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rcpt_tests::{Account, Stack};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{Figure, checks, expect, quantile};

/// Addresses of the scan that is measured, and of a part.
const ADDRESSES: usize = 5_000;
const PART: usize = 1_000;
const LIMIT: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(500);

/// Measures on a stack of its own.
///
/// # Errors
/// It does not start, or a scan does not complete.
pub async fn run() -> Result<Vec<Figure>> {
    let stack = Stack::builder().shimmed().try_start().await?;
    let account = stack.edge.account().await;
    stack.edge.set(&account.email, "plan = 'unlimited'").await;

    stack.edge.counts().await;
    let started = Instant::now();
    let id = begin(&account, "alone").await?;
    ended(&account, &id).await?;
    let seconds = started.elapsed().as_secs_f64();
    let counts = stack.edge.counts().await;

    let alone = checks(&account, |n| format!("accepts+single{n}@sandbox.test")).await;
    let alone = quantile(&expect(200, alone)?, 0.99);
    let id = begin(&account, "beside").await?;
    let beside = checks(&account, |n| format!("accepts+beside{n}@sandbox.test")).await;
    let beside = quantile(&expect(200, beside)?, 0.99);
    ended(&account, &id).await?;

    let n = ADDRESSES;
    let per_1000 = |count: u64| count as f64 * 1000.0 / n as f64;
    let figure = |name, value, unit| Figure { name, value, unit, n };
    Ok(vec![
        figure("addresses_per_s", n as f64 / seconds, "1/s"),
        figure("d1_statements_per_1000", per_1000(counts.d1_statements), "statements"),
        // A message is written, read and deleted.
        figure("queue_operations_per_1000", per_1000(counts.queue_messages * 3), "operations"),
        figure("kv_writes_per_1000", per_1000(counts.kv_writes), "writes"),
        figure("single_check_p99_ratio_beside_scan", beside / alone, "ratio"),
    ])
}

/// Starts a scan and sends all of it.
async fn begin(account: &Account, name: &str) -> Result<String> {
    let made = account.post("/scans", &json!({ "total": ADDRESSES, "details": true })).await;
    ensure!(made.status == 201, "{}", made.body);
    let id = made.text("id").to_owned();
    for part in 0..ADDRESSES / PART {
        let positions = part * PART..(part + 1) * PART;
        let addresses: Vec<_> =
            positions.map(|n| format!("accepts+{name}{n}@sandbox.test")).collect();
        let body = json!({ "addresses": addresses });
        let sent = account.put(&format!("/scans/{id}/parts/{part}"), &body).await;
        ensure!(sent.status == 200, "{}", sent.body);
    }
    Ok(id)
}

async fn ended(account: &Account, id: &str) -> Result<()> {
    let deadline = Instant::now() + LIMIT;
    loop {
        let scan = account.get(&format!("/scans/{id}")).await.body;
        if scan.get("state").and_then(Value::as_str).context("a state")? == "completed" {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "still {scan}");
        sleep(LOOK).await;
    }
}
