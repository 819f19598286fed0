//! The curve of each constant, and each again where the servers' limits are half as much again, or half.

use std::time::Duration;

use anyhow::Result;

use super::{Report, manners::ban_hours};
use crate::{
    clock::DAY,
    figures::Row,
    plan::{Leniency, Plan, Population},
    run::Outcome,
    svg::{Chart, Line},
};

/// Lists that are a tenth larger than usual in dead addresses, beside forms.
const HUNGRY: Population = Population {
    forms: 5,
    checks_per_form: 400,
    lists: 3,
    addresses_per_list: 8_000,
    lists_at: Duration::from_secs(8 * 3_600),
    dead_percent: (30, 30),
    has_dictionary: true,
    crowd: 0,
    slow: 0,
};

const REFUSED: [usize; 6] = [30, 100, 300, 1_000, 3_000, 10_000];

pub const LENIENCIES: [(&str, f64); 3] =
    [("servers as read", 1.0), ("50 % stricter", 0.5), ("50 % more lenient", 1.5)];

fn leniency(factor: f64) -> Leniency {
    Leniency { google: factor, microsoft: factor, yahoo: factor, shared_hosting: factor }
}

/// Hours until the last list is done; a day where one isn't.
fn list_hours(outcome: &Outcome) -> f64 {
    let took = outcome.lists.iter().map(|list| list.took.as_secs_f64() / 3_600.0);
    took.fold(0.0, f64::max)
}

/// Refused recipients an hour.
///
/// # Errors
/// When a run can't be set up.
pub fn refused_per_hour(report: &mut Report, seed: u64) -> Result<()> {
    let (mut rows, mut bans, mut hours) = (Vec::new(), Vec::new(), Vec::new());
    for (name, factor) in LENIENCIES {
        let (mut of_bans, mut of_hours) = (Vec::new(), Vec::new());
        for refused in REFUSED {
            let plan = Plan {
                lasts: 2 * DAY,
                customers: HUNGRY,
                leniency: leniency(factor),
                refused_per_hour: Some(refused),
                ..Plan::day(seed)
            };
            let outcome = report.run(&format!("{refused} refused an hour, {name}"), &plan)?;
            let banned = ban_hours(&outcome.bans, plan.lasts);
            let at_operators: f64 = banned
                .iter()
                .filter(|(kind, _)| **kind != "shared_hosting")
                .map(|(_, hours)| hours)
                .sum();
            let took = list_hours(&outcome);
            let place = format!("refused_per_hour_{refused}_times_{factor}");
            rows.push(Row::new(
                format!("{place}_ban_hours_operators"),
                at_operators,
                "source hours",
            ));
            let at_machines = banned.get("shared_hosting").copied().unwrap_or_default();
            rows.push(Row::new(format!("{place}_ban_hours_machines"), at_machines, "source hours"));
            rows.push(Row::new(format!("{place}_list_hours"), took, "h"));
            of_bans.push((refused as f64, at_operators));
            of_hours.push((refused as f64, took));
        }
        bans.push(Line::new(name, of_bans));
        hours.push(Line::new(name, of_hours));
    }
    report.rows.push(("refused_per_hour", rows));
    let chart = |title, up, lines| Chart {
        title,
        across: "refused recipients an hour, at every operator",
        up,
        is_logarithmic: true,
        lines,
    };
    report.charts.push((
        "refused-bans",
        chart("Refused recipients an hour: bans by operators in two days", "source hours", bans),
    ));
    report.charts.push((
        "refused-hours",
        chart("Refused recipients an hour: until the last list is done", "hours", hours),
    ));
    Ok(())
}
