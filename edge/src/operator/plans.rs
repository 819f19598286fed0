//! The sizes of the plans. Each database has them all.

use axum::{
    Json,
    response::{IntoResponse as _, Response},
};
use constcat::concat;
use serde::{Deserialize, Serialize};

use super::deed::{Deed, Done};
use crate::{
    app::App,
    error::Error,
    ledger::plans::{self, PlanSizes},
};

/// A size that operators change.
#[derive(Debug, Clone, Copy, Deserialize)]
pub enum Size {
    #[serde(rename = "daily-checks")]
    Checks,
    #[serde(rename = "daily-scans")]
    Scans,
    #[serde(rename = "scan-size")]
    AddressesOfScan,
    #[serde(rename = "scans-at-once")]
    ScansAtOnce,
}

/// Writes the old value into the record, and changes the size in the databases of the record. `?1` to `?5` as in
/// [`Deed::params`], `?6` plan, `?7` size. A plan without limits has no daily sizes.
macro_rules! statements {
    ($column:literal, $condition:literal) => {
        [
            concat!(
                "INSERT INTO operator_actions (id, at, operator, action, value, reason)
                 SELECT ?1, unixepoch(), ?2, ?3, ?5 || ' from ' || ",
                $column,
                ", ?4 FROM plans WHERE name = ?6 AND ",
                $condition,
                " RETURNING id"
            ),
            concat!(
                "UPDATE plans SET ",
                $column,
                " = ?3 WHERE name = ?2 AND EXISTS (SELECT 1 FROM operator_actions WHERE id = ?1)"
            ),
        ]
    };
}

impl Size {
    const fn statements(self) -> [&'static str; 2] {
        match self {
            Self::Checks => const { statements!("daily_checks", "unlimited = 0") },
            Self::Scans => const { statements!("daily_scans", "unlimited = 0") },
            Self::AddressesOfScan => const { statements!("scan_size", "true") },
            Self::ScansAtOnce => const { statements!("max_scans", "true") },
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Checks => "daily-checks",
            Self::Scans => "daily-scans",
            Self::AddressesOfScan => "scan-size",
            Self::ScansAtOnce => "scans-at-once",
        }
    }
}

#[derive(Serialize)]
struct Row {
    name: String,
    daily_checks: u32,
    daily_scans: u32,
    scan_size: u32,
    scans_at_once: u32,
}

#[derive(Serialize)]
struct Plans {
    plans: Vec<Row>,
}

/// The plans of the first database. All have the same ones, unless a change was cut off.
async fn all(app: &App) -> Result<Plans, Error> {
    let row = |plan: PlanSizes| Row {
        name: plan.name,
        daily_checks: plan.daily_checks,
        daily_scans: plan.daily_scans,
        scan_size: plan.scan_size,
        scans_at_once: plan.max_scans,
    };
    let plans = plans::all(app.databases.directory()).await?;
    Ok(Plans { plans: plans.into_iter().map(row).collect() })
}

pub async fn list(app: &App) -> Result<Response, Error> {
    Ok(Json(all(app).await?).into_response())
}

/// Changes a size in every database. After a failure the call can be sent again: where it is done, it does nothing.
pub async fn set_size(
    app: &App,
    deed: &Deed<'_>,
    plan: &str,
    size: Size,
    number: u32,
) -> Result<Response, Error> {
    if number == 0 {
        return Err(Error::invalid_body("number: expected 1 or more."));
    }
    let value = [plan, size.name(), &number.to_string()].join(" ");
    let [record, update] = size.statements();
    let (mut applied, mut failure) = (false, None);
    for (_, database) in app.databases.in_turn(0) {
        let statements = [
            (record, [deed.params(&value).to_vec(), vec![plan.into()]].concat()),
            (update, vec![deed.call.into(), plan.into(), number.into()]),
        ];
        match deed.run(database, &statements).await {
            Ok(Some(rows)) if !rows.any(0)? => {
                return Err(Error::not_possible(
                    "There is no plan of this name, or this size of it has no limit.",
                ));
            }
            Ok(rows) => applied |= rows.is_some(),
            Err(error) => failure = Some(error),
        }
    }
    match failure {
        Some(error) => Err(error),
        None => Ok(Done { applied, after: all(app).await? }.into_response()),
    }
}
