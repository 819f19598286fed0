//! The program of `make load`: ten minutes (`LOAD_SECONDS`) at 40 checks a second (`LOAD_RATE`),
//! after 4,000 warm-up checks (`LOAD_WARM_UP`) and a minute of fresh checks (`LOAD_SETTLE`).

use std::{env, str::FromStr};

use anyhow::{Context as _, Result, ensure};
use rcpt_devtools::load::{self, LoadPlan};
use rcpt_tests::process::folder;

fn from_env<T: FromStr>(name: &str, default: T) -> Result<T> {
    match env::var(name) {
        Ok(value) => value.parse().ok().with_context(|| format!("{name}={value} is not a number")),
        Err(_) => Ok(default),
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let default = LoadPlan::default();
    let plan = LoadPlan {
        warm_up: from_env("LOAD_WARM_UP", default.warm_up)?,
        settle: from_env("LOAD_SETTLE", default.settle)?,
        seconds: from_env("LOAD_SECONDS", default.seconds)?,
        rate: from_env("LOAD_RATE", default.rate)?,
        ..default
    };
    let file = folder::target().join("load/load.json");
    println!(
        "load: {} checks to warm up, and {} s of fresh ones to settle; then",
        plan.warm_up, plan.settle
    );
    println!(
        "load: {} s at {} checks/s, {} of 10 cached",
        plan.seconds, plan.rate, plan.cached_of_ten
    );
    let report = load::run(&plan, &file).await?;
    for (name, times) in [("cached", &report.cached_ms), ("fresh", &report.fresh_ms)] {
        let load::Percentiles { n, p50, p90, p99, max } = times;
        println!("{name:<8} n {n:>6}  p50 {p50:.1}  p90 {p90:.1}  p99 {p99:.1}  max {max:.1} ms");
    }
    println!("answers {:?}, errors {:.4} %", report.statuses, report.error_rate * 100.0);
    println!("counted {}, charged {}", report.counted, report.charged);
    println!(
        "memory: origin {:+.2} % per 10 min, the Worker's wasm {:+} bytes",
        report.origin_slope_percent, report.wasm_bytes_grown
    );
    println!("{}", file.display());
    ensure!(report.counted == report.charged, "the ledger is not exact");
    Ok(())
}
