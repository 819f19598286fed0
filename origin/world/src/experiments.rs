//! The experiments behind the figures W1 to W6, and the curves of four constants.

pub mod constants;
pub mod fairness;
pub mod manners;
pub mod recovery;
pub mod safety;
pub mod throughput;
pub mod variation;

use anyhow::Result;
use sha2::{Digest as _, Sha256};

use crate::{
    figures::Row,
    plan::{Leniency, Plan},
    run::{Outcome, run},
    svg::Chart,
};

/// Figures of the experiments so far.
#[derive(Default)]
pub struct Report {
    /// Rows by experiment.
    pub rows: Vec<(&'static str, Vec<Row>)>,
    pub charts: Vec<(&'static str, Chart)>,
    hashes: Sha256,
    pub failures: Vec<String>,
    /// Factor of all servers' limits, where it isn't 1.
    varied: Option<f64>,
    /// Runs without our limits are left out, and attacks that only explain a figure; and W2 has one week instead of two.
    pub is_short: bool,
}

impl Report {
    /// Runs a plan; its trace goes into the hash of all.
    pub fn run(&mut self, name: &str, plan: &Plan) -> Result<Outcome> {
        let outcome = run(plan)?;
        eprintln!("  {name}: {} events, {}", outcome.events, outcome.hash.get(..12).unwrap_or(""));
        self.hashes.update(&outcome.hash);
        self.check(name, plan, &outcome);
        Ok(outcome)
    }

    /// The invariants of W1 and W5, which hold in every run.
    fn check(&mut self, name: &str, plan: &Plan, outcome: &Outcome) {
        for (is_fine, text) in safety::invariants(plan, outcome) {
            if !is_fine {
                let failure = format!("{name}, SEED={}: {text}", plan.seed);
                eprintln!("  {failure}");
                self.failures.push(failure);
            }
        }
    }

    /// A day of a tenth of the population, with the servers' limits of this report.
    pub fn day(&self, seed: u64) -> Plan {
        Plan { leniency: Leniency::all(self.varied.unwrap_or(1.0)), ..Plan::day(seed) }
    }

    pub fn hash(&self) -> String {
        hex::encode(self.hashes.clone().finalize())
    }
}
