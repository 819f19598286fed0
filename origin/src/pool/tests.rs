//! The rules of the pool, with numbers for sessions and a clock that is not waited for.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use super::{Acquired, Limits, Pool, Refused, Request, Signal};

const LIMITS: Limits = Limits {
    sessions: 2,
    interval: Duration::from_secs(1),
    idle: Duration::from_secs(30),
    heeds_refusals: true,
};
const REFUSAL: Signal = Signal::Refused { blocked: true, after: None };

fn pool() -> Arc<Pool<u32>> {
    Pool::new(LIMITS, 1, drop)
}

fn host(host: &str) -> Request<'_> {
    Request { operator: "operator", host, domain: host, exempt: false }
}

fn is_warm(acquired: &Acquired<u32>) -> bool {
    matches!(acquired, Acquired::Idle(..))
}

/// Uses the session for `time`, counting how many are in use, and keeps it.
async fn work(pool: &Arc<Pool<u32>>, request: Request<'_>, time: Duration, busy: &Busy) {
    let acquired = pool.session(request).await.unwrap_or_else(|refused| panic!("{refused:?}"));
    let (session, permit) = match acquired {
        Acquired::Idle(session, permit) => (session, permit),
        Acquired::New(permit) => (busy.opened.fetch_add(1, Ordering::Relaxed) as u32, permit),
    };
    let now = busy.now.fetch_add(1, Ordering::Relaxed) + 1;
    busy.most.fetch_max(now, Ordering::Relaxed);
    sleep(time).await;
    busy.now.fetch_sub(1, Ordering::Relaxed);
    permit.keep(session);
}

#[derive(Default)]
struct Busy {
    now: AtomicUsize,
    most: AtomicUsize,
    opened: AtomicUsize,
}

#[tokio::test(start_paused = true)]
async fn a_thousand_at_one_host_share_two_sessions() {
    let (pool, busy) = (pool(), Arc::new(Busy::default()));
    let mut all = JoinSet::new();
    for n in 0..1_000 {
        let (pool, busy) = (pool.clone(), busy.clone());
        all.spawn(async move {
            let domain = format!("d{}.example", n % 7);
            let request = Request { domain: &domain, ..host("mx") };
            work(&pool, request, Duration::from_millis(40), &busy).await;
        });
    }
    all.join_all().await;
    assert_eq!(busy.most.load(Ordering::Relaxed), 2);
    assert_eq!(busy.opened.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_gives_way_to_one_with_another_host() {
    let (pool, busy) = (pool(), Busy::default());
    for name in ["a", "b", "c", "a"] {
        work(&pool, host(name), Duration::ZERO, &busy).await;
    }
    assert_eq!(busy.opened.load(Ordering::Relaxed), 4, "a's had to go for c's");
    assert!(pool.idle(host("c")).is_some());
    assert!(pool.idle(host("b")).is_none());
}

#[tokio::test(start_paused = true)]
async fn new_sessions_come_at_the_rate_once_the_first_are_open() {
    let pool = pool();
    let started = Instant::now();
    let mut opened = Vec::new();
    for _ in 0..5 {
        let acquired = pool.session(host("mx")).await.unwrap_or_else(|_| panic!());
        assert!(!is_warm(&acquired));
        opened.push(started.elapsed().as_secs());
        drop(acquired);
    }
    assert_eq!(opened, [0, 0, 1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_session_lies_idle_for_thirty_seconds_and_then_everything_is_forgotten() {
    static CLOSED: AtomicUsize = AtomicUsize::new(0);
    let pool = Pool::new(LIMITS, 1, |_: u32| {
        CLOSED.fetch_add(1, Ordering::Relaxed);
    });
    let busy = Busy::default();
    work(&pool, host("mx"), Duration::ZERO, &busy).await;
    sleep(Duration::from_secs(29)).await;
    let (session, permit) = pool.idle(host("mx")).unwrap();
    permit.keep(session);
    sleep(Duration::from_secs(32)).await;
    assert!(pool.idle(host("mx")).is_none());
    assert_eq!(CLOSED.load(Ordering::Relaxed), 1);
    assert!(pool.lock().is_empty());
    assert_eq!(pool.idle.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_stops_new_sessions_and_closes_the_idle_ones() {
    let (pool, busy) = (pool(), Busy::default());
    work(&pool, host("a"), Duration::ZERO, &busy).await;
    let Ok(Acquired::New(permit)) = pool.session(host("b")).await else { panic!("room for two") };
    permit.note(REFUSAL);
    drop(permit);
    assert!(pool.idle(host("a")).is_none());
    let refused = pool.session(host("a")).await.err().unwrap();
    assert_eq!(refused, Refused { after: Duration::from_secs(15), blocked: true });
    let elsewhere = Request { operator: "other", ..host("c") };
    assert!(pool.session(elsewhere).await.is_ok());

    sleep(Duration::from_secs(15)).await;
    let first = pool.session(host("a")).await;
    assert!(first.is_ok());
    let second = timeout(Duration::from_secs(5), pool.session(host("a"))).await;
    assert!(second.is_err(), "one at a time until it is made good");
}

#[tokio::test(start_paused = true)]
async fn another_identity_takes_over_from_a_refused_one() {
    let pool: Arc<Pool<u32>> = Pool::new(LIMITS, 2, drop);
    let mut used = Vec::new();
    for _ in 0..4 {
        let Ok(Acquired::New(permit)) = pool.session(host("mx")).await else { panic!() };
        used.push(permit.identity());
    }
    assert_eq!(used, [0, 1, 0, 1]);
    let Ok(Acquired::New(permit)) = pool.session(host("mx")).await else { panic!() };
    permit.note(REFUSAL);
    drop(permit);
    for _ in 0..3 {
        let Ok(Acquired::New(permit)) = pool.session(host("mx")).await else { panic!() };
        assert_eq!(permit.identity(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn routes_know_no_limit_and_no_refusal() {
    let pool = pool();
    let route = Request { exempt: true, ..host("route") };
    let mut held = Vec::new();
    for _ in 0..100 {
        let acquired = pool.session(route).await.unwrap_or_else(|_| panic!());
        if let Acquired::New(permit) = &acquired {
            permit.note(REFUSAL);
        }
        held.push(acquired);
    }
    assert!(!held.iter().any(is_warm));
}

#[tokio::test(start_paused = true)]
async fn one_who_leaves_while_waiting_takes_nothing_along() {
    let pool = pool();
    let first = pool.session(host("a")).await;
    let second = pool.session(host("a")).await;
    for _ in 0..50 {
        let left = timeout(Duration::from_millis(10), pool.session(host("a"))).await;
        assert!(left.is_err());
    }
    // Assigned in the moment of leaving: the answer is there and never read.
    let mut waiting = Box::pin(pool.session(host("a")));
    assert!(timeout(Duration::from_millis(10), &mut waiting).await.is_err());
    drop(first);
    sleep(Duration::from_secs(3)).await;
    drop(waiting);
    drop(second);
    let acquired = [pool.session(host("a")).await, pool.session(host("b")).await];
    assert!(acquired.iter().all(Result::is_ok), "both places are free");
}
