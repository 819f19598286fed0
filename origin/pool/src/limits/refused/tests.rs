//! The hour's number, shared and forgotten slice by slice, and the bans.

use std::time::Duration;

use tokio::time::{Instant, advance};

use super::{
    Asking, BAN_DURATION, Bans, INVENTED_MAX, MAX_MACHINES, RECORD_LIFETIME, RefusedLately,
    RefusedPerHour, WINDOW,
};
use crate::question::{Class, Party, Past};

const MINUTE: Duration = Duration::from_secs(60);

fn account(group: u64, account: u64) -> Party {
    Party { group, account, domain: 0 }
}

fn tenant(name: u64) -> Party {
    account(name, name)
}

fn waits(refused: &RefusedPerHour, party: Party, class: Class) -> bool {
    let asking = Asking { party, past: Past::Unknown, class, share: Some(0.5) };
    refused.may_ask(asking, Instant::now()).is_some()
}

/// Refused recipients of the party until it must wait, at most 200.
fn all_of(refused: &mut RefusedPerHour, party: Party) -> usize {
    let mut count = 0;
    while count < 200 && !waits(refused, party, Class::Interactive) {
        refused.take(Some(party), Instant::now());
        count += 1;
    }
    count
}

#[tokio::test(start_paused = true)]
async fn refusals_stop_lists_and_the_tenant_that_spends_them() {
    let mut refused = RefusedPerHour::new(100);
    for _ in 0..50 {
        refused.take(Some(tenant(1)), Instant::now());
    }
    assert!(waits(&refused, tenant(1), Class::Interactive), "its share is spent");
    assert!(!waits(&refused, tenant(2), Class::Batch));
    for name in 10..60 {
        refused.take(Some(tenant(name)), Instant::now());
    }
    assert!(waits(&refused, tenant(2), Class::Batch), "all is spent");
    assert!(!waits(&refused, tenant(2), Class::Interactive));
    advance(60 * MINUTE).await;
    assert!(!waits(&refused, tenant(1), Class::Batch));
    assert_eq!(refused.total(Instant::now()), 0);
}

#[tokio::test(start_paused = true)]
async fn many_groups_together_have_less_than_twice_the_hours_number() {
    for groups in [2, 5, 20, 40] {
        let mut refused = RefusedPerHour::new(100);
        let counts: Vec<_> = (0..groups).map(|group| all_of(&mut refused, tenant(group))).collect();
        assert_eq!(counts[0], 50);
        assert!(counts.iter().sum::<usize>() <= 200, "{counts:?}");
        assert!(!waits(&refused, tenant(99), Class::Interactive), "{groups}: another one's first");
    }
}

/// Thirty free accounts, which are one group.
#[tokio::test(start_paused = true)]
async fn free_accounts_together_leave_half_of_the_hour_to_paying_ones() {
    let mut refused = RefusedPerHour::new(300);
    let counts: Vec<_> = (0..30).map(|n| all_of(&mut refused, account(1, 1_000 + n))).collect();
    assert_eq!(counts[..3], [75, 38, 19], "each leaves half of what is left to the group");
    assert!(counts[..8].iter().all(|count| *count > 0), "{counts:?}");
    assert!(counts.iter().sum::<usize>() <= 150, "{counts:?}");
    assert!(!waits(&refused, tenant(2), Class::Batch), "a paying account's list");
}

/// The time in the answer is that at which the oldest slice of five minutes expires.
#[tokio::test(start_paused = true)]
async fn an_hour_is_forgotten_slice_by_slice_and_the_time_is_given() {
    let (mut refused, start) = (RefusedPerHour::new(12), Instant::now());
    for _ in 0..12 {
        refused.take(Some(tenant(1)), Instant::now());
        advance(5 * MINUTE).await;
    }
    assert_eq!(refused.total(start + 59 * MINUTE), 12);
    let asking = Asking { party: tenant(2), past: Past::Unknown, class: Class::Batch, share: None };
    assert_eq!(refused.may_ask(asking, start + 59 * MINUTE), Some(start + 60 * MINUTE));
    for n in 0..12_usize {
        let now = start + (60 + 5 * n as u32) * MINUTE;
        assert_eq!(refused.total(now), 11 - n);
        assert_eq!(refused.may_ask(asking, now), None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_ban_halves_the_number_once_and_is_remembered_for_a_week() {
    let mut bans = Bans::default();
    let mut banned = |machine, refused| {
        bans.hear(machine, refused, Instant::now());
        [1, 2].map(|machine| bans.most(machine, Instant::now()))
    };
    assert_eq!(banned(1, 3), [None, None], "three are no dictionary");
    assert_eq!(banned(1, 15), [Some(7), None]);
    // The same ban refuses further sessions while fewer and fewer refusals are recent.
    for refused in [9, 4, 0, 0] {
        assert_eq!(banned(1, refused), [Some(7), None]);
        advance(BAN_DURATION / 4).await;
    }
    assert_eq!(banned(1, 0), [Some(7), None], "another cause");
    assert_eq!(banned(1, 30), [Some(7), None], "no ban allows more than before");
    advance(BAN_DURATION).await;
    assert_eq!(banned(1, 12), [Some(6), None], "seven were too many");
    advance(BAN_DURATION).await;
    assert_eq!(banned(1, 4), [Some(3), None], "perhaps it was busy");
    advance(RECORD_LIFETIME - Duration::from_secs(1)).await;
    assert_eq!(bans.most(1, Instant::now()), Some(3));
    advance(Duration::from_secs(1)).await;
    assert_eq!(bans.most(1, Instant::now()), None);
}

#[tokio::test(start_paused = true)]
async fn the_number_of_machines_is_bounded_and_the_oldest_bans_give_way() {
    let mut bans = Bans::default();
    for machine in 0..3 * MAX_MACHINES as u64 {
        advance(Duration::from_secs(1)).await;
        bans.hear(machine, 20, Instant::now());
        assert!(bans.len() <= MAX_MACHINES);
        let kept = machine.min(MAX_MACHINES as u64 / 2);
        assert!(bans.len() as u64 > kept, "at least half are kept");
        assert_eq!(bans.most(machine - kept, Instant::now()), Some(10), "the latest");
    }
    let last = 3 * MAX_MACHINES as u64 - 1;
    assert_eq!(bans.most(last, Instant::now()), Some(10));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_alone_counts_for_an_hour_and_no_longer() {
    let mut refused = RefusedPerHour::new(12);
    refused.take(Some(tenant(1)), Instant::now());
    for (minutes, total) in [(25, 1), (15, 1), (19, 1), (1, 0)] {
        advance(minutes * MINUTE).await;
        assert_eq!(refused.total(Instant::now()), total, "{minutes} minutes more");
    }
}

#[tokio::test(start_paused = true)]
async fn lists_and_single_checks_have_their_own_control_recipients_for_ten_minutes() {
    for (class, other) in [(Class::Batch, Class::Interactive), (Class::Interactive, Class::Batch)] {
        let mut lately = RefusedLately::new(8);
        (0..INVENTED_MAX).for_each(|_| lately.take_invented(class, Instant::now()));
        let spares = |lately: &RefusedLately| {
            [class, other].map(|class| lately.spares_one(class, Instant::now()))
        };
        assert_eq!(spares(&lately), [false, true], "{class:?}");
        advance(WINDOW).await;
        assert_eq!(spares(&lately), [true, true], "{class:?}");
    }
}
