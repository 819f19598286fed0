//! What a request passes before it is queued: under which identity and limits, and through which gates.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use tokio::time::Instant;

use super::{
    Cause, Class, Pool, Refused, Request, State,
    operators::OperatorId,
    permit::Party,
    site::{MeterKey, SiteKey},
};
use crate::clock::unix_now;

/// What a dialogue takes that is worth beginning.
const DIALOGUE: Duration = Duration::from_secs(1);
/// After so long at the floor an operator's domains go to the next source address, once in so long.
const MOVE_AFTER: Duration = Duration::from_secs(3_600);
const MOVE_KEPT: Duration = Duration::from_secs(24 * 3_600);

/// When and where a request may go on.
pub(super) struct Passage {
    pub at: Instant,
    pub address: Option<IpAddr>,
}

impl<S: Send + 'static> Pool<S> {
    /// The identity to ask under, and the operator of the host. An operator's domains leave a source
    /// address that has been at the floor for an hour.
    pub(super) fn identity_for(
        &self,
        request: &Request<'_>,
        identity: usize,
    ) -> (usize, Option<OperatorId>) {
        if request.is_route {
            return (identity, None);
        }
        let named = self.settings().operators.of_host(request.host);
        if let Some(operator) = named {
            for address in request.addresses.iter().map(SocketAddr::ip) {
                if !self.behind.contains_key(&address) {
                    self.behind.insert(address, operator);
                }
            }
        }
        let Some(operator) = named.or_else(|| self.behind_all(request.addresses)) else {
            return (identity, None);
        };
        (self.lock().moved(operator, identity, self.settings().sources.len()), Some(operator))
    }

    /// The operator that all of these addresses belong to. One address of an operator among others does
    /// not make a host the operator's: what its other machines say must not count against it.
    fn behind_all(&self, addresses: &[SocketAddr]) -> Option<OperatorId> {
        let mut operators = addresses.iter().map(|address| self.behind.get(&address.ip()));
        let first = operators.next()??;
        operators.all(|operator| operator == Some(first)).then_some(first)
    }

    pub(super) fn pass_domain_gate(
        &self,
        request: &Request<'_>,
        party: Party,
        now: Instant,
    ) -> Result<Instant, Refused> {
        if request.is_route || request.admitted || party.is_consumer {
            return Ok(now);
        }
        let domains = &mut self.lock().domains;
        let (wait, away) = (domains.wait(party.domain, now), domains.away(party.domain, now));
        let after = if request.class == Class::Batch { away } else { wait };
        let stays_away = request.class == Class::Batch && !away.is_zero();
        if stays_away || !is_worth(wait, now, request) {
            return Err(Refused { after, cause: Cause::Domain });
        }
        Ok(domains.pass(party.domain, now))
    }

    /// The first address that stands open; or the one that does soonest, if that is worth waiting for.
    pub(super) fn pass_address_gate(
        &self,
        request: &Request<'_>,
        now: Instant,
    ) -> Result<Passage, Refused> {
        if request.is_route {
            return Ok(Passage { at: now, address: None });
        }
        let gates = &mut self.lock().addresses;
        let addresses = request.addresses.iter().map(SocketAddr::ip);
        let Some(address) = addresses.min_by_key(|ip| gates.wait(*ip, now)) else {
            return Ok(Passage { at: now, address: None });
        };
        let wait = gates.wait(address, now);
        if !wait.is_zero() && (request.more_hosts || !is_worth(wait, now, request)) {
            return Err(Refused { after: wait, cause: Cause::Address });
        }
        Ok(Passage { at: gates.pass(address, now), address: Some(address) })
    }

    pub(super) fn check_refusals(
        &self,
        request: &Request<'_>,
        party: Party,
        site: &SiteKey,
        meter: MeterKey,
        now: Instant,
    ) -> Result<(), Refused> {
        let mut state = self.lock();
        let Some(site) = state.sites.get_mut(site) else { return Ok(()) };
        let refusals = &mut site.meter(meter).refusals;
        let share = match request.tenant {
            Some(_) => self.settings().share(refusals.per_hour()),
            None => refusals.per_hour(),
        };
        match refusals.must_wait(party, share, request.class, now) {
            Some(after) => Err(Refused { after, cause: Cause::Refusals }),
            None => Ok(()),
        }
    }

    /// A batch waits for a source address that is new to the operator.
    pub(super) fn check_warm_up(
        &self,
        request: &Request<'_>,
        site: &SiteKey,
    ) -> Result<(), Refused> {
        let (Class::Batch, SiteKey::Operator(operator, identity)) = (request.class, site) else {
            return Ok(());
        };
        let Some(since) = self.settings().since.get(*identity).copied().flatten() else {
            return Ok(());
        };
        let passed = self.lock().warm_up.pass(*operator, *identity, since, unix_now());
        passed.map_err(|after| Refused { after, cause: Cause::WarmUp })
    }

    /// When an account whose domains have cost others their sessions may ask about one more.
    pub(super) fn pass_debts(
        &self,
        request: &Request<'_>,
        party: Party,
        site: &SiteKey,
        meter: MeterKey,
        now: Instant,
    ) -> Result<Instant, Refused> {
        let mut state = self.lock();
        let Some(site) = state.sites.get_mut(site).filter(|_| request.tenant.is_some()) else {
            return Ok(now);
        };
        let meter = site.meter(meter);
        if request.admitted || meter.rate.is_proven(party.tenant, party.domain, now) {
            return Ok(now);
        }
        let latest = request.deadline.checked_sub(DIALOGUE).unwrap_or(now).max(now);
        let at = meter.debts.pass(party.account, now, latest);
        if at <= latest {
            Ok(at)
        } else {
            Err(Refused { after: at.saturating_duration_since(now), cause: Cause::Domain })
        }
    }

    pub(super) fn site_of(
        &self,
        request: &Request<'_>,
        operator: Option<OperatorId>,
        identity: usize,
    ) -> (SiteKey, MeterKey) {
        let first = request.addresses.first().map(SocketAddr::ip);
        match (operator, first) {
            (Some(operator), _) => (SiteKey::Operator(operator, identity), None),
            (None, Some(ip)) if !request.is_route => (SiteKey::Network(network(ip)), Some(ip)),
            _ => (SiteKey::Route(Arc::from(request.host)), None),
        }
    }
}

impl<S> State<S> {
    /// The identity that stands in for `identity` with this operator.
    pub(super) fn moved(
        &mut self,
        operator: OperatorId,
        identity: usize,
        identities: usize,
    ) -> usize {
        if identities < 2 {
            return identity;
        }
        let now = Instant::now();
        let kept = |(_, at): &&(usize, Instant)| now.saturating_duration_since(*at) < MOVE_KEPT;
        if let Some((to, _)) = self.moves.get(&(operator, identity)).filter(kept) {
            return *to;
        }
        let site = self.sites.get_mut(&SiteKey::Operator(operator, identity));
        let since = site.and_then(|site| site.meter(None).rate.floor_since());
        if since.is_some_and(|since| now.saturating_duration_since(since) >= MOVE_AFTER) {
            let to = (identity + 1) % identities;
            self.moves.insert((operator, identity), (to, now));
            return to;
        }
        identity
    }
}

/// Whether there is time for a dialogue after the wait.
fn is_worth(wait: Duration, now: Instant, request: &Request<'_>) -> bool {
    wait.is_zero() || now + wait + DIALOGUE <= request.deadline
}

/// The /24 or /64 of an address.
pub(super) fn network(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits() & (u32::MAX << 8))),
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & (u128::MAX << 64))),
    }
}
