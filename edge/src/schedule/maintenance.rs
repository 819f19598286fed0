//! The scheduled run.
//!
//! The platform allows an invocation a thousand D1 queries and fifteen minutes. Each database gets a share, and one
//! that hangs isn't queried again; the next run continues.

use std::sync::Arc;

use super::{housekeeping_sql, rekeying_sql};
use crate::{
    accounts::{confirmation, deletion, email_change_steps, recoveries_sql, reset_links},
    app::App,
    cf::{clock, database::Database, log},
    config::Config,
    credentials::{password, random},
    error::Error,
    ledger::plans,
    meter::{Meter, RunLimits, metered},
    notices,
    scans::closing,
    webhooks::delivery,
};

/// Seconds between two runs (wrangler.toml, `crons`).
const RUN_INTERVAL_S: u64 = 5 * 60;
/// Statements of one run; the platform's limit is 1,000.
const STATEMENTS_MAX: u32 = 950;
const WEBHOOK_STATEMENTS: u32 = 250;

/// Processes the databases in turn, starting with a different one each time. A failure stops no other step.
pub async fn run(app: &App) {
    let meter = Arc::new(Meter::of_run(STATEMENTS_MAX));
    if let Some(limits) = meter.run() {
        metered(&meter, all(app, limits)).await;
    }
}

async fn all(app: &App, limits: &RunLimits) {
    let (mut mails, turn) = (notices::EMAILS_PER_RUN_MAX, clock::now() / RUN_INTERVAL_S);
    let databases: Vec<_> = app.databases.in_turn(turn).collect();
    let count = u32::try_from(databases.len()).unwrap_or(u32::MAX);
    limits.share(count, WEBHOOK_STATEMENTS);
    if let Err(error) = reset_links::send(app).await {
        log::failure("reset links", &error);
    }
    if let Err(error) = confirmation::finish(&app.databases).await {
        log::failure("confirmations", &error);
    }
    for ((number, database), others) in databases.into_iter().zip((0..count).rev()) {
        limits.share(others, WEBHOOK_STATEMENTS);
        of_database(app, number, database, &mut mails).await;
    }
    limits.share(0, 0);
    // Webhooks come last, because they wait for customers' servers.
    delivery::run(app, turn).await;
}

async fn of_database(app: &App, number: u8, database: &Database, mails: &mut u64) {
    let failed = |what: &str, error: Error| {
        log::failure(&format!("{what} in database {number}"), &error);
    };
    if let Err(error) = housekeeping_sql::record_run(database).await {
        failed("record of the run", error);
    }
    // Plans, recoveries and changes of addresses come first, so that their notices are sent in the same run. A recovery
    // takes effect a run after its last email, at the earliest.
    if let Err(error) = plans::end(database, clock::now()).await {
        failed("ended plans", error);
    }
    if let Err(error) = recoveries(database).await {
        failed("recoveries", error);
    }
    if let Err(error) = email_change_steps::finish(app, database).await {
        failed("changes of addresses", error);
    }
    match notices::send(app, database, None, *mails).await {
        Ok(attempts) => *mails = mails.saturating_sub(attempts),
        Err(error) => failed("notices", error),
    }
    let Config { address_secrets, totp_secrets, .. } = &app.config;
    if let Err(error) = deletion::finish(&app.databases, address_secrets, database).await {
        failed("deletions", error);
    }
    if let Err(error) = closing::run(database).await {
        failed("closing of scans", error);
    }
    for (table, error) in housekeeping_sql::run(database, clock::now()).await {
        failed(&format!("housekeeping of {table}"), error);
    }
    if let Err(error) = rekeying_sql::run(database, totp_secrets).await {
        failed("rekeying", error);
    }
}

async fn recoveries(database: &Database) -> Result<(), Error> {
    let void = password::void_hash(random::bytes()?, random::bytes()?);
    recoveries_sql::run(database, &void).await
}
