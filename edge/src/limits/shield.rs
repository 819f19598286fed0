//! The rate limit bindings: approximate and per data centre, so they only shield hashing and
//! storage; the throttles count exactly.

use crate::cf::glue::Limiter;

/// The shields for each kind of caller; their limits are in wrangler.toml.
#[derive(Debug)]
pub struct Shield {
    network: Limiter,
    site: Limiter,
    account: Limiter,
    scans: Limiter,
    checks: Limiter,
    test_keys: Limiter,
}

impl Shield {
    /// Length of a period in seconds, as in wrangler.toml.
    pub const PERIOD_S: u64 = 60;
    /// Length of a period for checks, in seconds.
    pub const CHECK_PERIOD_S: u64 = 10;

    pub fn new<E>(limiter: impl Fn(&str) -> Result<Limiter, E>) -> Result<Self, E> {
        Ok(Self {
            network: limiter("SHIELD")?,
            site: limiter("SHIELD_SITE")?,
            account: limiter("SHIELD_ACCOUNT")?,
            scans: limiter("SHIELD_SCANS")?,
            checks: limiter("SHIELD_CHECKS")?,
            test_keys: limiter("SHIELD_TEST_KEYS")?,
        })
    }

    /// For IPv6, the site (/48) must be admitted too.
    pub async fn admits_network(&self, network: &str, site: Option<&str>) -> bool {
        let is_admitted = self.network.admits(network).await;
        match site.filter(|_| is_admitted) {
            Some(site) => self.site.admits(site).await,
            None => is_admitted,
        }
    }

    pub async fn admits_account(&self, party: &str) -> bool {
        self.account.admits(party).await
    }

    /// True if a scan request of this party is admitted: a large list needs a hundred requests.
    pub async fn admits_scans(&self, party: &str) -> bool {
        self.scans.admits(party).await
    }

    /// True if a check with this account's test keys is admitted: the limit is 100 in ten seconds.
    pub async fn admits_test(&self, account: &str) -> bool {
        self.test_keys.admits(account).await
    }

    pub async fn admits_check(&self, account: &str) -> bool {
        self.checks.admits(account).await
    }
}
