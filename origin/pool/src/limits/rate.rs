//! The rate of new sessions at one operator from one source address, or at one machine. Words about our address before
//! RCPT lower it at a machine in a new session. Other words about our address or our rate lower it once many domains
//! have them. Each answer about a domain other than the last one that lowered the rate raises it. At the minimum rate,
//! single checks still pass.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

use crate::{bounded::Bounded, question::Key};

/// Unless the configured interval is longer.
const INTERVAL_MAX: Duration = Duration::from_secs(5);
/// If the configured interval is shorter, doubling starts here.
const DOUBLING_START_MIN: Duration = Duration::from_millis(250);
const MAX_LEVEL: u32 = 16;
/// Time for which a tenant's last check of a domain is remembered as a trial.
const TRIAL_LIFETIME: Duration = Duration::from_secs(600);
/// Only for machines: an operator's rate is remembered until it has risen.
const LOWERED_LIFETIME: Duration = Duration::from_secs(3_600);
/// Fewer domains may share one rule.
const MIN_DOMAINS: usize = 8;
/// A single tenant chooses its own addresses.
const MIN_TENANTS: usize = 3;
const MAX_TRIALS: usize = 1_024;
/// Interval in which a machine's words about our address count only once, and time for which an answer shows that an
/// operator doesn't mean our address.
const MINUTE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy)]
struct Trial {
    at: Instant,
    refused: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Lowered {
    pub since: Instant,
    pub words: String,
    /// The tenant that alone provoked it, and for which alone it holds.
    by: Option<Key>,
    domain: Key,
    at: Instant,
}

/// A tenant whose checks are evidence; `None` for checks without a group, which are the service's own.
pub(crate) type Evidence = Option<Key>;

pub(crate) struct Rate {
    base: Duration,
    level: u32,
    trials: Bounded<(Key, Key), Trial>,
    lowered: Option<Lowered>,
    floor_since: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Lowered,
    Raised,
}

impl Rate {
    pub(crate) const fn new(base: Duration) -> Self {
        let trials = Bounded::new(MAX_TRIALS);
        Self { base, level: 0, trials, lowered: None, floor_since: None }
    }

    pub(crate) const fn set_base(&mut self, base: Duration) {
        self.base = base;
    }

    pub(crate) fn interval(&self) -> Duration {
        if self.level == 0 {
            return self.base;
        }
        let doubled =
            self.base.max(DOUBLING_START_MIN).saturating_mul(1 << self.level.min(MAX_LEVEL));
        doubled.min(INTERVAL_MAX.max(self.base))
    }

    pub(crate) fn lowered_alone(&self) -> Option<Key> {
        self.lowered.as_ref().and_then(|lowered| lowered.by)
    }

    pub(crate) fn interval_for_all(&self) -> Duration {
        if self.lowered_alone().is_some() { self.base } else { self.interval() }
    }

    pub(crate) const fn lowered(&self) -> Option<&Lowered> {
        self.lowered.as_ref()
    }

    pub(crate) const fn floor_since(&self) -> Option<Instant> {
        self.floor_since
    }

    pub(crate) fn is_proven(&self, tenant: Key, domain: Key, now: Instant) -> bool {
        self.trials.get((tenant, domain), now).is_some_and(|trial| !trial.refused)
    }

    pub(crate) fn hear_answer(&mut self, tenant: Key, domain: Key, now: Instant) -> Option<Change> {
        let trial = Trial { at: now, refused: false };
        *self.trials.entry((tenant, domain), (tenant, TRIAL_LIFETIME), now, || trial) = trial;
        let another = self.lowered.as_ref().is_some_and(|lowered| lowered.domain != domain);
        if self.level == 0 || !another {
            return None;
        }
        self.level -= 1;
        self.floor_since = None;
        if self.level == 0 {
            self.lowered = None;
        }
        Some(Change::Raised)
    }

    /// Words about our address or rate. A single refusal may be the domain's own rule: a domain counts once, and
    /// only together with others, while no other tenant gets answers.
    pub(crate) fn hear_words(
        &mut self,
        (tenant, evidence): (Key, Evidence),
        domain: Key,
        words: &str,
        now: Instant,
    ) -> Option<Change> {
        let counted = self.add_refusal((tenant, domain), now);
        let others_are_answered = self.trials.iter(now).any(|((other, _), trial)| {
            *other != tenant && !trial.refused && now < trial.at + MINUTE
        });
        if counted || others_are_answered {
            return None;
        }
        let tenants = self.tenants_that_bring_a_conclusion(now)?;
        let by = evidence.filter(|_| tenants < 2);
        self.lower(domain, by, words, now)
    }

    /// A machine's words about our address, before RCPT in a new session: no domain had been named.
    pub(crate) fn hear_machine(
        &mut self,
        domain: Key,
        words: &str,
        now: Instant,
    ) -> Option<Change> {
        let last = self.lowered.as_ref().map(|lowered| lowered.at);
        if last.is_some_and(|at| now.saturating_duration_since(at) < MINUTE) {
            return None;
        }
        self.lower(domain, None, words, now)
    }

    fn lower(&mut self, domain: Key, by: Option<Key>, words: &str, now: Instant) -> Option<Change> {
        let before = self.interval();
        self.level += 1;
        let last = self.lowered.as_ref();
        let since = last.map_or(now, |lowered| lowered.since);
        let by = by.filter(|by| last.is_none_or(|lowered| lowered.by == Some(*by)));
        self.lowered = Some(Lowered { since, words: words.to_owned(), by, domain, at: now });
        if by.is_none() && self.interval() >= INTERVAL_MAX {
            self.floor_since.get_or_insert(now);
        }
        if self.interval() == before {
            self.level -= 1;
            return None;
        }
        Some(Change::Lowered)
    }

    /// At least half of eight or more recently tried domains refuse us, with refusals from at least three tenants or
    /// from all tenants that tried. The result is the number of tenants with refusals.
    fn tenants_that_bring_a_conclusion(&self, now: Instant) -> Option<usize> {
        let (mut domains, mut tenants) = (BTreeMap::new(), BTreeMap::new());
        for ((tenant, domain), trial) in self.trials.iter(now) {
            *domains.entry(*domain).or_insert(false) |= trial.refused;
            *tenants.entry(*tenant).or_insert(false) |= trial.refused;
        }
        let refused = domains.values().filter(|refused| **refused).count();
        let brought = tenants.values().filter(|refused| **refused).count();
        let is_general = domains.len() >= MIN_DOMAINS
            && 2 * refused >= domains.len()
            && (brought >= MIN_TENANTS || brought == tenants.len());
        is_general.then_some(brought)
    }

    /// True if the domain's refusal was already counted. For a repeated trial, only this tenant's refusal counts.
    fn add_refusal(&mut self, key: (Key, Key), now: Instant) -> bool {
        let (tenant, domain) = key;
        let own = self.trials.get(key, now).map(|before| before.refused);
        if own != Some(true) {
            let trial = Trial { at: now, refused: true };
            *self.trials.entry(key, (tenant, TRIAL_LIFETIME), now, || trial) = trial;
        }
        let of_others = |((other, of), it): (&(Key, Key), &Trial)| {
            *other != tenant && *of == domain && it.refused
        };
        own.unwrap_or_else(|| self.trials.iter(now).any(of_others))
    }

    pub(crate) fn forget(&mut self, now: Instant) {
        self.trials.forget(now);
    }

    pub(crate) fn trials(&self) -> usize {
        self.trials.len()
    }

    pub(crate) fn is_over(&self, now: Instant) -> bool {
        let is_kept =
            |lowered: &Lowered| now.saturating_duration_since(lowered.at) < LOWERED_LIFETIME;
        !self.lowered.as_ref().is_some_and(is_kept) && self.trials.iter(now).next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, advance};

    use super::{Change, INTERVAL_MAX, MAX_TRIALS, Rate};

    const BASE: Duration = Duration::from_millis(500);

    fn rate() -> Rate {
        Rate::new(BASE)
    }

    fn refused(rate: &mut Rate, tenant: u64, domain: u64, now: Instant) -> Option<Change> {
        rate.hear_words((tenant, Some(tenant)), domain, "blocked", now)
    }

    #[tokio::test(start_paused = true)]
    async fn a_ban_of_our_address_is_noticed_within_sixteen_domains_and_made_good() {
        for tenants in [1, 5] {
            let (mut rate, now) = (rate(), Instant::now());
            let mut domains = 0;
            while rate.interval() < INTERVAL_MAX {
                domains += 1;
                refused(&mut rate, domains % tenants, domains, now);
                assert!(domains <= 16, "{tenants}");
            }
            assert_eq!(rate.lowered().unwrap().words, "blocked");
            assert_eq!(rate.floor_since().is_some(), tenants > 1, "two tenants are evidence");
            assert_eq!(rate.lowered_alone(), Some(0).filter(|_| tenants == 1));
            for domain in 0..4 {
                assert_eq!(rate.hear_answer(0, 100 + domain, now), Some(Change::Raised));
            }
            assert_eq!((rate.interval(), rate.floor_since()), (BASE, None));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_domain_counts_once_however_often_and_by_whichever_tenant() {
        let (mut rate, now) = (rate(), Instant::now());
        for n in 0..200 {
            assert_eq!(refused(&mut rate, n, 7, now), None);
        }
        assert!(rate.lowered().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn what_one_tenant_brings_lowers_nothing_while_others_are_answered() {
        let (mut rate, now) = (rate(), Instant::now());
        rate.hear_answer(2, 1, now);
        for domain in 10..400 {
            assert_eq!(refused(&mut rate, 1, domain, now), None, "{domain}");
        }
        assert!(rate.trials() <= MAX_TRIALS);
    }

    #[tokio::test(start_paused = true)]
    async fn few_among_many_domains_lower_nothing() {
        let (mut rate, now) = (rate(), Instant::now());
        for domain in 0..50 {
            rate.hear_answer(domain % 3, domain, now);
        }
        for n in 0..20 {
            assert_eq!(refused(&mut rate, 10 + n % 5, 100 + n, now), None, "{n}");
        }
    }

    /// Each of three tenants has eight domains of its own there, all of which refuse us.
    #[tokio::test(start_paused = true)]
    async fn an_operators_rate_stays_while_others_are_answered_there() {
        let mut rate = rate();
        for n in 0..24 {
            rate.hear_answer(9, 1_000 + n % 2, Instant::now());
            assert_eq!(refused(&mut rate, n % 3, n, Instant::now()), None, "{n}");
        }
        advance(Duration::from_secs(60)).await;
        assert_eq!(refused(&mut rate, 0, 99, Instant::now()), Some(Change::Lowered));
    }

    #[tokio::test(start_paused = true)]
    async fn a_domains_later_answer_replaces_its_refusal_and_the_reverse() {
        let (mut rate, now) = (rate(), Instant::now());
        for domain in 0..7 {
            refused(&mut rate, 1, domain, now);
        }
        for domain in 0..5 {
            rate.hear_answer(1, domain, now);
            assert!(rate.is_proven(1, domain, now), "{domain}");
        }
        assert_eq!(
            refused(&mut rate, 1, 7, now),
            None,
            "five of eight are answered: {}",
            rate.trials()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_machine_counts_once_a_minute() {
        let mut rate = rate();
        let mut lowered = Vec::new();
        for _ in 0..3 {
            let now = Instant::now();
            lowered.push(rate.hear_machine(1, "go away", now).is_some());
            lowered.push(rate.hear_machine(1, "go away", now).is_some());
            advance(Duration::from_secs(60)).await;
        }
        assert_eq!(lowered, [true, false, true, false, true, false]);
        assert_eq!(
            rate.hear_answer(1, 1, Instant::now()),
            None,
            "not by the domain that lowered it"
        );
        assert_eq!(rate.hear_answer(1, 2, Instant::now()), Some(Change::Raised));
    }

    #[tokio::test(start_paused = true)]
    async fn a_rate_without_a_pause_can_fall_too() {
        let mut rate = Rate::new(Duration::ZERO);
        assert!(rate.interval().is_zero());
        for _ in 0..30 {
            rate.hear_machine(1, "no", Instant::now());
            advance(Duration::from_secs(60)).await;
        }
        assert_eq!(rate.interval(), INTERVAL_MAX);
    }
}
