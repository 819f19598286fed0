//! Waiting requests, served by start-time fair queueing over session time. The next session goes to the group that has
//! used least of the site's time, and in the group, by the same rule, to an account and a domain.
//!
//! Sessions in use count with their age. A party that starts to wait begins at the virtual time of the party served
//! last, so that it gains no credit while idle. A lead over that time halves every minute.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use tokio::time::Instant;

use crate::{keys::Key, question::Party};

/// Consecutive checks of one domain before the account's next domain is served. Each domain of an
/// operator often has its own host, and changing hosts needs a new session.
const DOMAIN_TURN: u32 = 10;
/// Session time in seconds after which the account's next domain is served in any case.
const DOMAIN_TURN_S: f64 = 1.0;
/// Leads below this number of seconds are forgotten with the party.
const LEAD_MIN_S: f64 = 0.25;
const HALF_LIFE_S: f64 = 60.0;
const LEAD_LIFETIME: Duration = Duration::from_secs(300);

pub(crate) type Path = [Key; 3];

impl Party {
    pub(crate) const fn path(self) -> Path {
        [self.group, self.account, self.domain]
    }
}

pub(crate) struct Shares<W> {
    root: Part<W>,
    order: u64,
}

/// The root of the tree, a group, one of its accounts, or one of that account's domains.
struct Part<W> {
    /// Virtual time, in seconds of session time.
    time: f64,
    at: Instant,
    order: u64,
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
    fn new(now: Instant) -> Self {
        Self {
            time: 0.0,
            at: now,
            order: 0,
            waiting: 0,
            floor: 0.0,
            turn: None,
            parts: BTreeMap::new(),
            queue: VecDeque::new(),
        }
    }

    /// The part's lead shrinks with the time in which it requested nothing.
    fn part(&mut self, key: Key, order: &mut u64, now: Instant) -> &mut Self {
        let floor = self.floor;
        let part = self.parts.entry(key).or_insert_with(|| {
            *order += 1;
            Self { time: floor, order: *order, ..Self::new(now) }
        });
        if part.waiting == 0 {
            let idle_s = now.saturating_duration_since(part.at).as_secs_f64();
            let lead = (part.time - floor).max(0.0) * (-idle_s / HALF_LIFE_S).exp2();
            part.time = floor + lead;
            part.at = now;
        }
        part
    }

    fn push(&mut self, path: &[Key], waiter: W, order: &mut u64, now: Instant) {
        if let [key, rest @ ..] = path {
            self.part(*key, order, now).push(rest, waiter, order, now);
        } else {
            self.queue.push_back(waiter);
        }
        self.waiting += 1;
    }

    fn charge(&mut self, path: &[Key], seconds: f64, order: &mut u64, now: Instant) {
        let [key, rest @ ..] = path else { return };
        let part = self.part(*key, order, now);
        part.time += seconds;
        part.at = now;
        part.charge(rest, seconds, order, now);
    }

    /// `age` is the total time in seconds of a path's sessions in use.
    fn take(
        &mut self,
        path: &mut Vec<Key>,
        order: &mut u64,
        age: &impl Fn(&[Key]) -> f64,
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
            waiting.push((part.time + age(path), part.order, *key));
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
            let waiter = part.take(path, order, age, fits);
            path.pop();
            if waiter.is_none() {
                continue;
            }
            self.waiting -= 1;
            let (served, from) = match self.turn {
                Some((turn, served, from)) if turn == key => (served + 1, from),
                _ => (1, time),
            };
            let ends = path.len() < 2 || served >= DOMAIN_TURN || time - from >= DOMAIN_TURN_S;
            if ends {
                *order += 1;
                part.order = *order;
            }
            self.turn = (!ends).then_some((key, served, from));
            self.floor = self.floor.max(time);
            if part.waiting == 0 && part.time - self.floor < LEAD_MIN_S {
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

    fn visit<'p>(&'p self, see: &mut impl FnMut(&'p W)) {
        self.queue.iter().for_each(&mut *see);
        self.parts.values().for_each(|part| part.visit(see));
    }

    /// At each level, the part with the most requests loses its latest request.
    fn take_last(&mut self) -> Option<W> {
        let taken_waiter = match self.parts.values_mut().max_by_key(|part| part.waiting) {
            Some(part) => part.take_last(),
            None => self.queue.pop_back(),
        };
        self.waiting -= usize::from(taken_waiter.is_some());
        taken_waiter
    }
}

impl<W> Shares<W> {
    pub(crate) fn new(now: Instant) -> Self {
        Self { root: Part::new(now), order: 0 }
    }

    pub(crate) const fn len(&self) -> usize {
        self.root.waiting
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.root.waiting == 0
    }

    pub(crate) fn push(&mut self, path: Path, waiter: W, now: Instant) {
        self.root.push(&path, waiter, &mut self.order, now);
    }

    /// Nothing is charged if nothing waits and the lead would be below [`LEAD_MIN_S`].
    pub(crate) fn charge(&mut self, path: Path, used: Duration, now: Instant) {
        if self.root.waiting > 0 || used.as_secs_f64() >= LEAD_MIN_S {
            self.root.charge(&path, used.as_secs_f64(), &mut self.order, now);
        }
    }

    pub(crate) fn take(
        &mut self,
        age: impl Fn(&[Key]) -> f64,
        mut fits: impl FnMut(&W) -> bool,
    ) -> Option<W> {
        self.root.take(&mut Vec::with_capacity(3), &mut self.order, &age, &mut fits)
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&W) -> bool, now: Instant) {
        self.root.retain(&keep, now);
    }

    pub(crate) fn all(&self) -> Vec<&W> {
        let mut all = Vec::with_capacity(self.len());
        self.root.visit(&mut |waiter| all.push(waiter));
        all
    }

    pub(crate) fn of(&self, path: &[Key]) -> usize {
        let mut part = Some(&self.root);
        for key in path {
            part = part.and_then(|part| part.parts.get(key));
        }
        part.map_or(0, |part| part.waiting)
    }

    /// `None` if the largest group has at most `most` requests.
    pub(crate) fn take_of_largest(&mut self, most: usize) -> Option<W> {
        let largest = self.root.parts.values_mut().max_by_key(|part| part.waiting)?;
        let taken_waiter = if largest.waiting > most { largest.take_last() } else { None };
        self.root.waiting -= usize::from(taken_waiter.is_some());
        taken_waiter
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{DOMAIN_TURN, Shares};
    use crate::keys::Key;

    fn shares<W>() -> (Shares<W>, Instant) {
        let now = Instant::now();
        (Shares::new(now), now)
    }

    fn unused(_: &[Key]) -> f64 {
        0.0
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_list_does_not_hold_up_another_domain() {
        let (mut shares, now) = shares();
        for n in 0..1_000 {
            shares.push([1, 1, 10], ("long", n), now);
        }
        shares.push([1, 1, 11], ("short", 0), now);
        let position = (0..).find(|_| shares.take(unused, |_| true) == Some(("short", 0))).unwrap();
        assert_eq!(position, DOMAIN_TURN);
        let rest: Vec<_> = std::iter::from_fn(|| shares.take(unused, |_| true)).collect();
        assert_eq!(rest.len(), 990);
        assert!(rest.is_sorted(), "and its own order is kept");
        assert!(shares.is_empty() && shares.root.parts.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_group_with_a_thousand_domains_does_not_hold_up_another_group() {
        let (mut shares, now) = shares();
        for n in 0..1_000 {
            shares.push([1, 1, n], 1, now);
        }
        shares.push([2, 2, 5], 2, now);
        shares.push([2, 2, 6], 2, now);
        let waiters: Vec<_> = (0..4).filter_map(|_| shares.take(unused, |_| true)).collect();
        assert_eq!(waiters, [1, 2, 1, 2]);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_used_less_time_goes_first() {
        let (mut shares, now) = shares();
        for n in 0..20 {
            for group in [1, 2] {
                shares.push([group, group, 7], (group, n), now);
            }
        }
        let mut turns = [0, 0];
        for _ in 0..12 {
            let (group, _) = shares.take(unused, |_| true).unwrap();
            turns[group as usize - 1] += 1;
            // The first group's sessions take ten times as long as the second's.
            let used = Duration::from_millis(if group == 1 { 1_000 } else { 100 });
            shares.charge([group, group, 7], used, now);
        }
        assert_eq!(turns, [1, 11]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_in_use_counts_by_its_age() {
        let (mut shares, now) = shares();
        shares.push([1, 1, 7], 1, now);
        shares.push([2, 2, 7], 2, now);
        let age = |path: &[Key]| if path[0] == 1 { 5.0 } else { 0.0 };
        assert_eq!(shares.take(age, |_| true), Some(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_party_that_wanted_nothing_for_long_is_not_owed_for_it() {
        let (mut shares, now) = shares();
        for n in 0..100 {
            shares.push([1, 1, 7], (1, n), now);
        }
        for _ in 0..50 {
            shares.take(unused, |_| true).unwrap();
            shares.charge([1, 1, 7], Duration::from_secs(1), now);
        }
        for n in 0..50 {
            shares.push([2, 2, 7], (2, n), now);
        }
        let mut of_second = 0;
        for _ in 0..20 {
            let (group, _) = shares.take(unused, |_| true).unwrap();
            of_second += usize::from(group == 2);
            shares.charge([group, group, 7], Duration::from_secs(1), now);
        }
        assert!((9..=12).contains(&of_second), "{of_second}");
    }

    #[tokio::test(start_paused = true)]
    async fn takes_and_forgets_by_what_fits() {
        let (mut shares, now) = shares();
        for (domain, n) in [(1, 1), (2, 2), (1, 3), (3, 4)] {
            shares.push([7, 7, domain], n, now);
        }
        assert_eq!(shares.take(unused, |n| *n > 1), Some(3), "the domain's turn counts");
        assert_eq!(shares.take(unused, |n| *n > 9), None);
        shares.retain(|n| *n != 1, now);
        assert_eq!(shares.len(), 2);
        assert_eq!(shares.take(unused, |_| true), Some(2));
        assert_eq!(shares.take(unused, |_| true), Some(4));
        assert_eq!(shares.take(unused, |_| true), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_largest_group_gives_way_and_the_count_stays_right() {
        let (mut shares, now) = shares();
        for (group, domain, n) in [(1, 1, 1), (2, 1, 2), (2, 2, 3), (2, 2, 4)] {
            shares.push([group, group, domain], n, now);
        }
        assert_eq!(shares.take_of_largest(3), None);
        assert_eq!(shares.take_of_largest(2), Some(4));
        assert_eq!((shares.of(&[1]), shares.of(&[2, 2]), shares.len()), (1, 2, 3));
        let mut rest: Vec<_> = std::iter::from_fn(|| shares.take(unused, |_| true)).collect();
        rest.sort_unstable();
        assert_eq!(rest, [1, 2, 3]);
        assert!(shares.is_empty());
    }
}
