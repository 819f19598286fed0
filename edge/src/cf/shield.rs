//! The rate limit bindings: approximate and per data centre, so a shield before any hashing or storage,
//! and not a counter.

use worker::{
    Env,
    js_sys::futures::JsFuture,
    send::{IntoSendFuture as _, SendWrapper},
    wasm_bindgen::{JsCast as _, JsValue},
    worker_sys::types::RateLimiter,
};

use super::glue;

type Limiter = SendWrapper<RateLimiter>;

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

    /// # Errors
    /// The runtime's, when a binding is missing.
    pub fn new(env: &Env) -> worker::Result<Self> {
        let limiter = |binding| -> worker::Result<Limiter> {
            Ok(SendWrapper(JsValue::from(env.rate_limiter(binding)?).unchecked_into()))
        };
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
        let is_admitted = admits(&self.network, network).await;
        match site.filter(|_| is_admitted) {
            Some(site) => admits(&self.site, site).await,
            None => is_admitted,
        }
    }

    /// Whether one more request of this party is let through, which is an account's sessions or its key.
    pub async fn admits_account(&self, party: &str) -> bool {
        admits(&self.account, party).await
    }

    /// Whether one more request for scans of this party is let through: a large list comes in a hundred.
    pub async fn admits_scans(&self, party: &str) -> bool {
        admits(&self.scans, party).await
    }

    /// Whether one more check of this account is let through.
    pub async fn admits_check(&self, account: &str) -> bool {
        admits(&self.checks, account).await
    }
}

/// A shield that fails lets through: the exact throttles stand behind it.
async fn admits(shield: &Limiter, key: &str) -> bool {
    let admitted = JsFuture::from(glue::admits(shield, key)).into_send().await;
    admitted.map_or(true, |is_admitted| is_admitted.is_truthy())
}
