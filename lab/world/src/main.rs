//! `make lab ONLY=world`: runs the experiments of W1 to W6, prints their figures, and writes rows and charts to `target/world`.
//! The last line is the hash of all traces. `ONLY` selects experiments by name; `variation` and the constants' curves
//! run only if named. `SEEDS` sets the number of seeds; each figure then has its mean, minimum and maximum.

use std::{
    env, fs,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use anyhow::{Context as _, Result, bail};
use rcpt_world::{
    experiments::{Report, constants, fairness, manners, recovery, safety, throughput, variation},
    figures,
};
use sha2::{Digest as _, Sha256};

type Experiment = fn(&mut Report, u64) -> Result<()>;

/// Experiments of W1 to W6, run by default.
const FIGURES: [(&str, Experiment); 5] = [
    ("safety", safety::measure),
    ("fairness", fairness::measure),
    ("throughput", throughput::measure),
    ("manners", manners::measure),
    ("recovery", recovery::measure),
];

/// Variations of the assumptions behind the figures and constants.
const CURVES: [(&str, Experiment); 7] = [
    ("variation", variation::measure),
    ("manners_varied", variation::of_manners),
    ("refused_per_hour", constants::refused_per_hour),
    ("refused_lately", constants::refused_lately),
    ("gate_interval", constants::gate_interval),
    ("batch_turn", constants::batch_turn),
    ("warm_up", constants::warm_up),
];

fn main() -> Result<()> {
    let (seed, seeds) = (number("SEED")?, number("SEEDS")?);
    let only = env::var("ONLY").unwrap_or_default();
    let by_default = FIGURES.map(|(name, _)| name);
    let chosen = |name: &str| match &*only {
        "" => by_default.contains(&name),
        only => only.split(',').any(|it| it == name),
    };
    let chosen: Vec<_> =
        FIGURES.into_iter().chain(CURVES).filter(|(name, _)| chosen(name)).collect();
    let reports = live(&chosen, seed, seeds)?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/world");
    let failures: Vec<String> = reports.iter().flat_map(|report| report.failures.clone()).collect();
    match &*reports {
        [report] => write(report, &folder)?,
        reports => write_spreads(reports, &folder.join("seeds"))?,
    }
    if !failures.is_empty() {
        bail!("SEED={seed} SEEDS={seeds} breaks what must hold:\n{}", failures.join("\n"));
    }
    let hash = match &*reports {
        [report] => report.hash(),
        reports => {
            let all: Vec<String> = reports.iter().map(Report::hash).collect();
            format!("SEEDS={seeds} {}", hex::encode(Sha256::digest(all.concat())))
        }
    };
    println!("SEED={seed} {hash}");
    Ok(())
}

/// The default is 1.
fn number(name: &str) -> Result<u64> {
    match env::var(name) {
        Ok(text) if !text.is_empty() => text.parse().with_context(|| format!("{name}={text}")),
        _ => Ok(1),
    }
}

/// A seed's trace doesn't depend on other seeds.
fn live(experiments: &[(&str, Experiment)], first: u64, seeds: u64) -> Result<Vec<Report>> {
    let next = AtomicU64::new(0);
    let work = || -> Result<Vec<(u64, Report)>> {
        let mut reports = Vec::new();
        loop {
            let offset = next.fetch_add(1, Ordering::Relaxed);
            if offset >= seeds {
                return Ok(reports);
            }
            let mut report = Report::default();
            report.is_short = seeds > 1;
            for (name, measure) in experiments {
                eprintln!("{name}, SEED={}", first + offset);
                measure(&mut report, first + offset)?;
            }
            reports.push((offset, report));
        }
    };
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let of_threads: Result<Vec<_>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..cores.min(seeds)).map(|_| scope.spawn(work)).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, Result<Vec<(u64, Report)>>>| {
            thread.join().unwrap_or_else(|_| bail!("an experiment has panicked"))
        };
        threads.into_iter().map(join).collect()
    });
    let mut reports: Vec<_> = of_threads?.into_iter().flatten().collect();
    reports.sort_by_key(|(offset, _)| *offset);
    Ok(reports.into_iter().map(|(_, report)| report).collect())
}

fn write(report: &Report, folder: &Path) -> Result<()> {
    for (name, rows) in &report.rows {
        figures::print(rows);
        figures::write(folder, name, rows)?;
    }
    for (name, chart) in &report.charts {
        fs::write(folder.join(format!("{name}.svg")), chart.draw())?;
    }
    Ok(())
}

fn write_spreads(reports: &[Report], folder: &Path) -> Result<()> {
    let names: Vec<&str> =
        reports.first().into_iter().flat_map(|it| &it.rows).map(|(name, _)| *name).collect();
    for name in names {
        let of = |report: &Report| {
            let rows = report.rows.iter().filter(|(of, _)| *of == name);
            rows.flat_map(|(_, rows)| rows.clone()).collect::<Vec<_>>()
        };
        let spreads = figures::spreads(&reports.iter().map(of).collect::<Vec<_>>());
        figures::print_spreads(&spreads);
        figures::write(folder, name, &spreads)?;
    }
    Ok(())
}
