//! W3: a form's p99 with and without the attacker, the slow domains and all lists; and Jain's index of list owners.

use std::time::Duration;

use anyhow::Result;

use super::Report;
use crate::{
    figures::{Row, jain, quantile},
    plan::{Plan, Population},
    results::ListRecord,
    run::Outcome,
    svg::{Chart, Line},
};

/// The 99th percentile of the duration of forms' checks, in seconds.
pub fn p99(outcome: &Outcome) -> f64 {
    quantile(&took(outcome), 0.99)
}

fn took(outcome: &Outcome) -> Vec<Duration> {
    outcome.singles.iter().map(|record| record.took).collect()
}

/// The percentage of forms' checks that our own limits left unanswered.
pub fn unanswered(outcome: &Outcome) -> f64 {
    let records = &outcome.singles;
    let missing = records.iter().filter(|record| !record.is_answered).count();
    100.0 * missing as f64 / records.len().max(1) as f64
}

/// Share of a list that is answered in its first round, even by stricter servers. The times of later answers depend on
/// the list: they differ even between owners who don't compete.
const FIRST_ROUND: f64 = 0.75;

/// Addresses per hour of each owner until `part` of the list is answered.
pub fn throughputs(outcome: &Outcome, part: f64) -> Vec<f64> {
    let rate = |list: &ListRecord| {
        let count = (list.total as f64 * part).ceil().max(1.0);
        let at = outcome.listed_at.get(&list.owner)?.get(count as usize - 1)?;
        Some(count / at.saturating_sub(list.started).as_secs_f64() * 3_600.0)
    };
    outcome.lists.iter().map(|list| rate(list).unwrap_or_default()).collect()
}

/// The distribution reaches from the median to the slowest thousandth.
fn line(name: &'static str, outcome: &Outcome) -> Line {
    let took = took(outcome);
    let parts = [0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999];
    Line::new(name, parts.map(|part| (part * 100.0, quantile(&took, part))))
}

/// Measures W3.
pub fn measure(report: &mut Report, seed: u64) -> Result<()> {
    // Equal lists at the same time, so that all owners have equal demand.
    let (dead_percent, lists_apart) = ((15, 15), Duration::ZERO);
    let everybody = Population { dead_percent, lists_apart, ..Population::EVERYBODY };
    let usual = report.day(seed);
    let day = |customers| Plan { customers, ..usual.clone() };
    let alone = report.run("forms alone", &day(Population::FORMS_ALONE))?;
    let beside = report.run("forms beside everybody", &day(everybody))?;
    let each_alone: Result<Vec<_>> = (0..everybody.lists)
        .map(|owner| {
            let lists = Population { forms: 0, only_list: Some(owner), ..Population::TENTH };
            let lists = Population { dead_percent, lists_apart, ..lists };
            report.run(&format!("list {} alone", owner + 1), &day(lists))
        })
        .collect();
    let each_alone: Vec<f64> =
        each_alone?.iter().flat_map(|outcome| throughputs(outcome, FIRST_ROUND)).collect();
    let mut rows = vec![
        Row::new("w3_forms_p99_alone", p99(&alone), "s"),
        Row::new("w3_forms_p99_beside_everybody", p99(&beside), "s"),
        Row::new("w3_forms_p99_ratio", p99(&beside) / p99(&alone), "ratio").aiming("<= 1.5"),
        Row::new("w3_forms_p50_alone", quantile(&took(&alone), 0.5), "s"),
        Row::new("w3_forms_p50_beside_everybody", quantile(&took(&beside), 0.5), "s"),
        Row::new("w3_forms_unanswered_alone", unanswered(&alone), "percent"),
        Row::new("w3_forms_unanswered_beside_everybody", unanswered(&beside), "percent"),
        Row::new("w3_lists_jain", jain(&throughputs(&beside, FIRST_ROUND)), "index")
            .aiming(">= 0.95"),
        Row::new("w3_lists_jain_whole", jain(&throughputs(&beside, 1.0)), "index")
            .aiming(">= 0.95"),
        Row::new("w3_lists_jain_each_alone", jain(&each_alone), "index"),
    ];
    if report.is_short {
        report.rows.push(("fairness", rows));
        return Ok(());
    }
    let off = Plan { limited: false, ..day(everybody) };
    let off = report.run("the same, limits off", &off)?;
    rows.push(Row::new("w3_forms_p99_limits_off", p99(&off), "s"));
    let of_off = jain(&throughputs(&off, FIRST_ROUND));
    rows.push(Row::new("w3_lists_jain_limits_off", of_off, "index"));
    report.rows.push(("fairness", rows));
    report.charts.push((
        "fairness",
        Chart {
            title: "W3: how long sign-up forms wait",
            across: "percent of checks that are faster",
            up: "seconds",
            is_logarithmic: false,
            lines: vec![
                line("alone", &alone),
                line("beside everybody", &beside),
                line("limits off", &off),
            ],
        },
    ));
    Ok(())
}
