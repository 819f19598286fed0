//! The program of `make drill`: rows of 20 seconds (`DRILL_SECONDS`) at 40 checks a second (`DRILL_RATE`).

use std::{env, str::FromStr};

use anyhow::{Context as _, Result, ensure};
use rcpt_devtools::drill::{self, DrillPlan};

fn from_env<T: FromStr>(name: &str, default: T) -> Result<T> {
    match env::var(name) {
        Ok(value) => value.parse().ok().with_context(|| format!("{name}={value} is not a number")),
        Err(_) => Ok(default),
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let plan =
        DrillPlan { seconds: from_env("DRILL_SECONDS", 20)?, rate: from_env("DRILL_RATE", 40)? };
    println!(
        "drill: three origins, {} checks/s of fresh addresses, {} s a row",
        plan.rate, plan.seconds
    );
    let rows = drill::run(plan).await?;
    println!("\n{}", drill::table(&rows));
    let wrong: Vec<_> = rows.iter().filter(|row| row.charged != row.counted).collect();
    ensure!(wrong.is_empty(), "charged wrongly: {wrong:?}");
    let orderly = rows.iter().filter(|row| row.is_orderly);
    let failed: Vec<_> = orderly.filter(|row| row.failed_share() > 0.001).collect();
    ensure!(failed.is_empty(), "more than 0.1 % failed in an orderly row: {failed:?}");
    let unanswered: Vec<_> = rows.iter().filter(|row| row.statuses.contains_key(&0)).collect();
    ensure!(unanswered.is_empty(), "checks without an answer: {unanswered:?}");
    Ok(())
}
