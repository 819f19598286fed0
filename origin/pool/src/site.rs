//! One site: a unit of session limits with its waiting checks. It asks the rooms' rules, grants, serves and ends; it
//! knows no lock, no task and no await.

mod ending;
mod hear;
mod here;
mod views;

use std::{sync::Arc, time::Duration};

use tokio::{sync::oneshot, time::Instant};

pub(crate) use here::Here;

use crate::{
    cut::Cut,
    idle::IdleSession,
    keys::{Key, MeterKey},
    places::sources::Rest,
    question::{Cause, Class, Not, Party, earlier},
    queue::queue::{Most, Queue},
    settings::Settings,
    want::Want,
};

/// Time after which a check that finds too many others waiting is worth repeating.
const CROWDED_S: u64 = 5;

/// A session to use, or permission to open one.
pub(crate) struct Grant<S> {
    /// Number of this use of a session at the site.
    pub id: u64,
    pub meter: MeterKey,
    /// Request to the holder to close the session, because others are waiting.
    pub cut: Arc<Cut>,
    pub idle: Option<IdleSession<S>>,
}

/// The check with its session, or the reason for refusing it.
pub(crate) type Answer<S> = Result<(Box<Want>, Grant<S>), Not>;

struct Waiter<S> {
    want: Box<Want>,
    answer: oneshot::Sender<Answer<S>>,
}

/// The answer to a check that arrives.
pub(crate) enum Asked<S> {
    Now(Answer<S>),
    Waits(oneshot::Receiver<Answer<S>>),
}

/// An answer to a check that waited.
pub(crate) struct Answered<S> {
    to: oneshot::Sender<Answer<S>>,
    answer: Answer<S>,
}

impl<S> Answered<S> {
    /// The session comes back if the check was abandoned.
    pub(crate) fn hand_over(self) -> Option<Grant<S>> {
        let (_, grant) = self.to.send(self.answer).err()?.ok()?;
        Some(grant)
    }
}

/// The door's work once the lock is released, in this order: the server must never see a session too many.
pub(crate) struct Turn<S> {
    pub close: Vec<S>,
    pub answers: Vec<Answered<S>>,
    pub look_at: Option<Instant>,
}

pub(crate) struct Site<S> {
    pub here: Here<S>,
    /// Another source address that stands in for an operator's.
    pub rest: Option<Rest>,
    queue: Queue<Waiter<S>>,
    /// Time at which the timer next serves waiting checks.
    timer: Option<Instant>,
}

impl<S> Site<S> {
    pub(crate) fn new(here: Here<S>, settings: &Settings, now: Instant) -> Self {
        Self { here, rest: None, queue: Queue::new(settings.pace.batch_turn, now), timer: None }
    }

    /// A check arrives. It waits if it can't go on now and waiting makes sense; the door then calls [`Site::serve`].
    pub(crate) fn ask(
        &mut self,
        want: Box<Want>,
        most: Most,
        now: Instant,
        close: &mut Vec<S>,
    ) -> Asked<S> {
        let ahead = self.queue.ahead(want.party);
        match self.here.may(&want, ahead, Quick::NOBODY, now) {
            Ok(room) if self.queue.is_empty() => {
                let grant = self.here.take(&want, room, now, close);
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

    /// A session for a check that doesn't wait, if there is room now and nobody waits.
    pub(crate) fn take_now(
        &mut self,
        want: &Want,
        now: Instant,
        close: &mut Vec<S>,
    ) -> Option<Grant<S>> {
        let room = self.here.may(want, 0, Quick::NOBODY, now).ok()?;
        self.queue.is_empty().then(|| self.here.take(want, room, now, close))
    }

    /// Called when a session came back, a server answered, the timer fired or settings changed: nothing else lets a
    /// waiting check go on.
    pub(crate) fn serve(&mut self, now: Instant) -> Turn<S> {
        let Self { here, queue, timer, .. } = self;
        queue.retain(|waiter| !waiter.answer.is_closed(), now);
        let mut turn = Turn { close: Vec::new(), answers: Vec::new(), look_at: None };
        let mut next = None;
        while !queue.is_empty() {
            if let Some(until) = here.closed_until(now) {
                next = earlier(next, until);
                break;
            }
            let (quick, mut found) = (Quick::of(queue, here, now), None);
            let fits = |waiter: &Waiter<S>| match here.may(&waiter.want, 0, quick, now) {
                Err(not) if waits(&waiter.want, not) => {
                    next = earlier(next, not.until);
                    false
                }
                decided => {
                    found = Some(decided);
                    true
                }
            };
            let Some(Waiter { want, answer }) = queue.next(|path| here.age_s(path, now), fits)
            else {
                break;
            };
            let decided = match found {
                Some(Ok(room)) => {
                    queue.count_granted();
                    let grant = here.take(&want, room, now, &mut turn.close);
                    Ok((want, grant))
                }
                Some(Err(not)) => Err(not),
                None => break,
            };
            turn.answers.push(Answered { to: answer, answer: decided });
        }
        if queue.is_empty() {
            return turn;
        }
        let quick = Quick::of(queue, here, now);
        let waiting = queue.iter().map(|waiter| &*waiter.want);
        next = earlier(next, here.cut_longest(waiting, quick, now));
        // An earlier timer will call this function again.
        turn.look_at = next.filter(|due| timer.is_none_or(|timer| *due < timer));
        *timer = turn.look_at.or(*timer);
        turn
    }

    pub(crate) fn timer_fired(&mut self, due: Instant) {
        self.timer.take_if(|timer| *timer <= due);
    }

    /// The check was abandoned before it heard of its session.
    pub(crate) fn take_back(&mut self, grant: Grant<S>, now: Instant) {
        let idle = grant.idle.map(|idle| IdleSession { since: now, ..idle });
        self.end(grant.id, false, idle, now);
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
        let Some(ended) = self.here.end(id, answered, idle, others_wait, now) else { return false };
        self.queue.charge((ended.party, ended.class), ended.took, now);
        ended.is_cut
    }

    pub(crate) const fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// The meter that counts a machine's sessions.
    pub(crate) fn meter_of(&mut self, machine: std::net::IpAddr, now: Instant) -> MeterKey {
        let queue = &self.queue;
        self.here.meter_of(machine, || queue.iter().map(|it| it.want.meter).collect(), now)
    }

    /// The result is the sessions that were idle for too long. `keeps_totals` keeps the meter of the whole site.
    pub(crate) fn sweep(&mut self, keeps_totals: bool, now: Instant) -> Vec<(MeterKey, S)> {
        self.queue.retain(|waiter| !waiter.answer.is_closed(), now);
        let mut stored_meters: Vec<_> = self.queue.iter().map(|it| it.want.meter).collect();
        stored_meters.extend(keeps_totals.then_some(None));
        self.here.sweep(&stored_meters, now)
    }

    pub(crate) fn is_in_use(&self) -> bool {
        self.here.are_there() || !self.queue.is_empty()
    }

    /// True if a [`Site::sweep`] has left no state.
    pub(crate) fn is_over(&self) -> bool {
        self.queue.is_empty() && self.here.is_over()
    }

    /// True if a check waits although there is room for it.
    #[cfg(test)]
    pub(crate) fn neglects_one(&self, now: Instant) -> bool {
        let quick = Quick::of(&self.queue, &self.here, now);
        let present = self.queue.iter().filter(|waiter| !waiter.answer.is_closed());
        present.map(|waiter| &waiter.want).any(|want| self.here.may(want, 0, quick, now).is_ok())
    }
}

/// The first two accounts that wait and aren't slow: slow ones leave sessions to them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quick([Option<Key>; 2]);

impl Quick {
    const NOBODY: Self = Self([None; 2]);

    fn of<S>(queue: &Queue<Waiter<S>>, here: &Here<S>, now: Instant) -> Self {
        if !here.knows_slow_parties(now) {
            return Self::NOBODY;
        }
        let quick = |party: &Party| !here.is_slow(*party, now);
        let mut accounts =
            queue.iter().map(|waiter| waiter.want.party).filter(quick).map(|party| party.account);
        let first = accounts.next();
        Self([first, accounts.find(|account| Some(*account) != first)])
    }

    pub(crate) fn is_another(self, account: Key) -> bool {
        self.0.iter().flatten().any(|other| *other != account)
    }
}

/// Whether it waits, or gets its answer now: by the table, and only for a time at which a conversation is worth starting. A
/// session may come back before any time that is known for sessions.
fn waits(want: &Want, not: Not) -> bool {
    let is_in_time = not.until.is_none_or(|at| at <= want.latest);
    not.cause.is_waited_for(want.class) && (is_in_time || not.cause.ends_with_a_session())
}

/// A finished use of a session, to be charged to its party.
pub(crate) struct Ended {
    pub party: Party,
    pub class: Class,
    pub took: Duration,
    pub is_cut: bool,
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::{Asked, Here, Site, Want};
    use crate::{
        keys::SiteKey,
        question::{Class, Party, Past},
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
        let mut site = Site::<u32>::new(Here::new(&key, &settings, now), &settings, now);
        let ask = |site: &mut Site<u32>| site.ask(want(), (9, None), now, &mut Vec::new());
        let [Asked::Now(Ok((_, first))), Asked::Now(Ok(_))] = [ask(&mut site), ask(&mut site)]
        else {
            panic!("two sessions are free");
        };
        let Asked::Waits(receiver) = ask(&mut site) else { panic!("a third one") };
        site.end(first.id, false, None, now);
        let later = now + std::time::Duration::from_secs(2);
        let mut answers = site.serve(later).answers;
        drop(receiver);
        let grant = answers.remove(0).hand_over().expect("nobody has heard of it");
        assert_eq!(site.here.counts(), [2, 2, 2]);
        site.take_back(grant, later);
        assert_eq!(site.here.counts(), [1, 1, 1]);
    }
}
