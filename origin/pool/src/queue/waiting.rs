//! The checks that wait at one site, in the order in which they are served.

use std::time::Duration;

use tokio::time::Instant;

use super::shares::Shares;
use crate::{
    keys::Key,
    question::{Class, Party},
    share::Shared,
};

pub(crate) type Most = (usize, Option<f64>);

pub(crate) struct Queue<W> {
    interactive: Shares<W>,
    batch: Shares<W>,
    granted: usize,
    batch_turn: usize,
}

impl<W> Queue<W> {
    pub(crate) fn new(batch_turn: usize, now: Instant) -> Self {
        Self { interactive: Shares::new(now), batch: Shares::new(now), granted: 0, batch_turn }
    }

    pub(crate) const fn len(&self) -> usize {
        self.interactive.len() + self.batch.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &W> {
        self.interactive.all().into_iter().chain(self.batch.all())
    }

    fn of(&self, path: &[Key]) -> usize {
        self.interactive.of(path) + self.batch.of(path)
    }

    pub(crate) fn ahead(&self, party: Party) -> usize {
        if self.is_empty() { 0 } else { self.of(&party.path()) }
    }

    fn class(&mut self, class: Class) -> &mut Shares<W> {
        match class {
            Class::Interactive => &mut self.interactive,
            Class::Batch => &mut self.batch,
        }
    }

    /// The result is the check that gives way: the new one if its group or account has its share. If the queue is full,
    /// the largest group loses one; batches give way first. If the largest group isn't larger than the new check's by
    /// at least two, the new one gives way.
    pub(crate) fn push(
        &mut self,
        (party, class): (Party, Class),
        waiter: W,
        (most, share): Most,
        now: Instant,
    ) -> Option<W> {
        let Party { group, account, .. } = party;
        let has = |key| if key == group { self.of(&[group]) } else { self.of(&[group, account]) };
        let of = Shared::of(most, self.len(), share);
        if share.is_some() && !party.may_have_one_more(of, has) {
            return Some(waiter);
        }
        let mut given_way = None;
        if self.len() >= most {
            let own = has(group);
            let largest =
                if self.batch.is_empty() { &mut self.interactive } else { &mut self.batch };
            given_way = largest.take_of_largest(own + 1);
            if given_way.is_none() {
                return Some(waiter);
            }
        }
        self.class(class).push(party.path(), waiter, now);
        given_way
    }

    pub(crate) fn charge(&mut self, (party, class): (Party, Class), took: Duration, now: Instant) {
        self.class(class).charge(party.path(), took, now);
    }

    /// Takes the first that fits: single checks before batches, but every tenth turn is a batch's. `age_s` is the total
    /// time in seconds for which a path's sessions have been in use.
    pub(crate) fn next(
        &mut self,
        age_s: impl Fn(&[Key]) -> f64,
        mut fits: impl FnMut(&W) -> bool,
    ) -> Option<W> {
        let order = if self.granted % self.batch_turn.max(1) + 1 == self.batch_turn.max(1) {
            [Class::Batch, Class::Interactive]
        } else {
            [Class::Interactive, Class::Batch]
        };
        order.into_iter().find_map(|class| self.class(class).take(&age_s, &mut fits))
    }

    pub(crate) const fn count_granted(&mut self) {
        self.granted += 1;
    }

    pub(crate) fn retain(&mut self, stays: impl Fn(&W) -> bool, now: Instant) {
        self.interactive.retain(&stays, now);
        self.batch.retain(&stays, now);
    }
}
