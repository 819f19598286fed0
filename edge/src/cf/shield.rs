//! The rate limit binding.

use worker::{Env, RateLimiter};

const BINDING: &str = "SHIELD";

/// The rate limit binding: approximate and per data centre, so a shield before any hashing and not a
/// counter.
#[derive(Debug)]
pub struct Shield(RateLimiter);

impl Shield {
    /// # Errors
    /// The runtime's, when the binding is missing.
    pub fn new(env: &Env) -> worker::Result<Self> {
        env.rate_limiter(BINDING).map(Self)
    }

    /// Whether one more request under this key is let through. A shield that fails lets through: the
    /// exact throttles stand behind it.
    pub async fn admits(&self, key: &str) -> bool {
        self.0.limit(key.to_owned()).await.map_or(true, |outcome| outcome.success)
    }

    /// Seconds of its period, as in wrangler.toml.
    pub const fn period(&self) -> u64 {
        60
    }
}
