//! The rate limit bindings: approximate and per data centre, so a shield before any hashing or storage,
//! and not a counter.

use crate::cf::limiter::Limiter;

/// One shield for each kind of caller; the limits are in wrangler.toml.
#[derive(Debug)]
pub struct Shield {
    network: Limiter,
    site: Limiter,
    account: Limiter,
    scans: Limiter,
    checks: Limiter,
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
        })
    }

    /// Whether one more anonymous request from this network is let through, and from the site (/48) that
    /// an IPv6 network belongs to.
    pub async fn admits_network(&self, network: &str, site: Option<&str>) -> bool {
        let is_admitted = self.network.admits(network).await;
        match site.filter(|_| is_admitted) {
            Some(site) => self.site.admits(site).await,
            None => is_admitted,
        }
    }

    /// Whether one more request of this party is let through, which is an account's sessions or its key.
    pub async fn admits_account(&self, party: &str) -> bool {
        self.account.admits(party).await
    }

    /// Whether one more request for scans of this party is let through: a large list comes in a hundred.
    pub async fn admits_scans(&self, party: &str) -> bool {
        self.scans.admits(party).await
    }

    /// Whether one more check of this account is let through.
    pub async fn admits_check(&self, account: &str) -> bool {
        self.checks.admits(account).await
    }
}
