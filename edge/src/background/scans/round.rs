//! One round of a message: which of its addresses are asked now, what is kept of the answers, and what is asked
//! again later. Pure rules; `now` is an argument.

use rcpt_shared::{Reason, Status, Verdict};

use super::{
    message::Waiting,
    results::{Counts, Kept, evidence},
};
use crate::{cf::origin_batch::BatchItem, config::RetryTimes};

/// Seconds that an address waits when no mail server was asked about it, and the most of it.
const LEAST_WAIT: u64 = 30;
const MOST_WAIT: u64 = 900;
/// A server's own wish is followed up to so many times our own delay, and four hours.
const WISH_TO_OWN: u64 = 12;
const MOST_WISH: u64 = 4 * 60 * 60;

/// What may be answered otherwise later.
const fn may_change(verdict: &Verdict) -> bool {
    matches!(
        verdict.reason,
        Reason::Greylisted
            | Reason::RateLimited
            | Reason::OurLimit
            | Reason::ServerUnavailable
            | Reason::Timeout
            | Reason::DnsFailure
    ) || matches!(verdict.status, Status::FatalException)
}

/// When a server that has answered `tries` times is asked again; `None` when it has been asked often enough.
fn due(times: &RetryTimes, verdict: &Verdict, tries: u8, now: u64) -> Option<u64> {
    if !may_change(verdict) {
        return None;
    }
    let own = times.after(tries)?;
    let wish = verdict.retry_after.map(u64::from);
    // A server that says "in a second" is not asked every second.
    let least = times.least().min(60);
    let most = own.saturating_mul(WISH_TO_OWN).clamp(least, MOST_WISH);
    let wait = wish.map_or(own, |wish| wish.clamp(least, most));
    Some(now.saturating_add(wait))
}

/// How far a round has brought a scan.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Gains {
    /// Final verdicts.
    pub counts: Counts,
    /// Positions that came to wait.
    pub waiting: u32,
    /// Positions that had waited and now have their final verdict.
    pub waited: u32,
}

/// What is kept of the outcomes of `asked`, in its order, and what it adds.
pub fn keep(
    asked: &[Waiting],
    outcomes: &[BatchItem],
    times: &RetryTimes,
    details: bool,
    now: u64,
) -> (Vec<Kept>, Gains) {
    let mut kept = Vec::new();
    let mut gains = Gains::default();
    for (waiting, outcome) in asked.iter().zip(outcomes) {
        let BatchItem::Verdict(verdict) = outcome else { continue };
        let due = due(times, verdict, waiting.tries.saturating_add(1), now);
        let places = u32::try_from(waiting.places.len()).unwrap_or(u32::MAX);
        match due {
            None => gains.counts.add(verdict.status, places),
            Some(_) if waiting.tries == 0 => gains.waiting += places,
            Some(_) => {}
        }
        if due.is_none() && waiting.tries > 0 {
            gains.waited += places;
        }
        let evidence = if details { evidence(verdict) } else { String::new() };
        kept.extend(waiting.places.iter().map(|place| Kept {
            place: *place,
            status: verdict.status,
            due,
            evidence: evidence.clone(),
        }));
    }
    (kept, gains)
}

/// What the next round asks about: what was kept as not final, and what was not asked. Follows from the message
/// and its row alone, so that it can be made again when it was lost.
pub fn next(waiting: Vec<Waiting>, kept: &[Kept], now: u64) -> Vec<Waiting> {
    let of = |place: &u16| kept.iter().find(|kept| kept.place == *place);
    let next = waiting.into_iter().filter_map(|waiting| {
        let kept = waiting.places.first().and_then(of);
        match kept.map(|kept| kept.due) {
            Some(None) => None,
            Some(Some(due)) => {
                let tries = waiting.tries.saturating_add(1);
                Some(Waiting { tries, due, ..waiting })
            }
            // One that is not due yet keeps its time.
            None => Some(Waiting { due: waiting.due.max(now + LEAST_WAIT), ..waiting }),
        }
    });
    next.collect()
}

/// The addresses of a message whose time has come.
pub fn due_now(waiting: &[Waiting], now: u64) -> Vec<Waiting> {
    waiting.iter().filter(|waiting| waiting.due <= now).cloned().collect()
}

/// Seconds until the first of them is due.
pub fn delay(waiting: &[Waiting], now: u64) -> u64 {
    let first = waiting.iter().map(|waiting| waiting.due).min().unwrap_or(now);
    first.saturating_sub(now)
}

/// Seconds that a message waits when no mail server was asked about any of it, for the `misses`-th time in a row.
pub fn wait_after_miss(outcomes: &[BatchItem], misses: u32) -> u64 {
    let wishes = outcomes.iter().filter_map(|outcome| match outcome {
        BatchItem::NotAsked(after) => Some(u64::from(*after)),
        BatchItem::Verdict(_) => None,
    });
    let grown = LEAST_WAIT.saturating_mul(1 << misses.min(5));
    wishes.min().unwrap_or(LEAST_WAIT).max(grown).min(MOST_WAIT)
}

#[cfg(test)]
mod tests {
    use rcpt_shared::{Address, Reason, Stage, Status, Verdict};

    use super::{Gains, delay, due_now, keep, next, wait_after_miss};
    use crate::{
        background::scans::{message::Waiting, results::Counts},
        cf::origin_batch::BatchItem,
        config::RetryTimes,
    };

    const NOW: u64 = 1_790_000_000;

    fn waiting(local: &str, places: &[u16], tries: u8) -> Waiting {
        let address = Address::parse(&format!("{local}@example.org")).unwrap();
        Waiting { address, places: places.to_vec(), tries, due: 0 }
    }

    fn told(status: Status, reason: Reason, retry_after: Option<u32>) -> BatchItem {
        let verdict = Verdict { retry_after, ..Verdict::new(status, reason, Stage::Rcpt) };
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
        let grey = || told(Status::BlockedByProvider, Reason::Greylisted, None);
        let outcomes = [
            told(Status::Refused, Reason::NoSuchMailbox, None),
            grey(),
            told(Status::Accepted, Reason::Accepted, None),
            BatchItem::NotAsked(30),
            grey(),
        ];
        let (kept, gains) = keep(&all, &outcomes, &times, false, NOW);
        let mut counts = Counts::default();
        counts.add(Status::Refused, 2);
        counts.add(Status::Accepted, 2);
        counts.add(Status::BlockedByProvider, 1);
        assert_eq!(gains, Gains { counts, waiting: 1, waited: 3 });
        assert_eq!(kept.len(), 6, "one for each position that has an answer");

        let again = next(all, &kept, NOW);
        let rest: Vec<_> = again.iter().map(|w| (w.places[0], w.tries, w.due - NOW)).collect();
        assert_eq!(rest, [(1, 1, 300), (5, 0, 30)]);
        assert_eq!(delay(&again, NOW), 30);
        assert_eq!(due_now(&again, NOW + 30).len(), 1, "the other is not due yet");
    }

    #[test]
    fn a_servers_wish_is_followed_within_bounds() {
        let times = RetryTimes::default();
        for (wish, wait) in [(1, 60), (120, 120), (1_000_000, 3600)] {
            let outcome = told(Status::BlockedByProvider, Reason::RateLimited, Some(wish));
            let (kept, _) = keep(&[waiting("a", &[0], 0)], &[outcome], &times, false, NOW);
            assert_eq!(kept[0].due, Some(NOW + wait), "{wish}");
        }
        let outcome = told(Status::BlockedByProvider, Reason::Greylisted, Some(1_000_000));
        let (kept, _) = keep(&[waiting("a", &[0], 2)], &[outcome], &times, false, NOW);
        assert_eq!(kept[0].due, Some(NOW + 4 * 3600), "the third time");
        let outcome = told(Status::BlockedByProvider, Reason::Blocked, Some(60));
        let (kept, _) = keep(&[waiting("a", &[0], 0)], &[outcome], &times, false, NOW);
        assert_eq!(kept[0].due, None, "a block does not pass in an hour");
    }

    #[test]
    fn waits_without_an_answer_grow_and_end() {
        let waits = [0, 1, 2, 3, 4, 5, 6].map(|n| wait_after_miss(&[BatchItem::NotAsked(30)], n));
        assert_eq!(waits, [30, 60, 120, 240, 480, 900, 900]);
    }
}
