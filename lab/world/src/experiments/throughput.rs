//! W4: duration of lists, compared with the lower bound that follows from the servers' limits. The bound includes the
//! repetitions of undecided addresses, which model the Worker's repetitions.

use std::collections::BTreeMap;

use anyhow::Result;

use super::Report;
use crate::{
    clock::HOUR,
    figures::Row,
    plan::{Plan, Population},
    run::Outcome,
    svg::{Chart, Line},
};

/// Unknown recipients that a kind of server tolerates from one source address, and the seconds in
/// which it counts them.
const BEARS: [(&str, f64, f64); 3] = [
    ("google", 1_500.0, 3_600.0),
    ("microsoft", 1_000.0, 3_600.0),
    ("shared_hosting", 20.0, 600.0),
];
/// Concurrent sessions that the bound assumes at a kind of server from one source address, and seconds of one question
/// with its round trips.
const SERVES: [(&str, f64, f64); 5] = [
    ("google", 20.0, 0.1),
    ("microsoft", 30.0, 0.9),
    ("yahoo", 20.0, 0.2),
    ("gateway", 8.0, 0.5),
    ("shared_hosting", 2.0, 0.15),
];
/// Time of two repetitions of undecided addresses, each after a quarter of an hour.
const REPETITIONS_S: f64 = 1_800.0;

/// The minimum time for all lists together, in seconds.
pub fn lower_bound(plan: &Plan, outcome: &Outcome) -> f64 {
    let sources = (plan.origins * plan.sources_each) as f64;
    let of = |kind: &str| outcome.listed.get(kind).copied().unwrap_or_default();
    let by_refusals = BEARS.iter().map(|(kind, most, span_s)| {
        let most = most * plan.leniency.of(kind);
        let dead = of(kind).1 as f64;
        // A whole window's recipients may be sent at its start.
        (dead / (sources * most) - 1.0).max(0.0) * span_s
    });
    let by_sessions = SERVES.iter().map(|(kind, most, seconds)| {
        of(kind).0 as f64 * seconds / (most * plan.leniency.of(kind) * sources)
    });
    by_refusals.chain(by_sessions).fold(REPETITIONS_S, f64::max)
}

/// Measures W4.
pub fn measure(report: &mut Report, seed: u64) -> Result<()> {
    let plan = Plan { customers: Population { forms: 0, ..Population::TENTH }, ..report.day(seed) };
    let outcome = report.run("lists alone", &plan)?;
    let slowest = |outcome: &Outcome| {
        let took = outcome.lists.iter().map(|list| list.took.as_secs_f64());
        took.fold(0.0, f64::max)
    };
    let most = outcome.lists.iter().filter_map(|list| list.took_most);
    let most = most.map(|took| took.as_secs_f64()).fold(0.0, f64::max);
    let decided: usize = outcome.lists.iter().map(|list| list.decided).sum();
    let total: usize = outcome.lists.iter().map(|list| list.total).sum();
    let bound = lower_bound(&plan, &outcome);
    let rows = vec![
        Row::new("w4_lists_95_percent", most, "s"),
        Row::new("w4_lists_all", slowest(&outcome), "s"),
        Row::new("w4_lower_bound", bound, "s"),
        Row::new("w4_lists_over_bound", slowest(&outcome) / bound, "ratio").aiming("<= 1.5"),
        Row::new("w4_decided", 100.0 * decided as f64 / total.max(1) as f64, "percent"),
    ];
    report.rows.push(("throughput", rows));
    let line = |owner: usize| {
        let mut by_hour = BTreeMap::new();
        for (count, at) in (1_u32..).zip(outcome.listed_at.get(&owner).into_iter().flatten()) {
            by_hour.insert(at.as_secs() / HOUR.as_secs(), count);
        }
        let points = by_hour.into_iter().map(|(hour, count)| (hour as f64, f64::from(count)));
        Line::new(format!("list {}", owner + 1), points)
    };
    report.charts.push((
        "throughput",
        Chart {
            title: "W4: answers of four lists by the hour",
            across: "hour of the day",
            up: "answers so far",
            is_logarithmic: false,
            lines: (0..plan.customers.lists).map(line).collect(),
        },
    ));
    Ok(())
}
