//! The queue for the sessions of one site, and the order in which its checks are served.

use std::time::Duration;

use tokio::{sync::oneshot, time::Instant};

use super::{
    Cause, Class, Key, Refused,
    sessions::{Ended, Grant, Room, Sessions, earlier},
    shares::Shares,
    site_key::MeterKey,
    want::Want,
};

const CROWDED: Refused = Refused { after: Duration::from_secs(5), cause: Cause::Crowded };

/// The request with its session, or the reason for refusing it.
pub(super) type Answer<S> = Result<(Box<Want>, Grant<S>), Refused>;

struct Waiter<S> {
    want: Box<Want>,
    answer: oneshot::Sender<Answer<S>>,
}

pub(super) struct GrantedSession<S> {
    want: Box<Want>,
    answer: oneshot::Sender<Answer<S>>,
    grant: Grant<S>,
}

impl<S> GrantedSession<S> {
    /// The session is returned if the check was abandoned.
    pub(super) fn hand_over(self) -> Option<Grant<S>> {
        let (_, grant) = self.answer.send(Ok((self.want, self.grant))).err()?.ok()?;
        Some(grant)
    }
}

pub(super) struct Waiting<S> {
    interactive: Shares<Waiter<S>>,
    batch: Shares<Waiter<S>>,
    granted: usize,
    /// See [`super::Pace`].
    batch_turn: usize,
}

impl<S> Waiting<S> {
    pub(super) fn new(batch_turn: usize, now: Instant) -> Self {
        Self { interactive: Shares::new(now), batch: Shares::new(now), granted: 0, batch_turn }
    }

    pub(super) const fn len(&self) -> usize {
        self.interactive.len() + self.batch.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn wants(&self) -> impl Iterator<Item = &Want> {
        self.interactive.all().into_iter().chain(self.batch.all()).map(|waiter| &*waiter.want)
    }

    pub(super) fn meters(&self) -> Vec<MeterKey> {
        if self.is_empty() { Vec::new() } else { self.wants().map(|want| want.meter).collect() }
    }

    fn class(&mut self, class: Class) -> &mut Shares<Waiter<S>> {
        match class {
            Class::Interactive => &mut self.interactive,
            Class::Batch => &mut self.batch,
        }
    }

    /// A request is refused if its group already has `most_of_group` requests. If the queue is full, the largest group
    /// loses one request; batches give way first. If the largest group isn't larger than the request's group by at
    /// least two, the new request is refused instead.
    pub(super) fn push(
        &mut self,
        want: Box<Want>,
        answer: oneshot::Sender<Answer<S>>,
        (most, most_of_group): (usize, usize),
        now: Instant,
    ) {
        let group = want.party.group;
        let own = self.interactive.of_group(group) + self.batch.of_group(group);
        // `send` fails if the check was abandoned.
        if own >= most_of_group {
            let _ = answer.send(Err(CROWDED));
            return;
        }
        if self.len() >= most {
            let largest =
                if self.batch.is_empty() { &mut self.interactive } else { &mut self.batch };
            let Some(given_way) = largest.take_of_largest(own + 1) else {
                let _ = answer.send(Err(CROWDED));
                return;
            };
            let _ = given_way.answer.send(Err(CROWDED));
        }
        let path = want.party.path();
        self.class(want.class).push(path, Waiter { want, answer }, now);
    }

    pub(super) fn charge(&mut self, Ended { path, class, took }: Ended, now: Instant) {
        self.class(class).charge(path, took, now);
    }

    /// `next` becomes the time of the next attempt, if that is earlier.
    pub(super) fn serve_next(
        &mut self,
        sessions: &mut Sessions<S>,
        now: Instant,
        next: &mut Option<Instant>,
        evicted: &mut Vec<S>,
    ) -> Option<GrantedSession<S>> {
        loop {
            let (Waiter { want, answer }, found) = self.take_next(sessions, now, next)?;
            if let Room::Spent(after) = found {
                // Fails if the check was abandoned.
                let _ = answer.send(Err(Refused { after, cause: Cause::Refusals }));
                continue;
            }
            self.granted += 1;
            let grant = sessions.grant(found, &want, now, evicted)?;
            return Some(GrantedSession { want, answer, grant });
        }
    }

    /// The request can be served, or must be refused because its limit of refused recipients is reached.
    fn take_next(
        &mut self,
        sessions: &Sessions<S>,
        now: Instant,
        next: &mut Option<Instant>,
    ) -> Option<(Waiter<S>, Room)> {
        let mut room = Room::Taken(None);
        let mut fits = |waiter: &Waiter<S>| {
            room = sessions.room(&waiter.want, now);
            match room {
                Room::NotBefore(due) => *next = earlier(*next, Some(due)),
                Room::Taken(until) => *next = earlier(*next, until),
                Room::Idle(_) | Room::New | Room::Spent(_) => {}
            }
            room.is_there() || matches!(room, Room::Spent(_))
        };
        let age = |path: &[Key]| sessions.age_s(path, now);
        let order = if self.granted % self.batch_turn.max(1) + 1 == self.batch_turn.max(1) {
            [Class::Batch, Class::Interactive]
        } else {
            [Class::Interactive, Class::Batch]
        };
        let next_waiter =
            order.into_iter().find_map(|class| self.class(class).take(age, &mut fits));
        Some((next_waiter?, room))
    }

    pub(super) fn forget_left(&mut self, now: Instant) {
        let stays = |waiter: &Waiter<S>| !waiter.answer.is_closed();
        self.interactive.retain(stays, now);
        self.batch.retain(stays, now);
    }

    #[cfg(test)]
    pub(super) fn neglected_by(&self, sessions: &Sessions<S>, now: Instant) -> bool {
        let all = self.interactive.all().into_iter().chain(self.batch.all());
        let mut present = all.filter(|waiter| !waiter.answer.is_closed());
        present.any(|waiter| sessions.room(&waiter.want, now).is_there())
    }
}
