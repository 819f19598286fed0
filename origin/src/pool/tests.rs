//! The rules of the pool, with numbers for sessions and a clock that is not waited for.

use std::{
    net::{IpAddr, SocketAddr},
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

use super::{
    Acquired, Cause, Class, Limits, Permit, Pool, Refusal, Refused, Request, Settings, Signal,
    operators::Operators,
};

const BUDGET: Duration = Duration::from_secs(10);
const GOOGLE: &str = "aspmx.l.google.com";
const LIMITS: Limits = Limits {
    sessions: 2,
    interval: Duration::from_secs(1),
    recipients_per_minute: 1_000_000,
    refused_per_hour: 100,
};
const OPERATORS: &str = r#"
    [[operator]]
    name = "google"
    sessions = 2
    session_interval_ms = 1000
    recipients_per_minute = 1000000
    refused_per_hour = 100
"#;
/// 421 at RCPT.
const CLOSED: Signal<'_> = Signal::Refused(Refusal {
    before_rcpt: false,
    closing: true,
    about_our_address: false,
    hint: None,
    words: "",
});

fn banned(before_rcpt: bool) -> Signal<'static> {
    Signal::Refused(Refusal {
        before_rcpt,
        closing: false,
        about_our_address: true,
        hint: None,
        words: "blocked using a list",
    })
}

fn pool_of(sources: usize) -> Arc<Pool<u32>> {
    let settings = Settings {
        operators: Arc::new(Operators::with(OPERATORS).unwrap()),
        operator: LIMITS,
        machine: LIMITS,
        network_sessions: 8,
        max_idle: Duration::from_secs(30),
        max_waiting: 1_000,
        tenant_share: 0.5,
        sources: (0..sources).map(|n| Arc::from(format!("source {n}"))).collect(),
    };
    Pool::new(settings, drop)
}

fn pool() -> Arc<Pool<u32>> {
    pool_of(1)
}

/// What one asks for, in its own words.
#[derive(Clone)]
struct Want {
    host: String,
    addresses: Vec<SocketAddr>,
    domain: String,
    tenant: Option<&'static str>,
    class: Class,
    is_route: bool,
    more_hosts: bool,
}

fn at(host: &str, address: &str) -> Want {
    Want {
        host: host.to_owned(),
        addresses: vec![SocketAddr::new(address.parse().unwrap(), 25)],
        domain: format!("domain-of-{host}"),
        tenant: None,
        class: Class::Interactive,
        is_route: false,
        more_hosts: false,
    }
}

fn google(domain: &str) -> Want {
    Want { domain: domain.to_owned(), ..at(GOOGLE, "192.0.2.1") }
}

impl Want {
    async fn ask(&self, pool: &Arc<Pool<u32>>) -> Result<Acquired<u32>, Refused> {
        let request = Request {
            host: &self.host,
            addresses: &self.addresses,
            domain: &self.domain,
            tenant: self.tenant,
            class: self.class,
            is_route: self.is_route,
            admitted: false,
            more_hosts: self.more_hosts,
            deadline: Instant::now() + BUDGET,
        };
        pool.session(&request, 0).await
    }

    async fn permit(&self, pool: &Arc<Pool<u32>>) -> Permit<u32> {
        match self.ask(pool).await {
            Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) => permit,
            Err(refused) => panic!("{refused:?}"),
        }
    }

    /// Takes a session, is received so, and keeps it unless it was closed.
    async fn received(&self, pool: &Arc<Pool<u32>>, signal: Signal<'_>) {
        let permit = self.permit(pool).await;
        permit.note(signal);
        if matches!(signal, Signal::Answered { .. }) {
            permit.keep(0);
        }
    }
}

/// Uses a session for `time`, counting how many are in use, and keeps it.
async fn work(pool: &Arc<Pool<u32>>, want: &Want, time: Duration, busy: &Busy) {
    let acquired = want.ask(pool).await.unwrap_or_else(|refused| panic!("{refused:?}"));
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

const ANSWERED: Signal<'_> = Signal::Answered { refused: false };

#[tokio::test(start_paused = true)]
async fn a_thousand_at_one_host_share_two_sessions() {
    let (pool, busy) = (pool(), Arc::new(Busy::default()));
    let mut all = JoinSet::new();
    for n in 0..500 {
        let (pool, busy) = (pool.clone(), busy.clone());
        all.spawn(async move {
            let want = google(&format!("d{}.example", n % 7));
            work(&pool, &want, Duration::from_millis(20), &busy).await;
        });
    }
    all.join_all().await;
    assert_eq!(busy.most.load(Ordering::Relaxed), 2);
    assert_eq!(busy.opened.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn one_machine_under_five_hundred_names_gets_two_sessions_idle_ones_included() {
    let (pool, busy) = (pool(), Arc::new(Busy::default()));
    let mut all = JoinSet::new();
    for n in 0..500 {
        let (pool, busy) = (pool.clone(), busy.clone());
        all.spawn(async move {
            let want = at(&format!("mx.customer{n}.example"), "198.51.100.7");
            timeout(BUDGET, work(&pool, &want, Duration::from_millis(20), &busy)).await.ok();
        });
    }
    all.join_all().await;
    assert_eq!(busy.most.load(Ordering::Relaxed), 2);
    let idle: usize = pool.status().operators.iter().map(|site| site.idle).sum();
    assert!(idle <= 2, "{idle}");
}

#[tokio::test(start_paused = true)]
async fn a_network_gets_eight_sessions_and_others_their_own() {
    let pool = pool();
    let mut held = Vec::new();
    for n in 0..16 {
        let want = at(&format!("mx{n}"), &format!("198.51.100.{n}"));
        let asked = timeout(Duration::from_millis(1), want.ask(&pool)).await;
        held.extend(asked.ok());
    }
    assert_eq!(held.len(), 8);
    let elsewhere = at("mx", "198.51.101.1");
    assert!(timeout(Duration::from_millis(1), elsewhere.ask(&pool)).await.is_ok());
    let v6 = at("mx", "2001:db8::1");
    assert!(timeout(Duration::from_millis(1), v6.ask(&pool)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_name_that_leads_to_an_operators_address_counts_for_the_operator() {
    let pool = pool();
    let _held = [google("a").permit(&pool).await, google("b").permit(&pool).await];
    let alias = at("mx.alias.example", "192.0.2.1");
    assert!(timeout(Duration::from_secs(5), alias.ask(&pool)).await.is_err(), "a third session");
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_gives_way_to_one_with_another_host() {
    let (pool, busy) = (pool(), Busy::default());
    for name in ["a", "b", "c", "a"] {
        work(&pool, &at(name, "198.51.100.7"), Duration::ZERO, &busy).await;
    }
    assert_eq!(busy.opened.load(Ordering::Relaxed), 4, "a's had to go for c's");
}

#[tokio::test(start_paused = true)]
async fn new_sessions_come_at_the_rate_once_the_first_are_open() {
    let pool = pool();
    let started = Instant::now();
    let mut opened = Vec::new();
    for _ in 0..5 {
        drop(google("d").permit(&pool).await);
        opened.push(started.elapsed().as_secs());
    }
    assert_eq!(opened, [0, 0, 1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_session_lies_idle_for_thirty_seconds_and_then_everything_is_forgotten() {
    let pool = pool();
    let want = at("mx", "198.51.100.7");
    want.received(&pool, ANSWERED).await;
    sleep(Duration::from_secs(29)).await;
    assert!(matches!(want.ask(&pool).await, Ok(Acquired::Idle(..))));
    let Ok(Acquired::New(permit)) = want.ask(&pool).await else { panic!("it was taken") };
    permit.keep(1);
    sleep(Duration::from_secs(700)).await;
    assert_eq!(pool.idle.load(Ordering::Relaxed), 0);
    assert!(pool.lock().sites.is_empty());
}

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
    let batch = Want { class: Class::Batch, ..google("bad") };
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
    let closing = Signal::Refused(Refusal {
        before_rcpt: true,
        closing: true,
        about_our_address: false,
        hint: None,
        words: "",
    });
    let bad = at("mx1", "198.51.100.1");
    bad.received(&pool, closing).await;
    for n in 2..20 {
        let started = Instant::now();
        at(&format!("mx{n}"), &format!("198.51.100.{n}")).received(&pool, ANSWERED).await;
        assert!(started.elapsed().is_zero(), "{n}");
    }
    let other = Want { domain: "another".to_owned(), more_hosts: true, ..bad.clone() };
    assert_eq!(other.ask(&pool).await.err().map(|refused| refused.cause), Some(Cause::Address));
    sleep(Duration::from_secs(2)).await;
    let started = Instant::now();
    let patient = Want { more_hosts: false, ..other };
    patient.received(&pool, ANSWERED).await;
    assert_eq!(started.elapsed().as_secs(), 8, "but it is waited for where no other is left");
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
async fn batches_give_way_and_are_served_all_the_same() {
    let (pool, served) = (pool(), Arc::new(std::sync::Mutex::new(Vec::new())));
    let held = [google("x").permit(&pool).await, google("x").permit(&pool).await];
    let mut all = JoinSet::new();
    for (class, count) in [(Class::Batch, 40), (Class::Interactive, 40)] {
        for n in 0..count {
            let (pool, served) = (pool.clone(), served.clone());
            let want = Want { class, ..google(&format!("d{n}")) };
            all.spawn(async move {
                let permit = want.permit(&pool).await;
                served.lock().unwrap().push(class);
                sleep(Duration::from_millis(10)).await;
                permit.note(ANSWERED);
                permit.keep(0);
            });
        }
    }
    tokio::task::yield_now().await;
    sleep(Duration::from_millis(1)).await;
    for permit in held {
        permit.keep(0);
    }
    all.join_all().await;
    let served = served.lock().unwrap();
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
            (pool.clone(), Want { tenant: Some(tenant), ..google(&format!("d{n}")) });
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
    let spender = Want { tenant: Some("spender"), ..google("dead") };
    for _ in 0..50 {
        spender.received(&pool, refused).await;
    }
    let cause = |asked: Result<_, Refused>| asked.err().map(|refused| refused.cause);
    assert_eq!(cause(spender.ask(&pool).await), Some(Cause::Refusals));
    let other = Want { tenant: Some("other"), ..google("live") };
    assert_eq!(cause(other.ask(&pool).await), None);
}

#[tokio::test(start_paused = true)]
async fn a_second_family_is_tried_only_where_there_is_room() {
    let pool = pool();
    let want = at("mx", "198.51.100.1");
    let request = Request {
        host: &want.host,
        addresses: &want.addresses,
        domain: &want.domain,
        tenant: None,
        class: Class::Interactive,
        is_route: false,
        admitted: true,
        more_hosts: false,
        deadline: Instant::now() + BUDGET,
    };
    let v6: IpAddr = "2001:db8::1".parse().unwrap();
    let held: Vec<_> = (0..3).map(|_| pool.try_session(&request, 0, v6)).collect();
    let granted: Vec<_> = held.iter().map(Option::is_some).collect();
    assert_eq!(granted, [true, true, false]);
}

#[tokio::test(start_paused = true)]
async fn routes_know_no_limit_and_no_refusal() {
    let pool = pool();
    let route = Want { is_route: true, ..at("mx:25", "127.0.0.1") };
    let mut held = Vec::new();
    for _ in 0..100 {
        let permit = route.permit(&pool).await;
        permit.note(CLOSED);
        held.push(permit);
    }
}

#[tokio::test(start_paused = true)]
async fn one_who_leaves_while_waiting_takes_nothing_along() {
    let pool = pool();
    let (first, second) = (google("a").permit(&pool).await, google("a").permit(&pool).await);
    for _ in 0..50 {
        let left = timeout(Duration::from_millis(10), google("a").ask(&pool)).await;
        assert!(left.is_err());
    }
    // Granted in the moment of leaving: the answer is there and never read.
    let want = google("a");
    let mut waiting = Box::pin(want.ask(&pool));
    assert!(timeout(Duration::from_millis(10), &mut waiting).await.is_err());
    drop(first);
    sleep(Duration::from_secs(3)).await;
    drop(waiting);
    drop(second);
    let _both = [google("a").permit(&pool).await, google("b").permit(&pool).await];
    assert_eq!(pool.status().operators[0].sessions, 2, "both places were free");
}
