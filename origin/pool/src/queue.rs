//! The checks that wait at one site, in the order in which they are served: by start-time fair queueing over session
//! time. The next session goes to the group that has used least of the site's time, and in the group, by the same rule,
//! to an account and a domain.
//!
//! Sessions in use count with their age. A party that starts to wait begins at the virtual time of the party served
//! last, so that it gains no credit while idle. A lead over that time halves every minute.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    question::{Class, Key, Party},
    share::Shared,
};

/// Consecutive checks of one domain before the account's next domain is served. Each domain of an
/// operator often has its own host, and changing hosts needs a new session.
const DOMAIN_TURN: u32 = 10;
/// Session time in seconds after which the account's next domain is served in any case.
const DOMAIN_TURN_S: f64 = 1.0;
/// Leads below this number of seconds are forgotten with the party.
const LEAD_MIN_S: f64 = 0.25;
const HALF_LIFE_S: f64 = 60.0;
const LEAD_LIFETIME: Duration = Duration::from_secs(300);

impl Party {
    pub(crate) const fn path(self) -> [Key; 3] {
        [self.group, self.account, self.domain]
    }
}

/// All checks of a class, those of a group, of one of its accounts, or of one of that account's domains.
struct Part<W> {
    /// Virtual time, in seconds of session time.
    time: f64,
    at: Instant,
    /// Of parts with equal times, the one that waits or was served first goes first.
    order: u64,
    last_order: u64,
    waiting: usize,
    /// Greatest virtual time at which one of `parts` was served.
    floor: f64,
    /// The current part, how often it was served in this turn, and its time at the start of the
    /// turn.
    turn: Option<(Key, u32, f64)>,
    parts: BTreeMap<Key, Part<W>>,
    queue: VecDeque<W>,
}

impl<W> Part<W> {
    fn new(time: f64, order: u64, now: Instant) -> Self {
        Self {
            time,
            at: now,
            order,
            last_order: 0,
            waiting: 0,
            floor: 0.0,
            turn: None,
            parts: BTreeMap::new(),
            queue: VecDeque::new(),
        }
    }

    const fn next_order(&mut self) -> u64 {
        self.last_order += 1;
        self.last_order
    }

    /// The part's lead shrinks with the time in which it requested nothing.
    fn part(&mut self, key: Key, now: Instant) -> &mut Self {
        let (floor, order) = (self.floor, self.next_order());
        let part = self.parts.entry(key).or_insert_with(|| Self::new(floor, order, now));
        if part.waiting == 0 {
            let idle_s = now.saturating_duration_since(part.at).as_secs_f64();
            let lead = (part.time - floor).max(0.0) * (-idle_s / HALF_LIFE_S).exp2();
            part.time = floor + lead;
            part.at = now;
        }
        part
    }

    fn push(&mut self, path: &[Key], waiter: W, now: Instant) {
        if let [key, rest @ ..] = path {
            self.part(*key, now).push(rest, waiter, now);
        } else {
            self.queue.push_back(waiter);
        }
        self.waiting += 1;
    }

    fn charge(&mut self, path: &[Key], seconds: f64, now: Instant) {
        let [key, rest @ ..] = path else { return };
        let part = self.part(*key, now);
        part.time += seconds;
        part.at = now;
        part.charge(rest, seconds, now);
    }

    /// `age_s` is the total time in seconds of a path's sessions in use.
    fn take(
        &mut self,
        path: &mut Vec<Key>,
        age_s: &impl Fn(&[Key]) -> f64,
        fits: &mut impl FnMut(&W) -> bool,
    ) -> Option<W> {
        if path.len() == 3 {
            let position = self.queue.iter().position(fits)?;
            self.waiting -= 1;
            return self.queue.remove(position);
        }
        let mut waiting = Vec::new();
        for (key, part) in self.parts.iter().filter(|(_, part)| part.waiting > 0) {
            path.push(*key);
            waiting.push((part.time + age_s(path), part.order, *key));
            path.pop();
        }
        waiting.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let in_turn = |time: f64, key: Key| {
            path.len() == 2
                && self.turn.is_some_and(|(turn, served, from)| {
                    turn == key && served < DOMAIN_TURN && time - from < DOMAIN_TURN_S
                })
        };
        if let Some(position) = waiting.iter().position(|(time, _, key)| in_turn(*time, *key)) {
            let first = waiting.remove(position);
            waiting.insert(0, first);
        }
        for (time, _, key) in waiting {
            path.push(key);
            let part = self.parts.get_mut(&key)?;
            let waiter = part.take(path, age_s, fits);
            path.pop();
            if waiter.is_none() {
                continue;
            }
            let is_over = part.waiting == 0 && part.time - self.floor.max(time) < LEAD_MIN_S;
            self.waiting -= 1;
            let (served, from) = match self.turn {
                Some((turn, served, from)) if turn == key => (served + 1, from),
                _ => (1, time),
            };
            let ends = path.len() < 2 || served >= DOMAIN_TURN || time - from >= DOMAIN_TURN_S;
            if ends {
                part.order = self.last_order + 1;
                self.last_order = part.order;
            }
            self.turn = (!ends).then_some((key, served, from));
            self.floor = self.floor.max(time);
            if is_over {
                self.parts.remove(&key);
            }
            return waiter;
        }
        None
    }

    fn retain(&mut self, keep: &impl Fn(&W) -> bool, now: Instant) {
        self.queue.retain(keep);
        self.waiting = self.queue.len();
        let floor = self.floor;
        self.parts.retain(|_, part| {
            part.retain(keep, now);
            self.waiting += part.waiting;
            let is_ahead = part.time - floor >= LEAD_MIN_S;
            part.waiting > 0 || (is_ahead && now.saturating_duration_since(part.at) < LEAD_LIFETIME)
        });
    }

    fn collect<'p>(&'p self, all: &mut Vec<&'p W>) {
        all.extend(&self.queue);
        self.parts.values().for_each(|part| part.collect(all));
    }

    fn of(&self, path: &[Key]) -> usize {
        match path {
            [] => self.waiting,
            [key, rest @ ..] => self.parts.get(key).map_or(0, |part| part.of(rest)),
        }
    }

    /// At each level, the part with the most requests loses its latest request. `None` if none has more than `most`.
    fn take_of_largest(&mut self, most: usize) -> Option<W> {
        let taken = match self.parts.values_mut().max_by_key(|part| part.waiting) {
            Some(largest) if largest.waiting > most => largest.take_of_largest(0),
            Some(_) => None,
            None => self.queue.pop_back(),
        };
        self.waiting -= usize::from(taken.is_some());
        taken
    }
}

pub(crate) type Most = (usize, Option<f64>);

pub(crate) struct Queue<W> {
    interactive: Part<W>,
    batch: Part<W>,
    granted: usize,
    batch_turn: usize,
}

impl<W> Queue<W> {
    pub(crate) fn new(batch_turn: usize, now: Instant) -> Self {
        let [interactive, batch] = [(); 2].map(|()| Part::new(0.0, 0, now));
        Self { interactive, batch, granted: 0, batch_turn: batch_turn.max(1) }
    }

    pub(crate) const fn len(&self) -> usize {
        self.interactive.waiting + self.batch.waiting
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &W> {
        let mut all = Vec::with_capacity(self.len());
        self.interactive.collect(&mut all);
        self.batch.collect(&mut all);
        all.into_iter()
    }

    fn of(&self, path: &[Key]) -> usize {
        self.interactive.of(path) + self.batch.of(path)
    }

    pub(crate) fn ahead(&self, party: Party) -> usize {
        self.of(&party.path())
    }

    const fn class(&mut self, class: Class) -> &mut Part<W> {
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
                if self.batch.waiting == 0 { &mut self.interactive } else { &mut self.batch };
            given_way = largest.take_of_largest(own + 1);
            if given_way.is_none() {
                return Some(waiter);
            }
        }
        self.class(class).push(&party.path(), waiter, now);
        given_way
    }

    /// Nothing is charged if nothing waits and the lead would be below [`LEAD_MIN_S`].
    pub(crate) fn charge(&mut self, (party, class): (Party, Class), took: Duration, now: Instant) {
        let (part, seconds) = (self.class(class), took.as_secs_f64());
        if part.waiting > 0 || seconds >= LEAD_MIN_S {
            part.charge(&party.path(), seconds, now);
        }
    }

    /// Takes the first that fits: single checks before batches, but every tenth turn is a batch's. `age_s` is the total
    /// time in seconds for which a path's sessions have been in use.
    pub(crate) fn next(
        &mut self,
        age_s: impl Fn(&[Key]) -> f64,
        mut fits: impl FnMut(&W) -> bool,
    ) -> Option<W> {
        let mut order = [Class::Interactive, Class::Batch];
        if (self.granted + 1).is_multiple_of(self.batch_turn) {
            order.reverse();
        }
        let path = &mut Vec::with_capacity(3);
        order.into_iter().find_map(|class| self.class(class).take(path, &age_s, &mut fits))
    }

    pub(crate) const fn count_granted(&mut self) {
        self.granted += 1;
    }

    pub(crate) fn retain(&mut self, stays: impl Fn(&W) -> bool, now: Instant) {
        self.interactive.retain(&stays, now);
        self.batch.retain(&stays, now);
    }
}

#[cfg(test)]
mod tests;
