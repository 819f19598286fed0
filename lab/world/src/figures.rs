//! Figures: rows of a name and a value, as `make bench` writes them, and the statistics behind
//! them.

use std::{fs, path::Path, time::Duration};

use anyhow::Result;
use serde::Serialize;

/// A measured figure, with its unit and target.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub name: String,
    pub value: f64,
    pub unit: &'static str,
    /// Target as text; empty if there is none.
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

/// Mean, minimum and maximum of a figure over several seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    pub name: String,
    pub mean: f64,
    pub min: f64,
    pub max: f64,
    /// Number of seeds with this figure. A seed without a ban at an operator has no figure for the
    /// hours there.
    pub seeds: usize,
    pub unit: &'static str,
    pub aim: &'static str,
}

/// The spread of each figure over the seeds, ordered by the figure's first appearance.
pub fn spreads(of_seeds: &[Vec<Row>]) -> Vec<Spread> {
    let mut names: Vec<&Row> = Vec::new();
    for row in of_seeds.iter().flatten() {
        if names.iter().all(|known| known.name != row.name) {
            names.push(row);
        }
    }
    let spread = |first: &&Row| {
        let all = of_seeds.iter().flatten().filter(|row| row.name == first.name);
        let values: Vec<f64> = all.map(|row| row.value).collect();
        Spread {
            name: first.name.clone(),
            mean: values.iter().sum::<f64>() / values.len().max(1) as f64,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            seeds: values.len(),
            unit: first.unit,
            aim: first.aim,
        }
    };
    names.iter().map(spread).collect()
}

pub fn print_spreads(spreads: &[Spread]) {
    let (figure, unit) = ("figure", "unit");
    println!(
        "{figure:<58} {:>12} {:>12} {:>12} {:>5} {unit:<14} aim",
        "mean", "min", "max", "seeds"
    );
    for Spread { name, mean, min, max, seeds, unit, aim } in spreads {
        println!("{name:<58} {mean:>12.3} {min:>12.3} {max:>12.3} {seeds:>5} {unit:<14} {aim}");
    }
}

/// Writes the rows of one experiment.
pub fn write<T: Serialize>(folder: &Path, name: &str, rows: &[T]) -> Result<()> {
    fs::create_dir_all(folder)?;
    let text = serde_json::to_string_pretty(rows)? + "\n";
    fs::write(folder.join(format!("{name}.json")), text)?;
    Ok(())
}

/// A quantile by the nearest-rank method, in seconds.
pub fn quantile(durations: &[Duration], part: f64) -> f64 {
    let mut seconds: Vec<f64> = durations.iter().map(Duration::as_secs_f64).collect();
    seconds.sort_by(f64::total_cmp);
    let rank = (seconds.len() as f64 * part).ceil() as usize;
    seconds.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// Jain's index of fairness: 1 if all values are equal, 1/n if one has everything, `NAN` if all are 0.
pub fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    if squares == 0.0 { f64::NAN } else { sum * sum / (values.len() as f64 * squares) }
}
