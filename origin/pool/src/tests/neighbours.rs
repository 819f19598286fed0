//! Domains, machines and tenants that refuse us or cost sessions, and the effect on their neighbours.

use std::{sync::Arc, time::Duration};

use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    ANSWERED, BUDGET, CLOSED, NOW, SHUT, Wanted, at, banned, google, pool, pool_of, pool_since,
};
use crate::{Acquired, Cause, Class, Pool, Refused, Signal};

#[tokio::test(start_paused = true)]
async fn a_domain_that_refuses_us_is_asked_once_in_ten_seconds_and_its_neighbours_as_before() {
    let pool = pool();
    google("bad").received(&pool, CLOSED).await;
    for n in 0..20 {
        let started = Instant::now();
        google(&format!("good{n}")).received(&pool, ANSWERED).await;
        assert!(started.elapsed() <= Duration::from_secs(1), "{n}");
    }
    sleep(Duration::from_secs(1)).await;
    let started = Instant::now();
    google("bad").received(&pool, CLOSED).await;
    assert!((7..=10).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
    let refused = |asked: Result<_, Refused>| asked.err().map(|refused| refused.cause);
    let batch = Wanted { class: Class::Batch, ..google("bad") };
    assert_eq!(refused(batch.ask(&pool).await), Some(Cause::Domain), "batches stay away");
}

#[tokio::test(start_paused = true)]
async fn a_consumer_domain_has_no_gate() {
    let pool = pool();
    for _ in 0..5 {
        google("gmail.com").received(&pool, CLOSED).await;
    }
    let started = Instant::now();
    google("gmail.com").received(&pool, ANSWERED).await;
    assert!(started.elapsed() <= Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_closes_on_us_changes_nothing_for_its_neighbours() {
    let pool = pool();
    let bad = at("mx1", "198.51.100.1");
    bad.received(&pool, SHUT).await;
    for n in 2..20 {
        let started = Instant::now();
        at(&format!("mx{n}"), &format!("198.51.100.{n}")).received(&pool, ANSWERED).await;
        assert!(started.elapsed().is_zero(), "{n}");
    }
    let other = Wanted { domain: "another".to_owned(), ..bad.clone() };
    assert_eq!(other.ask(&pool).await.err().map(|refused| refused.cause), Some(Cause::Address));
    sleep(Duration::from_secs(2)).await;
    let started = Instant::now();
    other.received(&pool, ANSWERED).await;
    assert_eq!(started.elapsed().as_secs(), 8, "but it is waited for where there is time");
    sleep(Duration::from_millis(1)).await;
    let started = Instant::now();
    bad.received(&pool, ANSWERED).await;
    assert!(started.elapsed() <= BUDGET);
}

#[tokio::test(start_paused = true)]
async fn a_ban_lowers_the_rate_of_one_source_address_and_answers_raise_it() {
    let pool = pool();
    let slow = |pool: &Arc<Pool<u32>>| pool.status().operators[0].clone();
    for n in 0..16 {
        google(&format!("d{n}")).received(&pool, banned(false)).await;
    }
    let shown = slow(&pool);
    assert_eq!((shown.operator.as_str(), shown.source.as_str()), ("google", "source 0"));
    assert_eq!(shown.interval_ms, 5_000);
    assert!(shown.lowered_since.is_some());
    assert_eq!(shown.words.as_deref(), Some("blocked using a list"));
    let started = Instant::now();
    google("single").received(&pool, ANSWERED).await;
    assert!(started.elapsed() <= Duration::from_secs(5), "single checks pass at the floor");
    for n in 0..4 {
        google(&format!("again{n}")).received(&pool, ANSWERED).await;
    }
    let shown = slow(&pool);
    assert_eq!((shown.interval_ms, shown.lowered_since), (1_000, None));
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn an_operators_domains_leave_a_source_address_after_an_hour_at_the_floor() {
    let pool = pool_of(2);
    for n in 0..16 {
        google(&format!("d{n}")).received(&pool, banned(false)).await;
    }
    assert_eq!(google("d").permit(&pool).await.identity(), 0);
    sleep(Duration::from_secs(3_600)).await;
    assert_eq!(google("d").permit(&pool).await.identity(), 1);
    sleep(Duration::from_secs(24 * 3_600)).await;
    let elsewhere = at("mx", "198.51.100.1");
    assert_eq!(elsewhere.permit(&pool).await.identity(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_rested_source_address_returns_and_none_rests_where_all_are_unwelcome() {
    let pool = pool_of(2);
    let refuse = async |name: &str| {
        for n in 0..16 {
            google(&format!("{name}{n}")).received(&pool, banned(false)).await;
        }
    };
    refuse("a").await;
    sleep(Duration::from_secs(3_600)).await;
    refuse("b").await;
    let lowered = pool.status().operators;
    let lowered: Vec<_> = lowered.iter().filter(|site| site.lowered_since.is_some()).collect();
    assert_eq!(lowered.len(), 2, "both are at the floor: {lowered:?}");
    sleep(Duration::from_secs(24 * 3_600)).await;
    assert_eq!(google("c").permit(&pool).await.identity(), 0, "it returns by itself");
    refuse("d").await;
    sleep(Duration::from_secs(2 * 3_600)).await;
    assert_eq!(google("e").permit(&pool).await.identity(), 0, "the other one is no better");
}

#[tokio::test(start_paused = true)]
async fn batches_give_way_and_are_served_all_the_same() {
    let (pool, served) = (pool(), Arc::new(parking_lot::Mutex::new(Vec::new())));
    let permits = [google("x").permit(&pool).await, google("x").permit(&pool).await];
    let mut all = JoinSet::new();
    for (class, count) in [(Class::Batch, 40), (Class::Interactive, 40)] {
        for n in 0..count {
            let (pool, served) = (pool.clone(), served.clone());
            let want = Wanted { class, ..google(&format!("d{n}")) };
            all.spawn(async move {
                let permit = want.permit(&pool).await;
                served.lock().push(class);
                sleep(Duration::from_millis(10)).await;
                permit.note(ANSWERED);
                permit.keep(0);
            });
        }
    }
    tokio::task::yield_now().await;
    sleep(Duration::from_millis(1)).await;
    for permit in permits {
        permit.keep(0);
    }
    all.join_all().await;
    let served = served.lock();
    let first: Vec<_> = served.iter().take(40).collect();
    let batches = first.iter().filter(|class| ***class == Class::Batch).count();
    assert!((3..=5).contains(&batches), "{batches} of the first forty");
}

#[tokio::test(start_paused = true)]
async fn in_a_full_queue_the_tenant_with_most_gives_way() {
    let pool = pool();
    let _held = [google("x").permit(&pool).await, google("x").permit(&pool).await];
    let mut all = JoinSet::new();
    let ask = |tenant, n: usize| {
        let (pool, want) =
            (pool.clone(), Wanted { tenant: Some(tenant), ..google(&format!("d{n}")) });
        async move { (tenant, want.ask(&pool).await.err().map(|refused| refused.cause)) }
    };
    for n in 0..700 {
        all.spawn(ask("greedy", n));
    }
    for n in 0..20 {
        all.spawn(ask("modest", n));
    }
    sleep(Duration::from_secs(1)).await;
    let mut refused = Vec::new();
    while let Some(Ok((tenant, cause))) = all.try_join_next() {
        assert_eq!((tenant, cause), ("greedy", Some(Cause::Crowded)));
        refused.push(tenant);
    }
    assert_eq!(refused.len(), 200, "half of a thousand is one tenant's share");
}

#[tokio::test(start_paused = true)]
async fn a_tenant_that_spends_the_refusals_stops_itself_alone() {
    let pool = pool();
    let refused = Signal::Answered { refused: true };
    let spender = Wanted { tenant: Some("spender"), ..google("dead") };
    for _ in 0..50 {
        spender.received(&pool, refused).await;
    }
    let cause = |asked: Result<_, Refused>| asked.err().map(|refused| refused.cause);
    assert_eq!(cause(spender.ask(&pool).await), Some(Cause::Refusals));
    let other = Wanted { tenant: Some("other"), ..google("live") };
    assert_eq!(cause(other.ask(&pool).await), None);
}

#[tokio::test(start_paused = true)]
async fn one_free_account_holds_up_no_other() {
    let pool = pool();
    let free = |account, domain: &str| Wanted {
        tenant: Some("free"),
        account: Some(account),
        ..google(domain)
    };
    for n in 0..4 {
        free("one", &format!("closes{n}")).received(&pool, CLOSED).await;
    }
    let pass = async |name: &str| {
        let started = Instant::now();
        free("other", name).received(&pool, ANSWERED).await;
        started.elapsed().as_secs()
    };
    let waits = [pass("a").await, pass("b").await, pass("c").await];
    assert!(waits.iter().max() <= Some(&1), "the operator's own pause: {waits:?}");
    let started = Instant::now();
    free("one", "d").received(&pool, ANSWERED).await;
    free("one", "e").received(&pool, ANSWERED).await;
    assert!(started.elapsed() >= Duration::from_secs(1), "one unproven domain a second");
    // Uses up the account's half of the tenant's share of refused recipients, to which the four closed sessions count.
    for _ in 0..21 {
        free("one", "dead").received(&pool, Signal::Answered { refused: true }).await;
    }
    let cause = |asked: Result<_, Refused>| asked.err().map(|refused| refused.cause);
    assert_eq!(cause(free("one", "new").ask(&pool).await), Some(Cause::Refusals));
    assert!(pass("another").await <= 1);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_borrows_one_address_of_an_operator_does_not_speak_for_it() {
    let pool = pool();
    google("good").received(&pool, ANSWERED).await;
    for n in 1..=20 {
        let mut borrower = at(&format!("mx{n}.evil.example"), &format!("198.51.{n}.1"));
        borrower.addresses.push("192.0.2.1:25".parse().unwrap());
        borrower.received(&pool, banned(true)).await;
    }
    assert_eq!(pool.status().operators[0].interval_ms, 1_000, "Google's rate is as it was");
}

#[tokio::test(start_paused = true)]
async fn batches_wait_for_a_new_source_address_and_single_checks_do_not() {
    let batch = |n: usize| Wanted { class: Class::Batch, ..google(&format!("d{n}")) };
    let refused = async |pool: &Arc<Pool<u32>>, want: Wanted| match want.ask(pool).await {
        Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) => {
            permit.note(ANSWERED);
            permit.keep(0);
            None
        }
        Err(refused) => Some(refused.cause),
    };
    let pool = pool_since(1, vec![Some(NOW)]);
    let mut causes = Vec::new();
    for n in 0..4 {
        causes.push(refused(&pool, batch(n)).await);
    }
    assert_eq!(causes.last(), Some(&Some(Cause::WarmUp)), "{causes:?}");
    assert_eq!(causes.first(), Some(&None));
    for n in 0..10 {
        assert_eq!(refused(&pool, google(&format!("single{n}"))).await, None);
    }
    let known = pool_since(1, vec![Some(0)]);
    for n in 0..10 {
        assert_eq!(refused(&known, batch(n)).await, None, "{n}");
    }
}

/// The operator's site itself stays, for its totals.
#[tokio::test(start_paused = true)]
async fn an_operator_forgets_the_accounts_whose_sessions_it_closed() {
    let pool = pool();
    let want = Wanted { tenant: Some("lister"), ..google("d.example") };
    for _ in 0..3 {
        want.received(&pool, CLOSED).await;
        sleep(Duration::from_secs(10)).await;
    }
    assert_eq!(pool.status().entries.parties, 3);
    sleep(Duration::from_secs(2 * 3_600)).await;
    let left = pool.status().entries.parties;
    assert_eq!(left, 1, "with its refused recipients, until the operator's next use");
}
