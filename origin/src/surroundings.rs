//! The surroundings of an origin: the network, DNS and the wall clock, which nothing else reads. A simulation supplies
//! its own.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

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
            unix_now: Arc::new(unix_now),
        })
    }
}

/// The Unix time in seconds; 0 if the clock shows a time before 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "native only; everything else takes `now` as an argument"
)]
pub fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// At most `u64::MAX`.
pub fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
