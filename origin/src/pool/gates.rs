//! Gates before a recipient's domain, or before an address that is dialled: while one of them is wary of
//! us, or we of it, one session passes in ten seconds. A gate is never shut.

use std::{collections::HashMap, hash::Hash, time::Duration};

use tokio::time::Instant;

/// From one session to the next.
const INTERVAL: Duration = Duration::from_secs(10);
/// Refusals of us at RCPT, in a row and for any recipients, after which a domain is wary.
const STRIKES: u32 = 3;
/// No hint of a server keeps batches away longer.
const LONGEST_HINT: Duration = Duration::from_secs(3_600);
/// Gates remembered. Forgetting one costs one more session; memory without a bound costs the service.
const MAX_GATES: usize = 10_000;

/// The gates of one kind. Those without an entry stand open.
pub(super) struct Gates<K> {
    gates: HashMap<K, Gate>,
    /// How long a gate stays after the last refusal.
    memory: Duration,
}

#[derive(Clone, Copy)]
struct Gate {
    strikes: u32,
    /// When the next session may pass; `None` while there are only strikes.
    next: Option<Instant>,
    /// Until when batches stay away.
    hint: Instant,
    forgotten: Instant,
}

impl<K: Hash + Eq + Copy> Gates<K> {
    pub(super) fn new(memory: Duration) -> Self {
        Self { gates: HashMap::new(), memory }
    }

    /// How long until one may pass; zero when the gate stands open.
    pub(super) fn wait(&self, key: K, now: Instant) -> Duration {
        let next = self.gates.get(&key).and_then(|gate| gate.next);
        next.map_or(Duration::ZERO, |next| next.saturating_duration_since(now))
    }

    /// How long batches stay away.
    pub(super) fn away(&self, key: K, now: Instant) -> Duration {
        let Some(gate) = self.gates.get(&key) else { return Duration::ZERO };
        self.wait(key, now).max(gate.hint.saturating_duration_since(now))
    }

    /// Reserves the next passage, and says when it is.
    pub(super) fn pass(&mut self, key: K, now: Instant) -> Instant {
        match self.gates.get_mut(&key) {
            Some(Gate { next: Some(next), .. }) => {
                let at = (*next).max(now);
                *next = at + INTERVAL;
                at
            }
            Some(_) | None => now,
        }
    }

    /// A refusal of us: narrows the gate.
    pub(super) fn refused(&mut self, key: K, hint: Option<Duration>, now: Instant) {
        let gate = self.strike(key, now);
        gate.strikes = STRIKES;
        gate.next = Some(gate.next.unwrap_or(now + INTERVAL).max(now + INTERVAL));
        gate.hint = gate.hint.max(now + hint.unwrap_or_default().min(LONGEST_HINT));
    }

    /// A refusal that may be one recipient's rule: three in a row narrow the gate.
    pub(super) fn doubted(&mut self, key: K, hint: Option<Duration>, now: Instant) {
        let gate = self.strike(key, now);
        gate.strikes += 1;
        if gate.strikes >= STRIKES {
            self.refused(key, hint, now);
        }
    }

    fn strike(&mut self, key: K, now: Instant) -> &mut Gate {
        if self.gates.len() >= MAX_GATES && !self.gates.contains_key(&key) {
            self.gates.retain(|_, gate| gate.forgotten > now && gate.next.is_some());
            if self.gates.len() >= MAX_GATES {
                self.gates.clear();
            }
        }
        let memory = self.memory;
        let fresh = Gate { strikes: 0, next: None, hint: now, forgotten: now };
        let gate = self.gates.entry(key).or_insert(fresh);
        gate.forgotten = gate.hint.max(now + memory);
        gate
    }

    /// A recipient was spoken about: the gate stands open.
    pub(super) fn answered(&mut self, key: K) {
        if !self.gates.is_empty() {
            self.gates.remove(&key);
        }
    }

    pub(super) fn forget(&mut self, now: Instant) {
        self.gates.retain(|_, gate| gate.forgotten > now);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Gates, INTERVAL, MAX_GATES};

    const MEMORY: Duration = Duration::from_secs(600);
    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn one_passes_in_ten_seconds_until_a_recipient_is_spoken_about() {
        let (mut gates, now) = (Gates::new(MEMORY), Instant::now());
        assert_eq!(gates.pass("d", now), now);
        gates.refused("d", None, now);
        let passed = [(); 3].map(|()| gates.pass("d", now).duration_since(now).as_secs());
        assert_eq!(passed, [10, 20, 30]);
        assert_eq!(gates.pass("other", now), now);
        gates.answered("d");
        assert_eq!(gates.pass("d", now), now);
    }

    #[tokio::test(start_paused = true)]
    async fn a_doubt_narrows_it_only_when_nothing_else_is_heard() {
        let (mut gates, now) = (Gates::new(MEMORY), Instant::now());
        for _ in 0..2 {
            gates.doubted("d", None, now);
        }
        gates.answered("d");
        for wait in [Duration::ZERO, Duration::ZERO, INTERVAL] {
            gates.doubted("d", None, now);
            assert_eq!(gates.wait("d", now), wait);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hint_keeps_batches_away_and_single_checks_not() {
        let (mut gates, now) = (Gates::new(MEMORY), Instant::now());
        gates.refused("d", Some(86_400 * SECOND), now);
        assert_eq!(gates.wait("d", now), INTERVAL);
        assert_eq!(gates.away("d", now), 3_600 * SECOND);
        assert_eq!(gates.away("other", now), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_forgotten_in_time_and_there_are_never_too_many() {
        let (mut gates, now) = (Gates::new(MEMORY), Instant::now());
        for n in 0..3 * MAX_GATES {
            gates.refused(n, None, now);
            assert!(gates.gates.len() <= MAX_GATES);
        }
        gates.forget(now + MEMORY);
        assert!(gates.is_empty());
    }
}
