//! The rules of the pace, with numbers for sessions and a clock that is not waited for.

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

use super::{Grant, Limits, Pace, Refused, Signal, Wanted};

const LIMITS: Limits = Limits {
    sessions: 2,
    interval: Duration::from_secs(1),
    idle: Duration::from_secs(30),
    heeds_refusals: true,
};
const REFUSAL: Signal = Signal::Refused { blocked: true, after: None };

fn pace() -> Arc<Pace<u32>> {
    Pace::new(LIMITS, 1, drop)
}

fn host(host: &str) -> Wanted<'_> {
    Wanted { operator: "operator", host, domain: host, exempt: false }
}

fn is_warm(grant: &Grant<u32>) -> bool {
    matches!(grant, Grant::Warm(..))
}

/// Uses the session for `time`, counting how many are in use, and keeps it.
async fn work(pace: &Arc<Pace<u32>>, wanted: Wanted<'_>, time: Duration, busy: &Busy) {
    let grant = pace.session(wanted).await.unwrap_or_else(|refused| panic!("{refused:?}"));
    let (session, slot) = match grant {
        Grant::Warm(session, slot) => (session, slot),
        Grant::Fresh(slot) => (busy.opened.fetch_add(1, Ordering::Relaxed) as u32, slot),
    };
    let now = busy.now.fetch_add(1, Ordering::Relaxed) + 1;
    busy.most.fetch_max(now, Ordering::Relaxed);
    sleep(time).await;
    busy.now.fetch_sub(1, Ordering::Relaxed);
    slot.keep(session);
}

#[derive(Default)]
struct Busy {
    now: AtomicUsize,
    most: AtomicUsize,
    opened: AtomicUsize,
}

#[tokio::test(start_paused = true)]
async fn a_thousand_at_one_host_share_two_sessions() {
    let (pace, busy) = (pace(), Arc::new(Busy::default()));
    let mut all = JoinSet::new();
    for n in 0..1_000 {
        let (pace, busy) = (pace.clone(), busy.clone());
        all.spawn(async move {
            let domain = format!("d{}.example", n % 7);
            let wanted = Wanted { domain: &domain, ..host("mx") };
            work(&pace, wanted, Duration::from_millis(40), &busy).await;
        });
    }
    all.join_all().await;
    assert_eq!(busy.most.load(Ordering::Relaxed), 2);
    assert_eq!(busy.opened.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_gives_way_to_one_with_another_host() {
    let (pace, busy) = (pace(), Busy::default());
    for name in ["a", "b", "c", "a"] {
        work(&pace, host(name), Duration::ZERO, &busy).await;
    }
    assert_eq!(busy.opened.load(Ordering::Relaxed), 4, "a's had to go for c's");
    assert!(pace.warm(host("c")).is_some());
    assert!(pace.warm(host("b")).is_none());
}

#[tokio::test(start_paused = true)]
async fn new_sessions_come_at_the_rate_once_the_first_are_open() {
    let pace = pace();
    let started = Instant::now();
    let mut opened = Vec::new();
    for _ in 0..5 {
        let grant = pace.session(host("mx")).await.unwrap_or_else(|_| panic!());
        assert!(!is_warm(&grant));
        opened.push(started.elapsed().as_secs());
        drop(grant);
    }
    assert_eq!(opened, [0, 0, 1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_session_lies_idle_for_thirty_seconds_and_then_everything_is_forgotten() {
    static CLOSED: AtomicUsize = AtomicUsize::new(0);
    let pace = Pace::new(LIMITS, 1, |_: u32| {
        CLOSED.fetch_add(1, Ordering::Relaxed);
    });
    let busy = Busy::default();
    work(&pace, host("mx"), Duration::ZERO, &busy).await;
    sleep(Duration::from_secs(29)).await;
    let (session, slot) = pace.warm(host("mx")).unwrap();
    slot.keep(session);
    sleep(Duration::from_secs(32)).await;
    assert!(pace.warm(host("mx")).is_none());
    assert_eq!(CLOSED.load(Ordering::Relaxed), 1);
    assert!(pace.lock().is_empty());
    assert_eq!(pace.idle.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_stops_new_sessions_and_closes_the_idle_ones() {
    let (pace, busy) = (pace(), Busy::default());
    work(&pace, host("a"), Duration::ZERO, &busy).await;
    let Ok(Grant::Fresh(slot)) = pace.session(host("b")).await else { panic!("room for two") };
    slot.note(REFUSAL);
    drop(slot);
    assert!(pace.warm(host("a")).is_none());
    let refused = pace.session(host("a")).await.err().unwrap();
    assert_eq!(refused, Refused { after: Duration::from_secs(15), blocked: true });
    let elsewhere = Wanted { operator: "other", ..host("c") };
    assert!(pace.session(elsewhere).await.is_ok());

    sleep(Duration::from_secs(15)).await;
    let first = pace.session(host("a")).await;
    assert!(first.is_ok());
    let second = timeout(Duration::from_secs(5), pace.session(host("a"))).await;
    assert!(second.is_err(), "one at a time until it is made good");
}

#[tokio::test(start_paused = true)]
async fn another_identity_takes_over_from_a_refused_one() {
    let pace: Arc<Pace<u32>> = Pace::new(LIMITS, 2, drop);
    let mut used = Vec::new();
    for _ in 0..4 {
        let Ok(Grant::Fresh(slot)) = pace.session(host("mx")).await else { panic!() };
        used.push(slot.identity());
    }
    assert_eq!(used, [0, 1, 0, 1]);
    let Ok(Grant::Fresh(slot)) = pace.session(host("mx")).await else { panic!() };
    slot.note(REFUSAL);
    drop(slot);
    for _ in 0..3 {
        let Ok(Grant::Fresh(slot)) = pace.session(host("mx")).await else { panic!() };
        assert_eq!(slot.identity(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn routes_know_no_limit_and_no_refusal() {
    let pace = pace();
    let route = Wanted { exempt: true, ..host("route") };
    let mut held = Vec::new();
    for _ in 0..100 {
        let grant = pace.session(route).await.unwrap_or_else(|_| panic!());
        if let Grant::Fresh(slot) = &grant {
            slot.note(REFUSAL);
        }
        held.push(grant);
    }
    assert!(!held.iter().any(is_warm));
}

#[tokio::test(start_paused = true)]
async fn whoever_leaves_while_waiting_takes_nothing_along() {
    let pace = pace();
    let first = pace.session(host("a")).await;
    let second = pace.session(host("a")).await;
    for _ in 0..50 {
        let left = timeout(Duration::from_millis(10), pace.session(host("a"))).await;
        assert!(left.is_err());
    }
    // Granted in the moment of leaving: the answer is there and never read.
    let mut waiting = Box::pin(pace.session(host("a")));
    assert!(timeout(Duration::from_millis(10), &mut waiting).await.is_err());
    drop(first);
    sleep(Duration::from_secs(3)).await;
    drop(waiting);
    drop(second);
    let grants = [pace.session(host("a")).await, pace.session(host("b")).await];
    assert!(grants.iter().all(Result::is_ok), "both places are free");
}
