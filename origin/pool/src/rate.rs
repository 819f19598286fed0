//! The rate of new sessions at one operator from one source address, or at one machine. A refusal of our address before
//! RCPT lowers the rate; refusals at RCPT do so only if many domains refuse. Each answer about a domain other than the
//! last one that lowered the rate raises it. At the minimum rate, single checks still pass.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    net::IpAddr,
    time::Duration,
};

use tokio::time::Instant;

use super::{Key, hash_key::ByKey};

/// Longest interval of a lowered rate, unless the configured interval is longer.
const INTERVAL_MAX: Duration = Duration::from_secs(5);
/// Interval from which doubling starts if the configured interval is shorter.
const DOUBLING_START_MIN: Duration = Duration::from_millis(250);
/// Maximum number of times that a rate is halved.
const MAX_LEVEL: u32 = 16;
/// Time for which a tenant's last check of a domain is remembered as a trial.
const TRIAL_LIFETIME: Duration = Duration::from_secs(600);
/// Time after the last evidence for which a machine's lowered rate is remembered. An operator's rate is remembered
/// until it has risen.
const LOWERED_LIFETIME: Duration = Duration::from_secs(3_600);
/// Minimum number of recently tried domains for a conclusion: fewer domains may share one rule.
const MIN_DOMAINS: usize = 8;
/// Minimum number of tenants with refusals, because a single tenant chooses its own addresses.
const MIN_TENANTS: usize = 3;
/// Maximum numbers of trials remembered per tenant and in total: a tenant can fill only a sixteenth of the memory.
const MAX_OF_TENANT: usize = 64;
const MAX_TRIALS: usize = 1_024;
/// Interval in which a machine's words about our address count only once.
const MACHINE_INTERVAL: Duration = Duration::from_secs(60);
const MAX_MACHINES: usize = 64;

/// A tenant's last check of a domain; `refused` is true if our address was refused.
#[derive(Clone, Copy)]
struct Trial {
    at: Instant,
    refused: bool,
}

impl Trial {
    fn is_lately(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) < TRIAL_LIFETIME
    }
}

#[derive(Debug, Clone)]
pub(super) struct Lowered {
    pub since: Instant,
    /// Words of the reply, without names and addresses.
    pub words: String,
    domain: Key,
    /// Time of the last evidence.
    at: Instant,
}

pub(super) struct Rate {
    /// Time between new sessions without any refusals.
    base: Duration,
    /// Number of times that the rate is halved now.
    level: u32,
    trials: Trials,
    machines: HashMap<IpAddr, Instant>,
    lowered: Option<Lowered>,
    floor_since: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Lowered,
    Raised,
}

impl Rate {
    pub(super) fn new(base: Duration) -> Self {
        Self {
            base,
            level: 0,
            trials: Trials::default(),
            machines: HashMap::new(),
            lowered: None,
            floor_since: None,
        }
    }

    /// A lowered rate stays lowered.
    pub(super) const fn set_base(&mut self, base: Duration) {
        self.base = base;
    }

    pub(super) fn interval(&self) -> Duration {
        if self.level == 0 {
            return self.base;
        }
        let doubled =
            self.base.max(DOUBLING_START_MIN).saturating_mul(1 << self.level.min(MAX_LEVEL));
        doubled.min(INTERVAL_MAX.max(self.base))
    }

    pub(super) const fn is_lowered(&self) -> bool {
        self.level > 0
    }

    pub(super) const fn lowered(&self) -> Option<&Lowered> {
        self.lowered.as_ref()
    }

    pub(super) const fn floor_since(&self) -> Option<Instant> {
        self.floor_since
    }

    /// True if the server has recently replied about a recipient of the domain to this tenant.
    pub(super) fn is_proven(&self, tenant: Key, domain: Key, now: Instant) -> bool {
        let trial = self.trials.by_party.get(&(tenant, domain));
        trial.is_some_and(|trial| !trial.refused && trial.is_lately(now))
    }

    pub(super) fn record_answer(
        &mut self,
        tenant: Key,
        domain: Key,
        now: Instant,
    ) -> Option<Change> {
        self.trials.add(tenant, domain, false, now);
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

    /// A single refusal may be the domain's own rule: a domain counts once, and only together with others.
    pub(super) fn record_refusal_at_rcpt(
        &mut self,
        tenant: Key,
        domain: Key,
        words: &str,
        now: Instant,
    ) -> Option<Change> {
        let counted = self.trials.add(tenant, domain, true, now);
        if counted || !self.is_general(now) {
            return None;
        }
        self.lower(domain, words, now)
    }

    /// The refusal came before RCPT, where no domain had been named.
    pub(super) fn record_machine_refusal(
        &mut self,
        machine: IpAddr,
        domain: Key,
        words: &str,
        now: Instant,
    ) -> Option<Change> {
        self.machines.retain(|_, at| now.saturating_duration_since(*at) < MACHINE_INTERVAL);
        if self.machines.contains_key(&machine) || self.machines.len() >= MAX_MACHINES {
            return None;
        }
        self.machines.insert(machine, now);
        self.lower(domain, words, now)
    }

    fn lower(&mut self, domain: Key, words: &str, now: Instant) -> Option<Change> {
        let before = self.interval();
        self.level += 1;
        let since = self.lowered.as_ref().map_or(now, |lowered| lowered.since);
        self.lowered = Some(Lowered { since, words: words.to_owned(), domain, at: now });
        if self.interval() == before {
            self.level -= 1;
            return None;
        }
        if self.interval() >= INTERVAL_MAX {
            self.floor_since.get_or_insert(now);
        }
        Some(Change::Lowered)
    }

    /// At least half of eight or more recently tried domains refuse us, with refusals from at least three tenants or
    /// from all tenants that tried.
    fn is_general(&self, now: Instant) -> bool {
        let (mut domains, mut tenants) = (HashMap::new(), HashMap::new());
        let lately = self.trials.by_party.iter().filter(|(_, trial)| trial.is_lately(now));
        for ((tenant, domain), trial) in lately {
            *domains.entry(*domain).or_insert(false) |= trial.refused;
            *tenants.entry(*tenant).or_insert(false) |= trial.refused;
        }
        let refused = domains.values().filter(|refused| **refused).count();
        let brought = tenants.values().filter(|refused| **refused).count();
        domains.len() >= MIN_DOMAINS
            && 2 * refused >= domains.len()
            && (brought >= MIN_TENANTS || brought == tenants.len())
    }

    pub(super) fn forget(&mut self, now: Instant) {
        self.trials.forget(now);
    }

    pub(super) fn trials(&self) -> usize {
        self.trials.by_party.len()
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        let is_kept =
            |lowered: &Lowered| now.saturating_duration_since(lowered.at) < LOWERED_LIFETIME;
        !self.lowered.as_ref().is_some_and(is_kept)
            && self.trials.by_party.values().all(|trial| !trial.is_lately(now))
    }
}

/// Trials of the last ten minutes by tenant and domain, ordered by time.
#[derive(Default)]
struct Trials {
    by_party: BTreeMap<(Key, Key), Trial>,
    of_tenant: ByKey<usize>,
    /// Oldest first; an entry that was repeated moves to the end when it reaches the front.
    order: VecDeque<((Key, Key), Instant)>,
}

impl Trials {
    /// True if the domain's refusal was already counted. For a repeated trial, only this tenant's refusal counts.
    fn add(&mut self, tenant: Key, domain: Key, refused: bool, now: Instant) -> bool {
        let trial = Trial { at: now, refused };
        if let Some(before) = self.by_party.get_mut(&(tenant, domain)) {
            let counted = before.refused && before.is_lately(now);
            if !(counted && refused) {
                *before = trial;
            }
            return counted;
        }
        let counted = refused
            && self.by_party.iter().any(|((_, other), trial)| {
                *other == domain && trial.refused && trial.is_lately(now)
            });
        self.forget(now);
        if self.of_tenant.get(&tenant).is_some_and(|count| *count >= MAX_OF_TENANT) {
            if !refused {
                // An answer doesn't displace the tenant's other trials.
                return counted;
            }
            let own = self.by_party.iter().filter(|((other, _), _)| *other == tenant);
            let oldest = own.min_by_key(|(_, trial)| trial.at).map(|(key, _)| *key);
            oldest.into_iter().for_each(|key| self.remove(key));
        }
        if self.by_party.len() >= MAX_TRIALS {
            self.forget_oldest();
        }
        self.by_party.insert((tenant, domain), trial);
        *self.of_tenant.entry(tenant).or_default() += 1;
        self.order.push_back(((tenant, domain), now));
        counted
    }

    fn forget(&mut self, now: Instant) {
        while let Some((_, at)) = self.order.front()
            && now.saturating_duration_since(*at) >= TRIAL_LIFETIME
        {
            let Some(repeated) = self.pop() else { continue };
            if now.saturating_duration_since(repeated.1) >= TRIAL_LIFETIME {
                self.remove(repeated.0);
            } else {
                self.order.push_back(repeated);
            }
        }
    }

    fn forget_oldest(&mut self) {
        while let Some((key, at)) = self.order.front().copied() {
            match self.pop() {
                Some(repeated) if repeated.1 > at => self.order.push_back(repeated),
                Some(_) => return self.remove(key),
                None => {}
            }
        }
    }

    /// `None` also if the front's trial no longer exists.
    fn pop(&mut self) -> Option<((Key, Key), Instant)> {
        let (key, _) = self.order.pop_front()?;
        Some((key, self.by_party.get(&key)?.at))
    }

    fn remove(&mut self, key: (Key, Key)) {
        if self.by_party.remove(&key).is_none() {
            return;
        }
        if let Some(count) = self.of_tenant.get_mut(&key.0) {
            *count -= 1;
            if *count == 0 {
                self.of_tenant.remove(&key.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, advance};

    use super::{Change, INTERVAL_MAX, Rate};

    const BASE: Duration = Duration::from_millis(500);

    fn rate() -> Rate {
        Rate::new(BASE)
    }

    #[tokio::test(start_paused = true)]
    async fn a_ban_of_our_address_is_noticed_within_sixteen_domains_and_made_good() {
        for tenants in [1, 5] {
            let (mut rate, now) = (rate(), Instant::now());
            let mut domains = 0;
            while rate.interval() < INTERVAL_MAX {
                domains += 1;
                rate.record_refusal_at_rcpt(domains % tenants, domains, "blocked", now);
                assert!(domains <= 16, "{tenants}");
            }
            assert_eq!(rate.lowered().unwrap().words, "blocked");
            assert!(rate.floor_since().is_some());
            for domain in 0..4 {
                assert_eq!(rate.record_answer(0, 100 + domain, now), Some(Change::Raised));
            }
            assert_eq!((rate.interval(), rate.floor_since()), (BASE, None));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_domain_counts_once_however_often_and_by_whichever_tenant() {
        let (mut rate, now) = (rate(), Instant::now());
        for n in 0..200 {
            assert_eq!(rate.record_refusal_at_rcpt(n, 7, "no", now), None);
        }
        assert!(!rate.is_lowered());
    }

    #[tokio::test(start_paused = true)]
    async fn what_one_tenant_brings_lowers_nothing_while_others_are_answered() {
        let (mut rate, now) = (rate(), Instant::now());
        rate.record_answer(2, 1, now);
        for domain in 10..400 {
            assert_eq!(rate.record_refusal_at_rcpt(1, domain, "no", now), None, "{domain}");
        }
        assert!(rate.trials.by_party.len() <= 100);
    }

    #[tokio::test(start_paused = true)]
    async fn few_among_many_domains_lower_nothing() {
        let (mut rate, now) = (rate(), Instant::now());
        for domain in 0..50 {
            rate.record_answer(domain % 3, domain, now);
        }
        for n in 0..20 {
            assert_eq!(rate.record_refusal_at_rcpt(10 + n % 5, 100 + n, "no", now), None, "{n}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_machine_counts_once_a_minute() {
        let mut rate = rate();
        let machine = "192.0.2.1".parse().unwrap();
        let mut lowered = Vec::new();
        for _ in 0..3 {
            let now = Instant::now();
            lowered.push(rate.record_machine_refusal(machine, 1, "go away", now).is_some());
            lowered.push(rate.record_machine_refusal(machine, 1, "go away", now).is_some());
            advance(Duration::from_secs(60)).await;
        }
        assert_eq!(lowered, [true, false, true, false, true, false]);
        assert_eq!(
            rate.record_answer(1, 1, Instant::now()),
            None,
            "not by the domain that lowered it"
        );
        assert_eq!(rate.record_answer(1, 2, Instant::now()), Some(Change::Raised));
    }

    #[tokio::test(start_paused = true)]
    async fn a_rate_without_a_pause_can_fall_too() {
        let mut rate = Rate::new(Duration::ZERO);
        assert!(rate.interval().is_zero());
        let machine = |n: u8| std::net::IpAddr::from([192, 0, 2, n]);
        for n in 0..30 {
            rate.record_machine_refusal(machine(n), 1, "no", Instant::now());
        }
        assert_eq!(rate.interval(), INTERVAL_MAX);
    }
}
