//! Tests of the pool's rules, with numbers as sessions and virtual time.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt as _;
use rcpt_shared::Address;
use tokio::{
    sync::mpsc::{UnboundedSender, unbounded_channel},
    task::{JoinSet, spawn_blocking},
    time::{Instant, sleep, timeout},
};

use super::{
    Acquired, Asker, Class, HashKey, Limits, Pace, Permit, Pool, Question, Refusal, Refused,
    Settings, Signal, Source, SourceClass, Target, Wait, operators::Operators,
    pool::sites::MAX_IDLE, site::MAX_IDLE_SITE,
};

mod addresses;
mod alone;
mod attacks;
mod histories;
mod lately;
mod neighbours;
mod newcomers;
mod provoked;
mod refused;
mod reload;

/// Wall clock of these tests, in Unix seconds.
const NOW: u64 = 1_795_305_600;
const BUDGET: Duration = Duration::from_secs(10);
const GOOGLE: &str = "aspmx.l.google.com";
const LIMITS: Limits = Limits {
    sessions: 2,
    interval: Duration::from_secs(1),
    recipients_per_minute: 1_000_000,
    refused_per_hour: 100,
    refused_lately: usize::MAX,
};
const OPERATORS: &str = r#"
    [[operator]]
    name = "google"
    sessions = 2
    session_interval_ms = 1000
    recipients_per_minute = 1000000
    refused_per_hour = 100
"#;
/// A 421 at RCPT.
const CLOSED: Signal<'_> = Signal::Refused(Refusal {
    before_rcpt: false,
    closing: true,
    about_our_address: false,
    about_our_rate: true,
    is_trouble: false,
    hint: None,
    words: "",
});

/// A machine that closes new sessions before any recipient is named.
const SHUT: Signal<'_> = Signal::Refused(Refusal {
    before_rcpt: true,
    closing: true,
    about_our_address: false,
    about_our_rate: false,
    is_trouble: false,
    hint: None,
    words: "",
});

fn banned(before_rcpt: bool) -> Signal<'static> {
    Signal::Refused(Refusal {
        before_rcpt,
        closing: false,
        about_our_address: true,
        about_our_rate: false,
        is_trouble: false,
        hint: None,
        words: "blocked using a list",
    })
}

fn pool_of(sources: usize) -> Arc<Pool<u32>> {
    pool_since(sources, Vec::new())
}

/// `since` is the Unix time at which each source address was first used.
fn pool_since(sources: usize, since: Vec<Option<u64>>) -> Arc<Pool<u32>> {
    Pool::new(settings(sources, since), drop, || NOW, HashKey::default())
}

pub(crate) fn settings(sources: usize, since: Vec<Option<u64>>) -> Settings {
    Settings {
        operators: Arc::new(Operators::with(OPERATORS).unwrap()),
        operator: LIMITS,
        machine: LIMITS,
        network_sessions: 8,
        max_idle: Duration::from_secs(30),
        max_waiting: 1_000,
        tenant_share: 0.5,
        sources: (0..sources)
            .map(|n| Source {
                label: Arc::from(format!("source {n}")),
                since: since.get(n).copied().flatten(),
                class: SourceClass::Known,
                is_in_use: true,
            })
            .collect(),
        pace: Pace::default(),
    }
}

fn pool() -> Arc<Pool<u32>> {
    pool_of(1)
}

#[derive(Clone)]
struct Wanted {
    host: String,
    addresses: Vec<SocketAddr>,
    domain: String,
    tenant: Option<&'static str>,
    /// Account of the tenant; by default the tenant itself.
    account: Option<&'static str>,
    class: Class,
    is_route: bool,
    afresh: bool,
}

fn at(host: &str, address: &str) -> Wanted {
    Wanted {
        host: host.to_owned(),
        addresses: vec![SocketAddr::new(address.parse().unwrap(), 25)],
        domain: format!("domain-of-{host}"),
        tenant: None,
        account: None,
        class: Class::Interactive,
        is_route: false,
        afresh: false,
    }
}

fn google(domain: &str) -> Wanted {
    Wanted { domain: domain.to_owned(), ..at(GOOGLE, "192.0.2.1") }
}

impl Wanted {
    async fn ask<S: Send + 'static>(&self, pool: &Arc<Pool<S>>) -> Result<Acquired<S>, Refused> {
        pool.session(&self.question(), &self.target()).await
    }

    fn question(&self) -> Question {
        let deadline = Instant::now() + BUDGET;
        Question {
            address: Address::parse(&format!("user@{}", self.domain)).unwrap(),
            asker: Asker {
                account: self.account.or(self.tenant).map(Arc::from),
                fairness_group: self.tenant.map(Arc::from),
            },
            wait: match self.class {
                Class::Interactive => Wait::Interactive(deadline),
                Class::Batch => Wait::InBatch(deadline),
            },
        }
    }

    fn target(&self) -> Target<'_> {
        Target {
            host: &self.host,
            addresses: &self.addresses,
            identity: 0,
            is_route: self.is_route,
            admitted: false,
            afresh: self.afresh,
        }
    }

    async fn permit<S: Send + 'static>(&self, pool: &Arc<Pool<S>>) -> Permit<S> {
        match self.ask(pool).await {
            Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) => permit,
            Err(refused) => panic!("{refused:?}"),
        }
    }

    /// The session is kept if the signal is an answer.
    async fn received(&self, pool: &Arc<Pool<u32>>, signal: Signal<'_>) {
        let permit = self.permit(pool).await;
        permit.note(signal);
        if matches!(signal, Signal::Answered { .. }) {
            permit.keep(0);
        }
    }
}

async fn work(pool: &Arc<Pool<u32>>, want: &Wanted, time: Duration, busy: &Busy) {
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
async fn a_session_that_is_free_is_not_waited_for() {
    let pool = pool();
    for want in [google("d"), Wanted { tenant: Some("t"), ..at("mx", "198.51.100.7") }] {
        for _ in ["a new one", "an idle one"] {
            match want.ask(&pool).now_or_never() {
                Some(Ok(Acquired::New(permit) | Acquired::Idle(_, permit))) => permit.keep(0),
                _ => panic!("a timer stands before it"),
            }
        }
    }
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

struct Open(Arc<AtomicUsize>);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_session_that_gives_way_is_closed_before_the_one_in_its_place_is_opened() {
    // Closing takes long enough for others to overtake it.
    let close = |session: Open| {
        std::thread::sleep(Duration::from_millis(2));
        session.0.fetch_sub(1, Ordering::SeqCst);
    };
    let limits = Limits { interval: Duration::ZERO, ..LIMITS };
    let pool = Pool::new(
        Settings { machine: limits, ..settings(1, Vec::new()) },
        close,
        || NOW,
        HashKey::default(),
    );
    let (open, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut all = JoinSet::new();
    for n in 0..60 {
        let (pool, open, most) = (pool.clone(), open.clone(), most.clone());
        all.spawn(async move {
            let want = at(&format!("mx{n}"), "198.51.100.7");
            let Ok(Acquired::New(permit)) = want.ask(&pool).await else { panic!("another's") };
            most.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            permit.keep(Open(open));
        });
    }
    all.join_all().await;
    assert_eq!(most.load(Ordering::SeqCst), LIMITS.sessions);
}

/// A connection in the tests below that signals when closing begins, and takes time to close.
struct Closing(Arc<AtomicUsize>, UnboundedSender<()>);

impl Closing {
    fn close(self) {
        // Fails if the test has ended.
        let _ = self.1.send(());
        std::thread::sleep(Duration::from_millis(20));
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Opens the maximum of `count` sessions with one machine and leaves them idle, then requests
/// another session while one is being closed. Returns the number of open sessions, including the
/// requested one.
async fn most_beside_one_that_is_closed(count: usize, max_idle: Duration) -> usize {
    let machine = Limits { interval: Duration::ZERO, sessions: count, ..LIMITS };
    let limits = Settings { machine, network_sessions: count, max_idle, ..settings(1, Vec::new()) };
    let pool = Pool::new(limits, Closing::close, || NOW, HashKey::default());
    let (open, (closing, mut closed)) = (Arc::new(AtomicUsize::new(0)), unbounded_channel());
    let want = at("mx", "198.51.100.7");
    let mut permits = Vec::new();
    for _ in 0..count {
        permits.push(want.permit(&pool).await);
        open.fetch_add(1, Ordering::SeqCst);
    }
    let sessions =
        permits.into_iter().map(|permit| (permit, Closing(open.clone(), closing.clone())));
    let sessions: Vec<_> = sessions.collect();
    let returning = spawn_blocking(move || {
        sessions.into_iter().for_each(|(permit, session)| permit.keep(session));
    });
    closed.recv().await.unwrap();
    let other = at("other", "198.51.100.7");
    let Ok(Acquired::New(_permit)) = other.ask(&pool).await else { panic!("another's") };
    let most = open.fetch_add(1, Ordering::SeqCst) + 1;
    returning.await.unwrap();
    most
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_session_that_need_not_lie_idle_is_closed_before_another_one_is_opened() {
    let count = MAX_IDLE_SITE + 1;
    assert!(most_beside_one_that_is_closed(count, Duration::from_secs(30)).await <= count);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_session_that_has_lain_idle_for_too_long_is_closed_before_another_one_is_opened() {
    assert!(most_beside_one_that_is_closed(2, Duration::from_millis(100)).await <= 2);
}

#[tokio::test(start_paused = true)]
async fn of_too_many_idle_sessions_the_oldest_are_closed() {
    let pool = pool();
    let machine = |n: usize| at("mx", &format!("10.{}.{}.1", n / 256, n % 256));
    for n in 0..=MAX_IDLE {
        machine(n).permit(&pool).await.keep(0);
        sleep(Duration::from_millis(1)).await;
    }
    let idle = pool.lock().idle;
    assert!((MAX_IDLE / 2..=MAX_IDLE).contains(&idle), "{idle}");
    assert!(matches!(machine(0).ask(&pool).await, Ok(Acquired::New(_))));
    assert!(matches!(machine(MAX_IDLE / 2).ask(&pool).await, Ok(Acquired::Idle(..))));
}

#[tokio::test(start_paused = true)]
async fn a_network_gets_eight_sessions_and_others_their_own() {
    let pool = pool();
    let mut permits = Vec::new();
    for n in 0..16 {
        let want = at(&format!("mx{n}"), &format!("198.51.100.{n}"));
        let outcome = timeout(Duration::from_millis(1), want.ask(&pool)).await;
        permits.extend(outcome.ok());
    }
    assert_eq!(permits.len(), 8);
    let elsewhere = at("mx", "198.51.101.1");
    assert!(timeout(Duration::from_millis(1), elsewhere.ask(&pool)).await.is_ok());
    let v6 = at("mx", "2001:db8::1");
    assert!(timeout(Duration::from_millis(1), v6.ask(&pool)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn one_name_in_an_operators_zone_makes_no_machine_the_operators() {
    let pool = pool();
    let _held = [google("a").permit(&pool).await, google("b").permit(&pool).await];
    let other = at("mail.victim.example", "192.0.2.1");
    assert!(
        timeout(Duration::from_secs(5), other.ask(&pool)).await.is_ok(),
        "a machine of its own"
    );
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
async fn one_who_wants_a_session_of_its_own_gets_it_in_the_place_of_an_idle_one() {
    let pool = pool();
    let want = at("mx", "198.51.100.7");
    let both = [want.permit(&pool).await, want.permit(&pool).await];
    both.into_iter().for_each(|permit| permit.keep(0));
    let own = Wanted { afresh: true, ..want.clone() };
    let Ok(Acquired::New(own)) = own.ask(&pool).await else { panic!("an idle one") };
    let Ok(Acquired::Idle(..)) = want.ask(&pool).await else { panic!("both have gone") };
    assert_eq!(pool.lock().idle, 0);
    drop(own);
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
    assert_eq!(pool.lock().idle, 0);
    assert!(pool.lock().sites.all.is_empty());
}

/// All state of a use expires, except totals, and the timer then stops.
#[tokio::test(start_paused = true)]
async fn an_idle_pool_sweeps_no_more_until_its_next_use() {
    let pool = pool();
    let sweeps = || pool.lock().sweeps;
    let route = Wanted { is_route: true, ..at("route:25", "192.0.2.9") };
    let mut wants = vec![google("d"), route];
    wants.extend((0..17).map(|n| at("mx", &format!("198.51.100.{n}"))));
    let refused_recipient = Signal::Answered { refused: true };
    for use_count in 1..=2 {
        let before = sweeps();
        let signals = [ANSWERED, refused_recipient, banned(true), banned(false), CLOSED];
        for (n, want) in wants.iter().enumerate() {
            for (kind, signal) in signals.into_iter().enumerate() {
                let domain = format!("d{use_count}-{n}-{kind}.org");
                Wanted { domain, ..want.clone() }.received(&pool, signal).await;
            }
        }
        sleep(Duration::from_secs(2 * 3_600)).await;
        let after = sweeps();
        assert!(after > before);
        sleep(Duration::from_secs(24 * 3_600)).await;
        assert_eq!(sweeps(), after, "use {use_count}");
        let entries = pool.status().entries;
        assert_eq!((entries.sites, entries.gates), (1, 0), "Google's totals are left");
    }
}

/// Checks at another machine keep the sweep running.
#[tokio::test(start_paused = true)]
async fn an_operators_totals_outlast_an_hour_without_a_check() {
    let pool = pool();
    google("d").received(&pool, ANSWERED).await;
    for _ in 0..2 * 60 {
        at("mx", "198.51.100.7").received(&pool, ANSWERED).await;
        sleep(Duration::from_secs(60)).await;
    }
    let status = pool.status();
    let shown = status.operators[0].clone();
    assert_eq!((shown.operator.as_str(), shown.totals.sessions), ("google", 1));
    // One trial and one quick account at the machine are left, and nothing of the operator's parties.
    assert_eq!(status.entries.parties, 2);
}

#[tokio::test(start_paused = true)]
async fn a_second_family_is_tried_only_where_there_is_room() {
    let pool = pool();
    let want = at("mx", "198.51.100.1");
    let target = Target { admitted: true, ..want.target() };
    let v6: IpAddr = "2001:db8::1".parse().unwrap();
    let permits: Vec<_> = (0..3).map(|_| pool.try_session(&want.question(), &target, v6)).collect();
    let granted: Vec<_> = permits.iter().map(Option::is_some).collect();
    assert_eq!(granted, [true, true, false]);
}

#[tokio::test(start_paused = true)]
async fn routes_know_no_limit_and_no_refusal() {
    let pool = pool();
    let route = Wanted { is_route: true, ..at("mx", "127.0.0.1") };
    let mut permits = Vec::new();
    for _ in 0..100 {
        let permit = route.permit(&pool).await;
        permit.note(CLOSED);
        permits.push(permit);
    }
}

#[tokio::test(start_paused = true)]
async fn one_who_leaves_while_waiting_takes_nothing_along() {
    let pool = pool();
    let (first, second) = (google("a").permit(&pool).await, google("a").permit(&pool).await);
    for _ in 0..50 {
        let outcome = timeout(Duration::from_millis(10), google("a").ask(&pool)).await;
        assert!(outcome.is_err());
    }
    // The session is granted as the caller leaves, so the grant is never read.
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

#[tokio::test(start_paused = true)]
async fn names_of_one_machine_share_a_session_in_the_clear_that_was_told_nothing_else() {
    let pool = pool();
    let machine = |name: &str| at(name, "198.51.100.7");
    let is_idle = async |name: &str, keep: fn(Permit<u32>, u32), signal| {
        let (is_idle, permit) = match machine(name).ask(&pool).await {
            Ok(Acquired::Idle(_, permit)) => (true, permit),
            Ok(Acquired::New(permit)) => (false, permit),
            Err(refused) => panic!("{refused:?}"),
        };
        permit.note(signal);
        keep(permit, 0);
        is_idle
    };
    assert!(!is_idle("a", Permit::keep, ANSWERED).await);
    assert!(!is_idle("b", Permit::keep_for_machine, ANSWERED).await, "a's may be encrypted");
    assert!(is_idle("c", Permit::keep_for_machine, banned(false)).await);
    sleep(Duration::from_secs(20)).await;
    assert!(!is_idle("d", Permit::keep_for_machine, ANSWERED).await, "c's was told something else");
    assert!(is_idle("e", Permit::keep_for_machine, ANSWERED).await);
    assert!(is_idle("g", Permit::keep_for_machine, Signal::Unread).await);
    assert!(!is_idle("h", Permit::keep_for_machine, ANSWERED).await, "g's had no answer");
    let elsewhere = at("f", "198.51.100.8");
    assert!(matches!(elsewhere.ask(&pool).await, Ok(Acquired::New(_))), "another machine");
}
