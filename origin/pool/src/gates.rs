//! Gates for recipients' domains, or for addresses that we connect to. Refusals make a gate narrow: one session passes
//! every ten seconds. A gate is never closed completely.

use std::{collections::HashMap, hash::Hash, time::Duration};

use tokio::time::Instant;

use super::Key;

/// Consecutive refusals of us at RCPT without 421, for any recipients, after which a domain's gate is narrow.
const REFUSALS_TO_NARROW: u32 = 3;
/// Longest time for which a server's hint keeps batches away.
const HINT_MAX: Duration = Duration::from_secs(3_600);
/// Maximum number of groups remembered per gate.
const MAX_PASSED: usize = 8;
/// Maximum number of gates remembered. A forgotten gate costs one more session; unlimited gates could exhaust the
/// memory.
const MAX_GATES: usize = 10_000;

/// Gates without an entry are open.
pub(super) struct Gates<K> {
    gates: HashMap<K, Gate>,
    /// Time for which a gate stays narrow after the last refusal.
    memory: Duration,
    /// Time between two sessions, see [`super::Pace`].
    interval: Duration,
}

struct Gate {
    strikes: u32,
    /// Time of the next passage; `None` while there are fewer than [`REFUSALS_TO_NARROW`] strikes.
    next: Option<Instant>,
    place: Option<Place>,
    /// Groups that have passed, with the time.
    passed: Vec<(Key, Instant)>,
    /// Time until which strikes count and sessions are limited.
    narrow_until: Instant,
    /// Time until which batches stay away; may be after `narrow_until`.
    hint: Instant,
}

/// The next passage goes to the group whose last passage was longest ago, so that frequent requests don't help.
struct Place {
    group: Key,
    ticket: u64,
    at: Instant,
}

impl Gate {
    /// `None` while the gate isn't narrow.
    fn next(&self, now: Instant) -> Option<Instant> {
        self.next.filter(|_| self.narrow_until > now)
    }

    fn is_over(&self, now: Instant) -> bool {
        self.narrow_until <= now && self.hint <= now
    }

    fn precedes(&self, group: Key, other: Key) -> bool {
        let passed = |group| self.passed.iter().find(|(it, _)| *it == group).map(|(_, at)| *at);
        // `None` sorts first: that group has never passed.
        group != other && passed(group) < passed(other)
    }

    fn pass(&mut self, group: Key, interval: Duration, now: Instant) {
        self.next = Some(now + interval);
        self.place = None;
        self.passed.retain(|(it, _)| *it != group);
        if self.passed.len() >= MAX_PASSED {
            self.passed.remove(0);
        }
        self.passed.push((group, now));
    }
}

impl<K: Hash + Eq + Copy> Gates<K> {
    pub(super) fn new(memory: Duration, interval: Duration) -> Self {
        Self { gates: HashMap::new(), memory, interval }
    }

    /// Zero if the gate is open.
    pub(super) fn wait(&self, key: K, now: Instant) -> Duration {
        let next = self.gates.get(&key).and_then(|gate| gate.next(now));
        next.map_or(Duration::ZERO, |next| next.saturating_duration_since(now))
    }

    /// Time for which batches stay away.
    pub(super) fn away(&self, key: K, now: Instant) -> Duration {
        let Some(gate) = self.gates.get(&key) else { return Duration::ZERO };
        self.wait(key, now).max(gate.hint.saturating_duration_since(now))
    }

    /// The error is the group's waiting time, if another reservation has precedence or the next passage comes after
    /// `latest`.
    pub(super) fn passage_time(
        &self,
        key: K,
        group: Key,
        now: Instant,
        latest: Instant,
    ) -> Result<Instant, Duration> {
        let Some((gate, next)) = self.gates.get(&key).and_then(|it| Some((it, it.next(now)?)))
        else {
            return Ok(now);
        };
        let due = match &gate.place {
            Some(place) if !gate.precedes(group, place.group) => {
                return Err((place.at + self.interval).saturating_duration_since(now));
            }
            _ => next.max(now),
        };
        if due > now && due > latest { Err(due - now) } else { Ok(due) }
    }

    /// Passes the gate, or reserves the passage at `at`.
    pub(super) fn take(&mut self, key: K, group: Key, ticket: u64, at: Instant, now: Instant) {
        let Some(gate) = self.gates.get_mut(&key).filter(|gate| gate.next.is_some()) else {
            return;
        };
        if at <= now {
            gate.pass(group, self.interval, now);
        } else {
            gate.place = Some(Place { group, ticket, at });
        }
    }

    /// False if the passage went to another group or was postponed.
    pub(super) fn redeem(&mut self, key: K, ticket: u64, now: Instant) -> bool {
        let Some(gate) = self.gates.get_mut(&key) else { return true };
        let Some(next) = gate.next(now) else { return true };
        match gate.place.take_if(|place| place.ticket == ticket) {
            Some(place) if next <= now => {
                gate.pass(place.group, self.interval, now);
                true
            }
            // Another group has taken the place, or a further refusal has postponed the passage.
            _ => false,
        }
    }

    pub(super) fn give_back(&mut self, key: K, ticket: u64) {
        if let Some(gate) = self.gates.get_mut(&key) {
            gate.place.take_if(|place| place.ticket == ticket);
        }
    }

    pub(super) fn record_refusal(&mut self, key: K, hint: Option<Duration>, now: Instant) {
        let soonest = now + self.interval;
        let gate = self.strike(key, now);
        gate.strikes = REFUSALS_TO_NARROW;
        gate.next = Some(gate.next.unwrap_or(soonest).max(soonest));
        gate.hint = gate.hint.max(now + hint.unwrap_or_default().min(HINT_MAX));
    }

    /// The refusal may be one recipient's rule; three such refusals in a row narrow the gate.
    pub(super) fn record_doubt(&mut self, key: K, hint: Option<Duration>, now: Instant) {
        let gate = self.strike(key, now);
        gate.strikes += 1;
        if gate.strikes >= REFUSALS_TO_NARROW {
            self.record_refusal(key, hint, now);
        }
    }

    fn strike(&mut self, key: K, now: Instant) -> &mut Gate {
        if self.gates.len() >= MAX_GATES && !self.gates.contains_key(&key) {
            self.gates.retain(|_, gate| gate.next(now).is_some());
            if self.gates.len() >= MAX_GATES {
                self.gates.clear();
            }
        }
        let memory = self.memory;
        let fresh = Gate {
            strikes: 0,
            next: None,
            place: None,
            passed: Vec::new(),
            narrow_until: now,
            hint: now,
        };
        let gate = self.gates.entry(key).or_insert(fresh);
        if gate.narrow_until <= now {
            (gate.strikes, gate.next, gate.place) = (0, None, None);
        }
        gate.narrow_until = now + memory;
        gate
    }

    pub(super) fn record_answer(&mut self, key: K) {
        if !self.gates.is_empty() {
            self.gates.remove(&key);
        }
    }

    pub(super) fn forget(&mut self, now: Instant) {
        self.gates.retain(|_, gate| !gate.is_over(now));
    }

    pub(super) fn len(&self) -> usize {
        self.gates.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }

    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.gates.values().filter(|gate| gate.place.is_some()).count()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Gates, MAX_GATES};

    const INTERVAL: Duration = Duration::from_secs(10);
    const MEMORY: Duration = Duration::from_secs(600);
    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn one_passes_in_ten_seconds_until_a_recipient_is_spoken_about() {
        let (mut gates, now) = (Gates::new(MEMORY, INTERVAL), Instant::now());
        let far = now + 100 * SECOND;
        assert_eq!(gates.passage_time("d", 1, now, now), Ok(now));
        gates.record_refusal("d", None, now);
        for n in 1..4 {
            let at = now + n * INTERVAL;
            assert_eq!(gates.passage_time("d", 1, at - INTERVAL, far), Ok(at));
            gates.take("d", 1, 7, at, at - INTERVAL);
            assert!(gates.redeem("d", 7, at));
        }
        assert_eq!(gates.passage_time("other", 1, now, now), Ok(now));
        gates.record_answer("d");
        assert_eq!(gates.passage_time("d", 1, now, now), Ok(now));
    }

    #[tokio::test(start_paused = true)]
    async fn groups_pass_in_turn_however_often_one_of_them_asks() {
        let (mut gates, now) = (Gates::new(MEMORY, INTERVAL), Instant::now());
        let (greedy, modest, latest) = (1, 2, now + INTERVAL);
        gates.record_refusal("d", None, now);
        let opens = gates.passage_time("d", greedy, now, latest).unwrap();
        gates.take("d", greedy, 100, opens, now);
        assert_eq!(
            gates.passage_time("d", greedy, now, latest),
            Err(2 * INTERVAL),
            "one place each"
        );
        assert_eq!(
            gates.passage_time("d", modest, now, latest),
            Err(2 * INTERVAL),
            "neither has passed"
        );
        assert!(gates.redeem("d", 100, opens));
        let (now, latest) = (opens, opens + INTERVAL);
        let opens = gates.passage_time("d", greedy, now, latest).unwrap();
        gates.take("d", greedy, 101, opens, now);
        assert_eq!(gates.passage_time("d", modest, now, latest), Ok(opens), "it has waited longer");
        gates.take("d", modest, 200, opens, now);
        assert!(!gates.redeem("d", 101, opens));
        assert!(gates.redeem("d", 200, opens));
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_that_is_given_back_is_free_again() {
        let (mut gates, now) = (Gates::new(MEMORY, INTERVAL), Instant::now());
        gates.record_refusal("d", None, now);
        let opens = gates.passage_time("d", 1, now, now + INTERVAL).unwrap();
        gates.take("d", 1, 100, opens, now);
        gates.give_back("d", 100);
        assert_eq!(gates.passage_time("d", 2, now, now + INTERVAL), Ok(opens));
    }

    #[tokio::test(start_paused = true)]
    async fn a_doubt_narrows_it_only_when_nothing_else_is_heard() {
        let (mut gates, now) = (Gates::new(MEMORY, INTERVAL), Instant::now());
        for _ in 0..2 {
            gates.record_doubt("d", None, now);
        }
        gates.record_answer("d");
        for wait in [Duration::ZERO, Duration::ZERO, INTERVAL] {
            gates.record_doubt("d", None, now);
            assert_eq!(gates.wait("d", now), wait);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hint_keeps_batches_away_and_single_checks_not() {
        let (mut gates, now) = (Gates::new(MEMORY, INTERVAL), Instant::now());
        gates.record_refusal("d", Some(86_400 * SECOND), now);
        assert_eq!(gates.wait("d", now), INTERVAL);
        assert_eq!(gates.away("d", now), 3_600 * SECOND);
        assert_eq!(gates.away("other", now), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_hint_outlives_the_interval_and_neither_lengthens_the_other() {
        let (mut gates, now) = (Gates::new(MEMORY, INTERVAL), Instant::now());
        gates.record_refusal("d", Some(3_600 * SECOND), now);
        let later = now + MEMORY + SECOND;
        gates.forget(later);
        assert_eq!(gates.away("d", later), 2_999 * SECOND, "batches stay away");
        assert_eq!(gates.passage_time("d", 1, later, later), Ok(later), "and single checks pass");
        assert_eq!(gates.wait("d", later), Duration::ZERO);
        // A second refusal narrows the gate for the usual time, not for that of the first refusal's hint.
        gates.record_refusal("d", None, later);
        assert_eq!(gates.wait("d", later), INTERVAL);
        let last = later + MEMORY;
        gates.forget(last);
        assert_eq!(gates.passage_time("d", 1, last, last), Ok(last));
        assert_eq!(gates.away("d", last), 2_399 * SECOND);
        gates.forget(now + 3_600 * SECOND);
        assert!(gates.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_forgotten_in_time_and_there_are_never_too_many() {
        let (mut gates, now) = (Gates::new(MEMORY, INTERVAL), Instant::now());
        for n in 0..3 * MAX_GATES {
            gates.record_refusal(n, None, now);
            assert!(gates.gates.len() <= MAX_GATES);
        }
        gates.forget(now + MEMORY);
        assert!(gates.is_empty());
    }
}
