//! Costs that make an account wait, and pasts that fill their memory.

use std::time::Duration;

use tokio::time::{Instant, advance};

use super::{
    Costs, MAX_ACCOUNTS, MAX_ANSWERS, MAX_PARTIES, MIN_ANSWERS, PAST_LIFETIME, Pasts, SLOW,
};
use crate::question::{Party, Past};

const HELD: (bool, bool) = (false, true);
const SIX: Duration = Duration::from_secs(6);

fn party(key: u64) -> Party {
    Party { group: key, account: key, domain: 1 << 32 | key }
}

#[tokio::test(start_paused = true)]
async fn an_account_that_holds_sessions_waits_longer_each_time() {
    let (mut costs, mut waits) = (Costs::default(), Vec::new());
    for n in 0..6 {
        let new = Party { domain: 100 + n, ..party(1) };
        advance(SIX).await;
        costs.hear_end(new, SIX, HELD, Instant::now());
        let now = Instant::now();
        let until = costs.waits_until(party(1).account, now).unwrap_or(now);
        waits.push((until - now).as_secs());
        advance(until - now).await;
        costs.take(new, Instant::now());
    }
    assert_eq!(waits[0], 0, "the first may be chance");
    assert!(waits.is_sorted() && waits[1] > 20 && waits[5] > 60, "{waits:?}");
    assert_eq!(costs.waits_until(party(2).account, Instant::now()), None, "not another's");
    advance(Duration::from_secs(3_600)).await;
    assert_eq!(costs.waits_until(party(1).account, Instant::now()), None);
}

#[tokio::test(start_paused = true)]
async fn a_slow_party_is_one_that_made_others_wait_and_its_group_is_not() {
    let (mut costs, now) = (Costs::default(), Instant::now());
    costs.hear_end(party(1), SIX, (true, false), now);
    assert!(!costs.is_slow(party(1), now), "nobody waited");
    costs.hear_end(party(1), SIX, HELD, now);
    assert!(costs.is_slow(party(1), now));
    assert!(costs.is_slow(Party { domain: party(1).domain, ..party(2) }, now), "its domain");
    assert!(!costs.is_slow(Party { group: 1, ..party(2) }, now), "another account of its group");
    costs.hear_end(party(1), Duration::ZERO, (true, false), now);
    assert!(costs.is_slow(party(1), now), "a quick answer changes nothing");
    assert!(!costs.is_slow(party(1), now + Duration::from_secs(1_200)));
}

/// Twice as many free accounts as fit into the memory cost sessions within minutes.
#[tokio::test(start_paused = true)]
async fn accounts_that_fill_the_memory_push_out_nobody_else() {
    let mut costs = Costs::default();
    let free = |account| Party { group: 0, ..party(account) };
    let slow = party(u64::from(u32::MAX));
    costs.hear_end(slow, SLOW * 5, HELD, Instant::now());
    for account in 1..2 * MAX_PARTIES as u64 {
        costs.hear_closed(free(account), Instant::now());
        costs.hear_closed(free(account), Instant::now());
    }
    assert!(costs.len() <= MAX_PARTIES);
    assert!(costs.is_slow(slow, Instant::now()));
}

fn account(group: u64, account: u64) -> Party {
    Party { group, account, domain: 0 }
}

/// Every `nth` of the `count` answers is a refusal.
fn after(count: u32, nth: u32) -> Past {
    let (mut pasts, now) = (Pasts::default(), Instant::now());
    for n in 1..=count {
        pasts.hear(account(0, 1), n.is_multiple_of(nth), now);
    }
    pasts.of(1, now)
}

#[tokio::test(start_paused = true)]
async fn the_part_of_refused_recipients_makes_a_past() {
    for count in [MIN_ANSWERS, 50, 1_000] {
        assert_eq!(after(count, 20), Past::Good, "a form, {count}");
        assert_eq!(after(count, 3), Past::Unknown, "a list, {count}");
        assert_eq!(after(count, 1), Past::Guessing, "a dictionary, {count}");
    }
    assert_eq!(after(MIN_ANSWERS - 1, 1), Past::Unknown);
}

#[tokio::test(start_paused = true)]
async fn a_good_past_covers_few_guesses_and_a_bad_one_is_lived_down() {
    let (mut pasts, now) = (Pasts::default(), Instant::now());
    let mut until = |refused, wanted| {
        let needed = (1..1_000).find(|_| {
            pasts.hear(account(0, 1), refused, now);
            pasts.of(1, now) == wanted
        });
        needed.unwrap()
    };
    until(false, Past::Good);
    for _ in 0..3 {
        assert!(until(true, Past::Guessing) <= MAX_ANSWERS);
        assert!(until(false, Past::Good) <= 2 * MAX_ANSWERS);
    }
}

#[tokio::test(start_paused = true)]
async fn accounts_are_forgotten_after_a_day_and_their_number_is_bounded() {
    let mut pasts = Pasts::default();
    for name in 0..2 * MAX_ACCOUNTS as u64 {
        for _ in 0..MIN_ANSWERS {
            pasts.hear(account(0, name), true, Instant::now());
        }
        assert_eq!(pasts.of(name, Instant::now()), Past::Guessing, "{name}");
        assert!(pasts.len() <= MAX_ACCOUNTS);
    }
    advance(PAST_LIFETIME).await;
    let last = 2 * MAX_ACCOUNTS as u64 - 1;
    assert_eq!(pasts.of(last, Instant::now()), Past::Unknown);
    for name in 0..MAX_ACCOUNTS as u64 {
        pasts.hear(account(0, name), true, Instant::now());
    }
    pasts.hear(account(0, u64::MAX), true, Instant::now());
    assert!(pasts.len() <= MAX_ACCOUNTS);
}

/// The accounts of one group fill the memory, with many answers or a single one each.
#[tokio::test(start_paused = true)]
async fn accounts_that_fill_the_memory_push_out_nobodys_past() {
    for answers in [1, MIN_ANSWERS] {
        let mut pasts = Pasts::default();
        let (paying, free) = (account(1, u64::MAX), account(0, u64::MAX - 1));
        let mut answered = |party: Party, refused, times| {
            (0..times).for_each(|_| pasts.hear(party, refused, Instant::now()));
            pasts.of(party.account, Instant::now())
        };
        answered(paying, false, MIN_ANSWERS);
        answered(free, false, MIN_ANSWERS);
        for name in 0..5 * MAX_ACCOUNTS as u64 {
            advance(std::time::Duration::from_millis(20)).await;
            answered(account(0, name), true, answers);
            if name % 5_000 == 0 {
                answered(free, false, 1);
            }
        }
        assert_eq!(pasts.of(paying.account, Instant::now()), Past::Good, "{answers}");
        assert_eq!(pasts.of(free.account, Instant::now()), Past::Good, "{answers}");
    }
}

#[tokio::test(start_paused = true)]
async fn where_each_account_is_a_group_those_answered_longest_ago_give_way() {
    let mut pasts = Pasts::default();
    for name in 0..2 * MAX_ACCOUNTS as u64 {
        advance(std::time::Duration::from_millis(20)).await;
        for _ in 0..MIN_ANSWERS {
            pasts.hear(account(name, name), false, Instant::now());
        }
    }
    assert!(pasts.len() <= MAX_ACCOUNTS);
    let last = 2 * MAX_ACCOUNTS as u64 - 1;
    let newest = last - MAX_ACCOUNTS as u64 / 2..=last;
    let all_good = newest.clone().all(|name| pasts.of(name, Instant::now()) == Past::Good);
    assert!(all_good, "{newest:?}");
}
