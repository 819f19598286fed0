//! Tells an account's owner that most or all of the daily checks are used, by an email and an event: at most once a week
//! each, and not while welcome checks are left.

use std::sync::Arc;

use super::allowance_sql;
use crate::{
    account::AccountId,
    app::App,
    cf::{clock, deferred::Deferred, log},
    credentials::random,
    error::Error,
    webhooks::delivery,
};

/// Follows a charge of `units` units. `left_over` is the ledger's text about what is left: only if the charge may have
/// reached a mark, the database is asked, after the response.
pub fn after(app: &Arc<App>, deferred: &Deferred, account: AccountId, left_over: &str, units: u32) {
    if !reaches_a_mark(left_over, units) {
        return;
    }
    let app = Arc::clone(app);
    deferred.after_response(async move {
        if let Err(error) = tell(&app, account).await {
            log::failure("the notice of an allowance", &error);
        }
    });
}

async fn tell(app: &App, account: AccountId) -> Result<(), Error> {
    let (database, id) = (app.databases.of(account)?, random::identifier()?);
    if allowance_sql::mark(database, account, &id, clock::now()).await? {
        delivery::announce(app, account).await;
    }
    Ok(())
}

/// Whether at most 20 % are left and more than 15 % were before, or nothing is left. The 5 % between are for units that
/// others hold and may give back: the charge that reaches 80 % then isn't the one that left 20 %.
fn reaches_a_mark(left_over: &str, units: u32) -> bool {
    let of_account = left_over.rsplit('|').next().unwrap_or_default();
    let numbers: Vec<u64> = of_account.split(' ').map_while(|number| number.parse().ok()).collect();
    let [daily, left, _, 0] = numbers[..] else { return false };
    left == 0 || left * 5 <= daily && (left + u64::from(units)) * 20 > daily * 3
}

#[cfg(test)]
mod tests {
    use super::reaches_a_mark;

    #[test]
    fn the_marks_are_80_percent_and_all_of_the_account_s_daily_checks() {
        for (left_over, units, reaches) in [
            ("100 21 50 0", 1, false),
            ("100 20 50 0", 1, true),
            ("100 15 50 0", 1, true),
            ("100 14 50 0", 1, false),
            ("100 1 50 0", 1, false),
            ("100 0 50 0", 1, true),
            // While welcome checks are left, nothing is refused.
            ("100 20 50 1", 1, false),
            ("100 0 50 1", 1, false),
            // A list may pass both marks at once.
            ("100 5 50 0", 30, true),
            ("100 0 50 0", 30, true),
            // Small allowances.
            ("1 0 0 0", 1, true),
            ("3 1 0 0", 1, false),
            ("5 1 0 0", 1, true),
            ("0 0 50 0", 1, true),
            // A key's limit is before the bar.
            ("10 0 |100 60 50 0", 1, false),
            ("10 5 |100 20 50 0", 1, true),
            ("10 0 |", 1, false),
            ("", 1, false),
        ] {
            assert_eq!(reaches_a_mark(left_over, units), reaches, "{left_over:?} after {units}");
        }
    }
}
