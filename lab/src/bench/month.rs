//! Computes the monthly price at Cloudflare for 100 thousand, 1 million and 100 million checks, as
//! Markdown.
//!
//! It uses the figures of `make bench` in `target/bench`, and the list prices below. The origins'
//! machines are extra: their number depends on the load that one machine carries.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use anyhow::{Context as _, Result, bail};
use rcpt_tests::process::folder;
use serde_json::Value;

/// Date of the list prices of the Workers Paid plan, in US dollars (developers.cloudflare.com:
/// workers, d1, kv, observability, each under pricing). The log prices are in force from 1 December
/// 2026; before that, a million lines above 20 million cost 0.60.
const PRICES_OF: &str = "November 2026";
const PLAN: f64 = 5.00;
const MILLION: f64 = 1_000_000.0;
const VOLUMES: [(&str, f64); 3] =
    [("100 thousand", 100_000.0), ("1 million", MILLION), ("100 million", 100.0 * MILLION)];
/// Shares of fresh checks. If all checks are fresh, no address repeats, and KV is written as often as measured.
/// Otherwise addresses repeat, and a fresh check writes once.
const FRESH_SHARES: [f64; 2] = [0.2, 1.0];
/// Maximum rows read by a cached and a fresh check; at this price the exact number hardly matters.
const ROWS_READ: [f64; 2] = [2.0, 8.0];
/// Our log line is 300 bytes; Cloudflare's additions aren't documented, so this is a high estimate.
const LOG_BYTES: f64 = 1_500.0;
const DAYS_KEPT: f64 = 7.0;
const SECONDS_OF_A_MONTH: f64 = 30.0 * 86_400.0;

/// A billed resource: the included amount per month, and the price per further unit.
struct Part {
    name: &'static str,
    used: f64,
    included: f64,
    price: f64,
}

impl Part {
    fn bill(&self) -> f64 {
        (self.used - self.included).max(0.0) * self.price
    }
}

/// Figures of `make bench` that the prices need.
#[derive(Clone, Copy)]
struct Measured {
    /// Upper bound of a check's CPU time: its total time at the edge, minus origin's.
    cpu_ms: [f64; 2],
    rows_written: [f64; 2],
    kv_writes_fresh: f64,
}

impl Measured {
    fn read(folder: &Path) -> Result<Self> {
        let mut figures = BTreeMap::new();
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let content = serde_json::from_slice(&fs::read(&path)?)
                    .with_context(|| path.display().to_string())?;
                let content = if let Value::Array(all) = content { all } else { vec![content] };
                for figure in content {
                    if let (Some(name), Some(value)) =
                        (figure["name"].as_str(), figure["value"].as_f64())
                    {
                        figures.insert(name.to_owned(), value);
                    }
                }
            }
        }
        let mut missing = Vec::new();
        let mut figure = |name: &'static str| {
            figures.get(name).copied().unwrap_or_else(|| {
                missing.push(name);
                0.0
            })
        };
        let measured = Self {
            cpu_ms: [figure("check_cached_p50"), figure("fresh_overhead_ms_over_origin")],
            rows_written: [figure("d1_rows_written_cached"), figure("d1_rows_written_fresh")],
            kv_writes_fresh: figure("kv_writes_per_fresh_check"),
        };
        if !missing.is_empty() {
            bail!("target/bench has no {}: run make bench", missing.join(", "));
        }
        Ok(measured)
    }

    fn month(&self, checks: f64, fresh: f64) -> [Part; 8] {
        let of = |[cached, asked]: [f64; 2]| checks * (fresh * asked + (1.0 - fresh) * cached);
        let all_fresh = fresh >= 1.0;
        let kv_writes = if all_fresh { self.kv_writes_fresh } else { 1.0 };
        let logs = checks * LOG_BYTES / 1e9;
        let part = |name, used, included, price| Part { name, used, included, price };
        [
            part("requests", checks, 10.0 * MILLION, 0.30 / MILLION),
            part("CPU milliseconds", of(self.cpu_ms), 30.0 * MILLION, 0.02 / MILLION),
            part("D1 rows read", of(ROWS_READ), 25_000.0 * MILLION, 0.001 / MILLION),
            part("D1 rows written", of(self.rows_written), 50.0 * MILLION, 1.00 / MILLION),
            part("KV reads", of([0.0, 1.0]), 10.0 * MILLION, 0.50 / MILLION),
            part("KV writes", of([0.0, kv_writes]), MILLION, 5.00 / MILLION),
            part("logs, GB", logs, 50.0, 0.25),
            part("logs kept, GB", logs * DAYS_KEPT / 30.0, 12.0, 0.10),
        ]
    }

    fn table(&self) -> Result<String> {
        let names = self.month(0.0, 0.0).map(|part| part.name);
        let mut text = format!(
            "Prices of {PRICES_OF}; a cached check takes at most {:.1} ms of CPU and writes {:.0} row, a fresh one \
             {:.1} ms and {:.0} rows.\n\n",
            self.cpu_ms[0], self.rows_written[0], self.cpu_ms[1], self.rows_written[1],
        );
        writeln!(
            text,
            "| checks a month | fresh | plan | {} | **total, US$** |",
            names.join(" | ")
        )?;
        writeln!(text, "{}|", "|---".repeat(names.len() + 4))?;
        for (volume, checks) in VOLUMES {
            for fresh in FRESH_SHARES {
                let bills = self.month(checks, fresh).map(|part| part.bill());
                let total = PLAN + bills.iter().sum::<f64>();
                let cells = bills.map(|bill| format!("{bill:.2}")).join(" | ");
                let share = 100.0 * fresh;
                writeln!(
                    text,
                    "| {volume} | {share:.0}% | {PLAN:.2} | {cells} | **{total:.2}** |"
                )?;
            }
        }
        let rate = (VOLUMES[2].1 / SECONDS_OF_A_MONTH).ceil();
        writeln!(text, "\n100 million a month are {rate:.0} checks a second on average.")?;
        Ok(text)
    }
}

/// Prints the table of monthly prices.
pub fn run() -> Result<()> {
    print!("{}", Measured::read(&folder::repository().join("target/bench"))?.table()?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Measured;

    const FIGURES: &str = r#"[
        {"name": "check_cached_p50", "value": 3.5},
        {"name": "fresh_overhead_ms_over_origin", "value": 8.25},
        {"name": "d1_rows_written_cached", "value": 1.0},
        {"name": "d1_rows_written_fresh", "value": 3.0},
        {"name": "kv_writes_per_fresh_check", "value": 0.1}
    ]"#;

    #[test]
    fn a_month_is_the_plan_and_everything_above_what_it_includes() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("edge.json"), FIGURES).unwrap();
        let table = Measured::read(folder.path()).unwrap().table().unwrap();
        let expected = "\
Prices of November 2026; a cached check takes at most 3.5 ms of CPU and writes 1 row, a fresh one 8.2 ms and 3 rows.
\n\
| checks a month | fresh | plan | requests | CPU milliseconds | D1 rows read | D1 rows written | KV reads | KV writes | logs, GB | logs kept, GB | **total, US$** |
|---|---|---|---|---|---|---|---|---|---|---|---|
| 100 thousand | 20% | 5.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | **5.00** |
| 100 thousand | 100% | 5.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | **5.00** |
| 1 million | 20% | 5.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | **5.00** |
| 1 million | 100% | 5.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | **5.00** |
| 100 million | 20% | 5.00 | 27.00 | 8.30 | 0.00 | 90.00 | 5.00 | 95.00 | 25.00 | 2.30 | **257.60** |
| 100 million | 100% | 5.00 | 27.00 | 15.90 | 0.00 | 250.00 | 45.00 | 45.00 | 25.00 | 2.30 | **415.20** |
\n\
100 million a month are 39 checks a second on average.
";
        assert_eq!(table, expected);
    }

    #[test]
    fn figures_that_are_missing_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let one = r#"{"name": "check_cached_p50", "value": 3.5}"#;
        fs::write(folder.path().join("wasm.json"), one).unwrap();
        let error = Measured::read(folder.path()).err().unwrap().to_string();
        assert!(!error.contains("check_cached_p50") && error.contains("run make bench"), "{error}");
        assert!(error.contains("d1_rows_written_fresh, kv_writes_per_fresh_check"), "{error}");
    }
}
