//! Compares the database and the quota report with the model after every step.

use anyhow::{Context as _, Result, ensure};
use rcpt_tests::{people::EmailChecks, service::clock};
use serde::Deserialize;

use super::run::{Player, answer};

const UNLIMITED: i64 = 2_147_483_647;

/// The account's charges, leases and limits in the database.
#[derive(Debug, Clone, Deserialize)]
pub struct Ledger {
    day: i64,
    daily_charged: u64,
    previous_day: i64,
    previous_charged: u64,
    welcome_left: u64,
    daily_checks: u64,
    unlimited: u8,
    leases: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct LeaseRow(i64, u64, u64, u8);

impl Ledger {
    fn leases(&self) -> Result<Vec<LeaseRow>> {
        let mut leases: Vec<LeaseRow> = serde_json::from_str(&self.leases)?;
        leases.sort();
        Ok(leases)
    }

    fn charged_on(&self, day: i64) -> u64 {
        match day {
            day if day == self.day => self.daily_charged,
            day if day == self.previous_day => self.previous_charged,
            _ => 0,
        }
    }

    fn used(&self, today: i64) -> Result<u64> {
        let live = |lease: &&LeaseRow| lease.0 == today && lease.3 == 1;
        let leases = self.leases()?;
        Ok(self.charged_on(today) + leases.iter().filter(live).map(|lease| lease.1).sum::<u64>())
    }

    fn welcome_leased(&self) -> Result<u64> {
        let live = |lease: &&LeaseRow| lease.3 == 1;
        Ok(self.leases()?.iter().filter(live).map(|lease| lease.2).sum())
    }
}

impl Player<'_> {
    /// Checks the invariants of docs/security.md, Q2, in the database and in the report.
    pub async fn compare(&mut self, before: Ledger) -> Result<Ledger> {
        let ledger = self.ledger().await?;
        let day_of = |offset: i64| self.first_day + offset;
        let (today, model) = (day_of(self.model.today), &self.model);

        // 1: the allowance is never exceeded, except by usage from before a downgrade.
        let (used, welcome) = (ledger.used(today)?, ledger.welcome_leased()?);
        let allowed = if ledger.unlimited == 1 { u64::MAX } else { ledger.daily_checks };
        // After a midnight, the day in `before` is the previous day.
        let bound = allowed.max(before.used(today)?);
        ensure!(used <= bound && welcome <= ledger.welcome_left, "(1) {ledger:?}");

        // 2: a lease ends once: the database contains exactly the leases that haven't ended.
        let of_model = model.leases.iter().map(|lease| {
            LeaseRow(day_of(lease.day), lease.daily, lease.welcome, lease.is_live.into())
        });
        let mut expected: Vec<_> = of_model.collect();
        expected.sort();
        let leases = ledger.leases()?;
        ensure!(leases == expected, "(2) {leases:?} instead of {expected:?}");

        // 3 and 5: each chargeable response was charged once, on its own day; nothing else was charged.
        for (day, charged) in
            [(ledger.day, ledger.daily_charged), (ledger.previous_day, ledger.previous_charged)]
        {
            if day >= day_of(0) {
                self.highest_charges.insert(day - self.first_day, charged);
            }
        }
        let charged =
            self.highest_charges.values().sum::<u64>() + self.granted - ledger.welcome_left;
        let counted = self.counted;
        ensure!(charged == counted, "(3, 5) {charged} charged for {counted}: {ledger:?}");
        for (day, charged) in
            [-1, 0].map(|back| (model.today + back, model.charged_on(model.today + back)))
        {
            let stored = ledger.charged_on(day_of(day));
            ensure!(stored == charged, "(3) {stored} instead of {charged} on day {day}");
        }
        ensure!(ledger.welcome_left == model.welcome_left, "(3) {ledger:?} for {model:?}");

        // 4: the report equals the sum of the ledger.
        let report = self.report().await?;
        let of_plan = i64::try_from(ledger.daily_checks)?;
        let allowance = if ledger.unlimited == 1 { UNLIMITED } else { of_plan };
        let used_today = i64::try_from(used)?;
        let sum = EmailChecks {
            daily_allowance: allowance,
            used_today,
            left_today: (allowance - used_today).max(0),
            welcome_left: i64::try_from(ledger.welcome_left - welcome)?,
        };
        ensure!(report == sum, "(4) {report:?} instead of {sum:?}");
        self.compare_key().await?;
        Ok(ledger)
    }

    pub async fn ledger(&self) -> Result<Ledger> {
        let sql = "SELECT day, daily_charged, previous_day, previous_charged, welcome_left,
                     daily_checks, unlimited,
                     (SELECT json_group_array(json_array(l.day, l.n_daily, l.n_welcome, l.expires_at > ?))
                      FROM leases l WHERE l.account_id = accounts.id) AS leases
                   FROM accounts JOIN plans ON plans.name = accounts.plan WHERE accounts.id = ?";
        let rows =
            self.world.edge.sql_of(self.id(), sql, &[clock::now().into(), self.id_value()]).await;
        let row = rows.into_iter().next().context("no account")?;
        Ok(serde_json::from_value(row)?)
    }

    async fn report(&self) -> Result<EmailChecks> {
        let url = format!("{}/v1/me/quota", self.world.edge.direct);
        let request = self.world.client.get(url).header("x-api-key", &self.account.api_key);
        let (status, mut body) = answer(request).await?;
        ensure!(status == 200, "the report: {status} {body}");
        Ok(serde_json::from_value(body["email_checks"].take())?)
    }
}
