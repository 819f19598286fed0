//! The sessions of one site, in use and idle, and the room for more.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use super::{
    Class, Entries, Key,
    cut::Cut,
    meter::{Limits, Meter},
    party::Party,
    site_key::MeterKey,
    standing::{CUT, Limit, SLOW, Standing, Standings, Use},
    want::Want,
};

/// Time until long-held sessions are examined again, if none could be cut.
const CUT_RETRY_DELAY: Duration = Duration::from_millis(500);
pub(super) const MAX_IDLE_SITE: usize = 64;
/// Maximum number of a network's machines with their own limits; further machines share one set of limits.
const MAX_MACHINES: usize = 16;

pub(super) struct Idle<S> {
    pub host: Arc<str>,
    pub identity: usize,
    pub meter: MeterKey,
    pub address: Option<IpAddr>,
    pub group: Key,
    /// True if the session may also serve other names of its machine.
    pub is_shared: bool,
    pub since: Instant,
    pub session: S,
}

/// A session to use, or permission to open one.
pub(super) struct Grant<S> {
    /// Number of this use of a session at the site.
    pub id: u64,
    pub meter: MeterKey,
    /// Request to the holder to close the session, because others are waiting.
    pub cut: Arc<Cut>,
    pub idle: Option<Idle<S>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// An idle session that can be used, by index.
    Idle(usize),
    New,
    NotBefore(Instant),
    /// No session is free, or the free sessions are reserved for others: until this time, or until a session is
    /// returned.
    Taken(Option<Instant>),
    /// The party has used up its allowance of refused recipients, and must wait for this duration.
    Spent(Duration),
}

impl Room {
    pub(super) const fn is_there(self) -> bool {
        matches!(self, Self::Idle(_) | Self::New)
    }
}

struct InUse {
    used: Use,
    meter: MeterKey,
    class: Class,
    cut: Arc<Cut>,
}

/// A finished use of a session, to be charged to its party.
pub(super) struct Ended {
    pub path: [Key; 3],
    pub class: Class,
    pub took: Duration,
}

pub(super) struct Sessions<S> {
    /// Limits of every meter of the site.
    limits: Limits,
    /// Maximum number of concurrent sessions with all machines.
    most: usize,
    max_idle: Duration,
    /// Sessions in use, including those being closed.
    in_use: usize,
    uses: BTreeMap<u64, InUse>,
    next_use: u64,
    /// Idle sessions in order of last use; the most recently used session is reused first.
    idle: Vec<Idle<S>>,
    /// Number of idle sessions with all sites.
    all_idle: Arc<AtomicUsize>,
    /// A site has few meters, so lookups need no hash.
    meters: BTreeMap<MeterKey, Meter>,
    standings: Standings,
    pub last_used: Instant,
}

impl<S> Sessions<S> {
    pub(super) fn new(
        (limits, most): (Limits, usize),
        max_idle: Duration,
        all_idle: Arc<AtomicUsize>,
    ) -> Self {
        Self {
            limits,
            most,
            max_idle,
            in_use: 0,
            uses: BTreeMap::new(),
            next_use: 0,
            idle: Vec::new(),
            all_idle,
            meters: BTreeMap::new(),
            standings: Standings::default(),
            last_used: Instant::now(),
        }
    }

    pub(super) fn set_limits(&mut self, limits: Limits, most: usize) {
        self.limits = limits;
        self.most = most;
        self.meters.values_mut().for_each(|meter| meter.set_limits(limits));
    }

    pub(super) fn meter(&mut self, key: MeterKey) -> &mut Meter {
        let limits = self.limits;
        self.meters.entry(key).or_insert_with(|| Meter::new(limits))
    }

    pub(super) fn known_meter(&self, key: MeterKey) -> Option<&Meter> {
        self.meters.get(&key)
    }

    pub(super) fn meters(&self) -> impl Iterator<Item = (&MeterKey, &Meter)> {
        self.meters.iter()
    }

    /// The machine's own meter, or `None`, the shared meter, if too many machines have their own.
    pub(super) fn meter_of(
        &mut self,
        machine: IpAddr,
        waited_for: impl Fn() -> Vec<MeterKey>,
        now: Instant,
    ) -> MeterKey {
        let own = Some(machine);
        if self.meters.contains_key(&own) {
            return own;
        }
        if self.meters.len() >= MAX_MACHINES {
            self.forget_meters(&waited_for(), now);
        }
        own.filter(|_| self.meters.len() < MAX_MACHINES)
    }

    fn forget_meters(&mut self, stored_meters: &[MeterKey], now: Instant) {
        self.meters.values_mut().for_each(|meter| meter.forget(now));
        self.meters.retain(|key, meter| stored_meters.contains(key) || !meter.is_over(now));
    }

    /// Total time in seconds for which the path's sessions have been in use.
    pub(super) fn age_s(&self, path: &[Key], now: Instant) -> f64 {
        let own = self.uses.values().filter(|it| it.used.party.path().starts_with(path));
        own.map(|it| now.saturating_duration_since(it.used.since).as_secs_f64()).sum()
    }

    /// `Some` if no waiting check has room: until the time inside, or for `Some(None)`, until a session is returned.
    /// The result saves examining hundreds of checks.
    pub(super) fn closed_until(&self, now: Instant) -> Option<Option<Instant>> {
        if self.in_use >= self.most {
            return Some(None);
        }
        let mut next: Option<Instant> = None;
        for meter in self.meters.values() {
            match meter.recipient_not_before(now) {
                Some(due) => next = earlier(next, Some(due)),
                None if meter.in_use >= meter.sessions => {}
                None => return None,
            }
        }
        Some(next)
    }

    pub(super) fn room(&self, want: &Want, now: Instant) -> Room {
        let new_here;
        let meter = match self.meters.get(&want.meter) {
            Some(meter) => meter,
            None => {
                new_here = Meter::new(self.limits);
                &new_here
            }
        };
        if let Some(after) = meter.refusal_wait(want, now) {
            return Room::Spent(after);
        }
        if let Some(due) = meter.recipient_not_before(now) {
            return Room::NotBefore(due);
        }
        if self.in_use >= self.most || meter.in_use >= meter.sessions {
            return Room::Taken(None);
        }
        if let Err(until) = self.reserve(want, meter, now) {
            return Room::Taken(until);
        }
        let is_its_machine =
            |idle: &Idle<S>| idle.is_shared && idle.meter.is_some() && idle.meter == want.meter;
        // A session with another machine of the host counts at that machine.
        let is_spent_there = |idle: &Idle<S>| {
            let other = self.meters.get(&idle.meter).filter(|_| idle.meter != want.meter);
            other.is_some_and(|meter| meter.refusal_wait(want, now).is_some())
        };
        let fits = |idle: &Idle<S>| {
            !want.afresh
                && (*idle.host == *want.host || is_its_machine(idle))
                && idle.identity == want.identity
                && now.saturating_duration_since(idle.since) < self.max_idle
                && !is_spent_there(idle)
        };
        if let Some(position) = self.idle.iter().rposition(fits) {
            return Room::Idle(position);
        }
        meter.session_not_before(want.class, now).map_or(Room::New, Room::NotBefore)
    }

    /// The reserve is for proven parties, at the operator, or at the machine and in its network. The error is the time
    /// until which the session is refused, unless another session is returned earlier.
    fn reserve(&self, want: &Want, meter: &Meter, now: Instant) -> Result<(), Option<Instant>> {
        let all = self.uses.values();
        // While less than half is in use, there is enough for all and the reserve isn't checked.
        let is_scarce = |in_use: usize, sessions: usize| in_use >= (sessions / 2).max(1);
        if meter.sessions < usize::MAX && is_scarce(meter.in_use, meter.sessions) {
            let here = all.clone().filter(|it| it.meter == want.meter).map(|it| &it.used);
            let keeps_half = self.most == usize::MAX;
            let limit = Limit { sessions: meter.sessions, keeps_half };
            self.standings.may_take(want.party, limit, here, now)?;
        }
        if self.most < usize::MAX && is_scarce(self.in_use, self.most) {
            // The last session of a network is reserved for a machine without sessions.
            let is_last = self.in_use + 1 >= self.most;
            if is_last && meter.in_use > 0 && self.most > meter.sessions {
                return Err(None);
            }
            let limit = Limit { sessions: self.most, keeps_half: false };
            self.standings.may_take(want.party, limit, all.map(|it| &it.used), now)?;
        }
        Ok(())
    }

    pub(super) fn grant(
        &mut self,
        room: Room,
        want: &Want,
        now: Instant,
        evicted: &mut Vec<S>,
    ) -> Option<Grant<S>> {
        let idle = match room {
            Room::Idle(position) => Some(self.remove_idle(position)),
            Room::New => {
                self.make_room(want.meter, evicted);
                self.meter(want.meter).count_session(now);
                None
            }
            Room::Taken(_) | Room::NotBefore(_) | Room::Spent(_) => return None,
        };
        let key = idle.as_ref().map_or(want.meter, |idle| idle.meter);
        let meter = self.meter(key);
        meter.in_use += 1;
        meter.count_recipient(now);
        self.in_use += 1;
        self.last_used = now;
        let id = self.next_use;
        self.next_use += 1;
        let standing = self.standings.of(want.party, now);
        let used = Use { party: want.party, since: now, standing };
        let cut = Arc::new(Cut::default());
        let in_use = InUse { used, meter: key, class: want.class, cut: cut.clone() };
        self.uses.insert(id, in_use);
        Some(Grant { id, meter: key, cut, idle })
    }

    /// Idle sessions of the same machine are evicted first, then the oldest.
    fn make_room(&mut self, key: MeterKey, evicted: &mut Vec<S>) {
        loop {
            let meter = self.meter(key);
            let full_here = meter.in_use + meter.idle >= meter.sessions;
            let position = if full_here {
                self.idle.iter().position(|idle| idle.meter == key)
            } else if self.in_use + self.idle.len() >= self.most {
                (!self.idle.is_empty()).then_some(0)
            } else {
                None
            };
            let Some(position) = position else { return };
            evicted.push(self.remove_idle(position).session);
        }
    }

    fn remove_idle(&mut self, position: usize) -> Idle<S> {
        let idle = self.idle.remove(position);
        self.meter(idle.meter).idle -= 1;
        self.all_idle.fetch_sub(1, Ordering::Relaxed);
        idle
    }

    /// Of the sessions that may be cut and that others wait for, cuts the one in use for longest. Otherwise the result
    /// is when to look again; `None` while a cut session is being closed, or if none is in use.
    pub(super) fn cut_longest<'w>(
        &mut self,
        waiting: impl Iterator<Item = &'w Want>,
        now: Instant,
    ) -> Option<Instant> {
        if self.uses.values().any(|it| it.cut.is_due()) {
            return None;
        }
        let oldest = self.uses.values().map(|it| it.used.since).min()?;
        if oldest + CUT > now {
            return Some(oldest + CUT);
        }
        let full = self.in_use >= self.most;
        let holds_for_long = |account: Key| {
            self.uses.values().any(|it| {
                it.used.party.account == account
                    && now.saturating_duration_since(it.used.since) > SLOW
            })
        };
        let needs_one = |want: &&Want| {
            matches!(self.room(want, now), Room::Taken(_)) && !holds_for_long(want.party.account)
        };
        let waiting: Vec<_> =
            waiting.filter(needs_one).map(|want| (want.party, want.meter)).collect();
        let waits_for = |it: &InUse, (party, meter): &(Party, MeterKey)| {
            party.account != it.used.party.account && (full || *meter == it.meter)
        };
        let due = |it: &InUse| {
            it.used.since + CUT <= now
                && self.standings.may_cut(it.used.party.domain, now)
                && waiting.iter().any(|waits| waits_for(it, waits))
        };
        let longest =
            self.uses.iter().filter(|(_, it)| due(it)).min_by_key(|(_, it)| it.used.since);
        let Some(id) = longest.map(|(id, _)| *id) else { return Some(now + CUT_RETRY_DELAY) };
        let longest = self.uses.get_mut(&id)?;
        longest.cut.set_due();
        let holder = longest.used.party;
        let is_not_slow = |party: &Party| {
            party.domain != holder.domain && self.standings.of(*party, now) != Standing::Slow
        };
        let mut waiters =
            waiting.iter().filter(|waits| waits_for(longest, waits)).map(|(party, _)| *party);
        let cut_for = waiters.find(is_not_slow);
        self.standings.cut(holder, cut_for, now);
        None
    }

    /// `idle` is `None` if the session was closed.
    pub(super) fn release(
        &mut self,
        id: u64,
        answered: bool,
        idle: Option<Idle<S>>,
        others_wait: impl FnOnce(Key) -> bool,
        now: Instant,
    ) -> Option<Ended> {
        let ended = self.uses.remove(&id)?;
        let took = now.saturating_duration_since(ended.used.since);
        let party = ended.used.party;
        self.standings.record_end(party, took, answered, now);
        let is_cut = ended.cut.is_due();
        if !is_cut {
            self.standings.repeated(party.domain);
        }
        self.in_use = self.in_use.saturating_sub(1);
        let meter = self.meter(ended.meter);
        meter.in_use = meter.in_use.saturating_sub(1);
        meter.totals.cut += u64::from(is_cut);
        if is_cut || (took > SLOW && others_wait(party.account)) {
            meter.debts.record_held(party.account, took, now);
        }
        if let Some(idle) = idle {
            meter.idle += 1;
            self.idle.push(idle);
            self.all_idle.fetch_add(1, Ordering::Relaxed);
        }
        Some(Ended { path: party.path(), class: ended.class, took })
    }

    pub(super) fn record_closed_idle(&mut self, key: MeterKey) {
        self.in_use = self.in_use.saturating_sub(1);
        let meter = self.meter(key);
        meter.in_use = meter.in_use.saturating_sub(1);
    }

    pub(super) const fn has_room_for_idle(&self) -> bool {
        self.idle.len() < MAX_IDLE_SITE
    }

    pub(super) fn idle(&self) -> impl Iterator<Item = &Idle<S>> {
        self.idle.iter()
    }

    /// A session counts as in use until it is closed, so that no other session is opened too early.
    pub(super) fn take_idle(&mut self, ends: impl Fn(&Idle<S>) -> bool) -> Vec<(MeterKey, S)> {
        let ending: Vec<_> = self.idle.extract_if(.., |idle| ends(idle)).collect();
        self.all_idle.fetch_sub(ending.len(), Ordering::Relaxed);
        let in_use = ending.into_iter().map(|idle| {
            let meter = self.meter(idle.meter);
            meter.idle -= 1;
            meter.in_use += 1;
            self.in_use += 1;
            (idle.meter, idle.session)
        });
        in_use.collect()
    }

    /// The result is the sessions that were idle for too long.
    pub(super) fn sweep(&mut self, stored_meters: &[MeterKey], now: Instant) -> Vec<(MeterKey, S)> {
        self.standings.forget(now);
        self.forget_meters(stored_meters, now);
        let max_idle = self.max_idle;
        self.take_idle(|idle| now.saturating_duration_since(idle.since) >= max_idle)
    }

    pub(super) fn owes_repeat(&self, domain: Key, now: Instant) -> bool {
        self.standings.owes_repeat(domain, now)
    }

    pub(super) fn slow_sessions(&self, key: MeterKey, now: Instant) -> usize {
        let here = self.uses.values().filter(|it| it.meter == key);
        here.filter(|it| now.saturating_duration_since(it.used.since) > SLOW).count()
    }

    pub(super) fn are_there(&self) -> bool {
        self.in_use > 0 || !self.idle.is_empty()
    }

    pub(super) fn has_debtors(&self) -> bool {
        self.meters.values().any(|meter| meter.debts.len() > 0)
    }

    /// True if a [`Sessions::sweep`] has left no state.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        !self.are_there() && self.meters.is_empty() && self.standings.is_over(now)
    }

    pub(super) fn count_entries(&self, entries: &mut Entries) {
        entries.sites += 1;
        entries.meters += self.meters.len();
        entries.standings += self.standings.len();
        for meter in self.meters.values() {
            entries.trials += meter.rate.trials();
            entries.refusals += meter.refusals.parties();
            entries.debts += meter.debts.len();
        }
    }

    /// The numbers as counted by the site, by its uses, and by its meters.
    #[cfg(test)]
    pub(super) fn counts(&self) -> [usize; 3] {
        let of_meters: usize = self.meters.values().map(|meter| meter.in_use).sum();
        [self.in_use, self.uses.len(), of_meters]
    }
}

pub(super) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    [one, other].into_iter().flatten().min()
}
