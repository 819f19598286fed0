//! The experiments behind the figures W1 to W6, and the curves of five constants.

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
    /// Factor of all servers' limits; `None` for 1.
    varied: Option<f64>,
    /// True to leave out the runs of W2 and W3 that only explain a figure, and to run W2 for one week instead of two.
    pub is_short: bool,
}

impl Report {
    /// Runs a plan, adds its trace to the common hash, and checks the invariants.
    pub fn run(&mut self, name: &str, plan: &Plan) -> Result<Outcome> {
        let outcome = run(plan)?;
        eprintln!("  {name}: {} events, {}", outcome.events, outcome.hash.get(..12).unwrap_or(""));
        self.hashes.update(&outcome.hash);
        self.check(name, plan, &outcome);
        Ok(outcome)
    }

    /// Every run must satisfy the invariants of W1 and W5.
    fn check(&mut self, name: &str, plan: &Plan, outcome: &Outcome) {
        for (is_fine, text) in safety::invariants(plan, outcome) {
            if !is_fine {
                let failure = format!("{name}, SEED={}: {text}", plan.seed);
                eprintln!("  {failure}");
                self.failures.push(failure);
            }
        }
    }

    /// The plan of a day with a tenth of the population and this report's factor of the servers' limits.
    pub fn day(&self, seed: u64) -> Plan {
        Plan { leniency: Leniency::all(self.varied.unwrap_or(1.0)), ..Plan::day(seed) }
    }

    pub fn hash(&self) -> String {
        hex::encode(self.hashes.clone().finalize())
    }
}
