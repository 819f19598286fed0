//! W6: time to recover after a source address was on a blocklist, an operator hung, or an origin was restarted.

use std::time::Duration;

use anyhow::Result;

use super::Report;
use crate::{
    clock::{DAY, HOUR, MINUTE},
    figures::Row,
    plan::{Events, Plan, Population},
    run::Outcome,
    svg::{Chart, Line},
};

/// Interval for which a share of decided checks is computed.
const BIN_LENGTH: Duration = Duration::from_secs(600);
/// Share of the earlier value from which a kind counts as recovered.
const RECOVERED_SHARE: f64 = 0.95;

fn share(outcome: &Outcome, kind: &str, from: Duration, to: Duration) -> f64 {
    let records =
        || outcome.singles.iter().filter(move |it| it.kind == kind && (from..to).contains(&it.at));
    let decided = records().filter(|it| it.is_decided).count();
    decided as f64 / records().count().max(1) as f64
}

/// Minutes after `end` until a bin's share is [`RECOVERED_SHARE`] of the share on the day before `begin`.
fn recovers(outcome: &Outcome, kind: &str, (begin, end): (Duration, Duration)) -> f64 {
    let before = share(outcome, kind, begin.saturating_sub(DAY), begin);
    let fine = (0..144).find(|bin| {
        let from = end + BIN_LENGTH * *bin;
        share(outcome, kind, from, from + BIN_LENGTH) >= RECOVERED_SHARE * before
    });
    fine.map_or(f64::INFINITY, |bin| (BIN_LENGTH * (bin + 1)).as_secs_f64() / 60.0)
}

/// Measures W6.
pub fn measure(report: &mut Report, seed: u64) -> Result<()> {
    // Enough checks to compute a share for every ten minutes.
    let customers = Population { forms: 20, checks_per_form: 1_000, lists: 0, ..Population::TENTH };
    let (listed, hung) = ((3 * DAY + 12 * HOUR, DAY), (9 * DAY + 14 * HOUR, HOUR));
    let events =
        Events { restarts_nightly: true, listed: Some(listed), hung: Some(hung), added: None };
    let plan = Plan { lasts: 14 * DAY, customers, events, ..report.day(seed) };
    let outcome = report.run("two weeks with accidents", &plan)?;
    let ends = |(from, lasts): (Duration, Duration)| (from, from + lasts);
    let (listed, hung) = (ends(listed), ends(hung));
    // The restart in the sixth night, which forgets everything.
    let restart = (5 * DAY + 3 * HOUR, 5 * DAY + 3 * HOUR + MINUTE);
    let rows = vec![
        Row::new("w6_minutes_after_listing", recovers(&outcome, "gateway", listed), "min")
            .aiming("<= 20"),
        Row::new("w6_minutes_after_hung_operator", recovers(&outcome, "google", hung), "min")
            .aiming("<= 20"),
        Row::new("w6_minutes_after_restart", recovers(&outcome, "google", restart), "min")
            .aiming("<= 20"),
        Row::new(
            "w6_decided_while_listed",
            100.0 * share(&outcome, "gateway", listed.0, listed.1),
            "percent",
        ),
        Row::new(
            "w6_decided_before_listing",
            100.0 * share(&outcome, "gateway", listed.0 - DAY, listed.0),
            "percent",
        ),
    ];
    report.rows.push(("recovery", rows));
    let line = |name: &'static str, kind: &'static str| {
        let points = (0..14 * 8).map(|bin| {
            let from = 3 * HOUR * bin;
            (
                from.as_secs_f64() / DAY.as_secs_f64(),
                100.0 * share(&outcome, kind, from, from + 3 * HOUR),
            )
        });
        Line::new(name, points)
    };
    report.charts.push((
        "recovery",
        Chart {
            title: "W6: a source address is listed on day 3, an operator hangs on day 9",
            across: "day",
            up: "percent of checks with an answer of the server, by three hours",
            is_logarithmic: false,
            lines: vec![line("at gateways", "gateway"), line("at the large operator", "google")],
        },
    ));
    Ok(())
}
