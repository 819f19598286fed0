//! Measures the cost of checks in rows, KV writes and dollars, and the effect of more databases.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, Result, ensure};
use rcpt_shared::Status;
use rcpt_tests::{Account, Conduct, Edge, FakeOrigin, Stack, service::shim::Counts};
use tokio::{task::JoinSet, time::Instant};

use super::Figure;
use crate::drive::cpu_milliseconds;

/// Cloudflare's list prices of autumn 2026, in dollars per million units; CPU per million
/// milliseconds.
const ROW_WRITTEN: f64 = 1.00;
const ROW_READ: f64 = 0.001;
const KV_READ: f64 = 0.50;
const KV_WRITE: f64 = 5.00;
const REQUEST: f64 = 0.30;
const CPU: f64 = 0.02;

const CHECKS: u32 = 200;

/// Measures checks of distinct addresses at the real origin, and the same number of cached checks.
pub async fn costs() -> Result<Vec<Figure>> {
    let stack = Stack::builder().shimmed().try_start().await?;
    let edge = &stack.edge;
    let account = edge.account().await;
    edge.set(&account.email, "plan = 'unlimited'").await;
    let fresh = |n| format!("accepts+cost-{n}@sandbox.test");
    // Warm-up: workerd compiles code on first use.
    measured(edge, &account, |n| format!("accepts+warm-{n}@sandbox.test")).await?;
    let (fresh, fresh_cpu) = measured(edge, &account, fresh).await?;
    let (cached, cached_cpu) =
        measured(edge, &account, |_| "accepts+cost-0@sandbox.test".to_owned()).await?;
    let each = |count: u64| count as f64 / f64::from(CHECKS);
    let dollars = |counts: &Counts, cpu: f64| {
        ROW_WRITTEN * each(counts.d1_rows_written)
            + ROW_READ * each(counts.d1_rows_read)
            + KV_READ * each(counts.kv_reads)
            + KV_WRITE * each(counts.kv_writes)
            + REQUEST
            + CPU * cpu
    };
    let figure = |name, value, unit| Figure { name, value, unit, n: 200 };
    Ok(vec![
        figure("d1_rows_written_cached", each(cached.d1_rows_written), "rows"),
        figure("d1_rows_written_fresh", each(fresh.d1_rows_written), "rows"),
        figure("kv_writes_per_fresh_check", each(fresh.kv_writes), "writes"),
        figure("usd_per_million_cached", dollars(&cached, cached_cpu), "$"),
        figure("usd_per_million_fresh", dollars(&fresh, fresh_cpu), "$"),
    ])
}

/// The total counts of these checks, and the runtime's CPU time per check in milliseconds. Cloudflare bills less:
/// locally, D1, KV and the cache run in the same process.
async fn measured(
    edge: &Edge,
    account: &Account,
    address: impl Fn(u32) -> String,
) -> Result<(Counts, f64)> {
    let workerd = edge.process.pid();
    edge.counts().await;
    let before = cpu_milliseconds(workerd)?;
    for n in 0..CHECKS {
        let reply = account.check(&address(n)).await;
        ensure!(reply.status == 200, "{} {}", reply.status, reply.body);
    }
    let cpu = (cpu_milliseconds(workerd)? - before) / f64::from(CHECKS);
    // Leaves time for writes after the last response.
    tokio::time::sleep(Duration::from_millis(500)).await;
    Ok((edge.counts().await, cpu))
}

/// Number of databases, and the statements per second that each may run: low enough to be the bottleneck.
const DATABASES: u8 = 4;
const STATEMENTS_PER_SECOND: u32 = 50;
const CALLERS: usize = 8;
const SECONDS: u64 = 8;
const ADDRESS: &str = "known@scale.example";

/// The ratio of checks per second with four databases and with one.
pub async fn scaling() -> Result<Figure> {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = Edge::builder().origins(&[&origin.url]).databases(usize::from(DATABASES));
    let edge = edge.var("HOMES", "*:0,1,2,3").shimmed().start().await?;
    let mut accounts = BTreeMap::new();
    while accounts.len() < usize::from(DATABASES) {
        let account = edge.account().await;
        edge.set(&account.email, "plan = 'unlimited'").await;
        ensure!(account.check(ADDRESS).await.status == 200, "the address cannot be checked");
        let id = edge.id(&account.email).await;
        accounts.entry(id.get(..2).context("an id")?.to_owned()).or_insert(account);
    }
    let accounts: Vec<Account> = accounts.into_values().collect();
    edge.pace(Some(STATEMENTS_PER_SECOND)).await;
    let one = rate(accounts.get(..1).unwrap_or_default()).await?;
    let all = rate(&accounts).await?;
    println!("checks/s with 1 database {one:.1}, with {DATABASES} databases {all:.1}");
    let n = usize::from(DATABASES) * CALLERS;
    Ok(Figure { name: "checks_per_s_ratio_4_databases_to_1", value: all / one, unit: "ratio", n })
}

/// Cached checks per second of all accounts together, each with the same number of callers.
async fn rate(accounts: &[Account]) -> Result<f64> {
    let started = Instant::now();
    let until = started + Duration::from_secs(SECONDS);
    let mut callers = JoinSet::new();
    for account in accounts.iter().flat_map(|account| std::iter::repeat_n(account, CALLERS)) {
        let account = account.clone();
        callers.spawn(async move {
            let mut answered = 0_u32;
            while Instant::now() < until {
                let reply = account.check(ADDRESS).await;
                ensure!(reply.status == 200, "{} {}", reply.status, reply.body);
                answered += 1;
            }
            Ok(answered)
        });
    }
    let mut answered = 0;
    while let Some(caller) = callers.join_next().await {
        answered += caller??;
    }
    Ok(f64::from(answered) / started.elapsed().as_secs_f64())
}
