//! W1 and W5: no false "no", every reply assigned to its recipient, no limit exceeded at any time, and no permit lost.

use anyhow::Result;

use super::Report;
use crate::{
    figures::Row,
    plan::{Plan, Population},
    run::Outcome,
};

/// The invariants of every run, with a text for each.
pub fn invariants(plan: &Plan, outcome: &Outcome) -> Vec<(bool, String)> {
    let Outcome { credit, broken, left, left_open, not_forgotten, .. } = outcome;
    vec![
        (credit.false_no == 0, format!("{} false no: {:?}", credit.false_no, credit.examples)),
        (credit.misplaced == 0, format!("{} misplaced: {:?}", credit.misplaced, credit.examples)),
        (broken.0 == 0 || !plan.limited, format!("{} broken limits: {:?}", broken.0, broken.1)),
        (*not_forgotten == 0, format!("{not_forgotten} entries are not forgotten")),
        (*left == (0, 0, 0) && *left_open == 0, format!("left {left:?}, {left_open} connections")),
    ]
}

/// Measures W1 and W5 on a day with [`Population::EVERYBODY`].
pub fn measure(report: &mut Report, seed: u64) -> Result<()> {
    let plan = Plan { customers: Population::EVERYBODY, ..report.day(seed) };
    let outcome = report.run("a day with everybody", &plan)?;
    let mut rows = vec![
        Row::new("w1_verdicts", outcome.credit.verdicts as f64, "verdicts"),
        Row::new("w1_false_no", outcome.credit.false_no as f64, "verdicts").aiming("0"),
        Row::new("w1_replies_compared", outcome.credit.compared as f64, "replies"),
        Row::new("w1_replies_of_another_recipient", outcome.credit.misplaced as f64, "replies")
            .aiming("0"),
        Row::new("w5_limits_broken", outcome.broken.0 as f64, "steps").aiming("0"),
        Row::new("w5_permits_left", outcome.left.0 as f64, "permits").aiming("0"),
        Row::new("w5_entries_most_of_one_origin", outcome.most_entries as f64, "entries"),
        Row::new("w5_entries_not_forgotten", outcome.not_forgotten as f64, "entries").aiming("0"),
        Row::new("w5_sessions_open_most", outcome.most_open as f64, "sessions"),
    ];
    if report.varied.is_none() {
        let unlimited = report.run("the same, limits off", &Plan { limited: false, ..plan })?;
        let (open, false_no) = (unlimited.most_open as f64, unlimited.credit.false_no as f64);
        rows.push(Row::new("w5_sessions_open_most_limits_off", open, "sessions"));
        rows.push(Row::new("w1_false_no_limits_off", false_no, "verdicts").aiming("0"));
    }
    report.rows.push(("safety", rows));
    Ok(())
}
