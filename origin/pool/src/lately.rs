//! Recipients refused in the last ten minutes by a machine of no known operator. A shared host often serves hundreds of
//! domains, and bans a client for an hour after 20 refusals in ten minutes.
//!
//! The number allowed depends on [`History`]: guessing accounts may use half of it, too few for a ban of our address.
//! Batches may use the whole number. Single checks of an account with a good history may cause a few more, which nobody
//! else can use up.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

use super::{Class, Key, histories::History, want::Want};

const WINDOW: Duration = Duration::from_secs(600);
/// Additional refusals for single checks of an account without history, so that lists don't keep
/// newcomers out.
const NEWCOMER_EXTRA: usize = 1;
/// Additional refusals for single checks of an account with a good history. The number also allows for a newcomer's
/// refusal and two refusals in flight, so a ban doesn't reduce it.
const GOOD_EXTRA: usize = 3;

/// Control recipients in ten minutes by lists, and by lists and single checks together: many machines ban at ten refused
/// recipients, some at five, and each control recipient is likely to be one.
const INVENTED_BY_LISTS: usize = 4;
const INVENTED_BY_ALL: usize = 8;

/// Refused recipients of the last ten minutes.
pub(super) struct Lately {
    /// Number after which batches stay away; `usize::MAX` for no limit.
    most: usize,
    /// Number that replaces `most` if the machine has banned us.
    most_since_ban: Option<usize>,
    /// Time of each refusal and the group that caused it, oldest first. Control recipients have no
    /// group.
    refused: VecDeque<(Instant, Option<Key>)>,
    /// Times at which control recipients were asked about, oldest first: their refusal is likely, and may still come.
    invented: VecDeque<Instant>,
}

impl Lately {
    pub(super) const fn new(most: usize) -> Self {
        Self { most, most_since_ban: None, refused: VecDeque::new(), invented: VecDeque::new() }
    }

    pub(super) const fn set_most(&mut self, most: usize) {
        self.most = most;
    }

    /// `None` if the machine hasn't banned us.
    pub(super) const fn set_most_since_ban(&mut self, most: Option<usize>) {
        self.most_since_ban = most;
    }

    fn most(&self) -> usize {
        self.most_since_ban.map_or(self.most, |most| most.min(self.most))
    }

    pub(super) fn total(&self, now: Instant) -> usize {
        self.refused.iter().rev().take_while(|(at, _)| !is_over(*at, now)).count()
    }

    pub(super) fn count(&mut self, group: Option<Key>, now: Instant) {
        if self.most == usize::MAX {
            return;
        }
        while self.refused.front().is_some_and(|(at, _)| is_over(*at, now)) {
            self.refused.pop_front();
        }
        // Older refusals beyond the greatest limit make no difference.
        if self.refused.len() > self.most.saturating_add(GOOD_EXTRA) {
            self.refused.pop_front();
        }
        self.refused.push_back((now, group));
    }

    pub(super) fn must_wait(&self, want: &Want, now: Instant) -> Option<Duration> {
        if self.refused.is_empty() || self.most == usize::MAX {
            return None;
        }
        let most = self.most();
        let (of_all, of_group) = match (want.history, want.class) {
            (History::Guessing, _) => (self.half(), self.half()),
            (_, Class::Batch) => (most, most),
            (History::Unknown, Class::Interactive) => {
                (most.saturating_add(NEWCOMER_EXTRA), want.share_of(most))
            }
            (History::Good, Class::Interactive) => (most.saturating_add(GOOD_EXTRA), most),
        };
        let group = want.party.group;
        let all = self.wait(of_all, |_| true, now);
        all.max(self.wait(of_group, |other| other == Some(group), now))
    }

    /// No control recipient is asked about while as many recipients are refused.
    pub(super) fn spares_one(&self, class: Class, now: Instant) -> bool {
        let most = match class {
            Class::Batch => INVENTED_BY_LISTS.min(self.half()),
            Class::Interactive => INVENTED_BY_ALL.min(self.most()),
        };
        let invented = self.invented.iter().filter(|at| !is_over(**at, now)).count();
        self.most == usize::MAX || (invented < most && self.total(now) < most)
    }

    pub(super) fn count_invented(&mut self, now: Instant) {
        self.invented.retain(|at| !is_over(*at, now));
        if self.most < usize::MAX {
            self.invented.push_back(now);
        }
    }

    fn half(&self) -> usize {
        self.most().div_ceil(2)
    }

    /// The time until fewer than `most` relevant refusals are left; `None` if fewer are left already.
    fn wait(
        &self,
        most: usize,
        counts: impl Fn(Option<Key>) -> bool,
        now: Instant,
    ) -> Option<Duration> {
        let newest_first = self.refused.iter().rev().filter(|(_, group)| counts(*group));
        let (at, _) = newest_first.take(most.max(1)).nth(most.max(1) - 1)?;
        (!is_over(*at, now)).then(|| WINDOW.saturating_sub(now.saturating_duration_since(*at)))
    }
}

fn is_over(at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(at) >= WINDOW
}
