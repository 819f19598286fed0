//! Figures: rows of a name and a value, as `make bench` writes them, and what they are made of.

use std::{fs, path::Path, time::Duration};

use anyhow::Result;
use serde::Serialize;

/// A measured figure.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub name: String,
    pub value: f64,
    pub unit: &'static str,
    /// The aim as text, where there is one.
    pub aim: &'static str,
}

impl Row {
    pub fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        let value = (value * 1_000.0).round() / 1_000.0;
        Self { name: name.into(), value, unit, aim: "" }
    }

    pub fn aiming(self, aim: &'static str) -> Self {
        Self { aim, ..self }
    }
}

pub fn print(rows: &[Row]) {
    println!("{:<58} {:>12} {:<14} aim", "figure", "value", "unit");
    for Row { name, value, unit, aim } in rows {
        println!("{name:<58} {value:>12.3} {unit:<14} {aim}");
    }
}

/// Writes the rows of one experiment.
///
/// # Errors
/// When the folder can't be written.
pub fn write(folder: &Path, name: &str, rows: &[Row]) -> Result<()> {
    fs::create_dir_all(folder)?;
    let text = serde_json::to_string_pretty(rows)? + "\n";
    fs::write(folder.join(format!("{name}.json")), text)?;
    Ok(())
}

/// Nearest rank, in seconds.
pub fn quantile(durations: &[Duration], part: f64) -> f64 {
    let mut seconds: Vec<f64> = durations.iter().map(Duration::as_secs_f64).collect();
    seconds.sort_by(f64::total_cmp);
    let rank = (seconds.len() as f64 * part).ceil() as usize;
    seconds.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// Jain's index of fairness: 1 where all have the same, 1/n where one has everything.
pub fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    if squares == 0.0 { f64::NAN } else { sum * sum / (values.len() as f64 * squares) }
}
