//! What is remembered of mail hosts and domains, to spare the next probe a round trip or a vain try.
//!
//! Each memory is bounded in entries and in time; an entry is about 100 bytes, so all of them together
//! stay below 10 MB.

use std::{sync::Arc, time::Duration};

use moka::sync::Cache;
use rcpt_shared::CatchAll;

use crate::{dns::Mx, smtp::Greeting};

/// Entries of each memory. About as many hosts take the mail of most of the world.
const MAX_ENTRIES: u64 = 20_000;
/// What a server offers changes with its configuration.
const OFFERS_KEPT: Duration = Duration::from_secs(3_600);
/// A host that could not be reached is tried after its siblings for so long.
const DOWN_KEPT: Duration = Duration::from_secs(60);
/// A domain's habit is asked about once a day (docs/verdicts.md).
const CATCH_ALL_KEPT: Duration = Duration::from_secs(24 * 3_600);

/// What a host showed of itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Offers {
    /// It refused MAIL or RCPT until the session was encrypted.
    pub demands_tls: bool,
    /// It does not take UTF-8 local parts.
    pub lacks_smtputf8: bool,
    /// The greeting it takes.
    pub greeting: Greeting,
}

/// The memory of hosts and domains.
pub(super) struct HostMemory {
    offers: Cache<Arc<str>, Offers>,
    down: Cache<Arc<str>, ()>,
    /// By domain and host.
    catch_all: Cache<Arc<str>, CatchAll>,
}

impl Default for HostMemory {
    fn default() -> Self {
        Self {
            offers: cache(OFFERS_KEPT),
            down: cache(DOWN_KEPT),
            catch_all: cache(CATCH_ALL_KEPT),
        }
    }
}

fn cache<T: Clone + Send + Sync + 'static>(kept: Duration) -> Cache<Arc<str>, T> {
    Cache::builder().max_capacity(MAX_ENTRIES).time_to_live(kept).build()
}

impl HostMemory {
    pub(super) fn offers(&self, host: &str) -> Offers {
        self.offers.get(host).unwrap_or_default()
    }

    /// Remembers what is out of the ordinary; the ordinary needs no memory.
    pub(super) fn showed(&self, host: &str, offers: Offers) {
        if offers != self.offers(host) {
            self.offers.insert(Arc::from(host), offers);
        }
    }

    pub(super) fn could_not_be_reached(&self, host: &str) {
        self.down.insert(Arc::from(host), ());
    }

    /// The hosts, those that could not be reached lately after the others of their list: the next
    /// preference is better than four seconds of waiting for a dead host.
    pub(super) fn in_health_order(&self, mut hosts: Vec<Mx>) -> Vec<Mx> {
        if hosts.len() > 1 {
            hosts.sort_by_key(|host| self.down.contains_key(&host.exchange));
        }
        hosts
    }

    pub(super) fn catch_all(&self, key: &str) -> Option<CatchAll> {
        self.catch_all.get(key)
    }

    /// Remembers what a domain's habit at a host is; a doubt too, which is not worth a second control
    /// recipient on the same day.
    pub(super) fn is_catch_all(&self, key: &str, found: CatchAll) {
        self.catch_all.insert(Arc::from(key), found);
    }
}

#[cfg(test)]
mod tests {
    use rcpt_shared::CatchAll;

    use super::{HostMemory, Mx, Offers};

    #[test]
    fn a_host_that_is_down_comes_last_and_keeps_its_order_otherwise() {
        let hosts = HostMemory::default();
        let mx = |name: &str| Mx { preference: 10, exchange: name.into() };
        let names = |text: &str| text.split(' ').map(mx).collect::<Vec<_>>();
        assert_eq!(hosts.in_health_order(names("a b c")), names("a b c"));
        hosts.could_not_be_reached("a");
        assert_eq!(hosts.in_health_order(names("a b c")), names("b c a"));
        assert_eq!(hosts.in_health_order(names("a")), names("a"));
    }

    #[test]
    fn remembers_what_a_host_showed_and_a_domain_does() {
        let hosts = HostMemory::default();
        assert_eq!(hosts.offers("mx"), Offers::default());
        let offers = Offers { demands_tls: true, ..Offers::default() };
        hosts.showed("mx", offers);
        assert_eq!(hosts.offers("mx"), offers);
        assert_eq!(hosts.catch_all("d"), None);
        for found in [CatchAll::Unknown, CatchAll::Yes] {
            hosts.is_catch_all("d", found);
            assert_eq!(hosts.catch_all("d"), Some(found));
        }
    }
}
