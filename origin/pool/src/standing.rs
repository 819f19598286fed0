//! Recent behaviour of each party at one site: a quick answer makes a party proven, and a session
//! held for long makes it slow.
//!
//! Parties that hold sessions for long make others wait. If others have had answers recently, slow parties leave a
//! reserve, and a group's unproven parties get at most half of the sessions ([`Standings::may_take`]).

use std::time::Duration;

use tokio::time::Instant;

use super::{Key, giving_way::give_way, hash_key::ByKey, party::Party};

/// Duration above which a session counts as slow. Most servers answer within a second; Exchange delays the refusal of
/// an unknown recipient by five seconds.
pub(super) const SLOW: Duration = Duration::from_secs(2);
/// Longest session while others without slow sessions are waiting; it allows for Exchange's default
/// delay of five seconds before refusing an unknown recipient.
pub(super) const CUT: Duration = Duration::from_millis(6_500);
/// Time for which an answer proves a party, and for which a slow session counts against a party
/// without a quick answer since.
const PROOF_LIFETIME: Duration = Duration::from_secs(600);
/// Shortest time for which a slow session counts against a party.
const SLOW_TIME_MIN: Duration = Duration::from_secs(60);
/// Time for which a party counts as present at a site after its last answer.
const PRESENCE_LIFETIME: Duration = Duration::from_secs(60);
/// From this number of sessions, a lone unproven group may use only half of the sessions: its first answer makes it
/// proven.
const MANY_SESSIONS: usize = 4;
/// Maximum number of parties remembered per site; about 80 bytes each.
const MAX_PARTIES: usize = 20_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Had a quick answer within ten minutes, and isn't slow.
    Proven,
    /// Neither quick nor slow within ten minutes.
    New,
    Slow,
}

#[derive(Default, Clone, Copy)]
struct Record {
    /// Group of the latest party in this record.
    group: Key,
    quick_at: Option<Instant>,
    slow_at: Option<Instant>,
    cut_at: Option<Instant>,
    /// True if the domain was checked again after the cut.
    is_repeated: bool,
}

impl Record {
    fn is_slow(&self, now: Instant) -> bool {
        let since = |at: Option<Instant>| at.map(|at| now.saturating_duration_since(at));
        match (since(self.slow_at), since(self.quick_at)) {
            (None, _) => false,
            (Some(slow), _) if slow < SLOW_TIME_MIN => true,
            (Some(slow), Some(quick)) => slow < PROOF_LIFETIME && slow < quick,
            (Some(slow), None) => slow < PROOF_LIFETIME,
        }
    }

    fn last(&self) -> Option<Instant> {
        self.quick_at.max(self.slow_at).max(self.cut_at)
    }

    fn is_over(&self, now: Instant) -> bool {
        self.last().is_none_or(|at| now.saturating_duration_since(at) >= PROOF_LIFETIME)
    }
}

/// A session in use, as counted for the reserve.
#[derive(Clone, Copy)]
pub(super) struct Use {
    pub party: Party,
    pub since: Instant,
    /// Standing when the session was granted.
    pub standing: Standing,
}

impl Use {
    fn standing_at(&self, now: Instant) -> Standing {
        if now.saturating_duration_since(self.since) > SLOW {
            Standing::Slow
        } else {
            self.standing
        }
    }
}

/// Sessions in use, from one party's point of view.
#[derive(Default)]
struct SessionsInUse {
    of_group: usize,
    unproven: usize,
    unproven_of_group: usize,
    slow: usize,
    /// True if the party's account or its domain holds a session for long.
    is_slow: bool,
}

impl SessionsInUse {
    fn of<'u>(party: Party, uses: impl Iterator<Item = &'u Use>, now: Instant) -> Self {
        let mut held = Self::default();
        for used in uses {
            let standing = used.standing_at(now);
            let (is_slow, is_unproven) = (standing == Standing::Slow, standing != Standing::Proven);
            let same_group = used.party.group == party.group;
            let is_own = used.party.account == party.account || used.party.domain == party.domain;
            held.of_group += usize::from(same_group);
            held.unproven += usize::from(is_unproven);
            held.unproven_of_group += usize::from(is_unproven && same_group);
            held.slow += usize::from(is_slow);
            held.is_slow |= is_slow && is_own;
        }
        held
    }
}

#[derive(Clone, Copy)]
pub(super) struct Limit {
    pub sessions: usize,
    /// True if an unproven group may have only half of the sessions even when it is alone, if there are many sessions.
    /// Set for operators, where a group becomes proven quickly and is rarely alone.
    pub keeps_half: bool,
}

#[derive(Default)]
pub(super) struct Standings {
    records: ByKey<Record>,
    /// The last two accounts that had answers, from different groups if possible.
    answered: [Option<(Party, Instant)>; 2],
    /// A party for which a session was cut, and the time until which slow parties leave the last
    /// session to it.
    cut_for: Option<(Party, Instant)>,
}

impl Standings {
    pub(super) fn of(&self, party: Party, now: Instant) -> Standing {
        if self.is_slow(party.account, now) || self.is_slow(party.domain, now) {
            return Standing::Slow;
        }
        let record = self.records.get(&party.account);
        let quick_at = record.and_then(|record| record.quick_at);
        if quick_at.is_some_and(|at| now.saturating_duration_since(at) < PROOF_LIFETIME) {
            Standing::Proven
        } else if self.is_slow(party.group, now) {
            Standing::Slow
        } else {
            Standing::New
        }
    }

    /// The error is the earliest time at which a reason for the refusal may expire, if any does. A session returned
    /// earlier may end the refusal sooner.
    pub(super) fn may_take<'u>(
        &self,
        party: Party,
        Limit { sessions, keeps_half }: Limit,
        uses: impl Iterator<Item = &'u Use>,
        now: Instant,
    ) -> Result<(), Option<Instant>> {
        if sessions < 2 {
            return Ok(());
        }
        let held = SessionsInUse::of(party, uses, now);
        let standing = if held.is_slow { Standing::Slow } else { self.of(party, now) };
        let other_group = self.present(now, |other| other.group != party.group);
        let other_account = self.present(now, |other| other.account != party.account);
        let is_many = sessions >= MANY_SESSIONS;
        let is_contested = other_account.is_some() || (is_many && keeps_half);
        let leaves_one = held.of_group + 1 < sessions;
        let fits = if other_group.is_some() && !leaves_one && self.is_slow(party.group, now) {
            false
        } else if standing == Standing::Proven || !is_contested {
            true
        } else {
            // Slow parties leave two of eight or more sessions, and one of fewer sessions. If there are many sessions
            // and `keeps_half` is set, the last session is for proven parties.
            let reserve = if sessions >= 2 * MANY_SESSIONS { 2 } else { 1 };
            let leaves_reserve = match standing {
                Standing::Slow => held.slow + reserve < sessions,
                Standing::Proven | Standing::New => true,
            };
            leaves_reserve
                && (!(is_many && keeps_half) || held.unproven + 1 < sessions)
                && held.unproven_of_group < (sessions / 2).max(1)
        };
        // Slowness isn't judged by the group, in which other accounts may be quick.
        let is_slow = held.is_slow
            || [party.account, party.domain].into_iter().any(|key| self.is_slow(key, now));
        let cut_for = self.cut_for.filter(|(other, until)| {
            is_slow && other.account != party.account && *until > now && held.slow + 1 >= sessions
        });
        if fits && cut_for.is_none() {
            return Ok(());
        }
        let ends = [other_group, other_account, cut_for.map(|(_, until)| until)];
        Err(self.changes(party, ends, now))
    }

    /// The time until which parties matched by `is_other` count as present.
    fn present(&self, now: Instant, is_other: impl Fn(Party) -> bool) -> Option<Instant> {
        let others = self.answered.iter().flatten().filter(|(party, _)| is_other(*party));
        others.map(|(_, at)| *at + PRESENCE_LIFETIME).filter(|until| *until > now).max()
    }

    fn is_slow(&self, key: Key, now: Instant) -> bool {
        self.records.get(&key).is_some_and(|record| record.is_slow(now))
    }

    /// The earliest time at which the party's standing may improve, or one of `ends` has passed.
    fn changes(&self, party: Party, ends: [Option<Instant>; 3], now: Instant) -> Option<Instant> {
        let slow = [party.group, party.account, party.domain]
            .into_iter()
            .filter_map(|key| self.records.get(&key)?.slow_at)
            .flat_map(|at| [at + SLOW_TIME_MIN, at + PROOF_LIFETIME]);
        slow.chain(ends.into_iter().flatten()).filter(|at| *at > now).min()
    }

    /// `answered` is true if the server replied about the recipient.
    pub(super) fn record_end(
        &mut self,
        party: Party,
        took: Duration,
        answered: bool,
        now: Instant,
    ) {
        if took > SLOW {
            for key in [party.group, party.account, party.domain] {
                self.record(key, party.group, now).slow_at = Some(now);
            }
        } else if answered {
            for key in [party.group, party.account] {
                self.record(key, party.group, now).quick_at = Some(now);
            }
            // A domain only has a record if it was slow or cut before.
            if let Some(record) = self.records.get_mut(&party.domain) {
                record.quick_at = Some(now);
            }
            let [last, before] = &mut self.answered;
            match last {
                Some((other, _)) if other.account != party.account => {
                    // An account of another group is stronger evidence than another account of the same group.
                    let keeps = before.is_some_and(|(older, at)| {
                        older.group != party.group
                            && other.group == party.group
                            && now.saturating_duration_since(at) < PRESENCE_LIFETIME
                    });
                    if !keeps {
                        *before = *last;
                    }
                    *last = Some((party, now));
                }
                _ => *last = Some((party, now)),
            }
        }
    }

    /// After a recent cut, the domain gets its full time.
    pub(super) fn may_cut(&self, domain: Key, now: Instant) -> bool {
        let cut_at = self.records.get(&domain).and_then(|record| record.cut_at);
        cut_at.is_none_or(|at| now.saturating_duration_since(at) >= PROOF_LIFETIME)
    }

    /// `cut_for` is a waiting party that isn't known to be slow. Before the first answer there is no reserve, and
    /// another slow party would take the freed session. For some seconds, slow parties leave the last session to
    /// others.
    pub(super) fn cut(&mut self, holder: Party, cut_for: Option<Party>, now: Instant) {
        self.cut_for = cut_for.map(|party| (party, now + CUT)).or(self.cut_for);
        let record = self.record(holder.domain, holder.group, now);
        (record.cut_at, record.is_repeated) = (Some(now), false);
    }

    pub(super) fn repeated(&mut self, domain: Key) {
        if let Some(record) = self.records.get_mut(&domain) {
            record.is_repeated = true;
        }
    }

    /// True if a check of the domain was cut in the last ten minutes, and no check has run to its end since.
    pub(super) fn owes_repeat(&self, domain: Key, now: Instant) -> bool {
        let record = self.records.get(&domain);
        record.is_some_and(|record| !record.is_repeated && !self.may_cut(domain, now))
    }

    /// If there are too many records, the group with the most records loses some, quick parties first: a forgotten
    /// party counts as new.
    fn record(&mut self, key: Key, group: Key, now: Instant) -> &mut Record {
        if self.records.len() >= MAX_PARTIES && !self.records.contains_key(&key) {
            self.forget(now);
            if self.records.len() >= MAX_PARTIES {
                give_way(&mut self.records, |record| {
                    (record.group, (record.is_slow(now), record.last()))
                });
            }
        }
        let record = self.records.entry(key).or_default();
        record.group = group;
        record
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn forget(&mut self, now: Instant) {
        self.records.retain(|_, record| !record.is_over(now));
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.records.values().all(|record| record.is_over(now))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, advance};

    use super::{CUT, Limit, MAX_PARTIES, SLOW, Standing, Standings, Use};
    use crate::party::Party;

    fn party(key: u64) -> Party {
        Party { group: key, account: key, domain: key, is_consumer: false }
    }

    /// Others stay present for a minute, but cutting a session for a party keeps the last session free only for
    /// seconds.
    #[tokio::test(start_paused = true)]
    async fn who_must_wait_for_several_reasons_looks_again_when_the_first_of_them_ends() {
        let (mut standings, now) = (Standings::default(), Instant::now());
        let [slow, quick, waiting, holder] = [1, 2, 3, 4].map(party);
        standings.record_end(slow, SLOW + Duration::from_millis(1), false, now);
        standings.record_end(quick, Duration::ZERO, true, now);
        standings.cut(holder, Some(waiting), now);
        let limit = Limit { sessions: 2, keeps_half: false };
        let used = Use { party: holder, since: now, standing: Standing::Slow };
        assert_eq!(standings.may_take(slow, limit, [&used].into_iter(), now), Err(Some(now + CUT)));
        assert_eq!(standings.may_take(waiting, limit, [&used].into_iter(), now), Ok(()));
    }

    /// Twice as many free accounts as fit into the memory get quick answers within ten minutes.
    #[tokio::test(start_paused = true)]
    async fn accounts_that_fill_the_memory_make_nobody_else_new() {
        let mut standings = Standings::default();
        let free = |account| Party { group: 0, ..party(account) };
        let (paying, slow) = (party(u64::MAX), party(u64::MAX - 1));
        standings.record_end(paying, Duration::ZERO, true, Instant::now());
        standings.record_end(slow, Duration::from_secs(5), false, Instant::now());
        for account in 1..2 * MAX_PARTIES as u64 {
            advance(Duration::from_millis(10)).await;
            standings.record_end(free(account), Duration::ZERO, true, Instant::now());
            assert_eq!(standings.of(free(account), Instant::now()), Standing::Proven);
        }
        assert!(standings.len() <= MAX_PARTIES);
        assert_eq!(standings.of(paying, Instant::now()), Standing::Proven);
        assert_eq!(standings.of(slow, Instant::now()), Standing::Slow);
    }
}
