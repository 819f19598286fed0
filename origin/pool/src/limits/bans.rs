//! Machines of no known operator that have banned us after refused recipients. The number that a machine tolerates
//! isn't published: its ban is the only sign. For a week, or until a restart, lists stop at half as many refused
//! recipients as preceded the ban. Otherwise a machine that bans at the eleventh refusal would ban us for each list.

use std::time::Duration;

use tokio::time::Instant;

use crate::{bounded::Bounded, keys::Key};

/// Time in which a ban counts once: until it ends, all further sessions are refused.
const BAN_DURATION: Duration = Duration::from_secs(3_600);
const RECORD_LIFETIME: Duration = Duration::from_secs(7 * 24 * 3_600);
/// Minimum number of refused recipients in ten minutes that can cause a ban: cPanel's rule against dictionary attacks
/// has four. With fewer, the ban has another cause.
const REFUSALS_TO_BAN_MIN: usize = 4;
/// Least number of refused recipients that lists may have after bans: a machine may ban at five. A busy server
/// sounds like a server that bans: with a smaller number, one account's few dead recipients would hold up the lists of
/// all others.
const LIMIT_AFTER_BANS_MIN: usize = 3;
const MAX_MACHINES: usize = 10_000;

#[derive(Clone, Copy)]
struct Ban {
    /// Number of refused recipients in ten minutes after which lists stay away.
    most: usize,
    at: Instant,
}

pub(crate) struct Bans(Bounded<Key, Ban>);

impl Default for Bans {
    fn default() -> Self {
        Self(Bounded::new(MAX_MACHINES))
    }
}

impl Bans {
    /// `None` if no ban by the machine is remembered.
    pub(crate) fn most(&self, machine: Key, now: Instant) -> Option<usize> {
        self.0.get(machine, now).map(|ban| ban.most)
    }

    /// `refused` recipients that somebody asked for preceded the ban: the service's own control recipients don't count.
    pub(crate) fn hear(&mut self, machine: Key, refused: usize, now: Instant) {
        let last = self.0.get(machine, now).copied();
        let is_same = last.is_some_and(|ban| now.saturating_duration_since(ban.at) < BAN_DURATION);
        if is_same || refused < REFUSALS_TO_BAN_MIN {
            return;
        }
        let most =
            (refused / 2).min(last.map_or(usize::MAX, |ban| ban.most)).max(LIMIT_AFTER_BANS_MIN);
        let ban = Ban { most, at: now };
        *self.0.entry(machine, (0, RECORD_LIFETIME), now, || ban) = ban;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, advance};

    use super::{BAN_DURATION, Bans, Duration, MAX_MACHINES, RECORD_LIFETIME};

    #[tokio::test(start_paused = true)]
    async fn a_ban_halves_the_number_once_and_is_remembered_for_a_week() {
        let mut bans = Bans::default();
        let mut banned = |machine, refused| {
            bans.hear(machine, refused, Instant::now());
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
        assert_eq!(banned(1, 4), [Some(3), None], "perhaps it was busy");
        advance(RECORD_LIFETIME - Duration::from_secs(1)).await;
        assert_eq!(bans.most(1, Instant::now()), Some(3));
        advance(Duration::from_secs(1)).await;
        assert_eq!(bans.most(1, Instant::now()), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_number_of_machines_is_bounded_and_the_oldest_bans_give_way() {
        let mut bans = Bans::default();
        for machine in 0..3 * MAX_MACHINES as u64 {
            advance(Duration::from_secs(1)).await;
            bans.hear(machine, 20, Instant::now());
            assert!(bans.len() <= MAX_MACHINES);
            let kept = machine.min(MAX_MACHINES as u64 / 2);
            assert!(bans.len() as u64 > kept, "at least half are kept");
            assert_eq!(bans.most(machine - kept, Instant::now()), Some(10), "the latest");
        }
        let last = 3 * MAX_MACHINES as u64 - 1;
        assert_eq!(bans.most(last, Instant::now()), Some(10));
    }
}
