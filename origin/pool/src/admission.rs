//! Conditions for queueing a check: the gates of its domain and of an address, the limits of refused recipients, its
//! account's debts, and for a batch our address's warm-up.
//!
//! All conditions are evaluated together, and the latest time counts. If that time is within the deadline, a [`Ticket`]
//! reserves all conditions; otherwise none is reserved. An unused ticket releases its reservations, unless other checks
//! have passed since.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use parking_lot::MutexGuard;
use tokio::{sync::oneshot, time::Instant};

use super::{
    ADDRESS_LIFETIME, Behind, Cause, Class, Pool, Question, Refused, State, Target,
    operators::OperatorId,
    party::Party,
    permit::{Acquired, Queued},
    sessions::Room,
    site_key::SiteKey,
    want::Want,
};

/// Shortest time for which starting a conversation makes sense.
const DIALOGUE_TIME_MIN: Duration = Duration::from_secs(1);
pub(super) enum Step<S: Send + 'static> {
    Granted(Acquired<S>),
    Queued(Queued<S>),
    Later(Ticket<S>),
}

/// Reservations of a check, and the time at which it may queue.
pub(super) struct Ticket<S: Send + 'static> {
    pool: Arc<Pool<S>>,
    number: u64,
    pub due: Instant,
    /// `None` once the check has queued.
    want: Option<Box<Want>>,
}

impl<S: Send + 'static> Drop for Ticket<S> {
    fn drop(&mut self) {
        let Some(want) = &self.want else { return };
        let mut state = self.pool.lock();
        state.domains.give_back(want.party.domain, self.number);
        if let Some(address) = want.address {
            state.addresses.give_back(address, self.number);
        }
        if want.is_indebted
            && let Some(site) = state.sites.get_mut(&want.site)
        {
            site.meter(want.meter).debts.give_back(want.party.account, self.due);
        }
    }
}

impl<S: Send + 'static> Pool<S> {
    pub(super) fn admit(
        self: &Arc<Self>,
        question: &Question,
        target: &Target<'_>,
    ) -> Result<Step<S>, Refused> {
        let operator = self.operator_of(target);
        let party = self.party(question);
        let now = Instant::now();
        let mut state = self.lock();
        let mut want = self.want(&mut state, question, target, party, operator, now);
        let (due, idle) = self.queue_time(&mut state, question, target, &mut want, now)?;
        state.tickets += 1;
        let number = state.tickets;
        if has_gate(target, party) {
            state.domains.take(party.domain, party.group, number, due, now);
        }
        if let Some(address) = want.address {
            state.addresses.take(address, party.group, number, due, now);
        }
        if want.is_indebted
            && let Some(site) = state.sites.get_mut(&want.site)
        {
            site.meter(want.meter).debts.take(party.account, due);
        }
        if due <= now {
            return Ok(self.enter(state, want, idle, now));
        }
        drop(state);
        Ok(Step::Later(Ticket { pool: Arc::clone(self), number, due, want: Some(want) }))
    }

    /// The check is admitted anew if its passage through a gate was lost or postponed.
    pub(super) fn redeem(
        self: &Arc<Self>,
        mut ticket: Ticket<S>,
        question: &Question,
        target: &Target<'_>,
    ) -> Result<Step<S>, Refused> {
        let now = Instant::now();
        let mut state = self.lock();
        let number = ticket.number;
        let passed = ticket.want.take_if(|want| {
            let Party { domain, account, .. } = want.party;
            want.history = state.histories.of(account, now);
            (!has_gate(target, want.party) || state.domains.redeem(domain, number, now))
                && want.address.is_none_or(|ip| state.addresses.redeem(ip, number, now))
        });
        if let Some(want) = passed {
            return Ok(self.enter(state, want, None, now));
        }
        drop(state);
        drop(ticket);
        self.admit(question, target)
    }

    /// The operator by the host's name, or by all of its addresses; `None` for a route.
    fn operator_of(&self, target: &Target<'_>) -> Option<OperatorId> {
        if target.is_route {
            return None;
        }
        if let Some(operator) = self.settings.load().operators.of_host(target.host) {
            for address in target.addresses.iter().map(SocketAddr::ip) {
                self.led_to(address, operator, target.host);
            }
            return Some(operator);
        }
        // A host that has other addresses besides an operator's isn't the operator's: replies of the host's other
        // machines must not count against the operator.
        let operator_of = |address: &SocketAddr| {
            let behind = self.known_behind(address.ip())?;
            behind.is_shared.then_some(behind.operator)
        };
        let mut operators = target.addresses.iter().map(operator_of);
        let first = operators.next()??;
        operators.all(|operator| operator == Some(first)).then_some(first)
    }

    /// A single name may be a mistake in a table; with a second name, the address counts as the operator's.
    fn led_to(&self, address: IpAddr, operator: OperatorId, host: &str) {
        let name = self.keys.hash_one(host);
        let is_shared = match self.known_behind(address) {
            None => false,
            Some(known) if known.is_shared || known.operator != operator => return,
            Some(known) if known.name == name => return,
            Some(_) => true,
        };
        let until = Instant::now() + ADDRESS_LIFETIME;
        self.behind.insert(address, Behind { operator, name, is_shared, until });
    }

    fn known_behind(&self, address: IpAddr) -> Option<Behind> {
        self.behind.get(&address).filter(|behind| behind.until > Instant::now())
    }

    fn want(
        &self,
        state: &mut State<S>,
        question: &Question,
        target: &Target<'_>,
        party: Party,
        operator: Option<OperatorId>,
        now: Instant,
    ) -> Box<Want> {
        let settings = self.settings.load();
        let machine = target.addresses.first().map(SocketAddr::ip);
        let site = match (operator, machine) {
            (Some(operator), _) => {
                SiteKey::Operator(operator, state.source_of(operator, target.identity, &settings))
            }
            (None, Some(ip)) if !target.is_route => SiteKey::network_of(ip),
            _ => SiteKey::Route(Arc::from(target.host)),
        };
        let history = state.histories.of(party.account, now);
        let mut want = Box::new(Want::of(question, target, party, history, site, &settings));
        if let (SiteKey::Network(_), Some(machine)) = (&want.site, machine) {
            self.ask_machine(state, &mut want, machine, now);
        }
        want
    }

    pub(super) fn ask_machine(
        &self,
        state: &mut State<S>,
        want: &mut Want,
        machine: IpAddr,
        now: Instant,
    ) {
        want.site = SiteKey::network_of(machine);
        want.meter = self.meter_of(state, &want.site, machine, now);
    }

    /// The time at which the check may queue, and an idle session if one is available now. Reserves nothing but a
    /// batch's unit of the warm-up, for which no check waits.
    fn queue_time(
        &self,
        state: &mut State<S>,
        question: &Question,
        target: &Target<'_>,
        want: &mut Want,
        now: Instant,
    ) -> Result<(Instant, Option<Room>), Refused> {
        if target.is_route {
            return Ok((now, None));
        }
        let latest =
            question.wait.deadline().checked_sub(DIALOGUE_TIME_MIN).unwrap_or(now).max(now);
        let (party, mut due) = (want.party, now);
        if has_gate(target, party) {
            let away = state.domains.away(party.domain, now);
            if question.wait.class() == Class::Batch && !away.is_zero() {
                return Err(Refused { after: away, cause: Cause::Domain });
            }
            let gate = state.domains.passage_time(party.domain, party.group, now, latest);
            due = due.max(gate.map_err(|after| Refused { after, cause: Cause::Domain })?);
        }
        let mut idle = None;
        if let Some(site) = state.sites.get_mut(&want.site) {
            let refused = |after| Refused { after, cause: Cause::Refusals };
            idle = site.idle_for(want, now).map_err(refused)?;
            let owes_repeat = site.sessions.owes_repeat(party.domain, now);
            let meter = site.meter(want.meter);
            want.is_indebted = question.asker.fairness_group.is_some()
                && !target.admitted
                && !owes_repeat
                && !meter.rate.is_proven(party.group, party.domain, now);
            if want.is_indebted {
                let at = meter.debts.due(party.account, now);
                if at > latest {
                    let after = at.saturating_duration_since(now);
                    return Err(Refused { after, cause: Cause::Domain });
                }
                due = due.max(at);
            }
        }
        let idle = idle.filter(|_| due <= now);
        if idle.is_none() {
            let (at, address) = address_due(state, target, party, now, latest)?;
            due = due.max(at);
            want.address = address;
        }
        self.pass_warm_up(state, want)?;
        Ok((due, idle))
    }

    fn pass_warm_up(&self, state: &mut State<S>, want: &Want) -> Result<(), Refused> {
        let (Class::Batch, SiteKey::Operator(operator, identity)) = (want.class, &want.site) else {
            return Ok(());
        };
        let Some(since) = self.warms_up_since(state, *operator, *identity) else {
            return Ok(());
        };
        let passed = state.warm_up.pass(*operator, *identity, since, (self.unix_now)());
        passed.map_err(|after| Refused { after, cause: Cause::WarmUp })
    }

    fn enter(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, State<S>>,
        mut want: Box<Want>,
        idle: Option<Room>,
        now: Instant,
    ) -> Step<S> {
        if let (SiteKey::Network(_), Some(address)) = (&want.site, want.address)
            && want.meter != Some(address)
        {
            // An address other than the first may be in another network.
            self.ask_machine(&mut state, &mut want, address, now);
        }
        let site = self.site(&mut state, &want.site);
        let mut evicted = Vec::new();
        if let Some(grant) = site.serve_newcomer(&want, idle, now, &mut evicted) {
            drop(state);
            self.close_all(evicted);
            return Step::Granted(Acquired::of(self, want, grant));
        }
        let (answer, receiver) = oneshot::channel();
        let most = self.settings.load().max_waiting;
        let free = most.saturating_sub(site.waiting.len());
        let most_of_group = want.share.map_or(usize::MAX, |_| want.share_of(most).min(free.max(1)));
        let key = want.site.clone();
        site.wait(want, answer, (most, most_of_group), now);
        drop(state);
        self.pump(&key);
        self.sweep_soon();
        Step::Queued(Queued { answer: receiver, pool: Arc::clone(self) })
    }
}

/// A check passes its domain's gate only once, and not at consumer domains or routes.
const fn has_gate(target: &Target<'_>, party: Party) -> bool {
    !(target.is_route || target.admitted || party.is_consumer)
}

fn address_due<S>(
    state: &State<S>,
    target: &Target<'_>,
    party: Party,
    now: Instant,
    latest: Instant,
) -> Result<(Instant, Option<IpAddr>), Refused> {
    let gates = &state.addresses;
    let due = |ip: IpAddr| (gates.passage_time(ip, party.group, now, latest), ip);
    let all = target.addresses.iter().map(|address| due(address.ip()));
    let soonest = all.min_by_key(|(due, _)| match due {
        Ok(at) => at.saturating_duration_since(now),
        Err(after) => (*after).max(Duration::from_nanos(1)),
    });
    match soonest {
        None => Ok((now, None)),
        Some((Ok(at), address)) => Ok((at, Some(address))),
        Some((Err(after), _)) => Err(Refused { after, cause: Cause::Address }),
    }
}
