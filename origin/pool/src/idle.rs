//! Sessions of one site that wait for their next recipient.

use std::{net::IpAddr, sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::{
    keys::{Key, MeterKey},
    question::Want,
};

pub(crate) const MAX_IDLE_SITE: usize = 64;

pub(crate) struct IdleSession<S> {
    pub host: Arc<str>,
    pub identity: usize,
    pub meter: MeterKey,
    pub address: Option<IpAddr>,
    pub group: Key,
    pub is_shared: bool,
    pub since: Instant,
    pub session: S,
}

impl<S> IdleSession<S> {
    pub(crate) fn serves(&self, want: &Want) -> bool {
        let is_its_machine = self.is_shared && self.meter.is_some() && self.meter == want.meter;
        !want.afresh
            && (*self.host == *want.host || is_its_machine)
            && self.identity == want.identity
    }

    pub(crate) fn is_over(&self, max_idle: Duration, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= max_idle
    }
}
