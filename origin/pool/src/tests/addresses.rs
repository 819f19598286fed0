//! Choice of source addresses, and their gradual introduction to operators.

use super::*;
use crate::Cause;

/// Recipients of batches that pass at Google before one must wait for the address to warm up, at most 20.
async fn batches_at_once(pool: &Arc<Pool<u32>>) -> usize {
    for passed in 0..20 {
        let want = Wanted { class: Class::Batch, ..google(&format!("b{passed}.org")) };
        match want.ask(pool).await {
            Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) => {
                permit.note(ANSWERED);
                permit.keep(0);
            }
            Err(refused) => {
                assert_eq!(refused.cause, Cause::WarmUp);
                return passed;
            }
        }
    }
    20
}

async fn ban(pool: &Arc<Pool<u32>>) {
    for n in 0..16 {
        google(&format!("d{n}")).received(pool, banned(false)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn while_a_blocklist_has_an_address_its_batches_go_at_the_pace_of_a_new_one() {
    let pool = pool();
    assert_eq!(batches_at_once(&pool).await, 20);
    pool.set_listed(vec![Some(NOW)]);
    assert!(batches_at_once(&pool).await <= 2);
    let shown = pool.status().operators[0].clone();
    assert_eq!(shown.warms_up_since, Some(NOW));
    for n in 0..20 {
        google(&format!("single{n}")).received(&pool, ANSWERED).await;
    }
    pool.set_listed(vec![None]);
    assert_eq!(batches_at_once(&pool).await, 20, "it ends with the listing");
    // A blocklist entry that lasts for weeks while operators accept us stops counting.
    pool.set_listed(vec![Some(NOW - 28 * 24 * 3_600)]);
    assert_eq!(batches_at_once(&pool).await, 20);
}

/// Each domain of a list may cause a control recipient.
#[tokio::test(start_paused = true)]
async fn a_new_address_shows_an_operator_no_more_recipients_of_batches_with_their_controls() {
    for (class, at_most) in [(Class::Batch, 2 * 10 + 2), (Class::Interactive, 1_200)] {
        let pool = pool_since(1, vec![Some(NOW)]);
        let mut recipients = 0;
        for n in 0..600 {
            let want = Wanted { class, ..google(&format!("d{n}.org")) };
            match want.ask(&pool).await {
                Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) => {
                    permit.note(ANSWERED);
                    permit.count_recipient();
                    permit.note(ANSWERED);
                    permit.keep(0);
                    recipients += 2;
                }
                Err(refused) => assert_eq!(refused.cause, Cause::WarmUp),
            }
            sleep(Duration::from_secs(1)).await;
        }
        assert!((at_most - 4..=at_most).contains(&recipients), "{class:?}: {recipients}");
        // Single checks don't wait for the warm-up, and neither they nor their control recipients delay batches.
        let batches = batches_at_once(&pool).await;
        assert_eq!(batches > 0, class == Class::Interactive, "{batches}");
    }
}

#[tokio::test(start_paused = true)]
async fn with_all_addresses_on_a_blocklist_single_checks_go_on() {
    let pool = pool_of(2);
    pool.set_listed(vec![Some(NOW); 2]);
    let started = Instant::now();
    for n in 0..20 {
        google(&format!("single{n}")).received(&pool, ANSWERED).await;
    }
    assert!(started.elapsed() < Duration::from_secs(1));
    assert!(batches_at_once(&pool).await <= 2);
}

#[tokio::test(start_paused = true)]
async fn back_from_a_rest_an_address_is_shown_anew() {
    let pool = pool_of(2);
    ban(&pool).await;
    sleep(Duration::from_secs(3_600)).await;
    assert_eq!(google("d").permit(&pool).await.identity(), 1);
    let rested = pool.status().operators[0].clone();
    assert_eq!(
        (rested.source.as_str(), rested.stand_in.as_deref()),
        ("source 0", Some("source 1"))
    );
    assert_eq!(rested.rests_until, Some(NOW + 24 * 3_600));
    assert_eq!(batches_at_once(&pool).await, 20, "the one that stands in is known");
    sleep(Duration::from_secs(24 * 3_600)).await;
    for n in 0..8 {
        let permit = google(&format!("again{n}")).permit(&pool).await;
        assert_eq!(permit.identity(), 0);
        permit.note(ANSWERED);
        permit.keep(0);
    }
    assert!(batches_at_once(&pool).await <= 2);
    let back = pool.status().operators[0].clone();
    assert_eq!((back.rests_until, back.stand_in), (None, None));
    assert!(back.warms_up_since.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_operators_domains_move_to_an_address_in_use_and_of_the_same_class_alone() {
    for (class, is_in_use, moves_to) in [
        (SourceClass::Known, true, 1),
        (SourceClass::Free, true, 0),
        (SourceClass::Known, false, 0),
    ] {
        let mut settings = settings(2, Vec::new());
        settings.sources[1] = Source { class, is_in_use, ..settings.sources[1].clone() };
        let pool = Pool::new(settings, drop, || NOW, HashKey::default());
        ban(&pool).await;
        sleep(Duration::from_secs(3_600)).await;
        let identity = google("d").permit(&pool).await.identity();
        assert_eq!(identity, moves_to, "{class:?}, in use: {is_in_use}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rest_ends_when_the_address_that_stands_in_is_taken_out() {
    let pool = pool_of(2);
    ban(&pool).await;
    sleep(Duration::from_secs(3_600)).await;
    assert_eq!(google("d").permit(&pool).await.identity(), 1);
    let mut settings = (*pool.settings()).clone();
    settings.sources[1].is_in_use = false;
    pool.set_settings(settings);
    assert_eq!(google("d").permit(&pool).await.identity(), 0);
}
