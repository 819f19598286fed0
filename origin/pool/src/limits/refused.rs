//! Refused recipients of an hour, and at a machine of no known operator also of ten minutes: without limits, a list of
//! dead addresses would look like a directory harvest. A shared host often serves hundreds of domains, and bans a
//! client for an hour after 20 refusals in ten minutes.
//!
//! Both limits are shared by the one rule ([`crate::share`]), for all askers. In ten minutes, guessing accounts may use
//! half, too few for a ban of our address. A group's first of a list and first two of single checks may go a little
//! beyond the number: what others had refused mustn't keep its existing recipients away, and honest accounts have a dead
//! address now and then. A ban lowers the number for lists and guessing accounts alone.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

use crate::{
    bounded::Bounded,
    question::{Class, Key, Party, Past},
    share::Shared,
};

/// Refused recipients in ten minutes that a group may have whatever its share is, and beyond the number. With one for
/// single checks, a quarter of eight honest accounts' checks were shut out; with three, two accounts close a machine,
/// and with two for lists, three lists do. Single checks of a group that is alone have half of the number.
const OWN: usize = 2;
const OWN_OF_LISTS: usize = 1;
/// A group's own recipients may be asked about until so many more than the number are refused: with a good past, and
/// without one. Three leave room for a newcomer's refusal and for two in flight.
const GOOD_EXTRA: usize = 3;
const NEWCOMER_EXTRA: usize = 1;
/// Control recipients in ten minutes by lists, and as many by single checks: many machines ban at ten refused
/// recipients, some at five, and each control recipient is likely to be one. With eight by single checks alone, the
/// second dead address of any newcomer closed the machine to all.
const INVENTED_MAX: usize = 4;
/// Refused recipients, of which control recipients are a part, after which single checks have no control recipient:
/// with eight, a newcomer's dead address closed the machine.
const INVENTED_UNTIL: usize = 7;
/// The part of ten minutes' number that one group's lists may have, if its usual share isn't greater. Lists are mostly
/// alone at a machine, and with half of eight they would take twice as long as with all; a quarter is enough to go on
/// for other lists, whose existing recipients don't count.
const LISTS_SHARE: f64 = 0.75;
const WINDOW: Duration = Duration::from_secs(600);
const HOUR: Duration = Duration::from_secs(3_600);
/// The hour is counted in slices.
const SLICE: Duration = Duration::from_secs(300);
const SLICES: u32 = 12;
/// Number of the first slice: no slice of the hour before it has a number below zero.
const FIRST_SLICE: u64 = SLICES as u64;
const MAX_PARTIES: usize = 20_000;
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

#[derive(Debug, Clone, Copy)]
pub(crate) struct Asking {
    pub party: Party,
    pub past: Past,
    pub class: Class,
    pub share: Option<f64>,
}

pub(crate) struct RefusedPerHour {
    most: usize,
    began: Option<Instant>,
    total: Hour,
    parties: Bounded<Key, Hour>,
}

impl RefusedPerHour {
    pub(crate) fn new(most: usize) -> Self {
        let parties = Bounded::new(MAX_PARTIES);
        Self { most, began: None, total: Hour::default(), parties }
    }

    pub(crate) const fn set_most(&mut self, most: usize) {
        self.most = most;
    }

    pub(crate) const fn most(&self) -> usize {
        self.most
    }

    fn slice(&self, now: Instant) -> u64 {
        let age = self.began.map_or(Duration::ZERO, |began| now.saturating_duration_since(began));
        FIRST_SLICE + age.as_secs() / SLICE.as_secs()
    }

    /// `None` if it may be asked. Lists stop at the number; of single checks, each group may have a first one beyond
    /// it.
    pub(crate) fn may_ask(&self, asking: Asking, now: Instant) -> Option<Instant> {
        let began = self.began?;
        let slice = self.slice(now);
        let total = self.total.sum(slice);
        let of = Shared::of(self.most, total, asking.share);
        let has = |key| self.parties.get(key, now).map_or(0, |hour| hour.sum(slice));
        let is_list_beyond = asking.class == Class::Batch && total >= self.most;
        if !is_list_beyond && asking.party.may_have_one_more(of, has) {
            return None;
        }
        let slices = self.total.lightens(slice).saturating_sub(FIRST_SLICE);
        Some(began + SLICE.saturating_mul(u32::try_from(slices).ok()?))
    }

    /// Control recipients have no party.
    pub(crate) fn take(&mut self, party: Option<Party>, now: Instant) {
        self.began.get_or_insert(now);
        let slice = self.slice(now);
        self.total.count(slice);
        let Some(Party { group, account, .. }) = party else { return };
        for key in [Some(group), Some(account).filter(|key| *key != group)].into_iter().flatten() {
            self.parties.entry(key, (group, HOUR + SLICE), now, Hour::default).count(slice);
        }
    }

    /// A control recipient may be checked only while less than half of the hour's number is used, because its refusal
    /// is likely.
    pub(crate) fn spares_one(&self, now: Instant) -> bool {
        self.total(now) < self.most.div_ceil(2)
    }

    pub(crate) fn total(&self, now: Instant) -> usize {
        self.total.sum(self.slice(now))
    }

    pub(crate) fn parties(&self) -> usize {
        self.parties.len()
    }

    pub(crate) fn forget(&mut self, now: Instant) {
        self.parties.forget(now);
    }
}

pub(crate) struct RefusedLately {
    /// Number after which lists stay away; `usize::MAX` for no limit.
    most: usize,
    /// Number that replaces `most` for lists and guessing accounts if the machine has banned us.
    pub most_since_ban: Option<usize>,
    /// Each refusal and the group and account that caused it, oldest first. Control recipients have neither.
    refused: VecDeque<(Instant, Option<(Key, Key)>)>,
    /// Times at which control recipients were asked about, oldest first: their refusal is likely, and may still come.
    invented: VecDeque<(Instant, Class)>,
}

impl RefusedLately {
    pub(crate) const fn new(most: usize) -> Self {
        Self { most, most_since_ban: None, refused: VecDeque::new(), invented: VecDeque::new() }
    }

    pub(crate) const fn set_most(&mut self, most: usize) {
        self.most = most;
    }

    fn most_of_lists(&self) -> usize {
        self.most_since_ban.map_or(self.most, |most| most.min(self.most))
    }

    fn half(&self) -> usize {
        self.most_of_lists().div_ceil(2)
    }

    fn lately(&self, now: Instant) -> impl Iterator<Item = &(Instant, Option<(Key, Key)>)> {
        self.refused.iter().filter(move |(at, _)| now.saturating_duration_since(*at) < WINDOW)
    }

    pub(crate) fn asked_for(&self, now: Instant) -> usize {
        self.lately(now).filter(|(_, by)| by.is_some()).count()
    }

    pub(crate) fn take(&mut self, party: Option<Party>, now: Instant) {
        if self.most == usize::MAX {
            return;
        }
        // Older refusals beyond the greatest limit make no difference.
        if self.refused.len() > self.most.saturating_add(GOOD_EXTRA) {
            self.refused.pop_front();
        }
        self.refused.push_back((now, party.map(|party| (party.group, party.account))));
    }

    pub(crate) fn take_back(&mut self, party: Party) {
        let own = Some((party.group, party.account));
        if let Some(last) = self.refused.iter().rposition(|(_, by)| *by == own) {
            self.refused.remove(last);
        }
    }

    pub(crate) fn may_ask(&self, asking: Asking, now: Instant) -> Option<Instant> {
        if self.refused.is_empty() || self.most == usize::MAX {
            return None;
        }
        let refused: Vec<_> = self.lately(now).copied().collect();
        let fits = |gone: &usize| {
            let left = refused.get(*gone..).unwrap_or_default();
            self.fits(asking, || left.iter().filter_map(|(_, by)| *by), left.len())
        };
        let gone = (0..refused.len()).find(fits).unwrap_or(refused.len());
        let (last, _) = refused.get(gone.checked_sub(1)?)?;
        Some(*last + WINDOW)
    }

    /// True if the check may be asked even if all that is `under_way` is refused.
    pub(crate) fn may_ask_beside<I: Iterator<Item = Party>>(
        &self,
        asking: Asking,
        under_way: impl Fn() -> I,
        now: Instant,
    ) -> bool {
        if self.most == usize::MAX {
            return true;
        }
        let keys = || under_way().map(|party| (party.group, party.account));
        let by = || self.lately(now).filter_map(|(_, by)| *by).chain(keys());
        let count = under_way().count();
        count == 0 || self.fits(asking, by, self.lately(now).count() + count)
    }

    /// `by` are the groups and accounts of `count` refused recipients; control recipients have none.
    fn fits<I: Iterator<Item = (Key, Key)>>(
        &self,
        asking: Asking,
        by: impl Fn() -> I,
        count: usize,
    ) -> bool {
        let Asking { party, past, class, share } = asking;
        // The number that is shared, the most at which the check may be asked, and the same for a group's own.
        let of_lists = self.most_of_lists();
        let (shared, most, own_most) = match (past, class) {
            (Past::Guessing, _) => (of_lists, self.half(), 0),
            (_, Class::Batch) if self.most_since_ban.is_some() => (of_lists, of_lists, 0),
            (Past::Good, _) => (self.most, self.most, self.most + GOOD_EXTRA),
            (Past::Unknown, _) => (self.most, self.most, self.most + NEWCOMER_EXTRA),
        };
        let has = |key| by().filter(|(group, account)| *group == key || *account == key).count();
        let part = match class {
            // After a ban the number can be three, and a lone list would have two of it.
            Class::Batch if self.most_since_ban.is_some() => None,
            Class::Batch => share.map(|share| share.max(LISTS_SHARE)),
            Class::Interactive => share,
        };
        // Accounts of one group leave each other their share.
        let is_alone = party.account == party.group && by().all(|(group, _)| group == party.group);
        let own = match class {
            Class::Batch => OWN_OF_LISTS,
            Class::Interactive if is_alone => self.half(),
            Class::Interactive => OWN.min(self.half()),
        };
        let is_own = has(party.group) < own && count < own_most;
        let of = Shared::of(shared, count, part);
        is_own || count < most && (part.is_none() || party.may_have_one_more(of, has))
    }

    pub(crate) fn spares_one(&self, class: Class, now: Instant) -> bool {
        let most = match class {
            Class::Batch => INVENTED_MAX.min(self.half()),
            Class::Interactive => INVENTED_UNTIL.min(self.most_of_lists()),
        };
        let is_recent = |(at, by): &&(Instant, Class)| {
            *by == class && now.saturating_duration_since(*at) < WINDOW
        };
        let invented = self.invented.iter().filter(is_recent).count();
        self.most == usize::MAX
            || (invented < most.min(INVENTED_MAX) && self.lately(now).count() < most)
    }

    pub(crate) fn take_invented(&mut self, class: Class, now: Instant) {
        if self.most < usize::MAX {
            self.invented.push_back((now, class));
        }
    }

    pub(crate) fn forget(&mut self, now: Instant) {
        while self
            .refused
            .front()
            .is_some_and(|(at, _)| now.saturating_duration_since(*at) >= WINDOW)
        {
            self.refused.pop_front();
        }
        self.invented.retain(|(at, _)| now.saturating_duration_since(*at) < WINDOW);
    }
}

#[derive(Clone, Copy)]
struct Ban {
    /// Number of refused recipients in ten minutes after which lists stay away.
    most: usize,
    at: Instant,
}

/// Machines of no known operator that have banned us after refused recipients. The number that a machine tolerates
/// isn't published: its ban is the only sign. For a week, or until a restart, lists stop at half as many refused
/// recipients as preceded the ban. Otherwise a machine that bans at the eleventh refusal would ban us for each list.
pub(crate) struct Bans(Bounded<Key, Ban>);

impl Default for Bans {
    fn default() -> Self {
        Self(Bounded::new(MAX_MACHINES))
    }
}

impl Bans {
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

#[derive(Debug, Clone, Copy, Default)]
struct Hour {
    last: u64,
    counts: [u32; SLICES as usize],
}

impl Hour {
    fn count(&mut self, slice: u64) {
        self.advance(slice);
        if let Some(count) = self.counts.get_mut(index(slice)) {
            *count += 1;
        }
    }

    fn advance(&mut self, slice: u64) {
        let passed = slice.saturating_sub(self.last).min(u64::from(SLICES));
        for n in 0..passed {
            if let Some(count) = self.counts.get_mut(index(slice - n)) {
                *count = 0;
            }
        }
        self.last = self.last.max(slice);
    }

    fn sum(mut self, slice: u64) -> usize {
        self.advance(slice);
        self.counts.iter().map(|count| *count as usize).sum()
    }

    fn lightens(mut self, slice: u64) -> u64 {
        self.advance(slice);
        let first = (slice + 1).saturating_sub(u64::from(SLICES));
        let oldest = (first..=slice).find(|it| self.counts.get(index(*it)) != Some(&0));
        oldest.unwrap_or(slice) + u64::from(SLICES)
    }
}

fn index(slice: u64) -> usize {
    usize::try_from(slice % u64::from(SLICES)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
