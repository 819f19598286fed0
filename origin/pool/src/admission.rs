//! Conditions before a check may queue for a session: the gate of its domain, the debts of its
//! account, the gate of an address, and for a batch the warm-up of our own address.
//!
//! All conditions are evaluated together, and the latest time counts. If it is within the deadline,
//! a [`Ticket`] reserves all of them; otherwise none is reserved. An unused ticket releases its
//! reservations, unless others have passed since.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use parking_lot::MutexGuard;
use tokio::{sync::oneshot, time::Instant};

use super::{
    ADDRESS_KEPT, Behind, Cause, Class, Pool, Question, Refused, State, Target,
    operators::OperatorId,
    party::Party,
    permit::{Acquired, Claim, Queued},
    site_key::{MeterKey, SiteKey},
    want::Want,
};

/// Shortest time for which starting a conversation makes sense.
const DIALOGUE: Duration = Duration::from_secs(1);
pub(super) enum Step<S: Send + 'static> {
    Granted(Acquired<S>),
    Queued(Queued<S>),
    Later(Ticket<S>),
}

/// A check's path to a session.
#[derive(Clone)]
struct Way {
    site: SiteKey,
    meter: MeterKey,
    identity: usize,
    /// Address to connect to, unless an idle session can be used.
    address: Option<IpAddr>,
    /// True if its domain has to wait for the turn of an account in debt.
    is_indebted: bool,
}

/// Reservations of a check, and the time at which it may queue.
pub(super) struct Ticket<S: Send + 'static> {
    pool: Arc<Pool<S>>,
    number: u64,
    pub due: Instant,
    way: Way,
    party: Party,
    passes_domain: bool,
    is_used: bool,
}

impl<S: Send + 'static> Drop for Ticket<S> {
    fn drop(&mut self) {
        if self.is_used {
            return;
        }
        let mut state = self.pool.lock();
        state.domains.give_back(self.party.domain, self.number);
        if let Some(address) = self.way.address {
            state.addresses.give_back(address, self.number);
        }
        if self.way.is_indebted
            && let Some(site) = state.sites.get_mut(&self.way.site)
        {
            site.meter(self.way.meter).debts.give_back(self.party.account, self.due);
        }
    }
}

impl<S: Send + 'static> Pool<S> {
    /// Admits a check: to a session, to the queue, or to a wait for its ticket.
    pub(super) fn admit(
        self: &Arc<Self>,
        question: &Question,
        target: &Target<'_>,
        party: Party,
    ) -> Result<Step<S>, Refused> {
        let named = if target.is_route {
            None
        } else {
            self.settings.load().operators.of_host(target.host)
        };
        let operator = self.operator_of(target, named);
        let now = Instant::now();
        let mut state = self.lock();
        let identity = operator.map_or(target.identity, |operator| {
            state.moved(operator, target.identity, &self.settings.load())
        });
        let mut way = self.way(&mut state, target, operator, identity, now);
        let due = self.due(&mut state, question, target, party, &mut way, now)?;
        state.tickets += 1;
        let number = state.tickets;
        let passes_domain = has_gate(target, party);
        if passes_domain {
            state.domains.take(party.domain, party.group, number, due, now);
        }
        if let Some(address) = way.address {
            state.addresses.take(address, party.group, number, due, now);
        }
        if way.is_indebted
            && let Some(site) = state.sites.get_mut(&way.site)
        {
            site.meter(way.meter).debts.take(party.account, due);
        }
        if due <= now {
            return Ok(self.enter(state, question, target, party, way, now));
        }
        drop(state);
        let pool = Arc::clone(self);
        Ok(Step::Later(Ticket { pool, number, due, way, party, passes_domain, is_used: false }))
    }

    /// Queues the check at its ticket's time, unless another group has taken its place at a gate.
    pub(super) fn redeem(
        self: &Arc<Self>,
        mut ticket: Ticket<S>,
        question: &Question,
        target: &Target<'_>,
        party: Party,
    ) -> Result<Step<S>, Refused> {
        let now = Instant::now();
        let mut state = self.lock();
        let passes = (!ticket.passes_domain
            || state.domains.redeem(party.domain, ticket.number, now))
            && ticket.way.address.is_none_or(|ip| state.addresses.redeem(ip, ticket.number, now));
        if passes {
            ticket.is_used = true;
            return Ok(self.enter(state, question, target, party, ticket.way.clone(), now));
        }
        drop(state);
        drop(ticket);
        self.admit(question, target, party)
    }

    /// Returns the operator of the host, by its name or by all of its addresses.
    fn operator_of(&self, target: &Target<'_>, named: Option<OperatorId>) -> Option<OperatorId> {
        if target.is_route {
            return None;
        }
        if let Some(operator) = named {
            for address in target.addresses.iter().map(SocketAddr::ip) {
                self.led_to(address, operator, target.host);
            }
            return Some(operator);
        }
        // A host with one address of an operator among others isn't the operator's: replies of its other machines must
        // not count against it.
        let operator_of = |address: &SocketAddr| {
            let behind = self.known_behind(address.ip())?;
            behind.is_shared.then_some(behind.operator)
        };
        let mut operators = target.addresses.iter().map(operator_of);
        let first = operators.next()??;
        operators.all(|operator| operator == Some(first)).then_some(first)
    }

    /// Records that a name of the operator resolves to this address. A single name may be a mistake
    /// in a table; with a second one, the address counts as the operator's.
    fn led_to(&self, address: IpAddr, operator: OperatorId, host: &str) {
        let name = self.keys.hash_one(host);
        let is_shared = match self.known_behind(address) {
            None => false,
            Some(known) if known.is_shared || known.operator != operator => return,
            Some(known) if known.name == name => return,
            Some(_) => true,
        };
        let until = Instant::now() + ADDRESS_KEPT;
        self.behind.insert(address, Behind { operator, name, is_shared, until });
    }

    fn known_behind(&self, address: IpAddr) -> Option<Behind> {
        self.behind.get(&address).filter(|behind| behind.until > Instant::now())
    }

    fn way(
        &self,
        state: &mut State<S>,
        target: &Target<'_>,
        operator: Option<OperatorId>,
        identity: usize,
        now: Instant,
    ) -> Way {
        let first = target.addresses.first().map(SocketAddr::ip);
        let site = match (operator, first) {
            (Some(operator), _) => SiteKey::Operator(operator, identity),
            (None, Some(ip)) if !target.is_route => SiteKey::network_of(ip),
            _ => SiteKey::Route(Arc::from(target.host)),
        };
        let meter = match (&site, first) {
            (SiteKey::Network(_), Some(ip)) => self.site(state, &site).meter_of(ip, now),
            _ => None,
        };
        Way { site, meter, identity, address: None, is_indebted: false }
    }

    /// Returns the time at which the check may queue, and chooses the address. Reserves only a
    /// batch's unit of the warm-up, which doesn't wait.
    fn due(
        &self,
        state: &mut State<S>,
        question: &Question,
        target: &Target<'_>,
        party: Party,
        way: &mut Way,
        now: Instant,
    ) -> Result<Instant, Refused> {
        if target.is_route {
            return Ok(now);
        }
        let latest = question.wait.deadline().checked_sub(DIALOGUE).unwrap_or(now).max(now);
        let mut due = now;
        if has_gate(target, party) {
            let away = state.domains.away(party.domain, now);
            if question.wait.class() == Class::Batch && !away.is_zero() {
                return Err(Refused { after: away, cause: Cause::Domain });
            }
            let gate = state.domains.due(party.domain, party.group, now, latest);
            due = due.max(gate.map_err(|after| Refused { after, cause: Cause::Domain })?);
        }
        let mut idle_serves = false;
        if let Some(site) = state.sites.get_mut(&way.site) {
            let settings = self.settings.load();
            let asker = (party, state.histories.of(party.account, now));
            let want = Want::of(question, target, asker, (way.identity, way.meter), &settings);
            let has_idle = site.has_idle(&want, now);
            let refused = |after| Refused { after, cause: Cause::Refusals };
            idle_serves = has_idle.map_err(refused)? && due <= now;
            let owes_repeat = site.sessions.owes_repeat(party.domain, now);
            let meter = site.meter(way.meter);
            let is_indebted = question.asker.fairness_group.is_some()
                && !target.admitted
                && !owes_repeat
                && !meter.rate.is_proven(party.group, party.domain, now);
            if is_indebted {
                way.is_indebted = true;
                let at = meter.debts.due(party.account, now);
                if at > latest {
                    let after = at.saturating_duration_since(now);
                    return Err(Refused { after, cause: Cause::Domain });
                }
                due = due.max(at);
            }
        }
        if !(idle_serves && due <= now) {
            let (at, address) = address_due(state, target, party, now, latest)?;
            due = due.max(at);
            way.address = address;
        }
        self.pass_warm_up(state, question, way)?;
        Ok(due)
    }

    /// Returns how long a batch waits for a source address that is new to the operator.
    fn pass_warm_up(
        &self,
        state: &mut State<S>,
        question: &Question,
        way: &Way,
    ) -> Result<(), Refused> {
        let (Class::Batch, SiteKey::Operator(operator, identity)) =
            (question.wait.class(), &way.site)
        else {
            return Ok(());
        };
        let Some(since) = self.warms_up_since(state, *operator, *identity) else {
            return Ok(());
        };
        let passed = state.warm_up.pass(*operator, *identity, since, (self.unix_now)());
        passed.map_err(|after| Refused { after, cause: Cause::WarmUp })
    }

    /// Returns a session, or a place in the site's queue.
    fn enter(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, State<S>>,
        question: &Question,
        target: &Target<'_>,
        party: Party,
        mut way: Way,
        now: Instant,
    ) -> Step<S> {
        if let (SiteKey::Network(_), Some(address)) = (&way.site, way.address) {
            // An address other than the first may be in another network.
            way.site = SiteKey::network_of(address);
            way.meter = self.site(&mut state, &way.site).meter_of(address, now);
        }
        let settings = self.settings.load();
        let asker = (party, state.histories.of(party.account, now));
        let want = Want::of(question, target, asker, (way.identity, way.meter), &settings);
        let site = self.site(&mut state, &way.site);
        let mut evicted = Vec::new();
        let claim = |want| Claim {
            pool: Arc::clone(self),
            site: way.site.clone(),
            want,
            address: way.address,
        };
        if let Some(grant) = site.serve_newcomer(&want, now, &mut evicted) {
            drop(state);
            self.close_all(evicted);
            return Step::Granted(claim(want).granted(grant));
        }
        let (answer, receiver) = oneshot::channel();
        let most = settings.max_waiting;
        let most_of_group = match question.asker.fairness_group {
            Some(_) => {
                let free = most.saturating_sub(site.waiting.len());
                settings.share(most).min(free.max(1))
            }
            None => usize::MAX,
        };
        site.wait(want.clone(), answer, (most, most_of_group), now);
        drop(state);
        self.pump(&way.site);
        self.sweep_soon();
        Step::Queued(Queued { answer: receiver, claim: claim(want) })
    }
}

/// A domain where anybody can get a mailbox has no gate, and a check passes a gate only once.
const fn has_gate(target: &Target<'_>, party: Party) -> bool {
    !(target.is_route || target.admitted || party.is_consumer)
}

/// Returns the first address with an open gate, or the one that opens next if waiting makes sense.
fn address_due<S>(
    state: &State<S>,
    target: &Target<'_>,
    party: Party,
    now: Instant,
    latest: Instant,
) -> Result<(Instant, Option<IpAddr>), Refused> {
    let gates = &state.addresses;
    let due = |ip: IpAddr| (gates.due(ip, party.group, now, latest), ip);
    let all = target.addresses.iter().map(|address| due(address.ip()));
    let soonest = all.min_by_key(|(due, _)| match due {
        Ok(at) => at.saturating_duration_since(now),
        Err(after) => (*after).max(Duration::from_nanos(1)),
    });
    match soonest {
        None => Ok((now, None)),
        Some((Ok(at), address)) if at <= now || !target.more_hosts => Ok((at, Some(address))),
        Some((Ok(at), _)) => {
            let after = at.saturating_duration_since(now);
            Err(Refused { after, cause: Cause::Address })
        }
        Some((Err(after), _)) => Err(Refused { after, cause: Cause::Address }),
    }
}
