//! Recent verdicts, so that an address checked again soon costs no conversation. All checks of a domain go to one
//! origin.
//!
//! Stored in memory only, under a MAC with a key of this process, and limited in number and time.

use std::{sync::Arc, time::Duration};

use hmac::{Hmac, KeyInit as _, Mac as _};
use moka::{Expiry, sync::Cache};
use rcpt_shared::{Address, CacheTimes, Verdict};
use sha2::Sha256;
use tokio::time::Instant;

/// Maximum number of entries: a verdict takes about 600 bytes, so 30 MB.
const MAX_ENTRIES: u64 = 50_000;

type Key = [u8; 32];

#[derive(Clone)]
struct StoredVerdict {
    verdict: Arc<Verdict>,
    reached: Instant,
    ttl: Duration,
}

struct Ending;

impl Expiry<Key, StoredVerdict> for Ending {
    fn expire_after_create(
        &self,
        _: &Key,
        stored: &StoredVerdict,
        _: std::time::Instant,
    ) -> Option<Duration> {
        Some(stored.ttl)
    }

    fn expire_after_update(
        &self,
        _: &Key,
        stored: &StoredVerdict,
        _: std::time::Instant,
        _: Option<Duration>,
    ) -> Option<Duration> {
        Some(stored.ttl)
    }
}

pub struct VerdictMemory {
    mac: Hmac<Sha256>,
    stored: Cache<Key, StoredVerdict>,
}

impl Default for VerdictMemory {
    fn default() -> Self {
        let mac = Hmac::new(&rand::random::<[u8; 64]>().into());
        let cache = Cache::builder().max_capacity(MAX_ENTRIES).expire_after(Ending).build();
        Self { mac, stored: cache }
    }
}

impl VerdictMemory {
    fn key(&self, address: &Address) -> Key {
        let mut mac = self.mac.clone();
        mac.update(address.normal().as_bytes());
        mac.finalize().into_bytes().into()
    }

    pub fn recall(&self, address: &Address) -> Option<Verdict> {
        let entry = self.stored.get(&self.key(address))?;
        let mut verdict = Verdict::clone(&entry.verdict);
        verdict.seen_before = Some(entry.reached.elapsed().as_secs());
        Some(verdict)
    }

    pub fn remember(&self, address: &Address, verdict: &Verdict, times: CacheTimes) {
        let ttl = Duration::from_secs(
            times.of_verdict(verdict.status, Some(verdict.reason)).unwrap_or_default(),
        );
        if !ttl.is_zero() {
            let entry =
                StoredVerdict { verdict: Arc::new(verdict.clone()), reached: Instant::now(), ttl };
            self.stored.insert(self.key(address), entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcpt_shared::{Address, CacheTimes, Reason, Stage, Status, Verdict};
    use tokio::time::Instant;

    use super::{MAX_ENTRIES, VerdictMemory};

    const TIMES: CacheTimes = CacheTimes { decided: 1, no_mail: 3_600, undecided: 0 };

    fn address(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    fn verdict(status: Status) -> Verdict {
        Verdict::new(status, Reason::Accepted, Stage::Rcpt)
    }

    #[test]
    fn a_verdict_is_recalled_for_the_same_address_until_its_time_is_over() {
        let memory = VerdictMemory::default();
        let (asked, accepted) = (address("Ann@EXAMPLE.org"), verdict(Status::Accepted));
        memory.remember(&asked, &accepted, TIMES);
        let again = memory.recall(&address("Ann@example.org")).unwrap();
        assert_eq!(again.seen_before, Some(0));
        assert_eq!(Verdict { seen_before: None, ..again }, accepted);
        assert_eq!(memory.recall(&address("ann@example.org")), None);
        let deadline = Instant::now() + Duration::from_secs(30);
        while memory.recall(&asked).is_some() {
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(50));
        }
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
        for n in 0..2 * MAX_ENTRIES {
            let checked_address = address(&format!("{n}@example.org"));
            memory.remember(&checked_address, &verdict(Status::NoMxRecords), TIMES);
        }
        memory.stored.run_pending_tasks();
        assert!(memory.stored.entry_count() <= MAX_ENTRIES, "{}", memory.stored.entry_count());
    }
}
