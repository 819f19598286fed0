//! The rate limit bindings: approximate and per data centre, so a shield before any hashing or storage,
//! and not a counter.

use worker::{Env, RateLimiter, js_sys::futures::JsFuture, send::IntoSendFuture as _};

use super::glue;

/// One shield for each kind of caller; the limits are in wrangler.toml.
#[derive(Debug)]
pub struct Shield {
    network: RateLimiter,
    site: RateLimiter,
    account: RateLimiter,
    scans: RateLimiter,
    checks: RateLimiter,
}

impl Shield {
    /// Seconds of a period, as in wrangler.toml.
    pub const PERIOD: u64 = 60;
    /// The same for checks.
    pub const PERIOD_OF_CHECKS: u64 = 10;

    /// # Errors
    /// The runtime's, when a binding is missing.
    pub fn new(env: &Env) -> worker::Result<Self> {
        Ok(Self {
            network: env.rate_limiter("SHIELD")?,
            site: env.rate_limiter("SHIELD_SITE")?,
            account: env.rate_limiter("SHIELD_ACCOUNT")?,
            scans: env.rate_limiter("SHIELD_SCANS")?,
            checks: env.rate_limiter("SHIELD_CHECKS")?,
        })
    }

    /// Whether one more anonymous request from this network is let through, and from the site (/48) that
    /// an IPv6 network belongs to.
    pub async fn admits_network(&self, network: &str, site: Option<&str>) -> bool {
        let is_admitted = admits(&self.network, network).await;
        match site.filter(|_| is_admitted) {
            Some(site) => admits(&self.site, site).await,
            None => is_admitted,
        }
    }

    /// Whether one more request on behalf of this account is let through.
    pub async fn admits_account(&self, account: &str) -> bool {
        admits(&self.account, account).await
    }

    /// Whether one more request for scans of this account is let through: a large list comes in a hundred.
    pub async fn admits_scans(&self, account: &str) -> bool {
        admits(&self.scans, account).await
    }

    /// Whether one more check of this account is let through.
    pub async fn admits_check(&self, account: &str) -> bool {
        admits(&self.checks, account).await
    }
}

/// A shield that fails lets through: the exact throttles stand behind it.
async fn admits(shield: &RateLimiter, key: &str) -> bool {
    let admitted = JsFuture::from(glue::admits(shield.as_ref(), key)).into_send().await;
    admitted.map_or(true, |is_admitted| is_admitted.is_truthy())
}
