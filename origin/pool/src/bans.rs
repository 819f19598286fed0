//! Machines of no known operator that have banned us after refused recipients. The number that a machine tolerates
//! isn't published: its ban is the only sign. For a week, batches stop at half as many refused recipients as preceded
//! the ban. Otherwise a machine that bans at the eleventh refusal would ban us again for each list.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{Key, giving_way::give_way, hash_key::ByKey, remembered::Clocks};

/// Time in which a ban counts once: until it ends, all further sessions are refused.
const BAN_DURATION: Duration = Duration::from_secs(3_600);
/// Lifetime of a ban's record. The lifetime is short because a busy server's words look like a ban's.
const RECORD_LIFETIME: Duration = Duration::from_secs(7 * 24 * 3_600);
/// Minimum number of refused recipients in ten minutes that can cause a ban: cPanel's rule against dictionary attacks
/// has four. With fewer, the ban has another cause.
const REFUSALS_TO_BAN_MIN: usize = 4;
/// Least number of refused recipients that batches may have after bans, a third of the usual number. A busy server
/// sounds like a server that bans: with a smaller number, one account's few dead recipients would hold up the lists of
/// all others.
const LIMIT_AFTER_BANS_MIN: usize = 5;
/// Maximum number of machines remembered; about 40 bytes each.
const MAX_MACHINES: usize = 10_000;
/// Maximum number of machines in the copy for the next process; about 20 bytes each.
const MAX_STORED: usize = 512;

#[derive(Clone, Copy)]
struct Ban {
    /// Number of refused recipients in ten minutes after which batches stay away.
    most: usize,
    at: Instant,
}

impl Ban {
    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) >= RECORD_LIFETIME
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BanMemory {
    machine: Key,
    most: u32,
    /// Unix time of the ban.
    at: u64,
}

#[derive(Default)]
pub(super) struct Bans(ByKey<Ban>);

impl Bans {
    /// Refused recipients in ten minutes that keep batches away from the machine; `None` if no ban by the machine is
    /// remembered.
    pub(super) fn most(&self, machine: Key, now: Instant) -> Option<usize> {
        self.find(machine, now).map(|ban| ban.most)
    }

    fn find(&self, machine: Key, now: Instant) -> Option<Ban> {
        self.0.get(&machine).copied().filter(|ban| !ban.is_over(now))
    }

    /// Fewer than [`REFUSALS_TO_BAN_MIN`] refusals can't cause a ban, and are ignored.
    pub(super) fn record(&mut self, machine: Key, refused: usize, now: Instant) {
        let last_ban = self.find(machine, now);
        let is_same =
            last_ban.is_some_and(|ban| now.saturating_duration_since(ban.at) < BAN_DURATION);
        if is_same || refused < REFUSALS_TO_BAN_MIN {
            return;
        }
        if self.0.len() >= MAX_MACHINES && !self.0.contains_key(&machine) {
            self.0.retain(|_, ban| !ban.is_over(now));
            if self.0.len() >= MAX_MACHINES {
                give_way(&mut self.0, |ban| (0, ban.at));
            }
        }
        let most = (refused / 2)
            .min(last_ban.map_or(usize::MAX, |ban| ban.most))
            .max(LIMIT_AFTER_BANS_MIN);
        self.0.insert(machine, Ban { most, at: now });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The last ban comes first.
    pub(super) fn to_memory(&self, clocks: Clocks) -> Vec<BanMemory> {
        let current = self.0.iter().filter(|(_, ban)| !ban.is_over(clocks.now));
        let stored = |(machine, ban): (&Key, &Ban)| BanMemory {
            machine: *machine,
            most: u32::try_from(ban.most).unwrap_or(u32::MAX),
            at: clocks.unix(ban.at),
        };
        let mut all: Vec<_> = current.map(stored).collect();
        all.sort_unstable_by_key(|ban| (std::cmp::Reverse(ban.at), ban.machine));
        all.truncate(MAX_STORED);
        all
    }

    pub(super) fn recall(&mut self, bans: &[BanMemory], clocks: Clocks) {
        for ban in bans {
            let most = usize::try_from(ban.most).unwrap_or(usize::MAX);
            self.0.insert(ban.machine, Ban { most, at: clocks.instant(ban.at) });
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, advance};

    use super::{
        BAN_DURATION, BanMemory, Bans, Clocks, Duration, MAX_MACHINES, MAX_STORED, RECORD_LIFETIME,
    };

    #[tokio::test(start_paused = true)]
    async fn a_ban_halves_the_number_once_and_is_remembered_for_a_week() {
        let mut bans = Bans::default();
        let mut banned = |machine, refused| {
            bans.record(machine, refused, Instant::now());
            [1, 2].map(|machine| bans.most(machine, Instant::now()))
        };
        assert_eq!(banned(1, 3), [None, None], "three are no dictionary");
        assert_eq!(banned(1, 15), [Some(7), None]);
        // The same ban refuses further sessions while fewer and fewer refusals are recent.
        for refused in [9, 4, 0, 0] {
            assert_eq!(banned(1, refused), [Some(7), None]);
            advance(BAN_DURATION / 4).await;
        }
        assert_eq!(banned(1, 0), [Some(7), None], "another cause");
        assert_eq!(banned(1, 30), [Some(7), None], "no ban allows more than before");
        advance(BAN_DURATION).await;
        assert_eq!(banned(1, 12), [Some(6), None], "seven were too many");
        advance(BAN_DURATION).await;
        assert_eq!(banned(1, 4), [Some(5), None], "perhaps it was busy");
        advance(RECORD_LIFETIME - Duration::from_secs(1)).await;
        assert_eq!(bans.most(1, Instant::now()), Some(5));
        advance(Duration::from_secs(1)).await;
        assert_eq!(bans.most(1, Instant::now()), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_number_of_machines_is_bounded_and_the_latest_go_to_the_next_process() {
        let mut bans = Bans::default();
        for machine in 0..3 * MAX_MACHINES as u64 {
            advance(Duration::from_secs(1)).await;
            bans.record(machine, 20, Instant::now());
            assert!(bans.len() <= MAX_MACHINES);
        }
        let last = 3 * MAX_MACHINES as u64 - 1;
        assert_eq!(bans.most(last, Instant::now()), Some(10));
        let clocks = |unix_now| Clocks { now: Instant::now(), unix_now };
        let stored = bans.to_memory(clocks(1_000_000));
        assert_eq!(stored.len(), MAX_STORED);
        assert_eq!(stored[0], BanMemory { machine: last, most: 10, at: 1_000_000 });
        let mut next = Bans::default();
        next.recall(&stored, clocks(1_000_060));
        assert_eq!(next.most(last, Instant::now()), Some(10));
        assert_eq!(next.len(), MAX_STORED);
    }
}
