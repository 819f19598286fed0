//! Turns a reply into the pool's signal, and keeps the stops of lists: a machine or operator that answered us and then
//! began to refuse us, mostly by a packet filter, gets only one line of a list a minute, until it answers one.

use std::{collections::HashMap, net::IpAddr, time::Duration};

use parking_lot::Mutex;
use rcpt_pool::{HashKey, Refusal, Signal, operators::OperatorId};
use rcpt_shared::{Reason, Stage, Status};
use rcpt_smtp::Reply;
use rcpt_verdict::{Finding, Reception, Scope};
use tokio::time::Instant;

/// A machine that answered within this time and can't be reached now has banned us, or restarts.
const JUST_NOW: Duration = Duration::from_secs(600);
/// A place that answered within this time and now refuses our address in words has a new block.
const LATELY: Duration = Duration::from_secs(24 * 3_600);
/// An hour is the usual length of a ban. Failures after it are final.
const STOP_MAX: Duration = Duration::from_secs(75 * 60);
const TEST_INTERVAL: Duration = Duration::from_secs(60);
/// Refusals by an operator's hosts, with no answer between them, that begin a stop: one host may have a customer's
/// rule.
const OPERATORS_REFUSALS: u8 = 3;
/// About 60 bytes each.
const MAX_PLACES: usize = 20_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Operator(OperatorId),
    Machine(IpAddr),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefusedBy {
    /// The connection failed, or broke before a reply.
    Silence,
    /// A reply about our address, before any recipient was named.
    Words,
}

#[derive(Clone, Copy)]
struct Record {
    answered: Instant,
    refusals: u8,
    stop: Option<ListStop>,
}

#[derive(Clone, Copy)]
struct ListStop {
    since: Instant,
    next_test: Instant,
}

pub(super) struct Stops {
    records: Mutex<HashMap<u64, Record>>,
    keys: HashKey,
}

impl Stops {
    pub(super) fn new(keys: HashKey) -> Self {
        Self { records: Mutex::default(), keys }
    }

    fn key(&self, place: Place) -> u64 {
        self.keys.hash_one(("place", place))
    }

    pub(super) fn answered(&self, place: Place) {
        let now = Instant::now();
        let mut records = self.records.lock();
        if records.len() >= MAX_PLACES {
            records.retain(|_, record| now.saturating_duration_since(record.answered) < LATELY);
            if records.len() >= MAX_PLACES {
                records.clear();
            }
        }
        records.insert(self.key(place), Record { answered: now, refusals: 0, stop: None });
    }

    pub(super) fn has_spoken(&self, place: Place) -> bool {
        let record = self.records.lock().get(&self.key(place)).copied();
        record.is_some_and(|record| record.answered.elapsed() < LATELY)
    }

    /// True if the refusal begins a stop. Each stop needs an answer after the last one began.
    pub(super) fn refused(&self, place: Place, by: RefusedBy) -> bool {
        let most = match by {
            RefusedBy::Silence => JUST_NOW,
            RefusedBy::Words => LATELY,
        };
        let now = Instant::now();
        let mut records = self.records.lock();
        let Some(record) = records.get_mut(&self.key(place)) else { return false };
        record.refusals = record.refusals.saturating_add(1);
        let is_enough = match place {
            Place::Operator(_) => record.refusals >= OPERATORS_REFUSALS,
            Place::Machine(_) => true,
        };
        let is_lately = now.saturating_duration_since(record.answered) < most;
        let begins = record.stop.is_none() && is_enough && is_lately;
        if begins {
            record.stop = Some(ListStop { since: now, next_test: now + TEST_INTERVAL });
        }
        begins
    }

    pub(super) fn stopped_for(&self, place: Place) -> Option<Duration> {
        let now = Instant::now();
        let stop = self.records.lock().get(&self.key(place))?.stop?;
        let is_over = now.saturating_duration_since(stop.since) >= STOP_MAX;
        (!is_over).then(|| stop.next_test.saturating_duration_since(now).max(TEST_INTERVAL))
    }

    /// Like [`Self::stopped_for`], but `None` also for the line that tests whether the stop is over.
    pub(super) fn keeps_away(&self, place: Place) -> Option<Duration> {
        let after = self.stopped_for(place)?;
        let now = Instant::now();
        let mut records = self.records.lock();
        let stop = records.get_mut(&self.key(place))?.stop.as_mut()?;
        if stop.next_test > now {
            return Some(after);
        }
        stop.next_test = now + TEST_INTERVAL;
        None
    }
}

pub(super) const fn is_about_recipient(finding: Finding) -> bool {
    matches!(finding.status, Status::Accepted | Status::Refused)
}

/// The rules that read greylisting by name. Only such a reply isn't a refused recipient: a server that greylists
/// expects it of every client, and doesn't ban for it. Other words for a retry may be an unknown recipient's.
const GREYLISTING_BY_NAME: [&str; 2] = ["4yz.greylisting", "5yz.greylisting"];

/// `None` if the reply has no effect. Greylisting and relay refusals apply to one recipient or domain, and mean nothing
/// for others.
pub(super) fn signal<'a>(
    finding: Finding,
    stage: Stage,
    reply: &Reply,
    words: &'a str,
) -> Option<Signal<'a>> {
    if is_about_recipient(finding) {
        return Some(Signal::Answered { refused: finding.status == Status::Refused });
    }
    let Reception { scope, hint } = finding.reception;
    let (closing, before_rcpt) = (reply.code == 421, stage < Stage::Rcpt);
    let blocked = finding.status == Status::BlockedByProvider;
    let is_ours = match finding.reason {
        Reason::Greylisted | Reason::RelayDenied => closing,
        _ => scope != Scope::Nothing || closing || (blocked && before_rcpt),
    };
    let about_our_address = match scope {
        Scope::OurAddress => true,
        Scope::Rate => matches!(finding.reason, Reason::Blocked | Reason::ReverseDnsRequired),
        Scope::DomainRule | Scope::Nothing => false,
    };
    if is_ours {
        return Some(Signal::Refused(Refusal {
            before_rcpt,
            closing,
            about_our_address,
            about_our_rate: !about_our_address
                && (scope == Scope::Rate || (closing && scope == Scope::Nothing)),
            is_trouble: !blocked || finding.reason == Reason::Greylisted,
            hint: hint.map(|seconds| Duration::from_secs(seconds.into())),
            words,
        }));
    }
    let is_greylisting = finding.rule.is_some_and(|rule| GREYLISTING_BY_NAME.contains(&rule));
    (!before_rcpt && !reply.is_positive() && !is_greylisting).then_some(Signal::Unread)
}

#[cfg(test)]
mod tests {
    use std::{
        net::{IpAddr, Ipv4Addr},
        time::Duration,
    };

    use rcpt_verdict::{Parties, judge};
    use tokio::time::advance;

    use super::{HashKey, JUST_NOW, LATELY, Place, RefusedBy, Reply, Signal, Stage, Stops, signal};

    const PLACE: Place = Place::Machine(IpAddr::V4(Ipv4Addr::LOCALHOST));

    #[tokio::test(start_paused = true)]
    async fn lists_stay_away_but_for_one_line_a_minute_until_an_answer_or_the_longest_stop() {
        let stops = Stops::new(HashKey::default());
        assert!(!stops.refused(PLACE, RefusedBy::Silence), "it has never answered");
        stops.answered(PLACE);
        assert!(stops.refused(PLACE, RefusedBy::Silence));
        assert!(!stops.refused(PLACE, RefusedBy::Words), "it has begun already");
        assert!(
            stops.keeps_away(PLACE).is_some() && stops.keeps_away(Place::Operator(2)).is_none()
        );
        advance(Duration::from_secs(60)).await;
        assert_eq!(stops.keeps_away(PLACE), None, "the test");
        assert!(stops.stopped_for(PLACE).is_some(), "it is told to wait if the test fails");
        assert!(stops.keeps_away(PLACE).is_some());
        stops.answered(PLACE);
        assert_eq!(stops.stopped_for(PLACE), None);
        assert!(stops.refused(PLACE, RefusedBy::Silence));
        advance(Duration::from_secs(75 * 60 - 1)).await;
        assert!(stops.stopped_for(PLACE).is_some());
        advance(Duration::from_secs(1)).await;
        assert_eq!(stops.stopped_for(PLACE), None);
        assert!(!stops.refused(PLACE, RefusedBy::Words), "nothing was answered since");
    }

    /// A customer of an operator may refuse us at a host of its own.
    #[tokio::test(start_paused = true)]
    async fn an_operator_has_to_refuse_us_three_times_with_no_answer_between() {
        let (stops, operator) = (Stops::new(HashKey::default()), Place::Operator(1));
        for begins in [[false, false], [false, false], [true, false]] {
            if !begins[0] {
                stops.answered(operator);
            }
            assert_eq!(begins.map(|_| stops.refused(operator, RefusedBy::Words)), begins);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silence_counts_for_ten_minutes_and_words_for_a_day_after_an_answer() {
        let stops = Stops::new(HashKey::default());
        for (by, lasts) in [(RefusedBy::Silence, JUST_NOW), (RefusedBy::Words, LATELY)] {
            for (passed, begins) in [(lasts - Duration::from_secs(1), true), (lasts, false)] {
                stops.answered(PLACE);
                advance(passed).await;
                assert_eq!(stops.refused(PLACE, by), begins, "{by:?} after {passed:?}");
            }
        }
        assert!(!stops.has_spoken(PLACE));
        stops.answered(PLACE);
        assert!(stops.has_spoken(PLACE));
    }

    fn is_refused(stage: Stage, reply: &str) -> bool {
        let reply = Reply::parse(&format!("{reply}\r\n")).unwrap();
        match signal(judge(stage, &reply, &Parties::default()), stage, &reply, "") {
            Some(Signal::Answered { refused }) => refused,
            Some(Signal::AcceptedLikeAny) | None => false,
            Some(Signal::Refused(refusal)) => !refusal.before_rcpt,
            Some(Signal::Unread) => true,
        }
    }

    #[test]
    fn each_reply_at_rcpt_is_a_refused_recipient_but_acceptance_and_greylisting_by_name() {
        for reply in [
            "550 5.1.1 User unknown",
            "554 5.7.1 Relay access denied",
            "550 sorry, there is nobody called that way over here",
            "550 naslov ni pravi",
            "550",
            "450 4.2.0 try again later",
            "451 4.7.1 try again later",
            "451 unknown local part",
            "450 4.1.1 unverified address",
            "450 4.7.1 rate limit exceeded for your IP",
            "450 4.2.1 The user is receiving mail too quickly",
            "452 4.2.2 Mailbox full",
            "451 4.3.0 Internal error",
            "421 4.7.0 Too many recipients",
            "550 5.7.1 blocked using zen.spamhaus.org",
            "577 no",
        ] {
            assert!(is_refused(Stage::Rcpt, reply), "{reply}");
            assert!(!is_refused(Stage::Mail, reply), "{reply}");
        }
        for reply in [
            "250 ok",
            "252 perhaps",
            "220 what?",
            "450 4.2.0 Greylisted, see http://postgrey.schweikert.ch/",
            "451 4.7.1 Greylisting in action, please come back later",
        ] {
            assert!(!is_refused(Stage::Rcpt, reply), "{reply}");
        }
    }
}
