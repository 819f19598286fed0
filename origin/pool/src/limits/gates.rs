//! Gates for recipients' domains, or for addresses that we connect to, at one site. A narrow gate lets one session pass
//! every ten seconds. A gate is never closed completely.
//!
//! A refusal that one account provoked narrows the gate for that account alone. For everybody it takes a refusal before
//! RCPT in a new session, where no recipient was named, or accounts of two groups that provoke it.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    bounded::Bounded,
    question::{Class, Key, Party},
};

const HINT_MAX: Duration = Duration::from_secs(3_600);
/// The group that passed last passes this much later than others, so that frequent requests don't help.
const AFTER_OTHERS: Duration = Duration::from_secs(1);
const MAX_HEARD: usize = 8;
const MAX_GATES: usize = 4_096;

#[derive(Clone, Copy)]
struct Heard {
    /// The group and account that provoked it; `None` if nobody did.
    by: Option<(Key, Key)>,
    narrow_until: Instant,
    /// Time until which batches stay away; may be after `narrow_until`.
    hint: Instant,
}

struct Gate {
    heard: Vec<Heard>,
    next: Instant,
    last: Option<Key>,
}

impl Gate {
    fn until(
        &self,
        party: Party,
        time: impl Fn(&Heard) -> Instant,
        now: Instant,
    ) -> Option<Instant> {
        let is_own = |account: Key| account == party.account;
        let for_it = self.heard.iter().filter(|it| it.by.is_none_or(|(_, by)| is_own(by)));
        // Two groups are evidence until the first of them is forgotten.
        let group = |it: &Heard| it.by.map_or(0, |(group, _)| group);
        let last = self.heard.iter().max_by_key(|it| time(it));
        let others =
            self.heard.iter().filter(|it| last.is_some_and(|last| group(last) != group(it)));
        for_it.map(&time).max().max(others.map(&time).max()).filter(|until| *until > now)
    }

    fn narrow_until(&self, party: Party, now: Instant) -> Option<Instant> {
        self.until(party, |it| it.narrow_until, now)
    }
}

pub(crate) struct Gates<K> {
    gates: Bounded<K, Gate>,
    memory: Duration,
    interval: Duration,
}

impl<K: Ord + Copy> Gates<K> {
    pub(crate) const fn new(memory: Duration, interval: Duration) -> Self {
        Self { gates: Bounded::new(MAX_GATES), memory, interval }
    }

    /// The time at which the party's next check passes, with `ahead` of its account's checks before it; `None` if it
    /// passes now. Batches also wait for the server's hint.
    pub(crate) fn not_before(
        &self,
        key: K,
        (party, class): (Party, Class),
        ahead: usize,
        now: Instant,
    ) -> Option<Instant> {
        let gate = self.gates.get(key, now)?;
        let hint = match class {
            Class::Batch => gate.until(party, |it| it.hint, now),
            Class::Interactive => None,
        };
        let place = gate.narrow_until(party, now).map(|until| {
            let later = if gate.last == Some(party.group) { AFTER_OTHERS } else { Duration::ZERO };
            let turns = u32::try_from(ahead).unwrap_or(u32::MAX);
            until.min(gate.next + later + self.interval.saturating_mul(turns))
        });
        place.max(hint).filter(|at| *at > now)
    }

    pub(crate) fn take(&mut self, key: K, party: Party, now: Instant) {
        let interval = self.interval;
        if let Some(gate) =
            self.gates.get_mut(key, now).filter(|gate| gate.narrow_until(party, now).is_some())
        {
            (gate.next, gate.last) = (now + interval, Some(party.group));
        }
    }

    /// `by` is the party that provoked the refusal; `None` if it holds for everybody.
    pub(crate) fn hear_refusal(
        &mut self,
        key: K,
        by: Option<Party>,
        hint: Option<Duration>,
        now: Instant,
    ) {
        let by = by.map(|party| (party.group, party.account));
        let (memory, soonest) = (self.memory, now + self.interval);
        let new = || Gate { heard: Vec::new(), next: soonest, last: None };
        let group = by.map_or(0, |(group, _)| group);
        let hint = hint.unwrap_or_default().min(HINT_MAX);
        let gate = self.gates.entry(key, (group, memory.max(hint)), now, new);
        gate.next = gate.next.max(soonest);
        let hint = now + hint;
        let before = gate.heard.iter().find(|it| it.by == by).map(|it| it.hint);
        gate.heard.retain(|it| it.by != by && it.narrow_until.max(it.hint) > now);
        if gate.heard.len() >= MAX_HEARD {
            gate.heard.remove(0);
        }
        let hint = before.map_or(hint, |before| before.max(hint));
        gate.heard.push(Heard { by, narrow_until: now + memory, hint });
    }

    pub(crate) fn hear_answer(&mut self, key: K) {
        self.gates.remove(key);
    }

    pub(crate) fn forget(&mut self, now: Instant) {
        self.gates.forget(now);
    }

    pub(crate) fn len(&self) -> usize {
        self.gates.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{AFTER_OTHERS, Gates, MAX_GATES};
    use crate::question::{
        Class::{Batch, Interactive},
        Party,
    };

    const INTERVAL: Duration = Duration::from_secs(10);
    const MEMORY: Duration = Duration::from_secs(600);
    const SECOND: Duration = Duration::from_secs(1);

    fn gates<K: Ord + Copy>() -> (Gates<K>, Instant) {
        (Gates::new(MEMORY, INTERVAL), Instant::now())
    }

    fn party(name: u64) -> Party {
        Party { group: name, account: name, domain: 0 }
    }

    #[tokio::test(start_paused = true)]
    async fn one_passes_in_ten_seconds_until_a_recipient_is_spoken_about() {
        let (mut gates, now) = gates();
        let single = (party(1), Interactive);
        assert_eq!(gates.not_before("d", single, 0, now), None);
        gates.hear_refusal("d", None, None, now);
        assert_eq!(gates.not_before("d", single, 0, now), Some(now + INTERVAL));
        assert_eq!(gates.not_before("d", single, 2, now), Some(now + 3 * INTERVAL), "its third");
        let opens = now + INTERVAL;
        assert_eq!(gates.not_before("d", single, 0, opens), None);
        gates.take("d", party(1), opens);
        let other = gates.not_before("d", (party(2), Interactive), 0, opens);
        assert_eq!(other, Some(opens + INTERVAL), "another group");
        let again = gates.not_before("d", single, 0, opens);
        assert_eq!(again, Some(opens + INTERVAL + AFTER_OTHERS), "the group that passed last");
        assert_eq!(gates.not_before("other", single, 0, now), None);
        gates.hear_answer("d");
        assert_eq!(gates.not_before("d", single, 0, now), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_one_account_provoked_holds_for_it_alone_and_what_two_groups_provoked_for_all() {
        let (mut gates, now) = gates();
        let waits = |gates: &Gates<_>, group| {
            [Interactive, Batch]
                .map(|class| gates.not_before("d", (party(group), class), 0, now).is_some())
        };
        for _ in 0..20 {
            gates.hear_refusal("d", Some(party(1)), Some(MEMORY), now);
        }
        assert_eq!(
            [1, 2, 3].map(|group| waits(&gates, group)),
            [[true; 2], [false; 2], [false; 2]]
        );
        let free = |account| Party { group: 1, ..party(account) };
        gates.hear_refusal("d", Some(free(7)), None, now);
        let waits_free = |gates: &Gates<_>, account| {
            gates.not_before("d", (free(account), Interactive), 0, now).is_some()
        };
        assert_eq!([7, 8].map(|account| waits_free(&gates, account)), [true, false], "one group");
        gates.take("d", party(2), now);
        assert_eq!(waits(&gates, 2), [false; 2], "a passage through an open gate");
        gates.hear_refusal("d", Some(party(2)), Some(MEMORY), now);
        assert_eq!([1, 2, 3].map(|group| waits(&gates, group)), [[true; 2]; 3]);
        let later = now + MEMORY;
        assert_eq!(gates.not_before("d", (party(3), Interactive), 0, later), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_hint_keeps_batches_away_and_outlives_the_interval() {
        let (mut gates, now) = gates();
        gates.hear_refusal("d", None, Some(86_400 * SECOND), now);
        assert_eq!(gates.not_before("d", (party(1), Interactive), 0, now), Some(now + INTERVAL));
        assert_eq!(gates.not_before("d", (party(1), Batch), 0, now), Some(now + 3_600 * SECOND));
        assert_eq!(gates.not_before("other", (party(1), Batch), 0, now), None);
        let later = now + MEMORY + SECOND;
        gates.forget(later);
        assert_eq!(gates.not_before("d", (party(1), Batch), 0, later), Some(now + 3_600 * SECOND));
        assert_eq!(
            gates.not_before("d", (party(1), Interactive), 0, later),
            None,
            "single checks pass"
        );
        // A second refusal narrows the gate for the usual time, not for that of the first refusal's hint.
        gates.hear_refusal("d", None, None, later);
        assert_eq!(
            gates.not_before("d", (party(1), Interactive), 0, later),
            Some(later + INTERVAL)
        );
        let last = later + MEMORY;
        assert_eq!(gates.not_before("d", (party(1), Interactive), 0, last), None);
        assert_eq!(gates.not_before("d", (party(1), Batch), 0, last), Some(now + 3_600 * SECOND));
        gates.forget(now + 3_600 * SECOND);
        assert!(gates.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_forgotten_in_time_and_there_are_never_too_many() {
        let (mut gates, now) = gates();
        for n in 0..3 * MAX_GATES {
            gates.hear_refusal(n, None, None, now);
            assert!(gates.len() <= MAX_GATES);
        }
        gates.forget(now + MEMORY);
        assert!(gates.is_empty());
    }
}
