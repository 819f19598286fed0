//! W2: how long our source addresses are banned, in hours by operator, over two weeks.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Result;

use super::Report;
use crate::{
    clock::DAY,
    figures::Row,
    inhabitants::shared_hosting::SharedHosting,
    journal::Ban,
    plan::{Events, Plan, Population},
    run::Outcome,
    svg::{Chart, Line},
};

/// Fewer customers than in a day's run, because this run lasts two weeks.
pub const FEW: Population =
    Population { forms: 5, lists: 2, addresses_per_list: 1_500, ..Population::TENTH };

/// Hours of bans by kind of operator, summed over all source addresses, within the run.
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

/// The percentage of forms' checks at the shared host with a reply about the recipient.
fn decided_at_shared_host(outcome: &Outcome) -> f64 {
    let records = || outcome.singles.iter().filter(|it| it.kind == SharedHosting::KIND);
    let decided = records().filter(|it| it.is_decided).count();
    100.0 * decided as f64 / records().count().max(1) as f64
}

fn by_kind(name: &str, outcome: &Outcome, plan: &Plan) -> Vec<Row> {
    let decided = decided_at_shared_host(outcome);
    let mut rows =
        vec![Row::new(format!("w2_forms_decided_{name}_shared_hosting"), decided, "percent")];
    for (kind, hours) in ban_hours(&outcome.bans, plan.lasts) {
        rows.push(Row::new(format!("w2_ban_hours_{name}_{kind}"), hours, "source hours"));
    }
    rows
}

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

/// Measures W2.
pub fn measure(report: &mut Report, seed: u64) -> Result<()> {
    let weeks = if report.is_short { 1 } else { 2 };
    let good = Plan { lasts: 7 * weeks * DAY, customers: FEW, ..report.day(seed) };
    let attacked = Population { has_dictionary: true, crowd: 50, ..FEW };
    let attacked = Plan { customers: attacked, ..good.clone() };
    let of_good = report.run("good customers", &good)?;
    let of_attack = report.run("beside the attacker", &attacked)?;
    let mut rows = vec![
        Row::new("w2_ban_hours_good_customers", total(&of_good, &good), "source hours").aiming("0"),
        Row::new("w2_ban_hours_beside_attacker", total(&of_attack, &attacked), "source hours"),
    ];
    let with_us = [("good", &of_good, &good), ("attacker", &of_attack, &attacked)];
    rows.extend(with_us.iter().flat_map(|(name, outcome, plan)| by_kind(name, outcome, plan)));
    if report.is_short {
        report.rows.push(("manners", rows));
        return Ok(());
    }
    let newcomers = Population { newcomers: 50, ..FEW };
    let newcomers = Plan { customers: newcomers, ..good.clone() };
    let events = Events { restarts_nightly: false, ..newcomers.events };
    let unrestarted = Plan { events, ..newcomers.clone() };
    let off = Plan { limited: false, ..attacked.clone() };
    let of_newcomers = report.run("beside ever new paying accounts", &newcomers)?;
    let of_unrestarted = report.run("the same without restarts", &unrestarted)?;
    let of_none = report.run("beside the attacker, limits off", &off)?;
    rows.extend([
        Row::new("w2_ban_hours_beside_newcomers", total(&of_newcomers, &newcomers), "source hours"),
        Row::new("w2_ban_hours_limits_off", total(&of_none, &off), "source hours"),
    ]);
    let runs = [
        ("newcomers", &of_newcomers, &newcomers),
        ("newcomers_without_restarts", &of_unrestarted, &unrestarted),
        ("off", &of_none, &off),
    ];
    rows.extend(runs.iter().flat_map(|(name, outcome, plan)| by_kind(name, outcome, plan)));
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
                by_day("beside new accounts", &of_newcomers, &newcomers),
                by_day("attacker, limits off", &of_none, &off),
            ],
        },
    ));
    Ok(())
}
