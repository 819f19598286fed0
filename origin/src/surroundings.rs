//! The surroundings of an origin: the network, DNS, the wall clock and randomness. A simulation supplies its own
//! values.

pub mod clock;

use std::sync::Arc;

use hickory_resolver::net::NetError;
use parking_lot::Mutex;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use rcpt_pool::HashKey;
use rcpt_smtp::Dialer;

use crate::{Config, dns::Dns};

/// Function that returns the wall clock's time in Unix seconds.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Connections, DNS, wall clock and randomness of an origin.
pub struct Surroundings {
    pub dialer: Dialer,
    pub dns: Dns,
    pub unix_now: Clock,
    pub random: Random,
}

impl Surroundings {
    /// The surroundings on this machine.
    ///
    /// # Errors
    /// [`NetError`] if the resolver can't be set up.
    pub fn of_machine(config: &Config) -> Result<Self, NetError> {
        Ok(Self {
            dialer: Dialer::new(config.connect_timeout),
            dns: Dns::new(&config.nameservers, config.dns_timeout, config.dialled_families())?,
            unix_now: Arc::new(clock::unix_now),
            random: Random::default(),
        })
    }
}

/// A source of randomness, shared by its clones; by default seeded by the system.
#[derive(Clone)]
pub struct Random(Arc<Mutex<StdRng>>);

impl Default for Random {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(StdRng::from_os_rng())))
    }
}

impl Random {
    /// Creates a source that yields the same values for the same seed in one build.
    pub fn seeded(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(StdRng::seed_from_u64(seed))))
    }

    /// A random lower-case letter of the English alphabet.
    pub fn letter(&self) -> char {
        char::from(self.draw(|random| random.random_range(b'a'..=b'z')))
    }

    pub fn hash_key(&self) -> HashKey {
        HashKey::new(self.draw(|random| random.random()))
    }

    fn draw<T>(&self, draw: impl FnOnce(&mut StdRng) -> T) -> T {
        draw(&mut self.0.lock())
    }
}
