//! A measured figure, the table and the file of figures.

use std::{fs, path::Path};

use anyhow::Result;
use serde::Serialize;

/// A measured figure.
#[derive(Debug, Serialize)]
pub struct Figure {
    pub name: &'static str,
    pub value: f64,
    pub unit: &'static str,
    /// How many measurements it was made from.
    pub n: usize,
}

impl Figure {
    pub fn new(name: &'static str, value: f64, unit: &'static str, n: usize) -> Self {
        // Two digits are all that two runs agree on.
        Self { name, value: (value * 100.0).round() / 100.0, unit, n }
    }
}

/// Prints the table.
pub fn print(figures: &[Figure]) {
    println!("{:<34} {:>12} {:<14} {:>6}", "figure", "value", "unit", "n");
    for Figure { name, value, unit, n } in figures {
        println!("{name:<34} {value:>12.2} {unit:<14} {n:>6}");
    }
}

/// Writes the file.
pub fn write(figures: &[Figure]) -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("probe.json"), serde_json::to_string_pretty(figures)? + "\n")?;
    Ok(())
}

/// Nearest rank.
pub fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (values.len() as f64 * part).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}
