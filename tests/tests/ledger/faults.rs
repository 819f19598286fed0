//! Failing or slow storage, lost replies, clients that leave, and Workers that end. Only the affected check gets an
//! error, and the ledger is exact (docs/security.md, Q4 and L2).
//!
//! - Q4: a dead Worker charges nothing, and its units are free again when their lease ends, within 30 seconds. A client
//!   that leaves is charged once, and its verdict cached.
//! - L2: a fault in a binding is one clean 5xx; the next request works.

use std::{collections::BTreeMap, time::Duration};

use rcpt_shared::Status;
use rcpt_tests::{
    AbortingClient, Account, Conduct, Edge, FakeOrigin,
    process::turn,
    service::{
        clock::{self, today},
        shim::{Fault, Release},
    },
};
use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout_at},
};

const NONE: [Value; 0] = [];

async fn edge(origin: &FakeOrigin) -> Edge {
    Edge::builder().origins(&[&origin.url]).shimmed().start().await.unwrap()
}

/// An account whose limits allow more than a hundred checks.
async fn customer(edge: &Edge) -> Account {
    let account = edge.account().await;
    edge.set(&account.email, "plan = 'pro'").await;
    account
}

async fn charged(edge: &Edge, account: &Account) -> u64 {
    let row = edge.row(&account.email, "daily_charged").await;
    row["daily_charged"].as_u64().unwrap()
}

/// Statements of the ledger's operations in D1, each in one round trip.
const CHARGE: &[&str] = &["update accounts"];
const LEASE: &[&str] = &["insert leases"];
const SETTLE: &[&str] = &["update accounts", "delete leases"];
const RELEASE: &[&str] = &["delete leases"];

fn d1(statements: &'static [&'static str]) -> Fault {
    Fault { part: "d1", statements, times: 1, error: "D1_ERROR: injected", ..Fault::default() }
}

// --- L2: one fault, one answer

#[tokio::test]
async fn one_failed_statement_is_one_503_and_no_other_request_suffers() {
    const BESIDE: usize = 60;
    let origin = FakeOrigin::by_name();
    let edge = edge(&origin).await;
    let account = customer(&edge).await;
    assert_eq!(account.check("popular-1@faults.example").await.status, 200);
    // A lost charge or settlement is repeated once, so two attempts must fail.
    let faults = [
        ("charge once", d1(CHARGE), 0),
        ("lease", d1(LEASE), 1),
        ("settle", Fault { times: 2, ..d1(SETTLE) }, 1),
        ("settle once", d1(SETTLE), 0),
    ];
    for (round, (name, fault, failures)) in faults.into_iter().enumerate() {
        let before = charged(&edge, &account).await;
        // The settlement must fail twice in one check, so no other check may settle at that time.
        let beside = if name.starts_with("settle") { 1 } else { BESIDE };
        edge.fail(&[fault]).await;
        let mut checks = JoinSet::new();
        for n in 0..beside {
            let account = account.clone();
            let address = match n % 3 {
                0 => format!("ok-{round}-{n}@faults.example"),
                1 => "popular-1@faults.example".to_owned(),
                _ => "no address".to_owned(),
            };
            checks.spawn(async move { account.check(&address).await });
        }
        let mut statuses = BTreeMap::<u16, usize>::new();
        for reply in checks.join_all().await {
            *statuses.entry(reply.status).or_default() += 1;
            if reply.status != 200 {
                assert_eq!(reply.body["code"], "unavailable", "{name}: {}", reply.body);
                assert_eq!(reply.header("retry-after"), "10", "{name}");
            }
        }
        let of = |status| statuses.get(&status).copied().unwrap_or(0);
        assert_eq!((of(503), of(200)), (failures, beside - failures), "{name}: {statuses:?}");
        let answered = charged(&edge, &account).await - before;
        assert_eq!(answered, of(200) as u64, "{name}: each answer charged once");
        edge.fail(&[]).await;
    }
}

#[tokio::test]
async fn a_release_that_fails_leaves_a_lease_that_ends_by_itself() {
    let origin = FakeOrigin::by_name();
    let edge = edge(&origin).await;
    let account = customer(&edge).await;
    today().await;
    edge.fail(&[d1(RELEASE)]).await;
    assert_eq!(account.check("broken-1@faults.example").await.status, 503);
    let leases = edge.leases(&account.email).await;
    assert_eq!(leases.len(), 1);
    assert!(leases[0]["expires_at"].as_u64().unwrap() <= clock::now() + 30, "{leases:?}");
    assert_eq!(charged(&edge, &account).await, 0);
}

// --- lost replies: D1 has executed the statement, and reports a failure

#[tokio::test]
async fn a_settlement_whose_reply_is_lost_is_answered_and_charged_once() {
    let origin = FakeOrigin::by_name();
    let edge = edge(&origin).await;
    let account = customer(&edge).await;
    today().await;
    for n in 1..=5 {
        edge.fail(&[Fault { late: true, ..d1(SETTLE) }]).await;
        let address = format!("ok-lost-{n}@faults.example");
        let reply = account.check(&address).await;
        let expected =
            json!({ "email": address, "verdict": "deliverable", "status": true, "cached": false });
        assert_eq!(reply.parts(), (200, &expected));
        assert_eq!(charged(&edge, &account).await, n);
        assert_eq!(edge.leases(&account.email).await, NONE);
    }
}

#[tokio::test]
async fn a_lease_whose_reply_is_lost_is_503_and_nothing_is_asked_or_charged() {
    let origin = FakeOrigin::by_name();
    let edge = edge(&origin).await;
    let account = customer(&edge).await;
    today().await;
    edge.fail(&[Fault { late: true, ..d1(LEASE) }]).await;
    assert_eq!(account.check("ok-1@faults.example").await.status, 503);
    assert_eq!(origin.probes().len(), 0);
    assert_eq!(charged(&edge, &account).await, 0);
    assert_eq!(edge.leases(&account.email).await, NONE, "its unit is free again");
}

// --- slow

const SLOW: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_database_that_takes_five_seconds_delays_one_check_and_no_other() {
    let origin = FakeOrigin::by_name();
    let edge = edge(&origin).await;
    let account = customer(&edge).await;
    today().await;
    for (n, statement) in ["insert leases", "delete leases"].into_iter().enumerate() {
        edge.park(&[statement]).await;
        let first = {
            let (account, address) = (account.clone(), format!("ok-slow-{n}@faults.example"));
            tokio::spawn(async move { account.check(&address).await })
        };
        let trip = edge.parked_by(&first).await;
        let end = Instant::now() + SLOW;
        edge.park(&[]).await;
        let address = format!("ok-beside-{n}@faults.example");
        let beside = account.check(&address);
        let beside = timeout_at(end, beside).await.expect("it doesn't wait for the first check");
        assert_eq!(beside.status, 200);
        sleep_until(end).await;
        assert!(!first.is_finished(), "{statement}");
        edge.release(trip, Release::Go).await;
        assert_eq!(first.await.unwrap().status, 200);
    }
    assert_eq!(charged(&edge, &account).await, 4);
    assert_eq!(edge.leases(&account.email).await, NONE);
}

#[tokio::test]
async fn a_cache_that_fails_or_is_slow_has_missed_and_costs_a_probe_and_nothing_else() {
    let origin = FakeOrigin::by_name();
    let edge = edge(&origin).await;
    let account = customer(&edge).await;
    today().await;
    let mut expected = 0;
    for (name, part, error, delay_ms) in [
        ("kv fails", "kv", "injected", 0),
        ("kv is slow", "kv", "", 5_000),
        ("cache fails", "cache", "injected", 0),
        ("cache is slow", "cache", "", 5_000),
    ] {
        let address = format!("ok-{}@faults.example", name.replace(' ', "-"));
        edge.fail(&[Fault { part, times: 1, error, delay_ms, ..Fault::default() }]).await;
        let started = Instant::now();
        let reply = account.check(&address).await;
        let answer =
            json!({ "email": address, "verdict": "deliverable", "status": true, "cached": false });
        assert_eq!(reply.parts(), (200, &answer), "{name}");
        assert!(started.elapsed() < SLOW, "{name}: {:?}", started.elapsed());
        expected += 1;
        assert_eq!(charged(&edge, &account).await, expected, "{name}");
        assert_eq!(origin.probes_of(&address), 1, "{name}");
    }
    // A verdict that can't be cached is still returned.
    let address = "ok-unwritten@faults.example";
    let unwritten = |part| Fault { part, skip: 1, times: 1, error: "injected", ..Fault::default() };
    edge.fail(&[unwritten("cache"), unwritten("kv")]).await;
    for probes in 1..=2 {
        let reply = account.check(address).await;
        assert_eq!((reply.status, &reply.body["cached"]), (200, &json!(false)));
        assert_eq!(origin.probes_of(address), probes);
    }
}

// --- Q4

/// The shortest configurable lifetime, so that the test needn't wait for thirty seconds.
const LEASE_TTL: u64 = 15;

async fn wait_until_unused(edge: &Edge, account: &Account, started: u64) {
    let deadline = Instant::now() + Duration::from_secs(LEASE_TTL + 5);
    while account.email_checks().await.used_today > 0 {
        assert!(Instant::now() < deadline, "{:?}", edge.leases(&account.email).await);
        sleep(Duration::from_millis(100)).await;
    }
    println!("quota back {} s after the last check began", clock::now() - started);
}

#[tokio::test]
async fn of_a_hundred_clients_that_leave_each_is_charged_once() {
    let _turn = turn().await;
    const CLIENTS: usize = 100;
    let origin = FakeOrigin::by_name();
    let edge = Edge::builder().origins(&[&origin.url]).var("LEASE_TTL_SECONDS", "15");
    let edge = edge.start().await.unwrap();
    let account = edge.account().await;
    edge.set(&account.email, "plan = 'pro'").await;
    today().await;
    let mut clients = Vec::new();
    for n in 0..CLIENTS {
        let address = format!("held-{n}@faults.example");
        clients.push(AbortingClient::check(&edge.direct, &account, &address).await.unwrap());
    }
    for n in 0..CLIENTS {
        origin.wait_for_probe(&format!("held-{n}@faults.example")).await;
    }
    assert_eq!(account.check("ok-1@faults.example").await.status, 429, "a hundred are in flight");
    clients.into_iter().for_each(|client| client.abort().unwrap());
    for n in 0..CLIENTS {
        let address = format!("held-{n}@faults.example");
        origin.release(&address, Conduct::Verdict(Status::Accepted));
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    while charged(&edge, &account).await < CLIENTS as u64 {
        assert!(Instant::now() < deadline, "{:?}", edge.leases(&account.email).await);
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(account.check("ok-1@faults.example").await.status, 200);
    assert_eq!(account.email_checks().await.used_today, 101);
    assert_eq!(edge.leases(&account.email).await, NONE);
}

#[tokio::test]
async fn a_worker_killed_with_twenty_checks_in_flight_finds_its_ledger_exact() {
    const IN_FLIGHT: usize = 20;
    let origin = FakeOrigin::by_name();
    let edge = Edge::builder().origins(&[&origin.url]).var("LEASE_TTL_SECONDS", "15");
    let mut edge = edge.start().await.unwrap();
    let account = edge.account().await;
    edge.set(&account.email, "plan = 'pro'").await;
    today().await;
    for n in 0..5 {
        assert_eq!(account.check(&format!("ok-{n}@faults.example")).await.status, 200);
    }
    let mut checks = Vec::new();
    for n in 0..IN_FLIGHT {
        checks.push(origin.hold(&account, &format!("held-{n}@faults.example")).await);
    }
    let started = clock::now();
    checks.iter().for_each(tokio::task::JoinHandle::abort);
    edge.restart().await.unwrap();
    let used = account.email_checks().await.used_today;
    let leases = edge.leases(&account.email).await;
    assert_eq!((leases.len(), charged(&edge, &account).await), (IN_FLIGHT, 5));
    assert!((5..=25).contains(&used), "{used}");
    assert_eq!(account.check("ok-1@faults.example").await.body["cached"], true, "remembered");
    assert_eq!(account.check("ok-new@faults.example").await.status, 200);
    edge.set(&account.email, "daily_charged = daily_charged - 7").await;
    wait_until_unused(&edge, &account, started).await;
    assert_eq!(charged(&edge, &account).await, 0, "7 answers, 7 charges");
}
