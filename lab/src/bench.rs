//! The measurements of `make bench`.

mod accounts;
mod conversations;
mod cost;
mod deadlines;
mod edge;
mod month;
mod scans;
mod tarpits;

use std::{fs, process::Command, time::Duration};

pub use conversations::run as conversations;
pub use cost::{costs, scaling};
pub use deadlines::run as deadlines;
pub use edge::comparison;
pub use month::run as month;
pub use tarpits::run as tarpits;

use anyhow::{Context as _, Result, bail, ensure};
use rcpt_tests::{Account, Stack, process::folder};
use serde::Serialize;
use tokio::time::Instant;

use crate::drive::quantile;

/// Number of checks: enough for a meaningful median and 99th percentile within a minute.
const CHECKS: usize = 300;

/// Measures the cost of checks and the effect of more databases, and prints each figure.
pub async fn databases() -> Result<()> {
    let mut figures = costs().await?;
    figures.push(scaling().await?);
    for Figure { name, value, unit, .. } in figures {
        println!("{name:<40} {value:>8.3} {unit}");
    }
    Ok(())
}

/// A measured value, as the table and `target/bench/*.json` show it.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    pub name: &'static str,
    pub value: f64,
    pub unit: &'static str,
    /// Number of measurements.
    pub n: usize,
}

/// Measures all but conversations, prints a table, and writes each figure to `target/bench/<name>.json`;
/// figures of accounts and of scans are collected in `target/bench/accounts.json` and
/// `target/bench/scans.json`.
pub async fn run() -> Result<()> {
    let mut figures = vec![wasm_size()?];
    let stack = Stack::builder().try_start().await?;
    let account = stack.edge.account().await;
    stack.edge.set(&account.email, "plan = 'unlimited'").await;

    let fresh = checks(&account, |n| format!("accepts+{n}@sandbox.test")).await;
    let cached = checks(&account, |_| "accepts+0@sandbox.test".to_owned()).await;
    let junk = time(CHECKS, async |_| {
        stack.edge.anonymous().check_with_key("rcpt_live_junk", "accepts@sandbox.test").await.status
    });
    let junk = expect(401, junk.await)?;
    let probe = time(CHECKS, async |n| {
        let verdict = stack.origin.probe(&format!("accepts+o{n}@sandbox.test")).await;
        u16::from(verdict.status == rcpt_shared::Status::Accepted)
    });
    let probe = expect(1, probe.await)?;
    for (names, times) in [
        (["check_fresh_p50", "check_fresh_p99"], expect(200, fresh)?),
        (["check_cached_p50", "check_cached_p99"], expect(200, cached)?),
        (["check_junk_key_p50", "check_junk_key_p99"], junk),
        (["origin_probe_p50", "origin_probe_p99"], probe),
    ] {
        for (name, part) in names.into_iter().zip([0.50, 0.99]) {
            figures.push(Figure {
                name,
                value: quantile(&times, part),
                unit: "ms",
                n: times.len(),
            });
        }
    }
    figures.push(tarpits::run().await?);
    figures.extend(deadlines::run().await?);
    figures.extend(edge::run().await?);
    drop(stack);
    print(&figures);
    for figure in &figures {
        write(&format!("{}.json", figure.name), figure)?;
    }
    accounts().await?;
    scans().await
}

/// Measures only account operations, prints the figures and writes them to `target/bench/accounts.json`.
pub async fn accounts() -> Result<()> {
    let figures = accounts::run().await?;
    print(&figures);
    write("accounts.json", &figures)
}

/// Measures only scans, prints the figures and writes them to `target/bench/scans.json`.
pub async fn scans() -> Result<()> {
    let figures = scans::run().await?;
    print(&figures);
    write("scans.json", &figures)
}

fn print<'a>(figures: impl IntoIterator<Item = &'a Figure>) {
    println!("{:<36} {:>12} {:<12} {:>6}", "figure", "value", "unit", "n");
    for Figure { name, value, unit, n } in figures {
        println!("{name:<36} {value:>12.3} {unit:<12} {n:>6}");
    }
}

fn write(name: &str, figures: &impl Serialize) -> Result<()> {
    let folder = folder::target().join("bench");
    fs::create_dir_all(&folder)?;
    let file = folder.join(name);
    fs::write(&file, serde_json::to_string(figures)? + "\n")
        .with_context(|| format!("writing {}", file.display()))
}

/// The size in bytes, as Cloudflare counts it.
fn wasm_size() -> Result<Figure> {
    let wasm = folder::repository().join("edge/build/index_bg.wasm");
    let output = Command::new("gzip").args(["--best", "--stdout"]).arg(&wasm).output()?;
    ensure!(output.status.success(), "no {}: run `make build`", wasm.display());
    let bytes = u32::try_from(output.stdout.len()).context("an enormous Worker")?;
    Ok(Figure { name: "wasm_gzip", value: f64::from(bytes), unit: "bytes", n: 1 })
}

async fn checks(account: &Account, address: impl Fn(usize) -> String) -> Vec<(u16, Duration)> {
    time(CHECKS, async |n| account.check(&address(n)).await.status).await
}

async fn time(count: usize, mut one: impl AsyncFnMut(usize) -> u16) -> Vec<(u16, Duration)> {
    let mut times = Vec::with_capacity(count);
    for n in 0..count {
        let started = Instant::now();
        times.push((one(n).await, started.elapsed()));
    }
    times
}

/// The times in ascending order, in milliseconds; an unexpected code is an error.
fn expect(code: u16, times: Vec<(u16, Duration)>) -> Result<Vec<f64>> {
    let mut others = times.iter().map(|(actual, _)| *actual).filter(|actual| *actual != code);
    if let Some(first) = others.next() {
        bail!("{} of {} ended with {first} instead of {code}", 1 + others.count(), times.len());
    }
    let mut milliseconds: Vec<_> =
        times.into_iter().map(|(_, time)| time.as_secs_f64() * 1000.0).collect();
    milliseconds.sort_by(f64::total_cmp);
    Ok(milliseconds)
}
