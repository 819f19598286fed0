//! Memory about mail hosts and domains, which saves later probes a round trip or a futile attempt.
//!
//! Each memory is limited in entries and time; an entry takes about 100 bytes, so all of them
//! together stay below 10 MB.

use std::{borrow::Cow, hash::Hash, sync::Arc, time::Duration};

use moka::sync::Cache;
use rcpt_pool::HashKey;
use rcpt_shared::CatchAll;
use rcpt_smtp::Greeting;
use tokio::time::Instant;

use crate::dns::Mx;

/// Maximum number of entries per memory. About as many hosts accept most of the world's mail.
const MAX_ENTRIES: u64 = 20_000;
/// Lifetime of stored capabilities: a server's configuration may change.
const CAPABILITIES_LIFETIME: Duration = Duration::from_secs(3_600);
/// Time for which an unreachable host is tried after its siblings.
const DOWN_LIFETIME: Duration = Duration::from_secs(60);
/// Interval of the control recipient for a domain (docs/verdicts.md).
const CONTROL_INTERVAL: Duration = Duration::from_secs(24 * 3_600);
/// Delay until the next control recipient after an inconclusive result; the delay doubles each time.
const INCONCLUSIVE_DELAY: Duration = Duration::from_secs(15 * 60);
/// Lifetime of an entry: longer than a day, so that the delay after an inconclusive result can
/// still double.
const ENTRY_LIFETIME: Duration = Duration::from_secs(2 * 24 * 3_600);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Offers {
    /// True if the host has refused MAIL or RCPT until the session was encrypted.
    pub demands_tls: bool,
    pub lacks_smtputf8: bool,
    pub greeting: Greeting,
}

/// Result of the control recipient for a domain at a host.
#[derive(Debug, Clone, Copy)]
struct Habit {
    catch_all: CatchAll,
    until: Instant,
    lasts: Duration,
}

/// Values that expire after a fixed time by tokio's clock. The cache's own clock,
/// which doesn't follow virtual time, only serves to free expired entries.
struct Memory<T> {
    entries: Cache<Arc<str>, (T, Instant)>,
    lifetime: Duration,
}

impl<T: Clone + Send + Sync + 'static> Memory<T> {
    fn new(lifetime: Duration) -> Self {
        Self { entries: cache(lifetime), lifetime }
    }

    fn get(&self, key: &str) -> Option<T> {
        let (value, until) = self.entries.get(key)?;
        (until > Instant::now()).then_some(value)
    }

    fn insert(&self, key: &str, value: T) {
        self.entries.insert(Arc::from(key), (value, Instant::now() + self.lifetime));
    }
}

pub(super) struct HostMemory {
    offers: Memory<Offers>,
    down: Memory<()>,
    /// Results by a keyed hash of domain and host.
    catch_all: Cache<u64, Habit>,
    keys: HashKey,
    /// Domains and hosts where a recipient was refused by a look-up of its name within the last day.
    refuses_by_name: Memory<()>,
}

fn cache<K, T>(lifetime: Duration) -> Cache<K, T>
where
    K: Hash + Eq + Send + Sync + 'static,
    T: Clone + Send + Sync + 'static,
{
    Cache::builder().max_capacity(MAX_ENTRIES).time_to_live(lifetime).build()
}

impl HostMemory {
    pub(super) fn new(keys: HashKey) -> Self {
        Self {
            offers: Memory::new(CAPABILITIES_LIFETIME),
            down: Memory::new(DOWN_LIFETIME),
            catch_all: cache(ENTRY_LIFETIME),
            keys,
            refuses_by_name: Memory::new(CONTROL_INTERVAL),
        }
    }

    pub(super) fn offers(&self, host: &str) -> Offers {
        self.offers.get(host).unwrap_or_default()
    }

    pub(super) fn showed(&self, host: &str, offers: Offers) {
        if offers != self.offers(host) {
            self.offers.insert(host, offers);
        }
    }

    pub(super) fn could_not_be_reached(&self, host: &str) {
        self.down.insert(host, ());
    }

    /// Recently unreachable hosts come last: trying the next preference is better than waiting four seconds for a dead
    /// host.
    pub(super) fn in_health_order<'h>(&self, hosts: &'h [Mx]) -> Cow<'h, [Mx]> {
        let is_down = |host: &Mx| self.down.get(&host.exchange).is_some();
        if hosts.len() < 2 || !hosts.iter().any(is_down) {
            return Cow::Borrowed(hosts);
        }
        let mut hosts = hosts.to_vec();
        hosts.sort_by_key(is_down);
        Cow::Owned(hosts)
    }

    pub(super) fn catch_all(&self, key: &str) -> Option<CatchAll> {
        let habit = self.catch_all.get(&self.keys.hash_one(key))?;
        (habit.until > Instant::now()).then_some(habit.catch_all)
    }

    /// A result is kept for a day, or if it is inconclusive, for 15 minutes, doubling each time.
    pub(super) fn is_catch_all(&self, key: &str, catch_all: CatchAll) {
        let key = self.keys.hash_one(key);
        let before = self.catch_all.get(&key).filter(|habit| habit.catch_all == CatchAll::Unknown);
        let lasts = match (catch_all, before) {
            (CatchAll::Unknown, Some(before)) => (before.lasts * 2).min(CONTROL_INTERVAL),
            (CatchAll::Unknown, None) => INCONCLUSIVE_DELAY,
            (CatchAll::Yes | CatchAll::No, _) => CONTROL_INTERVAL,
        };
        let habit = Habit { catch_all, until: Instant::now() + lasts, lasts };
        self.catch_all.insert(key, habit);
    }

    pub(super) fn refused_by_name(&self, key: &str) {
        if self.refuses_by_name.get(key).is_none() {
            self.refuses_by_name.insert(key, ());
        }
    }

    /// The server refuses some names by a look-up, but may accept others. Kept for a day.
    pub(super) fn refuses_by_name(&self, key: &str) -> bool {
        self.refuses_by_name.get(key).is_some()
    }
}

/// Backup hosts may accept names that the first host refuses.
pub(super) fn catch_all_key(domain: &str, host: &str) -> String {
    [domain, "\n", host].concat()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcpt_shared::CatchAll;
    use tokio::time::advance;

    use super::{CONTROL_INTERVAL, HashKey, HostMemory, Mx, Offers};

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
    async fn a_doubt_lasts_a_quarter_of_an_hour_and_then_twice_as_long_up_to_a_day() {
        let hosts = HostMemory::new(HashKey::default());
        for minutes in [15, 30, 60, 120, 240, 480, 960, 1_440, 1_440] {
            hosts.is_catch_all("d", CatchAll::Unknown);
            advance(Duration::from_secs(minutes * 60 - 1)).await;
            assert_eq!(hosts.catch_all("d"), Some(CatchAll::Unknown), "{minutes} minutes");
            advance(Duration::from_secs(1)).await;
            assert_eq!(hosts.catch_all("d"), None, "{minutes} minutes");
        }
        hosts.is_catch_all("d", CatchAll::No);
        advance(CONTROL_INTERVAL - Duration::from_secs(1)).await;
        assert_eq!(hosts.catch_all("d"), Some(CatchAll::No));
        advance(Duration::from_secs(1)).await;
        assert_eq!(hosts.catch_all("d"), None);
        hosts.is_catch_all("d", CatchAll::Unknown);
        advance(Duration::from_secs(15 * 60)).await;
        assert_eq!(hosts.catch_all("d"), None, "an answer ends the doubling");
    }
}
