//! The UTC day in which allowances are counted, and the report of them. The rules are in `ledger/charge.rs`: only the
//! database can enforce them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use utoipa::ToSchema;

const SECONDS_PER_DAY: u64 = 24 * 60 * 60;

pub const UNLIMITED: i64 = 2_147_483_647;

/// A UTC day, counted from 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(u64);

impl Day {
    pub const fn of(now: u64) -> Self {
        Self(now / SECONDS_PER_DAY)
    }

    pub const fn number(self) -> u64 {
        self.0
    }

    pub fn resets_at(self) -> DateTime<Utc> {
        date_time(self.0.saturating_add(1).saturating_mul(SECONDS_PER_DAY))
    }
}

pub fn date_time(seconds: u64) -> DateTime<Utc> {
    let time = i64::try_from(seconds).ok().and_then(|s| DateTime::from_timestamp(s, 0));
    time.unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// A time read from RFC 3339. Chrono's own reader takes other forms too, with 10 KB of code.
#[derive(Debug, Clone, Copy)]
pub struct GivenTime(pub DateTime<Utc>);

impl<'de> Deserialize<'de> for GivenTime {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let time = DateTime::parse_from_rfc3339(&String::deserialize(from)?);
        time.map(|time| Self(time.into())).map_err(D::Error::custom)
    }
}

/// Whole seconds from `now` (Unix seconds) to the reset; at least 1.
pub const fn seconds_to_reset(now: u64) -> u64 {
    SECONDS_PER_DAY - now % SECONDS_PER_DAY
}

/// An account's allowances today as stored, leases included.
#[derive(Debug, Clone, Deserialize)]
pub struct QuotaUsage {
    pub plan: String,
    pub unlimited: u8,
    pub daily_checks: i64,
    pub daily_scans: i64,
    /// Daily checks charged today plus live leases on today's allowance.
    pub checks_used: i64,
    /// Remaining welcome checks, minus live leases on them.
    pub welcome_left: i64,
    pub welcome_checks: i64,
    pub scan_credits: i64,
    pub scans_used: i64,
    pub scan_size: i64,
    pub total_scans: i64,
    pub completed_scans: i64,
}

/// The plan and the remaining allowances.
#[derive(Debug, Serialize, ToSchema)]
pub struct QuotaReport {
    /// Name of the plan.
    pub plan: String,
    pub unlimited: bool,
    /// 00:00 UTC of the next day, when the allowances reset.
    pub resets_at: DateTime<Utc>,
    pub scans: ScanAllowance,
    pub email_checks: EmailCheckAllowance,
    pub total_scans: i64,
    pub completed_scans: i64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ScanAllowance {
    pub daily_allowance: i64,
    pub used_today: i64,
    pub left_today: i64,
    /// Scan credits, which extend the allowance.
    pub credits: i64,
    /// Largest number of addresses in one scan.
    pub scan_size: i64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct EmailCheckAllowance {
    pub daily_allowance: i64,
    pub used_today: i64,
    pub left_today: i64,
    /// Remaining welcome checks, which are used after the daily allowance.
    pub welcome_left: i64,
}

impl QuotaReport {
    pub fn new(usage: QuotaUsage, today: Day) -> Self {
        let unlimited = usage.unlimited != 0;
        let allowance = |of_plan: i64| if unlimited { UNLIMITED } else { of_plan };
        let daily_checks = allowance(usage.daily_checks);
        let daily_scans = allowance(usage.daily_scans);
        Self {
            plan: usage.plan,
            unlimited,
            resets_at: today.resets_at(),
            scans: ScanAllowance {
                daily_allowance: daily_scans,
                used_today: usage.scans_used,
                left_today: daily_scans.saturating_sub(usage.scans_used).max(0),
                credits: usage.scan_credits,
                scan_size: usage.scan_size,
            },
            email_checks: EmailCheckAllowance {
                daily_allowance: daily_checks,
                used_today: usage.checks_used,
                // After a downgrade during the day, usage may exceed the allowance: nothing is
                // left, but never a negative number.
                left_today: daily_checks.saturating_sub(usage.checks_used).max(0),
                welcome_left: usage.welcome_left.max(0),
            },
            total_scans: usage.total_scans,
            completed_scans: usage.completed_scans,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Day, QuotaReport, QuotaUsage, UNLIMITED, seconds_to_reset};

    /// 2026-11-20T23:59:59Z.
    const LAST_SECOND: u64 = 1_795_219_199;

    #[test]
    fn the_day_ends_at_midnight_utc() {
        let reset = |now| Day::of(now).resets_at().to_rfc3339();
        assert_eq!(reset(LAST_SECOND), "2026-11-21T00:00:00+00:00");
        assert_eq!(reset(LAST_SECOND + 1), "2026-11-22T00:00:00+00:00");
        assert_eq!(
            [LAST_SECOND, LAST_SECOND + 1].map(|now| Day::of(now).number()),
            [20_777, 20_778]
        );
        assert_eq!(seconds_to_reset(LAST_SECOND), 1);
        assert_eq!(seconds_to_reset(LAST_SECOND + 1), 86_400);
    }

    fn usage() -> QuotaUsage {
        QuotaUsage {
            plan: "free".into(),
            unlimited: 0,
            daily_checks: 100,
            daily_scans: 1,
            checks_used: 30,
            welcome_left: 50,
            welcome_checks: 50,
            scan_credits: 2,
            scans_used: 1,
            scan_size: 200,
            total_scans: 5,
            completed_scans: 4,
        }
    }

    #[test]
    fn the_report_adds_up() {
        let report = QuotaReport::new(usage(), Day::of(LAST_SECOND));
        assert_eq!(
            serde_json::to_value(report).unwrap(),
            serde_json::json!({
                "plan": "free", "unlimited": false, "resets_at": "2026-11-21T00:00:00Z",
                "scans": {"daily_allowance": 1, "used_today": 1, "left_today": 0, "credits": 2,
                    "scan_size": 200},
                "email_checks":
                    {"daily_allowance": 100, "used_today": 30, "left_today": 70, "welcome_left": 50},
                "total_scans": 5, "completed_scans": 4,
            })
        );
    }

    #[test]
    fn an_overdrawn_allowance_has_nothing_left_and_an_unlimited_one_enough() {
        let overdrawn = QuotaUsage { daily_checks: 20, ..usage() };
        assert_eq!(QuotaReport::new(overdrawn, Day::of(0)).email_checks.left_today, 0);
        let unlimited = QuotaReport::new(QuotaUsage { unlimited: 1, ..usage() }, Day::of(0));
        assert!(unlimited.unlimited);
        assert_eq!(unlimited.email_checks.daily_allowance, UNLIMITED);
        assert_eq!(unlimited.email_checks.left_today, UNLIMITED - 30);
    }
}
