//! W2: how long our source addresses are banned, in hours by operator, over two weeks.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Result;

use super::Report;
use crate::{
    clock::DAY,
    figures::Row,
    journal::Ban,
    plan::{Plan, Population},
    run::Outcome,
    svg::{Chart, Line},
};

/// Fewer customers than for a day: two weeks of them.
const FEW: Population = Population {
    forms: 5,
    checks_per_form: 400,
    lists: 2,
    addresses_per_list: 1_500,
    lists_at: Duration::from_secs(8 * 3_600),
    dead_percent: (5, 30),
    has_dictionary: false,
    crowd: 0,
    slow: 0,
};

/// Hours in which a source is banned by a kind of operator, summed over all, within the run.
pub fn ban_hours(bans: &[Ban], lasts: Duration) -> BTreeMap<&'static str, f64> {
    let mut hours = BTreeMap::new();
    for ban in bans {
        let span = ban.until.min(lasts).saturating_sub(ban.from);
        *hours.entry(ban.kind).or_insert(0.0) += span.as_secs_f64() / 3_600.0;
    }
    hours
}

fn total(outcome: &Outcome, plan: &Plan) -> f64 {
    ban_hours(&outcome.bans, plan.lasts).values().fold(0.0, |sum, hours| sum + hours)
}

/// Hours of bans that begin on each day.
fn by_day(name: &'static str, outcome: &Outcome, plan: &Plan) -> Line {
    let days = plan.lasts.as_secs() / DAY.as_secs();
    let of_day = |day: u64| {
        let bans: Vec<Ban> = outcome
            .bans
            .iter()
            .filter(|ban| ban.from.as_secs() / DAY.as_secs() == day)
            .cloned()
            .collect();
        ban_hours(&bans, plan.lasts).values().fold(0.0, |sum, hours| sum + hours)
    };
    Line::new(name, (0..days).map(|day| (day as f64 + 1.0, of_day(day))))
}

/// # Errors
/// When a run can't be set up.
pub fn measure(report: &mut Report, seed: u64) -> Result<()> {
    let good = Plan { lasts: 14 * DAY, customers: FEW, ..Plan::day(seed) };
    let attacked = Population { has_dictionary: true, crowd: 50, ..FEW };
    let attacked = Plan { customers: attacked, ..good.clone() };
    let off = Plan { limited: false, ..attacked.clone() };
    let of_good = report.run("two weeks, good customers", &good)?;
    let of_attack = report.run("two weeks beside the attacker", &attacked)?;
    let of_none = report.run("the same, limits off", &off)?;
    let mut rows = vec![
        Row::new("w2_ban_hours_good_customers", total(&of_good, &good), "source hours").aiming("0"),
        Row::new("w2_ban_hours_beside_attacker", total(&of_attack, &attacked), "source hours"),
        Row::new("w2_ban_hours_limits_off", total(&of_none, &off), "source hours"),
    ];
    for (name, outcome, plan) in
        [("good", &of_good, &good), ("attacker", &of_attack, &attacked), ("off", &of_none, &off)]
    {
        for (kind, hours) in ban_hours(&outcome.bans, plan.lasts) {
            rows.push(Row::new(format!("w2_ban_hours_{name}_{kind}"), hours, "source hours"));
        }
    }
    report.rows.push(("manners", rows));
    report.charts.push((
        "manners",
        Chart {
            title: "W2: hours of bans that begin on each day, of three source addresses",
            across: "day",
            up: "hours × operators",
            is_logarithmic: false,
            lines: vec![
                by_day("good customers", &of_good, &good),
                by_day("beside the attacker", &of_attack, &attacked),
                by_day("attacker, limits off", &of_none, &off),
            ],
        },
    ));
    Ok(())
}
