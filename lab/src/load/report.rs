//! Report of a load run: answers, response times, and memory growth.

use std::collections::BTreeMap;

use serde::Serialize;

use super::LoadPlan;
use crate::drive::quantile;

/// Response to a check of the run; `status` is 0 if there was none.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// Second of the run in which the check was due.
    pub second: u64,
    pub is_fresh: bool,
    pub status: u16,
    pub ms: f64,
}

/// Resident bytes of origin, and bytes of the Worker's linear memory. V8 owns the remaining memory
/// of workerd.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    pub second: f64,
    pub origin: u64,
    pub wasm: u64,
}

/// Report of a run, as written to its file.
#[derive(Debug, Serialize)]
pub struct Report {
    pub seconds: u64,
    pub requests: usize,
    pub rate: f64,
    pub statuses: BTreeMap<u16, usize>,
    /// Share of 5xx and missing responses.
    pub error_rate: f64,
    /// Number of responses that must be charged, and the charges in the quota report.
    pub counted: i64,
    pub charged: i64,
    pub cached_ms: Percentiles,
    pub fresh_ms: Percentiles,
    pub memory: Vec<Memory>,
    /// Growth of origin's resident memory per ten minutes.
    pub origin_slope_percent: f64,
    /// Growth from the first sample to the last: linear memory never shrinks.
    pub wasm_bytes_grown: u64,
    /// Figures for each second of the run.
    pub timeline: Vec<Second>,
}

#[derive(Debug, Serialize)]
pub struct Percentiles {
    pub n: usize,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub max: f64,
}

#[derive(Debug, Serialize)]
pub struct Memory {
    pub second: f64,
    pub origin_mb: f64,
    pub wasm_mb: f64,
}

#[derive(Debug, Serialize)]
pub struct Second {
    pub second: u64,
    pub answers: usize,
    pub errors: usize,
    pub p50: f64,
    pub p99: f64,
}

impl Report {
    pub fn new(plan: &LoadPlan, answers: &[Answer], samples: &[Sample], charged: i64) -> Self {
        let mut statuses = BTreeMap::new();
        for answer in answers {
            *statuses.entry(answer.status).or_insert(0) += 1;
        }
        let errors = answers.iter().filter(|answer| is_error(answer)).count();
        // The load asks about no address that gets `fatal_exception`, so every 200 is charged.
        let counted = statuses.get(&200).copied().unwrap_or(0);
        let [first, last] =
            [samples.first(), samples.last()].map(|one| one.map_or(0, |one| one.wasm));
        Self {
            seconds: plan.seconds,
            requests: answers.len(),
            rate: plan.rate,
            statuses,
            error_rate: errors as f64 / answers.len().max(1) as f64,
            counted: i64::try_from(counted).unwrap_or(i64::MAX),
            charged,
            cached_ms: percentiles(answers.iter().filter(|answer| !answer.is_fresh)),
            fresh_ms: percentiles(answers.iter().filter(|answer| answer.is_fresh)),
            memory: samples.iter().map(memory).collect(),
            origin_slope_percent: slope_percent(samples),
            wasm_bytes_grown: last.saturating_sub(first),
            timeline: timeline(plan.seconds, answers),
        }
    }
}

pub fn is_error(answer: &Answer) -> bool {
    answer.status == 0 || answer.status >= 500
}

fn percentiles<'a>(answers: impl Iterator<Item = &'a Answer>) -> Percentiles {
    let mut times: Vec<f64> = answers.map(|answer| answer.ms).collect();
    times.sort_by(f64::total_cmp);
    let at = |part| quantile(&times, part);
    Percentiles { n: times.len(), p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1.0) }
}

fn timeline(seconds: u64, answers: &[Answer]) -> Vec<Second> {
    let mut by_second = BTreeMap::<u64, Vec<&Answer>>::new();
    for answer in answers {
        by_second.entry(answer.second).or_default().push(answer);
    }
    (0..seconds)
        .map(|second| {
            let of = by_second.get(&second).map(Vec::as_slice).unwrap_or_default();
            let all = percentiles(of.iter().copied());
            let errors = of.iter().filter(|answer| is_error(answer)).count();
            Second { second, answers: of.len(), errors, p50: all.p50, p99: all.p99 }
        })
        .collect()
}

fn memory(sample: &Sample) -> Memory {
    let mb = |bytes: u64| bytes as f64 / 1e6;
    Memory { second: sample.second, origin_mb: mb(sample.origin), wasm_mb: mb(sample.wasm) }
}

/// Growth by least squares, in percent of the mean per ten minutes.
fn slope_percent(samples: &[Sample]) -> f64 {
    let n = samples.len() as f64;
    let mean_x = samples.iter().map(|sample| sample.second).sum::<f64>() / n;
    let mean_y = samples.iter().map(|sample| sample.origin as f64).sum::<f64>() / n;
    let (mut up, mut down) = (0.0, 0.0);
    for sample in samples {
        let x = sample.second - mean_x;
        up += x * (sample.origin as f64 - mean_y);
        down += x * x;
    }
    if down == 0.0 || mean_y == 0.0 { 0.0 } else { up / down * 600.0 / mean_y * 100.0 }
}

#[cfg(test)]
mod tests {
    use super::{Sample, slope_percent};

    #[test]
    fn a_slope_is_percent_of_the_mean_in_ten_minutes() {
        let slope = |a_second: u64| {
            let sample = |second: u64| Sample {
                second: second as f64,
                origin: 1_000_000 + second * a_second,
                wasm: 0,
            };
            slope_percent(&(0..600).map(sample).collect::<Vec<_>>())
        };
        // 60,000 bytes in ten minutes, with a mean of 1,029,950.
        assert!((slope(100) - 5.826).abs() < 0.01, "{}", slope(100));
        assert_eq!(slope(0), 0.0);
    }
}
