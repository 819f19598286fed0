//! Memories that save later probes a round trip, a futile attempt or the conversation: about mail hosts and domains,
//! which stay below 10 MB, at about 100 bytes an entry; and recent verdicts, so that an address checked again soon
//! costs none. All checks of a domain go to one origin.

use std::{borrow::Cow, hash::Hash, sync::Arc, time::Duration};

use hmac::{Hmac, KeyInit as _, Mac as _};
use moka::{Expiry, sync::Cache};
use rcpt_pool::HashKey;
use rcpt_shared::{Address, CacheTimes, CatchAll, Verdict};
use rcpt_smtp::Greeting;
use rcpt_verdict::Wording;
use sha2::Sha256;
use tokio::time::Instant;

use super::contrast::Invented;
use crate::dns::Mx;

/// About as many hosts accept most of the world's mail.
const MAX_HOSTS: u64 = 20_000;
/// A verdict takes about 600 bytes, so 30 MB.
const MAX_VERDICTS: u64 = 50_000;
/// A server's configuration may change.
const CAPABILITIES_LIFETIME: Duration = Duration::from_secs(3_600);
const DOWN_LIFETIME: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3_600);
/// Times for which the control recipient's result is kept (docs/verdicts.md): whether a domain refuses unknown names
/// changes rarely.
const REFUSES_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3_600);
const ACCEPTS_ALL_LIFETIME: Duration = Duration::from_secs(7 * 24 * 3_600);
/// It ends before a list's first retry, when a greylist knows the name.
const INCONCLUSIVE_LIFETIME: Duration = Duration::from_secs(4 * 60);

/// Values that expire by tokio's clock. The cache's own clock, which doesn't follow virtual time, only serves to free
/// expired entries.
struct Memory<K, T>(Cache<K, (T, Instant)>);

impl<K: Hash + Eq + Send + Sync + 'static, T: Clone + Send + Sync + 'static> Memory<K, T> {
    fn of(most: u64) -> Self {
        Self(Cache::builder().max_capacity(most).expire_after(Ending).build())
    }

    fn get(&self, key: &K) -> Option<T> {
        let (value, until) = self.0.get(key)?;
        (until > Instant::now()).then_some(value)
    }

    fn insert(&self, key: K, value: T, lasts: Duration) {
        self.0.insert(key, (value, Instant::now() + lasts));
    }
}

struct Ending;

impl<K, T> Expiry<K, (T, Instant)> for Ending {
    fn expire_after_create(
        &self,
        _: &K,
        (_, until): &(T, Instant),
        _: std::time::Instant,
    ) -> Option<Duration> {
        Some(until.saturating_duration_since(Instant::now()))
    }

    fn expire_after_update(
        &self,
        key: &K,
        value: &(T, Instant),
        at: std::time::Instant,
        _: Option<Duration>,
    ) -> Option<Duration> {
        self.expire_after_create(key, value, at)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Offers {
    pub demands_tls: bool,
    pub lacks_smtputf8: bool,
    pub greeting: Greeting,
}

#[derive(Debug, Clone, Copy)]
struct Habit {
    catch_all: CatchAll,
    /// The host's words for names that don't exist, if no rule knows them, and the time when it said them to a list.
    nobody: Option<(Wording, Option<Instant>)>,
}

/// By keyed hashes of hosts, or of domain and host.
pub(super) struct HostMemory {
    offers: Memory<u64, Offers>,
    down: Memory<u64, ()>,
    catch_all: Memory<u64, Habit>,
    refuses_by_name: Memory<u64, ()>,
    keys: HashKey,
}

impl HostMemory {
    pub(super) fn new(keys: HashKey) -> Self {
        Self {
            offers: Memory::of(MAX_HOSTS),
            down: Memory::of(MAX_HOSTS),
            catch_all: Memory::of(MAX_HOSTS),
            refuses_by_name: Memory::of(MAX_HOSTS),
            keys,
        }
    }

    pub(super) fn hash(&self, text: &str) -> u64 {
        self.keys.hash_one(text)
    }

    pub(super) fn offers(&self, host: &str) -> Offers {
        self.offers.get(&self.hash(host)).unwrap_or_default()
    }

    pub(super) fn showed(&self, host: &str, offers: Offers) {
        if offers != self.offers(host) {
            self.offers.insert(self.hash(host), offers, CAPABILITIES_LIFETIME);
        }
    }

    pub(super) fn could_not_be_reached(&self, host: &str) {
        self.down.insert(self.hash(host), (), DOWN_LIFETIME);
    }

    /// Recently unreachable hosts come last among those of their preference.
    pub(super) fn in_health_order<'h>(&self, hosts: &'h [Mx]) -> Cow<'h, [Mx]> {
        let is_down = |host: &Mx| self.down.get(&self.hash(&host.exchange)).is_some();
        if hosts.len() < 2 || !hosts.iter().any(is_down) {
            return Cow::Borrowed(hosts);
        }
        let mut hosts = hosts.to_vec();
        hosts.sort_by_key(|host| (host.preference, is_down(host)));
        Cow::Owned(hosts)
    }

    pub(super) fn catch_all(&self, key: &str) -> Option<CatchAll> {
        self.catch_all.get(&self.hash(key)).map(|habit| habit.catch_all)
    }

    pub(super) fn is_catch_all(&self, key: &str, catch_all: CatchAll) {
        let lasts = match catch_all {
            CatchAll::Unknown => INCONCLUSIVE_LIFETIME,
            CatchAll::Yes => ACCEPTS_ALL_LIFETIME,
            CatchAll::No => REFUSES_LIFETIME,
        };
        self.catch_all.insert(self.hash(key), Habit { catch_all, nobody: None }, lasts);
    }

    /// The host refuses names that don't exist, in these words, which no rule knows. A single check may come from
    /// another source address than a list, and shows nothing of how the host treats the list.
    pub(super) fn says_to_nobody(&self, key: &str, said: Wording, is_list: bool) {
        let said_at = is_list.then(Instant::now);
        let habit = Habit { catch_all: CatchAll::No, nobody: Some((said, said_at)) };
        self.catch_all.insert(self.hash(key), habit, DAY);
    }

    pub(super) fn invented(&self, key: &str) -> (Invented, Option<Instant>) {
        match self.catch_all.get(&self.hash(key)).map(|it| (it.catch_all, it.nobody)) {
            Some((CatchAll::Yes, _)) => (Invented::Accepted, None),
            Some((CatchAll::No, Some((said, at)))) => (Invented::Undecided(said), at),
            Some((CatchAll::No, None)) => (Invented::Known, None),
            Some((CatchAll::Unknown, _)) | None => (Invented::Unknown, None),
        }
    }

    pub(super) fn refused_by_name(&self, key: &str) {
        if !self.refuses_by_name(key) {
            self.refuses_by_name.insert(self.hash(key), (), DAY);
        }
    }

    /// The server refuses some names by a look-up, but may accept others. Kept for a day.
    pub(super) fn refuses_by_name(&self, key: &str) -> bool {
        self.refuses_by_name.get(&self.hash(key)).is_some()
    }
}

/// Backup hosts may accept names that the first host refuses.
pub(super) fn catch_all_key(domain: &str, host: &str) -> String {
    [domain, "\n", host].concat()
}

/// In memory only, under a MAC with a key of this process.
pub struct VerdictMemory {
    mac: Hmac<Sha256>,
    /// Each with the time when it was reached.
    stored: Memory<[u8; 32], (Arc<Verdict>, Instant)>,
}

impl Default for VerdictMemory {
    fn default() -> Self {
        let mac = Hmac::new(&rand::random::<[u8; 64]>().into());
        Self { mac, stored: Memory::of(MAX_VERDICTS) }
    }
}

impl VerdictMemory {
    fn key(&self, address: &Address) -> [u8; 32] {
        self.mac.clone().chain_update(address.normal()).finalize().into_bytes().into()
    }

    pub fn recall(&self, address: &Address) -> Option<Verdict> {
        let (verdict, reached) = self.stored.get(&self.key(address))?;
        let seen_before = Some(reached.elapsed().as_secs());
        Some(Verdict { seen_before, ..Verdict::clone(&verdict) })
    }

    pub fn remember(&self, address: &Address, verdict: &Verdict, times: CacheTimes) {
        let lasts = times.of_verdict(verdict.status, Some(verdict.reason)).unwrap_or_default();
        if lasts > 0 {
            let reached = (Arc::new(verdict.clone()), Instant::now());
            self.stored.insert(self.key(address), reached, Duration::from_secs(lasts));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcpt_shared::{Address, CacheTimes, CatchAll, Reason, Stage, Status, Verdict};
    use rcpt_smtp::Reply;
    use rcpt_verdict::{Parties, Wording, judge};
    use tokio::time::{Instant, advance};

    use super::{DAY, HashKey, HostMemory, Invented, MAX_VERDICTS, Mx, Offers, VerdictMemory};

    #[test]
    fn a_host_that_is_down_comes_last_and_keeps_its_order_otherwise() {
        let hosts = HostMemory::new(HashKey::default());
        let mx = |name: &str| Mx { preference: 10, exchange: name.into() };
        let names = |text: &str| text.split(' ').map(mx).collect::<Vec<_>>();
        assert_eq!(*hosts.in_health_order(&names("a b c")), names("a b c"));
        hosts.could_not_be_reached("a");
        assert_eq!(*hosts.in_health_order(&names("a b c")), names("b c a"));
        assert_eq!(*hosts.in_health_order(&names("b c")), names("b c"));
        assert_eq!(*hosts.in_health_order(&names("a")), names("a"));
        let backup = Mx { preference: 20, exchange: "backup".into() };
        let both = [mx("a"), backup];
        assert_eq!(*hosts.in_health_order(&both), both, "no backup host comes first");
    }

    #[test]
    fn remembers_what_a_host_showed_and_a_domain_does() {
        let hosts = HostMemory::new(HashKey::default());
        assert_eq!(hosts.offers("mx"), Offers::default());
        let offers = Offers { demands_tls: true, ..Offers::default() };
        hosts.showed("mx", offers);
        assert_eq!(hosts.offers("mx"), offers);
        assert_eq!(hosts.catch_all("d"), None);
        for found in [CatchAll::Unknown, CatchAll::Yes] {
            hosts.is_catch_all("d", found);
            assert_eq!(hosts.catch_all("d"), Some(found));
        }
        assert!(!hosts.refuses_by_name("d"));
        hosts.refused_by_name("d");
        assert!(hosts.refuses_by_name("d"));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_learnt_about_a_domain_is_kept_for_as_long_as_it_is_likely_to_stay_true() {
        let hosts = HostMemory::new(HashKey::default());
        let second = Duration::from_secs(1);
        for (found, minutes) in [
            (CatchAll::Unknown, 4),
            (CatchAll::Unknown, 4),
            (CatchAll::Yes, 7 * 24 * 60),
            (CatchAll::No, 30 * 24 * 60),
        ] {
            let lasts = Duration::from_secs(minutes * 60);
            hosts.is_catch_all("d", found);
            advance(lasts - second).await;
            assert_eq!(hosts.catch_all("d"), Some(found));
            advance(second).await;
            assert_eq!(hosts.catch_all("d"), None, "{found:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_words_for_nobody_are_kept_for_a_day_and_not_with_other_results() {
        let hosts = HostMemory::new(HashKey::default());
        let reply = Reply::parse("550 kielletty\r\n").unwrap();
        let finding = judge(Stage::Rcpt, &reply, &Parties::default());
        let said = Wording::of(&reply, &finding, &Parties::default(), |it| hosts.hash(it)).unwrap();
        hosts.says_to_nobody("d", said, false);
        assert_eq!(hosts.invented("d"), (Invented::Undecided(said), None));
        hosts.says_to_nobody("d", said, true);
        let now = Instant::now();
        assert_eq!(hosts.catch_all("d"), Some(CatchAll::No));
        assert_eq!(hosts.invented("d"), (Invented::Undecided(said), Some(now)));
        advance(DAY).await;
        assert_eq!((hosts.catch_all("d"), hosts.invented("d")), (None, (Invented::Unknown, None)));
        for (found, due) in [
            (CatchAll::No, Invented::Known),
            (CatchAll::Yes, Invented::Accepted),
            (CatchAll::Unknown, Invented::Unknown),
        ] {
            hosts.is_catch_all("d", found);
            assert_eq!(hosts.invented("d"), (due, None));
        }
    }

    const TIMES: CacheTimes = CacheTimes { decided: 1, no_mail: 3_600, undecided: 0 };

    fn address(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    fn verdict(status: Status) -> Verdict {
        Verdict::new(status, Reason::Accepted, Stage::Rcpt)
    }

    #[tokio::test(start_paused = true)]
    async fn a_verdict_is_recalled_for_the_same_address_until_its_time_is_over() {
        let memory = VerdictMemory::default();
        let (asked, accepted) = (address("Ann@EXAMPLE.org"), verdict(Status::Accepted));
        memory.remember(&asked, &accepted, TIMES);
        let again = memory.recall(&address("Ann@example.org")).unwrap();
        assert_eq!(again.seen_before, Some(0));
        assert_eq!(Verdict { seen_before: None, ..again }, accepted);
        assert_eq!(memory.recall(&address("ann@example.org")), None);
        advance(Duration::from_millis(999)).await;
        assert!(memory.recall(&asked).is_some());
        advance(Duration::from_millis(1)).await;
        assert_eq!(memory.recall(&asked), None);
    }

    #[test]
    fn what_has_no_cache_time_is_not_remembered() {
        let memory = VerdictMemory::default();
        for status in [Status::FatalException, Status::SmtpTimeout] {
            memory.remember(&address("a@example.org"), &verdict(status), TIMES);
            assert_eq!(memory.recall(&address("a@example.org")), None, "{status:?}");
        }
    }

    #[test]
    fn the_memory_is_bounded() {
        let memory = VerdictMemory::default();
        for n in 0..2 * MAX_VERDICTS {
            let checked_address = address(&format!("{n}@example.org"));
            memory.remember(&checked_address, &verdict(Status::NoMxRecords), TIMES);
        }
        memory.stored.0.run_pending_tasks();
        assert!(memory.stored.0.entry_count() <= MAX_VERDICTS, "{}", memory.stored.0.entry_count());
    }
}
