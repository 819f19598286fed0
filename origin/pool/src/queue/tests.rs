//! The order of waiting checks, without sessions.

use std::time::Duration;

use tokio::time::Instant;

use super::{DOMAIN_TURN, Part};
use crate::question::Key;

fn shares<W>() -> (Part<W>, Instant) {
    let now = Instant::now();
    (Part::new(0.0, 0, now), now)
}

fn take<W>(
    shares: &mut Part<W>,
    age_s: impl Fn(&[Key]) -> f64,
    mut fits: impl FnMut(&W) -> bool,
) -> Option<W> {
    shares.take(&mut Vec::new(), &age_s, &mut fits)
}

fn unused(_: &[Key]) -> f64 {
    0.0
}

#[tokio::test(start_paused = true)]
async fn a_long_list_does_not_hold_up_another_domain() {
    let (mut shares, now) = shares();
    for n in 0..1_000 {
        shares.push(&[1, 1, 10], ("long", n), now);
    }
    shares.push(&[1, 1, 11], ("short", 0), now);
    let position =
        (0..).find(|_| take(&mut shares, unused, |_| true) == Some(("short", 0))).unwrap();
    assert_eq!(position, DOMAIN_TURN);
    let rest: Vec<_> = std::iter::from_fn(|| take(&mut shares, unused, |_| true)).collect();
    assert_eq!(rest.len(), 990);
    assert!(rest.is_sorted(), "and its own order is kept");
    assert!(shares.waiting == 0 && shares.parts.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_group_with_a_thousand_domains_does_not_hold_up_another_group() {
    let (mut shares, now) = shares();
    for n in 0..1_000 {
        shares.push(&[1, 1, n], 1, now);
    }
    shares.push(&[2, 2, 5], 2, now);
    shares.push(&[2, 2, 6], 2, now);
    let waiters: Vec<_> = (0..4).filter_map(|_| take(&mut shares, unused, |_| true)).collect();
    assert_eq!(waiters, [1, 2, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn whoever_used_less_time_goes_first() {
    let (mut shares, now) = shares();
    for n in 0..20 {
        for group in [1, 2] {
            shares.push(&[group, group, 7], (group, n), now);
        }
    }
    let mut turns = [0, 0];
    for _ in 0..12 {
        let (group, _) = take(&mut shares, unused, |_| true).unwrap();
        turns[group as usize - 1] += 1;
        // The first group's sessions take ten times as long as the second's.
        let used = Duration::from_millis(if group == 1 { 1_000 } else { 100 });
        shares.charge(&[group, group, 7], used.as_secs_f64(), now);
    }
    assert_eq!(turns, [1, 11]);
}

#[tokio::test(start_paused = true)]
async fn what_is_in_use_counts_by_its_age() {
    let (mut shares, now) = shares();
    shares.push(&[1, 1, 7], 1, now);
    shares.push(&[2, 2, 7], 2, now);
    let age = |path: &[Key]| if path[0] == 1 { 5.0 } else { 0.0 };
    assert_eq!(take(&mut shares, age, |_| true), Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_party_that_wanted_nothing_for_long_is_not_owed_for_it() {
    let (mut shares, now) = shares();
    for n in 0..100 {
        shares.push(&[1, 1, 7], (1, n), now);
    }
    for _ in 0..50 {
        take(&mut shares, unused, |_| true).unwrap();
        shares.charge(&[1, 1, 7], 1.0, now);
    }
    for n in 0..50 {
        shares.push(&[2, 2, 7], (2, n), now);
    }
    let mut of_second = 0;
    for _ in 0..20 {
        let (group, _) = take(&mut shares, unused, |_| true).unwrap();
        of_second += usize::from(group == 2);
        shares.charge(&[group, group, 7], 1.0, now);
    }
    assert!((9..=12).contains(&of_second), "{of_second}");
}

#[tokio::test(start_paused = true)]
async fn takes_and_forgets_by_what_fits() {
    let (mut shares, now) = shares();
    for (domain, n) in [(1, 1), (2, 2), (1, 3), (3, 4)] {
        shares.push(&[7, 7, domain], n, now);
    }
    assert_eq!(take(&mut shares, unused, |n| *n > 1), Some(3), "the domain's turn counts");
    assert_eq!(take(&mut shares, unused, |n| *n > 9), None);
    shares.retain(&|n| *n != 1, now);
    assert_eq!(shares.waiting, 2);
    assert_eq!(take(&mut shares, unused, |_| true), Some(2));
    assert_eq!(take(&mut shares, unused, |_| true), Some(4));
    assert_eq!(take(&mut shares, unused, |_| true), None);
}

#[tokio::test(start_paused = true)]
async fn the_largest_group_gives_way_and_the_count_stays_right() {
    let (mut shares, now) = shares();
    for (group, domain, n) in [(1, 1, 1), (2, 1, 2), (2, 2, 3), (2, 2, 4)] {
        shares.push(&[group, group, domain], n, now);
    }
    assert_eq!(shares.take_of_largest(3), None);
    assert_eq!(shares.take_of_largest(2), Some(4));
    assert_eq!((shares.of(&[1]), shares.of(&[2, 2]), shares.waiting), (1, 2, 3));
    let mut rest: Vec<_> = std::iter::from_fn(|| take(&mut shares, unused, |_| true)).collect();
    rest.sort_unstable();
    assert_eq!(rest, [1, 2, 3]);
    assert!(shares.waiting == 0);
}
