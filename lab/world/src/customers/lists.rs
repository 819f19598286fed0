//! List owners: each checks a list every day. The Worker repeats questions in the real service; here, the owner does.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use rand::{SeedableRng as _, rngs::StdRng};
use rcpt_shared::{Address, Status, Verdict};
use tokio::time::{Instant, sleep, sleep_until};

use super::paying;
use crate::{
    clock::{DAY, HOUR},
    desk::Desk,
    results::{ListRecord, Results},
    town::address_at,
    truth::{self, Mailbox},
};

/// Addresses of one batch.
const BATCH_ADDRESSES: usize = 100;
/// Shortest and longest time to the next attempt.
const NEXT_ATTEMPT_MIN: Duration = Duration::from_secs(60);
const NEXT_ATTEMPT_MAX: Duration = Duration::from_secs(3_600);
/// Number of repeats, and the delay before each, for an address without a reply about the recipient.
const REPEATS: u8 = 2;
const REPEAT_DELAY: Duration = Duration::from_secs(900);

struct Entry {
    address: Address,
    not_before: Instant,
    repeats: u8,
}

fn is_undecided(verdict: &Verdict) -> bool {
    !matches!(verdict.status, Status::Accepted | Status::Refused | Status::NoMxRecords)
}

/// Runs an owner until the task is aborted: a list each day, at the same time.
pub async fn own(
    desk: Arc<Desk>,
    results: Arc<Results>,
    number: usize,
    (at, addresses, dead): (Duration, usize, f64),
    seed: u64,
) {
    let mut random = StdRng::seed_from_u64(seed);
    let asker = paying(&format!("list{number}"));
    sleep(at).await;
    loop {
        let started = desk.observations.clock.now();
        let mut waiting: VecDeque<Entry> = (0..addresses)
            .filter_map(|_| {
                let domain = desk.town.domain(&mut random).to_owned();
                let address = address_at(&domain, dead, &mut random)?;
                let mut listed = desk.listed.lock();
                let (all, of_dead) = listed.entry(desk.town.kind_of(&domain)).or_default();
                *all += 1;
                *of_dead += u64::from(truth::mailbox(address.normal()) == Mailbox::Dead);
                Some(Entry { address, not_before: Instant::now(), repeats: 0 })
            })
            .collect();
        let total = waiting.len();
        let (mut answered, mut decided) = (0, 0);
        let mut finished_most = None;
        while let Some(soonest) = waiting.iter().map(|entry| entry.not_before).min() {
            if desk.observations.clock.now() > started + DAY - HOUR {
                break;
            }
            sleep_until(soonest).await;
            let now = Instant::now();
            let mut part = Vec::new();
            let mut rest = VecDeque::new();
            for entry in waiting {
                let takes = part.len() < BATCH_ADDRESSES && entry.not_before <= now;
                if takes { part.push(entry) } else { rest.push_back(entry) }
            }
            waiting = rest;
            let addresses: Vec<Address> = part.iter().map(|entry| entry.address.clone()).collect();
            let mut entries: Vec<Option<Entry>> = part.into_iter().map(Some).collect();
            for (index, answer) in desk.batch(&asker, &addresses).await {
                let Some(entry) = entries.get_mut(index).and_then(Option::take) else { continue };
                let now = Instant::now();
                match answer {
                    Err(after) => {
                        let wait = Duration::from_secs(after.into())
                            .clamp(NEXT_ATTEMPT_MIN, NEXT_ATTEMPT_MAX);
                        waiting.push_back(Entry { not_before: now + wait, ..entry });
                    }
                    Ok(verdict) if is_undecided(&verdict) && entry.repeats < REPEATS => {
                        let repeats = entry.repeats + 1;
                        waiting.push_back(Entry {
                            not_before: now + REPEAT_DELAY,
                            repeats,
                            ..entry
                        });
                    }
                    Ok(verdict) => {
                        answered += 1;
                        decided += usize::from(!is_undecided(&verdict));
                        results.record_list_answer(number, desk.observations.clock.now());
                    }
                }
            }
            if finished_most.is_none() && answered * 20 >= total * 19 {
                finished_most = Some(desk.observations.clock.now() - started);
            }
        }
        let ended = desk.observations.clock.now();
        results.list(ListRecord {
            owner: number,
            started,
            took: ended - started,
            took_most: finished_most,
            total,
            answered,
            decided,
        });
        sleep((started + DAY).saturating_sub(ended)).await;
    }
}
