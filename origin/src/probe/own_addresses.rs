//! Our own addresses, to which we never connect: this machine's, the configured ones, and those of our HELO names,
//! which alone reveal the public address behind a NAT.

use std::{net::IpAddr, sync::Arc};

use super::prober::Prober;

use crate::dns::NoAnswer;

impl Prober {
    pub fn own_addresses(&self) -> Vec<IpAddr> {
        self.resolver.guard.own()
    }

    /// Looks up our addresses. If a lookup fails, the previous addresses are kept.
    pub async fn learn_own_addresses(self: Arc<Self>) {
        let (guard, config) = (&self.resolver.guard, self.config());
        let mut own: Vec<IpAddr> =
            self.identities().iter().flat_map(|identity| identity.addresses()).collect();
        let mut is_complete = true;
        match if_addrs::get_if_addrs() {
            Ok(interfaces) => own.extend(interfaces.iter().map(if_addrs::Interface::ip)),
            Err(_) => is_complete = false,
        }
        let identities = self.identities();
        let mut names: Vec<_> = identities.iter().map(|one| one.helo_name.as_str()).collect();
        names.push(&config.helo_name);
        names.sort_unstable();
        names.dedup();
        for name in names {
            match self.dns().addresses(name).await {
                Ok(found) => own.extend(found),
                Err(NoAnswer::NoSuchName | NoAnswer::NoRecords) => {}
                Err(NoAnswer::Failed) => is_complete = false,
            }
        }
        if !is_complete {
            own.extend(guard.own());
        }
        own.sort_unstable();
        own.dedup();
        guard.set_own(own);
        self.plans.forget_all();
    }
}
