//! Curves of the constants, each with the servers' limits unchanged, halved, and raised by half.

use std::time::Duration;

use anyhow::Result;
use rcpt_pool::Pace;

use super::{
    Report,
    fairness::{self, unanswered},
    manners::ban_hours,
};
use crate::{
    clock::{DAY, HOUR},
    figures::Row,
    plan::{Added, Events, LIST_INTERVAL, Leniency, Plan, Population},
    run::Outcome,
    svg::{Chart, Line},
};

/// A population with forms, a dictionary, and lists with 30 % dead addresses.
const HUNGRY: Population = Population {
    forms: 5,
    checks_per_form: 400,
    lists: 3,
    addresses_per_list: 5_000,
    lists_at: Duration::from_secs(8 * 3_600),
    lists_apart: LIST_INTERVAL,
    only_list: None,
    dead_percent: (30, 30),
    has_dictionary: true,
    crowd: 0,
    newcomers: 0,
    slow: 0,
};

const REFUSED: [usize; 5] = [30, 100, 300, 1_000, 3_000];

pub const LENIENCIES: [(&str, f64); 3] =
    [("servers as read", 1.0), ("50 % stricter", 0.5), ("50 % more lenient", 1.5)];

/// The duration of the slowest list in hours. If a list is never done, the hours from the first list's start to the end
/// of the run.
fn list_hours(outcome: &Outcome, plan: &Plan) -> f64 {
    let hours = |duration: Duration| duration.as_secs_f64() / 3_600.0;
    if outcome.lists.len() < plan.customers.lists {
        return hours(plan.lasts.saturating_sub(plan.customers.lists_at));
    }
    outcome.lists.iter().map(|list| hours(list.took)).fold(0.0, f64::max)
}

/// A measured figure: its name, the function that computes it from a run, and its unit.
type Measured = (&'static str, fn(&Outcome, &Plan) -> f64, &'static str);

fn curve(
    report: &mut Report,
    name: &'static str,
    charts: [(&'static str, &'static str); 2],
    values: &[usize],
    figures: [Measured; 2],
    plan_of: impl Fn(usize, Leniency) -> Plan,
) -> Result<()> {
    let (mut rows, mut lines) = (Vec::new(), [Vec::new(), Vec::new()]);
    for (servers, factor) in LENIENCIES {
        let mut points = [Vec::new(), Vec::new()];
        for value in values {
            let plan = plan_of(*value, Leniency::all(factor));
            let outcome = report.run(&format!("{name} {value}, {servers}"), &plan)?;
            for ((figure, measure, unit), points) in figures.iter().zip(&mut points) {
                let measured = measure(&outcome, &plan);
                let row = format!("{name}_{value}_limits_times_{factor}_{figure}");
                rows.push(Row::new(row, measured, unit));
                points.push((*value as f64, measured));
            }
        }
        for (lines, points) in lines.iter_mut().zip(points) {
            lines.push(Line::new(servers, points));
        }
    }
    report.rows.push((name, rows));
    for ((file, title), (lines, (_, _, unit))) in
        charts.into_iter().zip(lines.into_iter().zip(figures))
    {
        let chart = Chart { title, across: name, up: unit, is_logarithmic: true, lines };
        report.charts.push((file, chart));
    }
    Ok(())
}

/// Measures the curve of the refused recipients an hour, at every operator and machine.
pub fn refused_per_hour(report: &mut Report, seed: u64) -> Result<()> {
    let bans: Measured = (
        "ban_hours",
        |it, plan| ban_hours(&it.bans, plan.lasts).values().fold(0.0, |sum, hours| sum + hours),
        "source hours",
    );
    let hours: Measured = ("list_hours", list_hours, "hours");
    let charts = [
        ("refused-bans", "Refused recipients an hour: bans in a day"),
        ("refused-hours", "Refused recipients an hour: until the last list is done"),
    ];
    curve(report, "refused_per_hour", charts, &REFUSED, [bans, hours], |value, leniency| Plan {
        customers: HUNGRY,
        leniency,
        refused_per_hour: Some(value),
        ..Plan::day(seed)
    })
}

/// Measures the curve of the refused recipients in ten minutes at a machine of no known operator.
pub fn refused_lately(report: &mut Report, seed: u64) -> Result<()> {
    let bans: Measured = (
        "ban_hours",
        |it, plan| ban_hours(&it.bans, plan.lasts).values().fold(0.0, |sum, hours| sum + hours),
        "source hours",
    );
    let hours: Measured = ("list_hours", list_hours, "hours");
    let charts = [
        ("lately-bans", "Refused recipients in ten minutes at a machine: bans in a day"),
        (
            "lately-hours",
            "Refused recipients in ten minutes at a machine: until the last list is done",
        ),
    ];
    let lists = Population { has_dictionary: false, addresses_per_list: 2_500, ..HUNGRY };
    curve(
        report,
        "machine_refused_lately",
        charts,
        &[4, 8, 15, 30, 60],
        [bans, hours],
        |value, leniency| Plan {
            customers: lists,
            leniency,
            pace: Pace { machine_refused_lately: value, ..Pace::USUAL },
            ..Plan::day(seed)
        },
    )
}

/// Measures the curve of the seconds between two sessions through a gate.
pub fn gate_interval(report: &mut Report, seed: u64) -> Result<()> {
    let connections: Measured =
        ("refusals_of_us", |it, _| it.refusals_of_us as f64, "refusals of us in a day");
    let unanswered: Measured = ("unanswered", |it, _| unanswered(it), "percent of forms' checks");
    let charts = [
        ("gate-refusals", "Seconds at a gate: refusals of us in a day with a listed source"),
        (
            "gate-unanswered",
            "Seconds at a gate: checks of forms that our own limits leave unanswered",
        ),
    ];
    let forms = Population { forms: 20, checks_per_form: 1_000, ..Population::FORMS_ALONE };
    curve(
        report,
        "gate_interval_s",
        charts,
        &[1, 3, 10, 30, 100],
        [connections, unanswered],
        |value, leniency| Plan {
            customers: forms,
            leniency,
            pace: Pace { gate_interval: Duration::from_secs(value as u64), ..Pace::USUAL },
            events: Events { listed: Some((Duration::ZERO, DAY)), ..Events::default() },
            ..Plan::day(seed)
        },
    )
}

/// Measures the curve of `batch_turn`: while both classes wait, one session in every `batch_turn` goes
/// to a batch.
pub fn batch_turn(report: &mut Report, seed: u64) -> Result<()> {
    let waits: Measured = ("forms_p99", |it, _| fairness::p99(it), "seconds, p99 of forms");
    let hours: Measured = ("list_hours", list_hours, "hours");
    let charts = [
        ("turn-forms", "Turn of batches: how long forms wait"),
        ("turn-hours", "Turn of batches: until the last list is done"),
    ];
    // The forms send as many checks as one source address can serve at one small operator.
    let busy = Population {
        forms: 20,
        checks_per_form: 4_000,
        has_dictionary: false,
        addresses_per_list: 2_500,
        ..HUNGRY
    };
    curve(report, "batch_turn", charts, &[2, 5, 10, 20, 50], [waits, hours], |value, leniency| {
        Plan {
            lasts: DAY / 2,
            customers: busy,
            leniency,
            pace: Pace { batch_turn: value, ..Pace::USUAL },
            ..Plan::day(seed)
        }
    })
}

/// Measures the curve of the warm-up: hours in which a new source address's rate of batches doubles. The address is new
/// on the second day; one hour is almost no warm-up.
pub fn warm_up(report: &mut Report, seed: u64) -> Result<()> {
    let bans: Measured = (
        "ban_hours",
        |it, plan| ban_hours(&it.bans, plan.lasts).values().fold(0.0, |sum, hours| sum + hours),
        "source hours",
    );
    let hours: Measured = (
        "mean_list_hours",
        |it, _| {
            let all: Vec<_> = it.lists.iter().filter(|list| list.started >= DAY).collect();
            let hours = all.iter().map(|list| list.took.as_secs_f64() / 3_600.0);
            hours.sum::<f64>() / all.len().max(1) as f64
        },
        "hours",
    );
    let charts = [
        (
            "warm-up-bans",
            "Doubling of the warm-up: bans in nine days after a source address is new",
        ),
        ("warm-up-hours", "Doubling of the warm-up: until a list is done, mean of nine days"),
    ];
    let lists = Population {
        forms: 0,
        lists: 2,
        addresses_per_list: 1_500,
        dead_percent: (10, 10),
        has_dictionary: false,
        ..HUNGRY
    };
    curve(
        report,
        "warm_up_doubles_in_h",
        charts,
        &[1, 12, 24, 48, 96],
        [bans, hours],
        |value, leniency| {
            let doubles_in = HOUR * value as u32;
            let added = Some(Added { at: DAY, doubles_in });
            Plan {
                lasts: 10 * DAY,
                origins: 1,
                customers: lists,
                leniency,
                // A restart would remove the source address again.
                events: Events { added, ..Events::default() },
                ..Plan::day(seed)
            }
        },
    )
}
