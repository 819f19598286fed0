//! Addresses behind operators' names. Once two names of an operator resolve to an address, the address counts as the
//! operator's under any name: a single name may be a mistake in a table.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use tokio::time::Instant;

use super::operators::Operators;
use crate::{
    bounded::{Bounded, Remembered},
    keys::{Key, OperatorId},
};

/// Maximum number of addresses remembered.
const MAX_ADDRESSES: usize = 20_000;
const ADDRESS_LIFETIME: Duration = Duration::from_secs(3_600);

struct Name {
    operator: OperatorId,
    /// Hash of the first name.
    name: Key,
    /// True if a second name also resolves to the address.
    is_shared: bool,
    at: Instant,
}

impl Remembered for Name {
    fn rank(&self, now: Instant) -> (Key, u64) {
        let left = ADDRESS_LIFETIME.saturating_sub(now.saturating_duration_since(self.at));
        (self.operator as Key, left.as_secs())
    }

    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) >= ADDRESS_LIFETIME
    }
}

pub(crate) struct Behind(Bounded<IpAddr, Name>);

impl Default for Behind {
    fn default() -> Self {
        Self(Bounded::new(MAX_ADDRESSES))
    }
}

impl Behind {
    /// The operator by the host's name, or by all of its addresses. `name` is the host's hash.
    pub(crate) fn operator_of(
        &mut self,
        operators: &Operators,
        (host, name): (&str, Key),
        addresses: &[SocketAddr],
        now: Instant,
    ) -> Option<OperatorId> {
        if let Some(operator) = operators.of_host(host) {
            addresses.iter().for_each(|address| self.hear(address.ip(), operator, name, now));
            return Some(operator);
        }
        // A host that has other addresses besides an operator's isn't the operator's: replies of the host's other
        // machines must not count against the operator.
        let operator_of = |address: &SocketAddr| {
            let behind = self.0.get(address.ip(), now)?;
            behind.is_shared.then_some(behind.operator)
        };
        let mut operators = addresses.iter().map(operator_of);
        let first = operators.next()??;
        operators.all(|operator| operator == Some(first)).then_some(first)
    }

    fn hear(&mut self, address: IpAddr, operator: OperatorId, name: Key, now: Instant) {
        let new = || Name { operator, name, is_shared: false, at: now };
        let known = self.0.entry(address, now, new);
        if known.operator == operator && known.name != name && !known.is_shared {
            (known.is_shared, known.at) = (true, now);
        }
    }

    /// In a new table, an address may belong to another operator.
    pub(crate) fn forget_all(&mut self) {
        *self = Self::default();
    }
}
