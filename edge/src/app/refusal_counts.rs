//! The guard's rejections that an isolate hasn't written yet: when it ends, at most the counts of ten seconds are lost.

use crate::{
    account::AccountId,
    isolate::{FOREVER, Map},
    limits::quota::Day,
};

const PAUSE_MS: u64 = 10_000;
const ACCOUNTS_MAX: usize = 10_000;

type Counts = Vec<(Day, &'static str, u64)>;

/// The unwritten counts of accounts that have rejected somebody within the last ten seconds, each with the time of the
/// last planned write in milliseconds of the Worker's clock.
#[derive(Debug)]
pub struct RefusalCounts(Map<AccountId, (Counts, u64)>);

impl Default for RefusalCounts {
    fn default() -> Self {
        Self(Map::new(ACCOUNTS_MAX))
    }
}

impl RefusalCounts {
    /// Counts a rejection. Returns the milliseconds after which the caller writes the account's counts; `None` if an
    /// earlier caller is going to.
    pub fn add(
        &self,
        account: AccountId,
        day: Day,
        reason: &'static str,
        now_ms: u64,
    ) -> Option<u64> {
        self.0.update(account, now_ms, |slot| {
            let ((counts, written_at), until) = slot.get_or_insert_default();
            *until = FOREVER;
            match counts.iter_mut().find(|(on, why, _)| (*on, *why) == (day, reason)) {
                Some((.., count)) => *count += 1,
                None => counts.push((day, reason, 1)),
            }
            if now_ms < *written_at {
                return None;
            }
            *written_at = now_ms.max(written_at.saturating_add(PAUSE_MS));
            Some(*written_at - now_ms)
        })
    }

    pub fn take(&self, account: AccountId) -> Counts {
        self.0.update(account, 0, |slot| {
            let Some(((counts, written_at), until)) = slot else { return Counts::new() };
            *until = written_at.saturating_add(PAUSE_MS);
            std::mem::take(counts)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{PAUSE_MS, RefusalCounts};
    use crate::{account::AccountId, limits::quota::Day};

    const START: u64 = 1_795_219_200_000;

    fn account(id: u64) -> AccountId {
        AccountId::from_u64(id)
    }

    #[test]
    fn the_first_is_written_at_once_and_the_next_ones_together_ten_seconds_later() {
        let counts = RefusalCounts::default();
        let day = Day::of(START / 1_000);
        let add = |id, reason, now| counts.add(account(id), day, reason, now);
        assert_eq!(add(1, "invalid", START), Some(0));
        assert_eq!(counts.take(account(1)), [(day, "invalid", 1)]);
        assert_eq!(add(1, "invalid", START + 4_000), Some(PAUSE_MS - 4_000));
        assert_eq!(add(1, "relay", START + 5_000), None);
        assert_eq!(add(1, "invalid", START + 6_000), None);
        assert_eq!(add(2, "invalid", START + 6_000), Some(0), "another account");
        assert_eq!(counts.take(account(1)), [(day, "invalid", 2), (day, "relay", 1)]);
        assert_eq!(counts.take(account(1)), []);
    }

    #[test]
    fn a_write_that_never_came_is_made_up_for_by_the_next_rejection() {
        let counts = RefusalCounts::default();
        let day = Day::of(START / 1_000);
        assert_eq!(counts.add(account(1), day, "role", START), Some(0));
        assert_eq!(counts.add(account(1), day, "role", START), Some(PAUSE_MS));
        assert_eq!(counts.add(account(1), day, "role", START + PAUSE_MS), Some(PAUSE_MS));
        assert_eq!(counts.add(account(1), day, "role", START + 9 * PAUSE_MS), Some(0));
        assert_eq!(counts.take(account(1)), [(day, "role", 4)]);
    }
}
