//! Views of a site: what it holds and remembers.

use std::net::IpAddr;

use tokio::time::Instant;

use super::Here;
use crate::{
    keys::MeterKey,
    question::{Class, Party, Want},
};

impl<S> Here<S> {
    /// The time at which a party's check may connect to the address; `None` for now.
    pub(crate) fn address_not_before(
        &self,
        ip: IpAddr,
        of: (Party, Class),
        now: Instant,
    ) -> Option<Instant> {
        self.addresses.not_before(ip, of, 0, now)
    }

    pub(crate) fn has_idle_for(&self, want: &Want, now: Instant) -> bool {
        self.fitting_idle(want, |_| true, now).is_some()
    }

    pub(crate) fn long_uses(&self, key: MeterKey, now: Instant) -> usize {
        self.uses.values().filter(|it| it.meter == key && it.is_long(now)).count()
    }

    pub(super) fn are_there(&self) -> bool {
        self.in_use() > 0 || !self.idle.is_empty()
    }

    /// True if no gate and no party is remembered.
    pub(crate) fn has_forgotten(&self) -> bool {
        self.domains.is_empty() && self.addresses.is_empty() && self.costs.len() == 0
    }

    pub(super) fn is_over(&self) -> bool {
        !self.are_there() && self.meters.is_empty() && self.has_forgotten()
    }

    /// Recipients refused in the last hour.
    pub(crate) fn refused(&self, now: Instant) -> usize {
        self.meters.values().map(|meter| meter.per_hour.total(now)).sum()
    }

    pub(crate) fn gates(&self) -> usize {
        self.domains.len() + self.addresses.len()
    }

    /// Parties that are remembered: those that cost sessions, with refused recipients, with trials.
    pub(crate) fn parties(&self) -> usize {
        let of_meters = self.meters.values().map(|it| it.rate.trials() + it.per_hour.parties());
        self.costs.len() + of_meters.sum::<usize>()
    }

    /// The numbers as counted by the site, by its uses, and by its meters.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> [usize; 3] {
        let of_meters: usize = self.meters.values().map(|meter| meter.in_use).sum();
        [self.in_use(), self.uses.len(), of_meters]
    }
}
