//! Counters that survive a restart.

use super::*;
use crate::{Cause, Memory, SiteStatus};

const KEY: [u64; 2] = [7, 11];

fn pool_with(key: [u64; 2], sources: usize) -> Arc<Pool<u32>> {
    Pool::new(settings(sources, Vec::new()), drop, || NOW, HashKey::new(key))
}

fn google_at(pool: &Arc<Pool<u32>>, source: &str) -> Option<SiteStatus> {
    let all = pool.status().operators;
    all.into_iter().find(|site| site.operator == "google" && site.source == source)
}

async fn refuse(pool: &Arc<Pool<u32>>, tenant: &'static str, count: usize) {
    for n in 0..count {
        let want = Wanted { tenant: Some(tenant), ..google(&format!("{tenant}{}.org", n % 7)) };
        want.received(pool, Signal::Answered { refused: true }).await;
    }
}

#[tokio::test(start_paused = true)]
async fn refused_recipients_of_the_hour_are_counted_over_a_restart() {
    let before = pool_with(KEY, 1);
    refuse(&before, "harvester", 50).await;
    sleep(Duration::from_secs(900)).await;
    refuse(&before, "second", 20).await;
    let after = pool_with(KEY, 1);
    after.recall(&before.memory(), Duration::from_secs(5));
    let refused = || google_at(&after, "source 0").unwrap().refused_last_hour;
    assert_eq!(refused(), 70);
    // A party that has used up its share must still wait, and others may continue.
    let cause = async |tenant| {
        let want = Wanted { tenant: Some(tenant), ..google("x.org") };
        want.ask(&after).await.err().map(|refused| refused.cause)
    };
    assert_eq!(cause("harvester").await, Some(Cause::Refusals));
    assert_eq!(cause("second").await, None);
    refuse(&after, "third", 2).await;
    assert_eq!(refused(), 72);
    // The count expires as before: the first fifty refusals an hour after they were counted.
    sleep(Duration::from_secs(2_700)).await;
    assert_eq!(refused(), 22);
    assert_eq!(cause("harvester").await, None);
    sleep(Duration::from_secs(1_200)).await;
    assert_eq!(refused(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_pause_between_two_processes_passes_for_what_was_counted() {
    let before = pool_with(KEY, 1);
    refuse(&before, "harvester", 50).await;
    for (minutes, left) in [(0, 50), (54, 50), (61, 0), (100_000, 0)] {
        let after = pool_with(KEY, 1);
        after.recall(&before.memory(), Duration::from_secs(60 * minutes));
        let shown = google_at(&after, "source 0");
        assert_eq!(shown.map_or(0, |site| site.refused_last_hour), left, "{minutes} minutes");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lowered_rate_and_a_rest_outlive_a_restart_and_the_words_do_not() {
    let before = pool_with(KEY, 2);
    for n in 0..16 {
        google(&format!("d{n}")).received(&before, banned(false)).await;
    }
    sleep(Duration::from_secs(3_600)).await;
    assert_eq!(google("d").permit(&before).await.identity(), 1, "source 0 rests");
    let after = pool_with(KEY, 2);
    after.recall(&before.memory(), Duration::from_secs(5));
    let shown = google_at(&after, "source 0").unwrap();
    assert_eq!(shown.interval_ms, 5_000);
    let was = google_at(&before, "source 0").unwrap();
    assert_eq!((shown.lowered_since, shown.floor_since), (was.lowered_since, was.floor_since));
    assert_eq!(shown.words.as_deref(), Some("said before the restart"));
    assert_eq!(shown.stand_in.as_deref(), Some("source 1"));
    assert_eq!(google("d").permit(&after).await.identity(), 1, "it still rests");
    sleep(Duration::from_secs(24 * 3_600)).await;
    assert_eq!(google("d").permit(&after).await.identity(), 0, "and returns when it would have");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_recalled_under_another_key_or_of_an_address_that_has_gone() {
    let before = pool_with(KEY, 1);
    refuse(&before, "harvester", 10).await;
    let memory = before.memory();
    assert_eq!(memory.len(), 1);
    let other_key = pool_with([7, 12], 1);
    other_key.recall(&memory, Duration::ZERO);
    assert_eq!(google_at(&other_key, "source 0"), None);
    let no_address = pool_with(KEY, 0);
    no_address.recall(&memory, Duration::ZERO);
    assert_eq!(no_address.memory(), Memory::default());
}
