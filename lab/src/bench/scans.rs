//! Measures cost and speed of scans (docs/security.md, S4), their effect on single checks, and the
//! number of addresses left greylisted.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context as _, Result, ensure};
use rcpt_tests::{Account, Answer, Postfix, SmtpServer, Stack};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{Figure, checks, expect};
use crate::drive::quantile;

/// Number of addresses in the measured scan, and maximum number in each of its parts.
const ADDRESSES: usize = 5_000;
const PART_POSITIONS: usize = 1_000;
const SCAN_TIMEOUT: Duration = Duration::from_secs(600);
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Measures the cost, the greylisting and the single checks, each on a separate stack.
///
/// # Errors
/// If a scan for the cost or the greylisting doesn't start, or doesn't complete. If single checks
/// can't be measured, their figure is left out with a message.
pub async fn run() -> Result<Vec<Figure>> {
    let mut figures = cost().await?;
    figures.push(greylisting().await?);
    match beside().await {
        Ok(figure) => figures.push(figure),
        Err(error) => eprintln!("single_check_p99_ratio_beside_scan is not measured: {error}"),
    }
    Ok(figures)
}

async fn account(stack: &Stack) -> Account {
    let account = stack.edge.account().await;
    stack.edge.set(&account.email, "plan = 'unlimited'").await;
    account
}

async fn cost() -> Result<Vec<Figure>> {
    let stack = Stack::builder().shimmed().try_start().await?;
    let account = account(&stack).await;
    stack.edge.counts().await;
    let started = Instant::now();
    let list: Vec<_> = (0..ADDRESSES).map(|n| format!("accepts+{n}@sandbox.test")).collect();
    let id = begin(&account, &list).await?;
    ended(&account, &id).await?;
    let seconds = started.elapsed().as_secs_f64();
    let counts = stack.edge.counts().await;
    let n = ADDRESSES;
    let per_1000 = |count: u64| count as f64 * 1000.0 / n as f64;
    let figure = |name, value, unit| Figure { name, value, unit, n };
    Ok(vec![
        figure("addresses_per_s", n as f64 / seconds, "1/s"),
        // The statements include polling the scan every half second.
        figure("d1_rows_written_per_1000", per_1000(counts.d1_rows_written), "rows"),
        figure("d1_statements_per_1000", per_1000(counts.d1_statements), "statements"),
        // A message costs three operations: it is written, read and deleted.
        figure("queue_operations_per_1000", per_1000(counts.queue_messages * 3), "operations"),
        figure("kv_writes_per_1000", per_1000(counts.kv_writes), "writes"),
    ])
}

/// The scan at the other mail server is so slow that it outlasts the checks.
async fn beside() -> Result<Figure> {
    let slow = |machine, milliseconds| {
        let any = SocketAddr::from(([127, 0, 0, machine], 0));
        SmtpServer::start(any, move |recipient| {
            // The server refuses unknown recipients: for a catch-all domain, not every address
            // would be probed.
            let rcpt_reply =
                if recipient.contains('+') { "250 2.1.5 Ok" } else { "550 5.1.1 Unknown" };
            Answer::After(Duration::from_millis(milliseconds), rcpt_reply.to_owned())
        })
    };
    let (listed, single) = (slow(2, 800)?, slow(3, 100)?);
    let routes = format!("listed.test={},single.test={}", listed.address(), single.address());
    let stack = Stack::builder().origin_env("RCPT_ROUTES", routes).try_start().await?;
    let account = account(&stack).await;
    let single = async |name: &str| {
        let times = checks(&account, |n| format!("{name}+{n}@single.test")).await;
        Ok::<_, anyhow::Error>(quantile(&expect(200, times)?, 0.99))
    };
    single("warm").await?;
    let alone = single("alone").await?;
    let list: Vec<_> = (0..PART_POSITIONS * 10).map(|n| format!("a+{n}@listed.test")).collect();
    let id = begin(&account, &list).await?;
    let before = shown(&account, &id).await?;
    let started = Instant::now();
    let beside = single("beside").await?;
    let after = shown(&account, &id).await?;
    let answered = |scan: &Value| scan["answered"].as_u64().unwrap_or_default();
    let pace = (answered(&after) - answered(&before)) as f64 / started.elapsed().as_secs_f64();
    ensure!(answered(&after) < list.len() as u64, "the scan was over: nothing to compare with");
    println!("p99 {alone:.0} ms alone, {beside:.0} ms beside a scan at {pace:.0} addresses/s");
    let value = beside / alone;
    Ok(Figure {
        name: "single_check_p99_ratio_beside_scan",
        value,
        unit: "ratio",
        n: super::CHECKS,
    })
}

/// The number of addresses left greylisted by Postfix with postgrey.
async fn greylisting() -> Result<Figure> {
    let postfix = Postfix::start(Duration::from_secs(2)).await?;
    let stack = Stack::builder()
        .origin_env("RCPT_ROUTES", postfix.routes())
        .edge_var("SCAN_RETRY_SECONDS", "1,1,1")
        .try_start()
        .await?;
    let account = account(&stack).await;
    let list: Vec<_> = (0..100).map(|n| format!("greylisted+{n}@postfix.test")).collect();
    let id = begin(&account, &list).await?;
    let scan = ended(&account, &id).await?;
    let accepted = scan["counts"]["true"].as_u64().context("counts")?;
    let value = (list.len() as u64 - accepted) as f64;
    Ok(Figure { name: "greylisted_left", value, unit: "addresses", n: list.len() })
}

/// The scan's id, after its whole list has been sent.
async fn begin(account: &Account, list: &[String]) -> Result<String> {
    let made = account.post("/scans", &json!({ "total": list.len(), "details": true })).await;
    ensure!(made.status == 201, "{}", made.body);
    let id = made.text("id").to_owned();
    for (part, addresses) in list.chunks(PART_POSITIONS).enumerate() {
        let body = json!({ "addresses": addresses });
        let response = account.put(&format!("/scans/{id}/parts/{part}"), &body).await;
        ensure!(response.status == 200, "{}", response.body);
    }
    Ok(id)
}

async fn shown(account: &Account, id: &str) -> Result<Value> {
    let reply = account.get(&format!("/scans/{id}")).await;
    ensure!(reply.status == 200, "{}", reply.body);
    Ok(reply.body)
}

async fn ended(account: &Account, id: &str) -> Result<Value> {
    let deadline = Instant::now() + SCAN_TIMEOUT;
    loop {
        let scan = shown(account, id).await?;
        if scan["state"] == "completed" {
            return Ok(scan);
        }
        ensure!(Instant::now() < deadline, "still {scan}");
        sleep(POLL_INTERVAL).await;
    }
}
