//! Everything of a site but who waits: its meters, gates, costs, sessions in use and idle ones.

use std::{collections::BTreeMap, net::IpAddr, time::Duration};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Grant, IdleSession};
use crate::{
    asker::{Costs, SLOW},
    limits::{gates::Gates, meter::Meter, refused::Asking},
    question::{Cause, Class, Key, May, MeterKey, Not, Party, SiteKey, Want, both, earlier},
    settings::{Limits, Settings},
};

/// Lifetimes of a domain's and an address's narrow gate.
const DOMAIN_MEMORY: Duration = Duration::from_secs(600);
const ADDRESS_MEMORY: Duration = Duration::from_secs(300);
/// Shortest time in which a slow domain's server may answer. A session that ends too early for it would only be lost to
/// others: with many such checks, no server that takes seven seconds would ever answer.
const SLOW_TIME_MIN: Duration = Duration::from_millis(7_500);
/// Maximum number of a /64's machines with their own limits, since one machine may have all its addresses; further
/// machines share one set of limits. A /24 has few enough addresses.
const MAX_MACHINES_V6: usize = 16;

pub(crate) enum Room {
    Idle(usize),
    Open,
}

pub(super) struct Use {
    pub(super) party: Party,
    pub(super) class: Class,
    pub(super) meter: MeterKey,
    pub(super) since: Instant,
    /// True if the party wasn't proven when the session was granted.
    pub(super) may_be_slow: bool,
    /// Asks all users of the session to close it: the check, and the control recipient after it.
    pub(super) cut: CancellationToken,
}

impl Use {
    pub(super) fn is_long(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= SLOW
    }
}

pub(crate) struct Here<S> {
    pub(super) limits: Limits,
    pub(super) most: usize,
    /// A site has few meters, so lookups need no hash. Boxed, because a map has room for eleven.
    pub meters: BTreeMap<MeterKey, Box<Meter>>,
    pub(super) domains: Gates<Key>,
    pub(super) addresses: Gates<IpAddr>,
    pub(super) costs: Costs,
    pub(super) uses: BTreeMap<u64, Use>,
    pub(super) next_use: u64,
    /// In order of last use; the most recently used session is reused first.
    pub idle: Vec<IdleSession<S>>,
    pub(super) max_idle: Duration,
    pub(super) close: fn(S),
    pub last_used: Instant,
}

impl<S> Here<S> {
    pub(crate) fn new(key: &SiteKey, settings: &Settings, close: fn(S), now: Instant) -> Self {
        let (limits, most) = settings.limits_of(key);
        let interval = settings.pace.gate_interval;
        Self {
            limits,
            most,
            meters: BTreeMap::new(),
            domains: Gates::new(DOMAIN_MEMORY, interval),
            addresses: Gates::new(ADDRESS_MEMORY, interval),
            costs: Costs::default(),
            uses: BTreeMap::new(),
            next_use: 0,
            idle: Vec::new(),
            max_idle: settings.max_idle,
            close,
            last_used: now,
        }
    }

    pub(crate) fn set_limits(&mut self, (limits, most): (Limits, usize)) {
        (self.limits, self.most) = (limits, most);
        self.meters.values_mut().for_each(|meter| meter.set_limits(limits));
    }

    pub(crate) fn meter(&mut self, key: MeterKey) -> &mut Meter {
        let limits = self.limits;
        self.meters.entry(key).or_insert_with(|| Box::new(Meter::new(limits)))
    }

    /// The machine's own meter, or `None`, the shared meter, if too many machines of a /64 have their own.
    pub(crate) fn meter_of(
        &mut self,
        machine: IpAddr,
        waited_for: impl Fn() -> Vec<MeterKey>,
        now: Instant,
    ) -> MeterKey {
        let own = Some(machine);
        if machine.is_ipv4() || self.meters.contains_key(&own) {
            return own;
        }
        if self.meters.len() >= MAX_MACHINES_V6 {
            self.forget_meters(&waited_for(), now);
        }
        own.filter(|_| self.meters.len() < MAX_MACHINES_V6)
    }

    pub(super) fn forget_meters(&mut self, stored_meters: &[MeterKey], now: Instant) {
        self.meters.values_mut().for_each(|meter| meter.forget(now));
        self.meters.retain(|key, meter| stored_meters.contains(key) || !meter.is_over(now));
    }

    pub(super) fn in_use(&self) -> usize {
        self.uses.len()
    }

    /// Asks all rules; changes nothing. `ahead` is the number of waiting checks of the same account and domain.
    pub(super) fn may(&self, want: &Want, ahead: usize, now: Instant) -> Result<Room, Not> {
        let new_here;
        let meter = match self.meters.get(&want.meter) {
            Some(meter) => &**meter,
            None => {
                new_here = Meter::new(self.limits);
                &new_here
            }
        };
        let asks = both(
            self.may_pass(want, meter, ahead, now),
            meter.may_ask(asking(want), want.warm_up, now),
        );
        let is_full = meter.in_use >= meter.sessions() || self.in_use() >= self.most;
        let free = if is_full {
            Err(Not { cause: Cause::Session, until: None })
        } else if self.waits_for_lists(want, meter, now) {
            Err(Not { cause: Cause::Rate, until: None })
        } else {
            self.leaves_reserve(want, meter, now)
        };
        // A session with another machine of the host counts at that machine.
        let may_use = |other: MeterKey| {
            let other = self.meters.get(&other).filter(|_| other != want.meter);
            other.is_none_or(|meter| meter.may_ask(asking(want), want.warm_up, now).is_ok())
        };
        let idle = self.fitting_idle(want, may_use, now);
        let opens = || {
            let of = (want.party, want.class);
            let gate = |ip| self.addresses.not_before(ip, of, ahead, now);
            both(
                Cause::Address.from(want.address.and_then(gate)),
                meter.may_open(want.party.group, now),
            )
        };
        let session = if idle.is_some() { Ok(()) } else { opens() };
        both(both(asks, free), session)?;
        Ok(idle.map_or(Room::Open, Room::Idle))
    }

    /// The gate of the check's domain, and the costs of its account, which domains with a recent answer don't wait for.
    fn may_pass(&self, want: &Want, meter: &Meter, ahead: usize, now: Instant) -> May {
        let domain = want.party.domain;
        if want.is_admitted {
            return Ok(());
        }
        let gate = || self.domains.not_before(domain, (want.party, want.class), ahead, now);
        let gate = want.has_gate.then(gate).flatten();
        let enough = want.latest.checked_sub(SLOW_TIME_MIN).unwrap_or(now);
        if want.class == Class::Interactive && now > enough && self.costs.is_slow_key(domain, now) {
            return Err(Not { cause: Cause::Slow, until: Some(want.latest + SLOW_TIME_MIN) });
        }
        let costs = self.costs.waits_until(want.party.account, now);
        let costs = costs.filter(|_| pays(want, meter, now));
        both(Cause::Domain.from(gate), Cause::Slow.from(costs))
    }

    /// True if a list's recipient waits for those that lists already ask the machine about: all may be refused.
    fn waits_for_lists(&self, want: &Want, meter: &Meter, now: Instant) -> bool {
        let is_of_list = |it: &&Use| it.meter == want.meter && it.class == Class::Batch;
        let under_way = || self.uses.values().filter(is_of_list).map(|it| it.party);
        want.class == Class::Batch && !meter.lately.may_ask_beside(asking(want), under_way, now)
    }

    fn leaves_reserve(&self, want: &Want, meter: &Meter, now: Instant) -> May {
        let is_scarce = |in_use: usize, most: usize| in_use >= (most / 2).max(1);
        let is_scarce =
            is_scarce(meter.in_use, meter.sessions()) || is_scarce(self.in_use(), self.most);
        // The last session of a network is left to a machine without sessions.
        let is_last = self.in_use() + 1 >= self.most;
        if is_last && meter.in_use > 0 && self.most > meter.sessions() {
            return Err(Not { cause: Cause::Session, until: None });
        }
        let Party { group, account, .. } = want.party;
        let is_slow = is_scarce && self.is_slow(want.party, now);
        if !is_scarce || (!is_slow && self.costs.is_proven(account, now)) {
            return Ok(());
        }
        let Some(until) = self.costs.other_is_present_until(account, now) else { return Ok(()) };
        // New parties leave sessions only to their group's others: theirs may all be slow, and another group's may not.
        let counts =
            |it: &&Use| (it.may_be_slow || it.is_long(now)) && (is_slow || it.party.group == group);
        let slow = self.uses.values().filter(counts);
        let slow_here = slow.clone().filter(|it| it.meter == want.meter).count();
        let has_room = has_room(meter.sessions(), slow_here) && has_room(self.most, slow.count());
        if has_room {
            return Ok(());
        }
        let until = earlier(self.costs.slow_until(want.party, now), Some(until));
        Err(Not { cause: Cause::Session, until })
    }

    /// True if the party made others wait, or holds a session for long.
    pub(super) fn is_slow(&self, party: Party, now: Instant) -> bool {
        let is_own =
            |it: &Use| it.party.account == party.account || it.party.domain == party.domain;
        self.uses.values().any(|it| is_own(it) && it.is_long(now)) || self.costs.is_slow(party, now)
    }

    /// The only place that counts anything for a check.
    pub(super) fn take(&mut self, want: &Want, room: Room, now: Instant) -> Grant<S> {
        let Party { group, domain, .. } = want.party;
        let meter = self.meters.get(&want.meter);
        let pays = meter.is_some_and(|meter| pays(want, meter, now));
        let may_be_slow =
            self.is_slow(want.party, now) || !self.costs.is_proven(want.party.account, now);
        if !want.is_admitted {
            self.domains.take(domain, want.party, now);
            if pays {
                self.costs.take(want.party, now);
            }
        }
        let idle = match room {
            Room::Idle(index) => Some(self.remove_idle(index)),
            Room::Open => {
                self.make_room(want.meter);
                self.meter(want.meter).take_session(group, now);
                if let Some(address) = want.address {
                    self.addresses.take(address, want.party, now);
                }
                None
            }
        };
        let key = idle.as_ref().map_or(want.meter, |idle| idle.meter);
        let meter = self.meter(key);
        meter.in_use += 1;
        meter.take_recipient(want.warm_up, now);
        self.last_used = now;
        let id = self.next_use;
        self.next_use += 1;
        let cut = CancellationToken::new();
        let (party, class) = (want.party, want.class);
        let used = Use { party, class, meter: key, since: now, may_be_slow, cut: cut.clone() };
        self.uses.insert(id, used);
        Grant { id, meter: key, cut, idle }
    }

    pub(super) fn fitting_idle(
        &self,
        want: &Want,
        may_use: impl Fn(MeterKey) -> bool,
        now: Instant,
    ) -> Option<usize> {
        let max_idle = self.max_idle;
        let fits = |it: &IdleSession<S>| {
            it.serves(want) && !it.is_over(max_idle, now) && may_use(it.meter)
        };
        self.idle.iter().rposition(fits)
    }

    /// Idle sessions of the same machine are evicted first, then the oldest.
    fn make_room(&mut self, key: MeterKey) {
        loop {
            let meter = self.meter(key);
            let full_here = meter.in_use + meter.idle >= meter.sessions();
            let index = if full_here {
                self.idle.iter().position(|idle| idle.meter == key)
            } else if self.in_use() + self.idle.len() >= self.most {
                (!self.idle.is_empty()).then_some(0)
            } else {
                None
            };
            let Some(index) = index else { return };
            (self.close)(self.remove_idle(index).session);
        }
    }

    fn remove_idle(&mut self, index: usize) -> IdleSession<S> {
        let idle = self.idle.remove(index);
        self.meter(idle.meter).idle -= 1;
        idle
    }

    /// `Some` if no waiting check has room: until the time inside, or for `Some(None)`, until a session is returned.
    /// The result saves examining hundreds of checks.
    pub(super) fn closed_until(&self, now: Instant) -> Option<Option<Instant>> {
        if self.in_use() >= self.most {
            return Some(None);
        }
        let mut next: Option<Instant> = None;
        for meter in self.meters.values() {
            match meter.recipients_not_before(now) {
                Some(due) => next = Some(next.map_or(due, |next| next.min(due))),
                None if meter.in_use >= meter.sessions() => {}
                None => return None,
            }
        }
        Some(next)
    }

    pub(super) fn age_s(&self, path: &[Key], now: Instant) -> f64 {
        let own = self.uses.values().filter(|it| it.party.path().starts_with(path));
        own.map(|it| now.saturating_duration_since(it.since).as_secs_f64()).sum()
    }

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

    pub(super) fn are_there(&self) -> bool {
        self.in_use() > 0 || !self.idle.is_empty()
    }

    pub(crate) fn has_forgotten(&self) -> bool {
        self.domains.is_empty() && self.addresses.is_empty() && self.costs.len() == 0
    }

    pub(super) fn is_over(&self) -> bool {
        !self.are_there() && self.meters.is_empty() && self.has_forgotten()
    }

    pub(crate) fn refused(&self, now: Instant) -> usize {
        self.meters.values().map(|meter| meter.per_hour.total(now)).sum()
    }

    pub(crate) fn gates(&self) -> usize {
        self.domains.len() + self.addresses.len()
    }

    pub(crate) fn parties(&self) -> usize {
        let of_meters = self.meters.values().map(|it| it.rate.trials() + it.per_hour.parties());
        self.costs.len() + of_meters.sum::<usize>()
    }

    #[cfg(test)]
    pub(crate) fn counts(&self) -> [usize; 3] {
        let of_meters: usize = self.meters.values().map(|meter| meter.in_use).sum();
        [self.in_use(), self.uses.len(), of_meters]
    }
}

fn asking(want: &Want) -> Asking {
    Asking { party: want.party, past: want.past, class: want.class, share: want.share }
}

/// True if the check waits for its account's costs: not without a group, nor at a domain with a recent answer.
fn pays(want: &Want, meter: &Meter, now: Instant) -> bool {
    want.share.is_some() && !meter.rate.is_proven(want.party.group, want.party.domain, now)
}

/// True if a party that isn't proven may take one more session while others are there. `slow` sessions are used by
/// parties like it, or for long: one is left to the others, and two of eight or more.
const fn has_room(most: usize, slow: usize) -> bool {
    let reserve = if most >= 8 { 2 } else { 1 };
    most < 2 || slow + reserve < most
}

#[cfg(test)]
mod tests {
    use super::has_room;

    #[test]
    fn slow_parties_leave_one_session_of_few_and_two_of_many_while_others_are_there() {
        let most_of = |most: usize| (0..most).take_while(|slow| has_room(most, *slow)).count();
        assert_eq!([1, 2, 7, 8, 30].map(most_of), [1, 1, 6, 6, 28]);
    }
}
