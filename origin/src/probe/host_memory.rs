//! Memory about mail hosts and domains, which saves later probes a round trip or a futile attempt. All together stay
//! below 10 MB, at about 100 bytes an entry.

use std::{borrow::Cow, hash::Hash, sync::Arc, time::Duration};

use moka::sync::Cache;
use rcpt_pool::HashKey;
use rcpt_shared::CatchAll;
use rcpt_smtp::Greeting;
use rcpt_verdict::Wording;
use tokio::time::Instant;

use super::contrast::Invented;
use crate::dns::Mx;

/// About as many hosts accept most of the world's mail.
const MAX_ENTRIES: u64 = 20_000;
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
    until: Instant,
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
            catch_all: cache(REFUSES_LIFETIME),
            keys,
            refuses_by_name: Memory::new(DAY),
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

    /// Recently unreachable hosts come last among those of their preference.
    pub(super) fn in_health_order<'h>(&self, hosts: &'h [Mx]) -> Cow<'h, [Mx]> {
        let is_down = |host: &Mx| self.down.get(&host.exchange).is_some();
        if hosts.len() < 2 || !hosts.iter().any(is_down) {
            return Cow::Borrowed(hosts);
        }
        let mut hosts = hosts.to_vec();
        hosts.sort_by_key(|host| (host.preference, is_down(host)));
        Cow::Owned(hosts)
    }

    pub(super) fn catch_all(&self, key: &str) -> Option<CatchAll> {
        let habit = self.catch_all.get(&self.keys.hash_one(key))?;
        (habit.until > Instant::now()).then_some(habit.catch_all)
    }

    pub(super) fn is_catch_all(&self, key: &str, catch_all: CatchAll) {
        let lasts = match catch_all {
            CatchAll::Unknown => INCONCLUSIVE_LIFETIME,
            CatchAll::Yes => ACCEPTS_ALL_LIFETIME,
            CatchAll::No => REFUSES_LIFETIME,
        };
        let habit = Habit { catch_all, nobody: None, until: Instant::now() + lasts };
        self.catch_all.insert(self.keys.hash_one(key), habit);
    }

    /// The host refuses names that don't exist, in these words, which no rule knows. A single check may come from
    /// another source address than a list, and shows nothing of how the host treats the list.
    pub(super) fn says_to_nobody(&self, key: &str, said: Wording, is_list: bool) {
        let now = Instant::now();
        let said_at = is_list.then_some(now);
        let habit =
            Habit { catch_all: CatchAll::No, nobody: Some((said, said_at)), until: now + DAY };
        self.catch_all.insert(self.keys.hash_one(key), habit);
    }

    pub(super) fn invented(&self, key: &str) -> (Invented, Option<Instant>) {
        let habit = self.catch_all.get(&self.keys.hash_one(key));
        let Some(habit) = habit.filter(|habit| habit.until > Instant::now()) else {
            return (Invented::Unknown, None);
        };
        match (habit.catch_all, habit.nobody) {
            (CatchAll::Yes, _) => (Invented::Accepted, None),
            (CatchAll::No, Some((said, at))) => (Invented::Undecided(said), at),
            (CatchAll::No, None) => (Invented::Known, None),
            (CatchAll::Unknown, _) => (Invented::Unknown, None),
        }
    }

    pub(super) fn hash(&self, text: &str) -> u64 {
        self.keys.hash_one(text)
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

    use rcpt_shared::{CatchAll, Stage};
    use rcpt_smtp::Reply;
    use rcpt_verdict::{Parties, Wording, judge};
    use tokio::time::{Instant, advance};

    use super::{DAY, HashKey, HostMemory, Invented, Mx, Offers};

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
}
