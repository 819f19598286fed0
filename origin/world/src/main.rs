//! `make world`: lives through all experiments, prints their figures, and writes rows and pictures to `target/world`. The
//! last line is the hash of all traces. With `ONLY` one experiment alone is run.

use std::{env, fs, path::Path};

use anyhow::{Result, bail};
use rcpt_world::{
    experiments::{Report, constants, fairness, manners, recovery, safety, throughput},
    figures,
};

type Experiment = fn(&mut Report, u64) -> Result<()>;

const EXPERIMENTS: [(&str, Experiment); 9] = [
    ("safety", safety::measure),
    ("fairness", fairness::measure),
    ("throughput", throughput::measure),
    ("manners", manners::measure),
    ("recovery", recovery::measure),
    ("refused_per_hour", constants::refused_per_hour),
    ("refused_lately", constants::refused_lately),
    ("gate_interval", constants::gate_interval),
    ("batch_turn", constants::batch_turn),
];

fn main() -> Result<()> {
    let seed = match env::var("SEED") {
        Ok(seed) if !seed.is_empty() => seed.parse()?,
        _ => 1,
    };
    let only = env::var("ONLY").unwrap_or_default();
    let mut report = Report::default();
    for (name, measure) in EXPERIMENTS {
        if only.is_empty() || only == name {
            eprintln!("{name}");
            measure(&mut report, seed)?;
        }
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/world");
    for (name, rows) in &report.rows {
        figures::print(rows);
        figures::write(&folder, name, rows)?;
    }
    for (name, chart) in &report.charts {
        fs::write(folder.join(format!("{name}.svg")), chart.draw())?;
    }
    if !report.failures.is_empty() {
        bail!("SEED={seed} breaks what must hold:\n{}", report.failures.join("\n"));
    }
    println!("SEED={seed} {}", report.hash());
    Ok(())
}
