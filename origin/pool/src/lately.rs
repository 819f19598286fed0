//! Recipients that a machine of no known operator has refused in the last ten minutes. Such machines are often hosts of
//! hundreds of domains, which ban a client for an hour after 20 in ten minutes.
//!
//! The room is given out by [`History`]: an account that guesses stops at half of the number, like control recipients.
//! So it never gets our address banned, and the other half is left to lists and forms. Batches stop at the number. A
//! single check of an account with a good history has a few more, which nobody else can use up.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

use super::{Class, Key, histories::History, want::Want};

const SPAN: Duration = Duration::from_secs(600);
/// A single check of an account with no history has this many more than batches, so that a list keeps out no newcomer.
const NEWCOMER_EXTRA: usize = 1;
/// A single check of an account with a good history has this many more than batches. Two more may be under way.
const GOOD_EXTRA: usize = 3;

/// Refused recipients of the last ten minutes.
pub(super) struct Lately {
    /// Number after which batches stay away; `usize::MAX`: nobody stays away.
    most: usize,
    /// Time of each, and the group that asked about it; oldest first. No group asks about control recipients.
    refused: VecDeque<(Instant, Option<Key>)>,
}

impl Lately {
    pub(super) const fn new(most: usize) -> Self {
        Self { most, refused: VecDeque::new() }
    }

    pub(super) const fn set_most(&mut self, most: usize) {
        self.most = most;
    }

    pub(super) fn count(&mut self, group: Option<Key>, now: Instant) {
        if self.most == usize::MAX {
            return;
        }
        while self.refused.front().is_some_and(|(at, _)| is_over(*at, now)) {
            self.refused.pop_front();
        }
        // Beyond what anybody may have an older one makes no difference.
        if self.refused.len() > self.most.saturating_add(GOOD_EXTRA) {
            self.refused.pop_front();
        }
        self.refused.push_back((now, group));
    }

    /// Returns how long the party must wait before it asks again, if it must.
    pub(super) fn must_wait(&self, want: &Want, now: Instant) -> Option<Duration> {
        if self.refused.is_empty() || self.most == usize::MAX {
            return None;
        }
        let (of_all, of_group) = match (want.history, want.class) {
            (History::Guessing, _) => (self.half(), self.half()),
            (_, Class::Batch) => (self.most, self.most),
            (History::Unknown, Class::Interactive) => {
                (self.most.saturating_add(NEWCOMER_EXTRA), want.share_of(self.most))
            }
            (History::Good, Class::Interactive) => {
                (self.most.saturating_add(GOOD_EXTRA), self.most)
            }
        };
        let group = want.party.group;
        let all = self.wait(of_all, |_| true, now);
        all.max(self.wait(of_group, |other| other == Some(group), now))
    }

    /// Returns whether a recipient may be asked about that is refused most probably and nobody waits for.
    pub(super) fn spares_one(&self, now: Instant) -> bool {
        self.most == usize::MAX || self.wait(self.half(), |_| true, now).is_none()
    }

    const fn half(&self) -> usize {
        self.most.div_ceil(2)
    }

    /// Returns the time until fewer than `most` are left of those that count, if there are more.
    fn wait(
        &self,
        most: usize,
        counts: impl Fn(Option<Key>) -> bool,
        now: Instant,
    ) -> Option<Duration> {
        let newest_first = self.refused.iter().rev().filter(|(_, group)| counts(*group));
        let (at, _) = newest_first.take(most.max(1)).nth(most.max(1) - 1)?;
        (!is_over(*at, now)).then(|| SPAN.saturating_sub(now.saturating_duration_since(*at)))
    }
}

fn is_over(at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(at) >= SPAN
}
