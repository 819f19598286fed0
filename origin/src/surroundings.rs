//! The surroundings of an origin: the network, DNS and the wall clock. A simulation supplies its own.

pub mod clock;

use std::sync::Arc;

use hickory_resolver::net::NetError;
use rcpt_smtp::Dialer;

use crate::{Config, dns::Dns};

pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

pub struct Surroundings {
    pub dialer: Dialer,
    pub dns: Dns,
    pub unix_now: Clock,
}

impl Surroundings {
    pub fn of_machine(config: &Config) -> Result<Self, NetError> {
        Ok(Self {
            dialer: Dialer::new(config.connect_timeout),
            dns: Dns::new(&config.nameservers, config.dns_timeout, config.dialled_families())?,
            unix_now: Arc::new(clock::unix_now),
        })
    }
}
