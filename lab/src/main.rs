//! The program of `make bench` and `make lab`: figures of the edge, load, and origins that fail.

use std::{env, str::FromStr};

use anyhow::{Context as _, Result, ensure};
use rcpt_lab::{
    bench,
    drill::{self, DrillPlan},
    load::{self, LoadPlan},
};
use rcpt_tests::process::folder;

const HELP: &str = "\
Usage: lab PART

  bench          all figures of the edge: as a table, and in target/bench/*.json
  comparison     cached checks beside an empty Worker
  databases      rows and dollars of a check, and what more databases give
  accounts       what account operations cost, and whether their times tell members from strangers
  scans          what scans cost
  conversations  100 to 2,000 probes at once, on one core
  deadlines      how late answers by a deadline are beside mail servers that never answer
  tarpits        probes beside mail servers that never answer
  month          the cost of a month, of the figures that were measured last
  load           ten minutes (LOAD_SECONDS) at 40 checks a second (LOAD_RATE), after LOAD_WARM_UP checks and
                 LOAD_SETTLE seconds, as JSON in target/load
  drill          three origins, restarted, killed, hung and cut off: rows of 20 seconds (DRILL_SECONDS) at 40 checks
                 a second (DRILL_RATE)
";

#[tokio::main]
async fn main() -> Result<()> {
    match env::args().nth(1).as_deref() {
        Some("bench") => bench::run().await,
        Some("comparison") => {
            for figure in bench::comparison().await? {
                println!("{} {:.2}", figure.name, figure.value);
            }
            Ok(())
        }
        Some("deadlines") => {
            for figure in bench::deadlines().await? {
                println!("{} {:.1}", figure.name, figure.value);
            }
            Ok(())
        }
        Some("tarpits") => {
            println!("ratio {:.2}", bench::tarpits().await?.value);
            Ok(())
        }
        Some("conversations") => bench::conversations().await,
        Some("month") => bench::month(),
        Some("databases") => bench::databases().await,
        Some("accounts") => bench::accounts().await,
        Some("scans") => bench::scans().await,
        Some("load") => run_load().await,
        Some("drill") => run_drill().await,
        Some("--help" | "-h") => {
            print!("{HELP}");
            Ok(())
        }
        other => {
            let mistake = other.map(|part| format!("lab: no part is called {part:?}\n\n"));
            eprint!("{}{HELP}", mistake.unwrap_or_default());
            std::process::exit(2);
        }
    }
}

fn from_env<T: FromStr>(name: &str, default: T) -> Result<T> {
    match env::var(name) {
        Ok(value) => value.parse().ok().with_context(|| format!("{name}={value} is not a number")),
        Err(_) => Ok(default),
    }
}

async fn run_load() -> Result<()> {
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

async fn run_drill() -> Result<()> {
    let plan =
        DrillPlan { seconds: from_env("DRILL_SECONDS", 20)?, rate: from_env("DRILL_RATE", 40)? };
    println!(
        "drill: three origins, {} checks/s of fresh addresses, {} s a row",
        plan.rate, plan.seconds
    );
    let rows = drill::run(plan).await?;
    println!("\n{}", drill::table(&rows));
    let wrong: Vec<_> = rows.iter().filter(|row| row.charged != row.counted).collect();
    ensure!(wrong.is_empty(), "charged wrongly: {wrong:?}");
    let orderly = rows.iter().filter(|row| row.is_orderly);
    let failed: Vec<_> = orderly.filter(|row| row.failed_share() > 0.001).collect();
    ensure!(failed.is_empty(), "more than 0.1 % failed in an orderly row: {failed:?}");
    let unanswered: Vec<_> = rows.iter().filter(|row| row.statuses.contains_key(&0)).collect();
    ensure!(unanswered.is_empty(), "checks without an answer: {unanswered:?}");
    Ok(())
}
