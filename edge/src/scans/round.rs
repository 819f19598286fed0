//! One round of a message: which addresses are checked now, and which later. Pure rules; `now` is an argument.

use rcpt_shared::{Address, Deliverability, Reason, Status, Verdict};

use super::{message::WaitingAddress, results::StoredResult, scans_sql::Retry};
use crate::{config::RetryTimes, ledger::tally::Tally, outbound::origin_batch::BatchItem};

/// Least and greatest wait, in seconds, of an address for which no mail server was contacted.
const WAIT_MIN_S: u64 = 30;
const WAIT_MAX_S: u64 = 900;
/// Usual wait for evidence after an acceptance: a window of the limits of refused recipients.
const EVIDENCE_AFTER_S: u64 = 600;
/// Seconds after which an overdue address no longer waits for other scans.
const QUEUED_MAX_S: u64 = 60 * 60;
/// A server's retry hint is honoured up to 12 times our own delay, and at most four hours.
const HINT_FACTOR_MAX: u64 = 12;
const HINT_MAX_S: u64 = 4 * 60 * 60;

/// An acceptance without evidence names the time after which there is room for it.
const fn may_change(verdict: &Verdict) -> bool {
    let lacks_evidence =
        matches!(verdict.status, Status::Accepted) && verdict.retry_after.is_some();
    lacks_evidence
        || matches!(
            verdict.reason,
            Reason::Greylisted
                | Reason::RateLimited
                | Reason::MailboxBusy
                | Reason::OurLimit
                | Reason::ServerUnavailable
                | Reason::Timeout
                | Reason::DnsFailure
                | Reason::ConnectionFailed
        )
        || matches!(verdict.status, Status::FatalException)
}

/// Seconds until a sandbox address is retried, regardless of its reply: a scan of such addresses
/// ends within half a minute.
const SANDBOX_WAIT_S: u64 = 5;

fn is_sandbox(address: &Address) -> bool {
    let domain = address.domain();
    domain == "sandbox.test" || domain.ends_with(".sandbox.test")
}

#[derive(Debug, Clone, Copy)]
pub struct Clock<'a> {
    pub times: &'a RetryTimes,
    pub now: u64,
    /// End of the scan in Unix seconds; later retries aren't scheduled.
    pub until: u64,
}

impl Clock<'_> {
    /// Smallest delay, our own and the greatest, in seconds, after `tries` replies; `None` if no attempt is left.
    fn delays(&self, address: &Address, tries: u8) -> Option<(u64, u64, u64)> {
        let own = self.times.after(tries)?;
        if is_sandbox(address) {
            let own = own.min(SANDBOX_WAIT_S);
            return Some((own, own, own));
        }
        // A server that says "in a second" isn't contacted every second.
        let least = self.times.least().min(60);
        Some((least, own, own.saturating_mul(HINT_FACTOR_MAX).clamp(least, HINT_MAX_S)))
    }

    /// Time of the next attempt after `tries` replies of a server. `None` if the verdict is final: no attempt could
    /// change it, none is left, or the scan ends before it.
    fn due(&self, address: &Address, verdict: &Verdict, tries: u8) -> Option<u64> {
        if !may_change(verdict) {
            return None;
        }
        // A host that refuses connections is asked once more, after the second delay: it may have restarted.
        let tries = match verdict.reason {
            Reason::ConnectionFailed if tries > 1 => return None,
            Reason::ConnectionFailed => tries.saturating_add(1),
            _ => tries,
        };
        let (least, own, most) = self.delays(address, tries)?;
        let wish = verdict.retry_after.map(u64::from);
        let wait = wish.map_or(own, |wish| wish.clamp(least, most));
        Some(self.now.saturating_add(wait)).filter(|due| *due < self.until)
    }

    /// Combines the retry times of the addresses in `next`: the earliest due time and the latest end
    /// times. `outcomes` has the waits of those that no origin could ask about. `None` if none is deferred.
    pub fn forecast(&self, next: &[WaitingAddress], outcomes: &[BatchItem]) -> Option<Retry> {
        let unasked = unasked(next);
        let of = |waiting: &WaitingAddress| match waiting.tries {
            0 => Retry { due_at: waiting.due, expected_at: 0, latest_at: self.until, unasked },
            _ => Retry { unasked, ..self.forecast_of(waiting) },
        };
        let retry = next.iter().map(of).reduce(|one, other| Retry {
            due_at: one.due_at.min(other.due_at),
            expected_at: one.expected_at.max(other.expected_at),
            latest_at: one.latest_at.max(other.latest_at),
            unasked,
        })?;
        let told_at = self.told_at(outcomes).max(retry.due_at);
        Some(Retry { expected_at: retry.expected_at.max(told_at), ..retry })
    }

    /// Latest turn, as origins name it, of the addresses that no origin could ask about; 0 without such addresses.
    pub fn told_at(&self, outcomes: &[BatchItem]) -> u64 {
        let last = wishes(outcomes).max();
        last.map_or(0, |wish| self.now.saturating_add(wish).min(self.until))
    }

    /// Each further reply may defer the address again: `expected_at` assumes our own delays, and for an acceptance
    /// without evidence the limits' window; `latest_at` assumes the longest accepted hints.
    fn forecast_of(&self, waiting: &WaitingAddress) -> Retry {
        let further = (waiting.tries.saturating_add(1)..)
            .map_while(|tries| self.delays(&waiting.address, tries))
            .map(|(least, own, most)| match waiting.accepted {
                Some(_) => (EVIDENCE_AFTER_S.clamp(least, most), most),
                None => (own, most),
            })
            .fold((0_u64, 0_u64), |(owns, mosts), (own, most)| (owns + own, mosts + most));
        let after = |seconds: u64| waiting.due.saturating_add(seconds).min(self.until);
        let (expected_at, latest_at) = (after(further.0), after(further.1));
        Retry { due_at: waiting.due, expected_at, latest_at, unasked: 0 }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Gains {
    pub counts: Tally<Status>,
    pub by_verdict: Tally<Deliverability>,
    /// Positions that started to wait in this round.
    pub waiting: u32,
    /// Positions that had waited and now have their final verdict.
    pub waited: u32,
}

pub fn keep(
    addresses: &[WaitingAddress],
    outcomes: &[BatchItem],
    clock: Clock<'_>,
    details: bool,
) -> (Vec<StoredResult>, Gains) {
    let mut stored_results = Vec::new();
    let mut gains = Gains::default();
    for (waiting, outcome) in addresses.iter().zip(outcomes) {
        let BatchItem::Verdict(verdict) = outcome else { continue };
        let due = clock.due(&waiting.address, verdict, waiting.tries.saturating_add(1));
        let positions = u32::try_from(waiting.positions.len()).unwrap_or(u32::MAX);
        let of_position = |position| match &waiting.accepted {
            Some(accepted) if is_undecided(verdict.status) => accepted.moved(position, due),
            _ => StoredResult::of_verdict(position, verdict, due, details),
        };
        match due {
            None => {
                gains.counts.add(of_position(0).status, positions);
                gains.by_verdict.add(of_position(0).verdict(), positions);
            }
            Some(_) if waiting.tries == 0 => gains.waiting += positions,
            Some(_) => {}
        }
        if due.is_none() && waiting.tries > 0 {
            gains.waited += positions;
        }
        stored_results.extend(waiting.positions.iter().copied().map(of_position));
    }
    (stored_results, gains)
}

const fn is_undecided(status: Status) -> bool {
    matches!(
        status,
        Status::SmtpConnectError
            | Status::SmtpTimeout
            | Status::BlockedByProvider
            | Status::FatalException
    )
}

/// The addresses that are undecided or not checked yet. Apart from due times of unchecked addresses, the result depends
/// only on the message and its row, so that a lost message can be rebuilt.
pub fn next(
    waiting: Vec<WaitingAddress>,
    results: &[StoredResult],
    now: u64,
) -> Vec<WaitingAddress> {
    let of = |position: &u16| results.iter().find(|result| result.position == *position);
    let next = waiting.into_iter().filter_map(|waiting| {
        let latest_result = waiting.positions.first().and_then(of);
        match latest_result.map(|latest_result| (latest_result, latest_result.due)) {
            Some((_, None)) => None,
            Some((latest_result, Some(due))) => {
                let tries = waiting.tries.saturating_add(1);
                let accepted =
                    (latest_result.status == Status::Accepted).then(|| latest_result.clone());
                Some(WaitingAddress { tries, due, accepted, ..waiting })
            }
            // An address that wasn't checked keeps its due time, but waits at least 30 s.
            None => Some(WaitingAddress { due: waiting.due.max(now + WAIT_MIN_S), ..waiting }),
        }
    });
    next.collect()
}

pub fn postponed(waiting: Vec<WaitingAddress>, now: u64, due: u64) -> Vec<WaitingAddress> {
    let postpone = |waiting: WaitingAddress| match waiting.due <= now {
        true => WaitingAddress { due, ..waiting },
        false => waiting,
    };
    waiting.into_iter().map(postpone).collect()
}

pub fn unasked(waiting: &[WaitingAddress]) -> u32 {
    let never = waiting.iter().filter(|waiting| waiting.tries == 0);
    never.map(|waiting| u32::try_from(waiting.positions.len()).unwrap_or(u32::MAX)).sum()
}

pub fn due_now(waiting: &[WaitingAddress], now: u64) -> Vec<WaitingAddress> {
    waiting.iter().filter(|waiting| waiting.due <= now).cloned().collect()
}

/// Seconds until the first address is due; 0 if one is due already.
pub fn delay(waiting: &[WaitingAddress], now: u64) -> u64 {
    let first = waiting.iter().map(|waiting| waiting.due).min().unwrap_or(now);
    first.saturating_sub(now)
}

pub fn is_late(due: &[WaitingAddress], now: u64) -> bool {
    due.iter().any(|waiting| waiting.due.saturating_add(QUEUED_MAX_S) <= now)
}

fn wishes(outcomes: &[BatchItem]) -> impl Iterator<Item = u64> {
    outcomes.iter().filter_map(|outcome| match outcome {
        BatchItem::NotAsked(after) => Some(u64::from(*after)),
        BatchItem::Verdict(_) => None,
    })
}

/// Seconds that a message waits after its `misses`-th consecutive round (from 0) without contact with a mail server.
pub fn wait_after_miss(outcomes: &[BatchItem], misses: u32) -> u64 {
    let grown = WAIT_MIN_S.saturating_mul(1 << misses.min(5));
    wishes(outcomes).min().unwrap_or(WAIT_MIN_S).max(grown).min(WAIT_MAX_S)
}

#[cfg(test)]
mod tests {
    use rcpt_shared::{Address, Deliverability, Details, Reason, Stage, Status, Verdict};

    use super::{
        Clock, Gains, delay, due_now, is_late, keep, next, postponed, unasked, wait_after_miss,
    };
    use crate::{
        config::RetryTimes,
        ledger::tally::Tally,
        outbound::origin_batch::BatchItem,
        scans::{message::WaitingAddress, results::StoredResult, scans_sql::Retry},
    };

    const NOW: u64 = 1_790_000_000;

    fn waiting(local: &str, positions: &[u16], tries: u8) -> WaitingAddress {
        let address = Address::parse(&format!("{local}@example.org")).unwrap();
        WaitingAddress { address, positions: positions.to_vec(), tries, due: 0, accepted: None }
    }

    fn clock(times: &RetryTimes) -> Clock<'_> {
        Clock { times, now: NOW, until: NOW + 24 * 3600 }
    }

    fn batch_item(status: Status, reason: Reason, retry_after: Option<u32>) -> BatchItem {
        let verdict = match status {
            Status::Accepted => Deliverability::Deliverable,
            Status::Refused => Deliverability::Undeliverable,
            _ => Deliverability::Unknown,
        };
        let details = Some(Box::new(Details { verdict, ..Details::new(None, None) }));
        let verdict = Verdict { retry_after, details, ..Verdict::new(status, reason, Stage::Rcpt) };
        BatchItem::Verdict(Box::new(verdict))
    }

    #[test]
    fn a_round_keeps_what_is_final_and_asks_again_for_the_rest() {
        let times = RetryTimes::default();
        let all = vec![
            waiting("fine", &[0, 4], 0),
            waiting("grey", &[1], 0),
            waiting("grey-before", &[2, 3], 1),
            waiting("nobody-asked", &[5], 0),
            waiting("often-enough", &[6], 3),
        ];
        let grey = || batch_item(Status::BlockedByProvider, Reason::Greylisted, None);
        let outcomes = [
            batch_item(Status::Refused, Reason::NoSuchMailbox, None),
            grey(),
            batch_item(Status::Accepted, Reason::Accepted, None),
            BatchItem::NotAsked(30),
            grey(),
        ];
        let (results, gains) = keep(&all, &outcomes, clock(&times), false);
        let (mut counts, mut by_verdict) = (Tally::default(), Tally::default());
        counts.add(Status::Refused, 2);
        counts.add(Status::Accepted, 2);
        counts.add(Status::BlockedByProvider, 1);
        by_verdict.add(Deliverability::Undeliverable, 2);
        by_verdict.add(Deliverability::Deliverable, 2);
        by_verdict.add(Deliverability::Unknown, 1);
        assert_eq!(gains, Gains { counts, by_verdict, waiting: 1, waited: 3 });
        assert_eq!(results.len(), 6, "one for each position that has an answer");

        let again = next(all, &results, NOW);
        let rest: Vec<_> = again.iter().map(|w| (w.positions[0], w.tries, w.due - NOW)).collect();
        assert_eq!(rest, [(1, 1, 300), (5, 0, 30)]);
        assert_eq!(delay(&again, NOW), 30);
        assert_eq!(due_now(&again, NOW + 30).len(), 1, "the other is not due yet");
    }

    #[test]
    fn a_servers_wish_is_followed_within_bounds() {
        let times = RetryTimes::default();
        for (wish, wait) in [(1, 60), (120, 120), (1_000_000, 3600)] {
            let outcome = batch_item(Status::BlockedByProvider, Reason::RateLimited, Some(wish));
            let (results, _) = keep(&[waiting("a", &[0], 0)], &[outcome], clock(&times), false);
            assert_eq!(results[0].due, Some(NOW + wait), "{wish}");
        }
        let outcome = batch_item(Status::BlockedByProvider, Reason::Greylisted, Some(1_000_000));
        let (results, _) = keep(&[waiting("a", &[0], 2)], &[outcome], clock(&times), false);
        assert_eq!(results[0].due, Some(NOW + 4 * 3600), "the third time");
        let outcome = batch_item(Status::BlockedByProvider, Reason::Blocked, Some(60));
        let (results, _) = keep(&[waiting("a", &[0], 0)], &[outcome], clock(&times), false);
        assert_eq!(results[0].due, None, "a block does not pass in an hour");
    }

    #[test]
    fn nothing_is_asked_again_when_the_time_of_its_scan_is_over() {
        let times = RetryTimes::default();
        let grey = || [batch_item(Status::BlockedByProvider, Reason::Greylisted, None)];
        let due = |left: u64| {
            let clock = Clock { until: NOW + left, ..clock(&times) };
            let (results, gains) = keep(&[waiting("a", &[0], 0)], &grey(), clock, false);
            (results[0].due, gains.counts.sum())
        };
        assert_eq!(due(301), (Some(NOW + 300), 0));
        assert_eq!(due(300), (None, 1), "the verdict is final");
        assert_eq!(due(1), (None, 1));
    }

    #[test]
    fn an_acceptance_without_evidence_stands_while_it_is_asked_for_three_more_times() {
        let times = RetryTimes::default();
        let accepted = || [batch_item(Status::Accepted, Reason::Accepted, Some(600))];
        let timeout = || [batch_item(Status::SmtpTimeout, Reason::Timeout, None)];
        let mut all = vec![waiting("a", &[0], 0)];
        for (outcome, wait) in [(accepted(), 600), (timeout(), 1_200), (accepted(), 600)] {
            let (results, gains) = keep(&all, &outcome, clock(&times), false);
            assert_eq!((results[0].status, results[0].due), (Status::Accepted, Some(NOW + wait)));
            assert_eq!(gains.counts.sum(), 0);
            all = next(all, &results, NOW);
        }
        for (outcome, status) in [
            (accepted(), Status::Accepted),
            (timeout(), Status::Accepted),
            ([batch_item(Status::Refused, Reason::NoSuchMailbox, None)], Status::Refused),
        ] {
            let (results, gains) = keep(&all, &outcome, clock(&times), false);
            assert_eq!((results[0].status, results[0].due), (status, None));
            let mut counts = Tally::default();
            counts.add(status, 1);
            assert_eq!(gains.counts, counts);
        }
    }

    #[test]
    fn a_host_that_refuses_connections_is_asked_once_more_after_twenty_minutes() {
        let times = RetryTimes::default();
        let failed = || [batch_item(Status::SmtpConnectError, Reason::ConnectionFailed, None)];
        for (tries, due) in [(0, Some(NOW + 1_200)), (1, None)] {
            let (results, _) = keep(&[waiting("a", &[0], tries)], &failed(), clock(&times), false);
            assert_eq!(results[0].due, due, "{tries}");
        }
    }

    #[test]
    fn sandbox_addresses_are_asked_again_after_seconds() {
        let times = RetryTimes::default();
        for (text, wait) in [
            ("a@sandbox.test", 5),
            ("a@catchall.sandbox.test", 5),
            ("a@notsandbox.test", 900),
            ("a@sandbox.test.example", 900),
        ] {
            let address = Address::parse(text).unwrap();
            let due_addresses =
                [WaitingAddress { address, positions: vec![0], tries: 0, due: 0, accepted: None }];
            let outcome = batch_item(Status::BlockedByProvider, Reason::Greylisted, Some(900));
            let (results, _) = keep(&due_addresses, &[outcome], clock(&times), false);
            assert_eq!(results[0].due, Some(NOW + wait), "{text}");
        }
    }

    #[test]
    fn the_forecast_is_the_way_of_the_slowest_address() {
        let times = RetryTimes::default();
        let at = |tries, due| WaitingAddress { due: NOW + due, ..waiting("a", &[0], tries) };
        let retry = |due, expected, latest| {
            let [due_at, expected_at, latest_at] = [due, expected, latest].map(|it| NOW + it);
            Some(Retry { due_at, expected_at, latest_at, unasked: 0 })
        };
        let of = |next: &[WaitingAddress]| clock(&times).forecast(next, &[]);
        assert_eq!(of(&[]), None, "nobody has asked for patience");
        assert_eq!(of(&[at(3, 60)]), retry(60, 60, 60), "the last time");
        assert_eq!(of(&[at(2, 60)]), retry(60, 60 + 3600, 60 + 4 * 3600));
        let first = retry(300, 300 + 1200 + 3600, 300 + 4 * 3600 + 4 * 3600);
        assert_eq!(of(&[at(1, 300)]), first);
        assert_eq!(of(&[at(1, 300), at(3, 60)]), retry(60, 5100, 300 + 8 * 3600));
        let accepted = Some(StoredResult::new(0, Status::Accepted, None));
        let evidence = [WaitingAddress { accepted, ..at(1, 600) }];
        assert_eq!(
            of(&evidence),
            retry(600, 1_800, 600 + 8 * 3600),
            "three windows of ten minutes"
        );
        let soon = Clock { until: NOW + 4000, ..clock(&times) };
        let over = soon.forecast(&[at(1, 300)], &[]);
        assert_eq!(over, retry(300, 4000, 4000), "its time is over then");
        // Three lines that no origin could ask about, the last of which has its turn in the fourth window.
        let told = [600, 600, 2_400].map(BatchItem::NotAsked);
        let never = [at(0, 30), at(0, 30), at(0, 30)];
        let day = 24 * 3600;
        let windows = retry(30, 2_400, day).map(|windows| Retry { unasked: 3, ..windows });
        assert_eq!(clock(&times).forecast(&never, &told), windows);
    }

    #[test]
    fn a_round_waits_an_hour_for_its_place_at_most() {
        let due = [WaitingAddress { due: NOW, ..waiting("a", &[0], 1) }];
        assert_eq!([3599, 3600].map(|later| is_late(&due, NOW + later)), [false, true]);
    }

    #[test]
    fn where_nobody_could_be_asked_what_was_due_waits_and_positions_never_asked_about_are_known() {
        let mut grey = waiting("grey", &[2], 1);
        grey.due = NOW + 900;
        let all = vec![waiting("never", &[0, 4], 0), grey, waiting("grey-now", &[3], 2)];
        assert_eq!(unasked(&all), 2);
        let later = postponed(all, NOW, NOW + 60);
        let dues: Vec<_> = later.iter().map(|waiting| waiting.due - NOW).collect();
        assert_eq!((dues, delay(&later, NOW)), (vec![60, 900, 60], 60));
        assert!(!is_late(&later, NOW + 3600));
    }

    #[test]
    fn waits_without_an_answer_grow_and_end() {
        let waits = [0, 1, 2, 3, 4, 5, 6].map(|n| wait_after_miss(&[BatchItem::NotAsked(30)], n));
        assert_eq!(waits, [30, 60, 120, 240, 480, 900, 900]);
    }
}
