//! A measured figure, the table and the file of figures.

use std::{fs, path::Path};

use anyhow::{Result, ensure};
use serde::Serialize;

/// A measured figure, as printed and as written to `target/bench/probe.json`.
#[derive(Debug, Serialize)]
pub struct Figure {
    pub name: &'static str,
    pub value: f64,
    pub unit: &'static str,
    /// Number of measurements.
    pub n: usize,
    /// Greatest value; the measurement fails above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
}

impl Figure {
    pub fn new(name: &'static str, value: f64, unit: &'static str, n: usize) -> Self {
        // Further decimals differ between runs.
        Self { name, value: (value * 100.0).round() / 100.0, unit, n, limit: None }
    }

    pub fn at_most(self, limit: f64) -> Self {
        Self { limit: Some(limit), ..self }
    }

    fn is_above_limit(&self) -> bool {
        self.limit.is_some_and(|limit| self.value > limit)
    }
}

/// Prints the figures with their limits as a table.
pub fn print(figures: &[Figure]) {
    println!("{:<42} {:>12} {:<14} {:>6}  at most", "figure", "value", "unit", "n");
    for Figure { name, value, unit, n, limit } in figures {
        let limit = limit.map(|limit| format!("{limit:.2}")).unwrap_or_default();
        println!("{name:<42} {value:>12.2} {unit:<14} {n:>6}  {limit}");
    }
}

/// Fails if a figure is above its limit.
pub fn hold_to_limits(figures: &[Figure]) -> Result<()> {
    let above: Vec<_> = figures.iter().filter(|figure| figure.is_above_limit()).collect();
    let names: Vec<_> = above.iter().map(|figure| figure.name).collect();
    ensure!(names.is_empty(), "above the limit: {}", names.join(", "));
    Ok(())
}

/// Writes the figures to `target/bench/probe.json`.
pub fn write(figures: &[Figure]) -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("probe.json"), serde_json::to_string_pretty(figures)? + "\n")?;
    Ok(())
}

/// A quantile by the nearest-rank method.
pub fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (values.len() as f64 * part).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}
