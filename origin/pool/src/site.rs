//! One site: a unit of session limits with its waiting checks. It asks the rooms' rules, grants, serves and ends; it
//! knows no lock, no task and no await.

mod hear;
mod here;

use std::{net::IpAddr, sync::Arc, time::Duration};

use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::CancellationToken;

pub(crate) use here::Here;
use here::Room;

use crate::{
    places::sources::Rest,
    question::{Cause, MeterKey, Not, Want, earlier},
    queue::{Most, Queue},
    settings::Settings,
};

/// Time after which a check that finds too many others waiting is worth repeating.
const CROWDED_S: u64 = 5;

pub(crate) struct Grant<S> {
    pub id: u64,
    pub meter: MeterKey,
    /// Request to the holder to close the session, because others are waiting.
    pub cut: CancellationToken,
    pub idle: Option<IdleSession<S>>,
}

pub(crate) const MAX_IDLE_SITE: usize = 64;

/// A session that waits for its next recipient.
pub(crate) struct IdleSession<S> {
    pub host: Arc<str>,
    pub identity: usize,
    pub meter: MeterKey,
    pub address: Option<IpAddr>,
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

pub(crate) type Answer<S> = Result<(Box<Want>, Grant<S>), Not>;

struct Waiter<S> {
    want: Box<Want>,
    answer: oneshot::Sender<Answer<S>>,
}

pub(crate) enum Asked<S> {
    Now(Answer<S>),
    Waits(oneshot::Receiver<Answer<S>>),
}

pub(crate) struct Site<S> {
    pub here: Here<S>,
    /// Another source address that stands in for an operator's.
    pub rest: Option<Rest>,
    queue: Queue<Waiter<S>>,
    timer: Option<Instant>,
}

impl<S> Site<S> {
    pub(crate) fn new(here: Here<S>, settings: &Settings, now: Instant) -> Self {
        Self { here, rest: None, queue: Queue::new(settings.pace.batch_turn, now), timer: None }
    }

    /// A check arrives. It waits if it can't go on now and waiting makes sense; the door then calls [`Site::serve`].
    pub(crate) fn ask(&mut self, want: Box<Want>, most: Most, now: Instant) -> Asked<S> {
        let ahead = self.queue.ahead(want.party);
        match self.here.may(&want, ahead, now) {
            Ok(room) if self.queue.is_empty() => {
                let grant = self.here.take(&want, room, now);
                return Asked::Now(Ok((want, grant)));
            }
            Err(not) if !waits(&want, not) => return Asked::Now(Err(not)),
            Ok(_) | Err(_) => {}
        }
        let (answer, receiver) = oneshot::channel();
        let (party, class) = (want.party, want.class);
        let waiter = Waiter { want, answer };
        if let Some(gives_way) = self.queue.push((party, class), waiter, most, now) {
            let until = Some(now + Duration::from_secs(CROWDED_S));
            // Fails if the check was abandoned.
            let _ = gives_way.answer.send(Err(Not { cause: Cause::Crowded, until }));
        }
        Asked::Waits(receiver)
    }

    pub(crate) fn take_now(&mut self, want: &Want, now: Instant) -> Option<Grant<S>> {
        let room = self.here.may(want, 0, now).ok()?;
        self.queue.is_empty().then(|| self.here.take(want, room, now))
    }

    /// Called when a session came back, a server answered, the timer fired or settings changed: nothing else lets a
    /// waiting check go on. The result is a time at which to call it again, unless an earlier one is known.
    pub(crate) fn serve(&mut self, now: Instant) -> Option<Instant> {
        if self.queue.is_empty() {
            return None;
        }
        self.queue.retain(|waiter| !waiter.answer.is_closed(), now);
        let mut next = None;
        while !self.queue.is_empty() {
            let (here, queue) = (&self.here, &mut self.queue);
            if let Some(until) = here.closed_until(now) {
                next = earlier(next, until);
                break;
            }
            let mut found = None;
            let fits = |waiter: &Waiter<S>| match here.may(&waiter.want, 0, now) {
                Err(not) if waits(&waiter.want, not) => {
                    next = earlier(next, not.until);
                    false
                }
                decided => {
                    found = Some(decided);
                    true
                }
            };
            let waiter = queue.next(|path| here.age_s(path, now), fits);
            let (Some(waiter), Some(decided)) = (waiter, found) else { break };
            self.answer(waiter, decided, now);
        }
        if self.queue.is_empty() {
            return None;
        }
        let waiting = self.queue.iter().map(|waiter| &*waiter.want);
        next = earlier(next, self.here.cut_longest(waiting, now));
        let due = next.filter(|due| self.timer.is_none_or(|timer| *due < timer));
        self.timer = due.or(self.timer);
        due
    }

    /// The session comes back if the check was abandoned.
    fn answer(
        &mut self,
        Waiter { want, answer }: Waiter<S>,
        decided: Result<Room, Not>,
        now: Instant,
    ) {
        let decided = decided.map(|room| {
            self.queue.count_granted();
            let grant = self.here.take(&want, room, now);
            (want, grant)
        });
        if let Err(Ok((_, grant))) = answer.send(decided) {
            let idle = grant.idle.map(|idle| IdleSession { since: now, ..idle });
            self.end(grant.id, false, idle, now);
        }
    }

    pub(crate) fn timer_fired(&mut self, due: Instant) {
        self.timer.take_if(|timer| *timer <= due);
    }

    /// A session's use has ended; `idle` is `None` if the session was closed. True if the session was cut.
    pub(crate) fn end(
        &mut self,
        id: u64,
        answered: bool,
        idle: Option<IdleSession<S>>,
        now: Instant,
    ) -> bool {
        let queue = &self.queue;
        let others_wait = |account| queue.iter().any(|it| it.want.party.account != account);
        let ended = self.here.end(id, answered, idle, others_wait, now);
        ended.is_some_and(|(of, used, is_cut)| {
            self.queue.charge(of, used, now);
            is_cut
        })
    }

    pub(crate) const fn waiting(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn meter_of(&mut self, machine: IpAddr, now: Instant) -> MeterKey {
        let queue = &self.queue;
        self.here.meter_of(machine, || queue.iter().map(|it| it.want.meter).collect(), now)
    }

    pub(crate) fn sweep(&mut self, keeps_totals: bool, now: Instant) -> usize {
        self.queue.retain(|waiter| !waiter.answer.is_closed(), now);
        let mut stored_meters: Vec<_> = self.queue.iter().map(|it| it.want.meter).collect();
        stored_meters.extend(keeps_totals.then_some(None));
        self.here.sweep(&stored_meters, now)
    }

    pub(crate) fn is_in_use(&self) -> bool {
        self.here.are_there() || !self.queue.is_empty()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.queue.is_empty() && self.here.is_over()
    }

    /// True if a check waits although there is room for it.
    #[cfg(test)]
    pub(crate) fn neglects_one(&self, now: Instant) -> bool {
        let present = self.queue.iter().filter(|waiter| !waiter.answer.is_closed());
        present.map(|waiter| &waiter.want).any(|want| self.here.may(want, 0, now).is_ok())
    }
}

/// True if the check waits for its place; otherwise it is answered now. It waits for the causes of
/// [`Cause::is_waited_for`], and only if a conversation can still start in time. A session may come back before the
/// time that is known.
fn waits(want: &Want, not: Not) -> bool {
    let is_in_time = not.until.is_none_or(|at| at <= want.latest);
    not.cause.is_waited_for(want.class) && (is_in_time || not.cause.ends_with_a_session())
}

#[cfg(test)]
mod tests {
    use tokio::{sync::oneshot, time::Instant};

    use super::{Asked, Here, Site, Waiter, Want};
    use crate::{
        question::{Class, Party, Past, SiteKey},
        tests::settings,
    };

    fn want() -> Box<Want> {
        Box::new(Want {
            party: Party { group: 1, account: 1, domain: 1 },
            past: Past::Unknown,
            class: Class::Interactive,
            share: None,
            site: SiteKey::Operator(0, 0),
            meter: None,
            host: "mx".into(),
            identity: 0,
            address: None,
            latest: Instant::now(),
            has_gate: false,
            is_admitted: false,
            afresh: false,
            warm_up: None,
        })
    }

    /// The check leaves after the site has decided, and before it hears of it.
    #[tokio::test(start_paused = true)]
    async fn a_session_granted_to_a_check_that_has_just_left_comes_back() {
        let (settings, now) = (settings(1, Vec::new()), Instant::now());
        let key = SiteKey::Operator(0, 0);
        let mut site = Site::<u32>::new(Here::new(&key, &settings, drop, now), &settings, now);
        let ask = |site: &mut Site<u32>| site.ask(want(), (9, None), now);
        let [Asked::Now(Ok((_, first))), Asked::Now(Ok(_))] = [ask(&mut site), ask(&mut site)]
        else {
            panic!("two sessions are free");
        };
        site.end(first.id, false, None, now);
        let later = now + std::time::Duration::from_secs(2);
        let (answer, receiver) = oneshot::channel();
        drop(receiver);
        let Ok(room) = site.here.may(&want(), 0, later) else { panic!("one is free") };
        site.answer(Waiter { want: want(), answer }, Ok(room), later);
        assert_eq!(site.here.counts(), [1, 1, 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_held_for_long_makes_its_account_slow_and_everybody_at_its_domain() {
        let (settings, now) = (settings(1, Vec::new()), Instant::now());
        let mut here = Here::<u32>::new(&SiteKey::Operator(0, 0), &settings, drop, now);
        let Ok(room) = here.may(&want(), 0, now) else { panic!("one is free") };
        here.take(&want(), room, now);
        let party = |account, domain| Party { group: account, account, domain };
        let parties = [party(1, 1), party(1, 2), party(2, 1), party(2, 2)];
        let are_slow = |seconds| {
            let later = now + std::time::Duration::from_secs(seconds);
            parties.map(|party| here.is_slow(party, later))
        };
        assert_eq!(are_slow(1), [false; 4]);
        assert_eq!(are_slow(2), [true, true, true, false]);
    }
}
