//! Costs of accounts and domains at one site, and pasts of accounts over all servers.
//!
//! Costs are the seconds for which an account or a domain made others wait, halving every five minutes. A party with
//! costs is slow: while others are there, it leaves sessions to them. A slow account first waits, because otherwise an
//! endless series of new domains would get a long session each. Costs are an account's and not its group's: otherwise
//! one free account would delay all.
//!
//! A past is the share of an account's recipients that exist. An account whose recipients are mostly refused is
//! guessing, or has an outdated list; servers can't tell the two apart.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    bounded::Bounded,
    question::{Key, Party, Past},
};

/// Duration above which a session counts as slow. Most servers answer within a second; Exchange delays the refusal of
/// an unknown recipient by five seconds.
pub(crate) const SLOW: Duration = Duration::from_secs(2);
/// Longest session while others without slow sessions are waiting; it allows for Exchange's default
/// delay of five seconds before refusing an unknown recipient.
pub(crate) const CUT: Duration = Duration::from_millis(6_500);
const HALF_LIFE_S: f64 = 300.0;
const COST_LIFETIME: Duration = Duration::from_secs(3_600);
/// Cost of a session that the server closed on us at RCPT, in seconds: others wait for another one.
const CLOSED_S: f64 = 1.0;
/// An account waits for the square of its costs in seconds, divided by this number: little for chance, long for habit.
/// With 10 and 20, five accounts with ever new slow domains held the only session twice as often.
const WAIT_DIVISOR_S: f64 = 5.0;
/// Time for which an account counts as present at a site after its last quick answer.
const PRESENCE_LIFETIME: Duration = Duration::from_secs(60);
const PROOF_LIFETIME: Duration = Duration::from_secs(600);
const CUT_LIFETIME: Duration = Duration::from_secs(600);
/// Per site; about 100 bytes each.
const MAX_PARTIES: usize = 20_000;
const MAX_QUICK: usize = 4_096;

const MIN_ANSWERS: u32 = 8;
/// Number of answers above which both counts are halved, so that recent answers weigh most.
const MAX_ANSWERS: u32 = 64;
/// In a good past, at most one in `GOOD_RATIO` recipients is refused. Sign-up forms have about one refusal in twenty.
const GOOD_RATIO: u32 = 5;
/// Lifetime of a past after its last answer: even a small form (five checks an hour) renews it.
const PAST_LIFETIME: Duration = Duration::from_secs(24 * 3_600);
const MAX_ACCOUNTS: usize = 20_000;

#[derive(Clone, Copy)]
struct Cost {
    seconds: f64,
    at: Instant,
    count: u32,
    /// Time of the account's last cost, or of its last check since.
    last: Instant,
    cut_at: Option<Instant>,
}

impl Cost {
    const fn new(now: Instant) -> Self {
        Self { seconds: 0.0, at: now, count: 0, last: now, cut_at: None }
    }

    fn seconds(&self, now: Instant) -> f64 {
        let age_s = now.saturating_duration_since(self.at).as_secs_f64();
        self.seconds * (-age_s / HALF_LIFE_S).exp2()
    }

    fn add(&mut self, seconds: f64, now: Instant) {
        self.seconds = self.seconds(now) + seconds;
        (self.at, self.last, self.count) = (now, now, self.count + 1);
    }
}

pub(crate) struct Costs {
    parties: Bounded<Key, Cost>,
    quick: Bounded<Key, ()>,
    /// The last two accounts with quick answers.
    answered: [Option<(Key, Instant)>; 2],
}

impl Default for Costs {
    fn default() -> Self {
        let (parties, quick) = (Bounded::new(MAX_PARTIES), Bounded::new(MAX_QUICK));
        Self { parties, quick, answered: [None; 2] }
    }
}

impl Costs {
    pub(crate) fn is_slow(&self, party: Party, now: Instant) -> bool {
        self.is_slow_key(party.account, now) || self.is_slow_key(party.domain, now)
    }

    pub(crate) fn is_slow_key(&self, key: Key, now: Instant) -> bool {
        self.parties.get(key, now).is_some_and(|cost| cost.seconds(now) >= SLOW.as_secs_f64())
    }

    pub(crate) fn slow_until(&self, party: Party, now: Instant) -> Option<Instant> {
        let until = |key| {
            let half_lives = (self.parties.get(key, now)?.seconds(now) / SLOW.as_secs_f64()).log2();
            (half_lives >= 0.0).then(|| now + Duration::from_secs_f64(half_lives * HALF_LIFE_S))
        };
        until(party.account).max(until(party.domain))
    }

    pub(crate) fn is_proven(&self, account: Key, now: Instant) -> bool {
        self.quick.get(account, now).is_some()
    }

    pub(crate) fn waits_until(&self, account: Key, now: Instant) -> Option<Instant> {
        let cost = self.parties.get(account, now).filter(|cost| cost.count > 1)?;
        let wait_s = cost.seconds(cost.last).powi(2) / WAIT_DIVISOR_S;
        let until = cost.last + Duration::from_secs_f64(wait_s);
        (until > now).then_some(until)
    }

    pub(crate) fn take(&mut self, party: Party, now: Instant) {
        if let Some(cost) = self.parties.get_mut(party.account, now) {
            cost.last = now;
        }
    }

    pub(crate) fn other_is_present_until(&self, account: Key, now: Instant) -> Option<Instant> {
        let others = self.answered.iter().flatten().filter(|(other, _)| *other != account);
        others.map(|(_, at)| *at + PRESENCE_LIFETIME).filter(|until| *until > now).max()
    }

    /// After a recent cut, the domain gets its full time.
    pub(crate) fn may_cut(&self, domain: Key, now: Instant) -> bool {
        let cut_at = self.parties.get(domain, now).and_then(|cost| cost.cut_at);
        cut_at.is_none_or(|at| now.saturating_duration_since(at) >= CUT_LIFETIME)
    }

    pub(crate) fn cut(&mut self, holder: Party, now: Instant) {
        self.cost(holder.domain, holder.group, now).cut_at = Some(now);
    }

    pub(crate) fn hear_end(
        &mut self,
        party: Party,
        took: Duration,
        (answered, made_wait): (bool, bool),
        now: Instant,
    ) {
        if took > SLOW {
            if made_wait {
                for key in [party.account, party.domain] {
                    self.cost(key, party.group, now).add(took.as_secs_f64(), now);
                }
            }
        } else if answered {
            let account = party.account;
            self.quick.entry(account, (party.group, PROOF_LIFETIME), now, || ());
            let [last, before] = &mut self.answered;
            if last.is_some_and(|(other, _)| other != account) {
                *before = *last;
            }
            *last = Some((account, now));
        }
    }

    pub(crate) fn hear_closed(&mut self, party: Party, now: Instant) {
        self.cost(party.account, party.group, now).add(CLOSED_S, now);
    }

    fn cost(&mut self, key: Key, group: Key, now: Instant) -> &mut Cost {
        self.parties.entry(key, (group, COST_LIFETIME), now, || Cost::new(now))
    }

    pub(crate) fn len(&self) -> usize {
        self.parties.len() + self.quick.len()
    }

    pub(crate) fn forget(&mut self, now: Instant) {
        self.parties.forget(now);
        self.quick.forget(now);
    }
}

#[derive(Clone, Copy, Default)]
struct Answers {
    all: u32,
    refused: u32,
}

pub(crate) struct Pasts(Bounded<Key, Answers>);

impl Default for Pasts {
    fn default() -> Self {
        Self(Bounded::new(MAX_ACCOUNTS))
    }
}

impl Pasts {
    pub(crate) fn of(&self, account: Key, now: Instant) -> Past {
        match self.0.get(account, now) {
            Some(Answers { all, .. }) if *all < MIN_ANSWERS => Past::Unknown,
            Some(Answers { all, refused, .. }) if 2 * refused > *all => Past::Guessing,
            Some(Answers { all, refused, .. }) if GOOD_RATIO * refused <= *all => Past::Good,
            Some(_) | None => Past::Unknown,
        }
    }

    pub(crate) fn hear(&mut self, party: Party, refused: bool, now: Instant) {
        let Party { group, account, .. } = party;
        let answers = self.0.entry(account, (group, PAST_LIFETIME), now, Answers::default);
        answers.all += 1;
        answers.refused += u32::from(refused);
        if answers.all > MAX_ANSWERS {
            answers.all /= 2;
            answers.refused = answers.refused.div_ceil(2);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests;
