//! The time in Unix seconds, and the UTC day at whose end the allowances reset (docs/api.md, Allowances).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat};
use tokio::time::sleep;

const DAY_S: u64 = 24 * 60 * 60;
/// Seconds reserved before midnight: longer than any test that must begin and end on the same day.
const MARGIN_S: u64 = 60;

/// The Unix time in seconds.
#[expect(
    clippy::disallowed_methods,
    reason = "native only, and the one place of the harness that reads the clock"
)]
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Returns the current day, counted from 1970-01-01, and waits first if the day ends within a minute.
pub async fn today() -> u64 {
    let seconds_left = seconds_to_reset();
    if seconds_left <= MARGIN_S {
        sleep(Duration::from_secs(seconds_left + 1)).await;
    }
    now() / DAY_S
}

/// The whole seconds to the next 00:00 UTC.
pub fn seconds_to_reset() -> u64 {
    DAY_S - now() % DAY_S
}

/// Formats 00:00 UTC after `day` as in responses: `2026-11-21T00:00:00Z`.
pub fn resets_at(day: u64) -> String {
    let seconds = i64::try_from((day + 1) * DAY_S).expect("a near day");
    let time = DateTime::from_timestamp(seconds, 0).expect("a near day");
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

#[cfg(test)]
mod tests {
    use super::resets_at;

    #[test]
    fn a_day_ends_where_the_next_begins() {
        assert_eq!(resets_at(0), "1970-01-02T00:00:00Z");
        assert_eq!(resets_at(20_777), "2026-11-21T00:00:00Z");
    }
}
