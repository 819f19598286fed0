//! The rate limit bindings: approximate and per data centre, so a shield before any hashing or storage,
//! and not a counter.

use crate::cf::limiter::Limiter;

/// A shield for each kind of caller; the limits are in wrangler.toml.
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
    /// Seconds of a period, as in wrangler.toml.
    pub const PERIOD: u64 = 60;
    /// The same for checks.
    pub const PERIOD_OF_CHECKS: u64 = 10;

    /// Over the rate limit bindings that `limiter` finds by name.
    ///
    /// # Errors
    /// Those of `limiter`.
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

    /// Returns whether another anonymous request of this network is admitted, and of the site (/48) that an IPv6
    /// network belongs to.
    pub async fn admits_network(&self, network: &str, site: Option<&str>) -> bool {
        let is_admitted = self.network.admits(network).await;
        match site.filter(|_| is_admitted) {
            Some(site) => self.site.admits(site).await,
            None => is_admitted,
        }
    }

    /// Returns whether another request of this party is admitted: an account's sessions or its key.
    pub async fn admits_account(&self, party: &str) -> bool {
        self.account.admits(party).await
    }

    /// Returns whether another request for scans of this party is admitted: a large list takes a hundred.
    pub async fn admits_scans(&self, party: &str) -> bool {
        self.scans.admits(party).await
    }

    /// Returns whether another check with a test key of this account is admitted: ten a second.
    pub async fn admits_test(&self, account: &str) -> bool {
        self.test_keys.admits(account).await
    }

    /// Returns whether another check of this account is admitted.
    pub async fn admits_check(&self, account: &str) -> bool {
        self.checks.admits(account).await
    }
}
