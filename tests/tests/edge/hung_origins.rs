//! A slow origin isn't hung: the edge abandons an origin only if it is also silent at `/health`.

use std::time::Duration;

use rcpt_shared::Status;
use rcpt_tests::{Account, Conduct, Edge, FakeOrigin, process::turn};
use serde_json::json;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

/// Time until a hung origin is abandoned: two seconds without a verdict, plus one of silence at `/health`.
const LEFT_AFTER: Duration = Duration::from_secs(3);
/// Tolerance for a machine with much to do, far below the budget.
const SLACK: Duration = Duration::from_secs(30);
const BUDGET_MS: &str = "60000";

fn silent() -> FakeOrigin {
    let origin = FakeOrigin::start(|_| Conduct::Silence);
    origin.hang(true);
    origin
}

fn fine() -> FakeOrigin {
    FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted))
}

/// Number of domains: enough that each of two origins is the first choice for some domains, whatever the ports.
const DOMAINS: usize = 24;

async fn edge(origins: &[&FakeOrigin]) -> (Edge, Account) {
    let urls: Vec<_> = origins.iter().map(|origin| origin.url.as_str()).collect();
    let edge = Edge::builder().origins(&urls).var("UPSTREAM_BUDGET_MS", BUDGET_MS);
    let edge = edge.var("LEASE_TTL_SECONDS", "300").start().await.unwrap();
    let account = account(&edge).await;
    (edge, account)
}

/// Creates an account whose plan allows enough concurrent checks.
async fn account(edge: &Edge) -> Account {
    let account = edge.account().await;
    edge.set(&account.email, "plan = 'unlimited'").await;
    account
}

/// Checks these addresses concurrently; all must get a verdict. Returns the longest time.
async fn check_all(account: &Account, addresses: Vec<String>) -> Duration {
    let started = Instant::now();
    let mut checks = JoinSet::new();
    for address in addresses {
        let account = account.clone();
        checks.spawn(async move {
            let reply = account.check(&address).await;
            let expected = json!({ "email": address, "verdict": "deliverable", "status": true, "cached": false });
            assert_eq!(reply.parts(), (200, &expected));
        });
    }
    checks.join_all().await;
    started.elapsed()
}

fn addresses(local: &str) -> Vec<String> {
    (0..DOMAINS).map(|n| format!("{local}@domain-{n}.example")).collect()
}

#[tokio::test]
async fn a_hung_origin_is_left_after_three_seconds_and_then_skipped() {
    let (hung, other) = (silent(), fine());
    let (_edge, account) = edge(&[&hung, &other]).await;

    let took = check_all(&account, addresses("first")).await;
    let request_count = hung.probes().len();
    assert!((1..DOMAINS).contains(&request_count), "both have some domains: {request_count}");
    assert!(took >= LEFT_AFTER && took < LEFT_AFTER + SLACK, "{took:?}");
    assert_eq!(hung.health_checks(), 2, "one check of two questions for all that waited");
    assert_eq!(other.health_checks(), 0, "it was quick");

    let took = check_all(&account, addresses("second")).await;
    assert!(took < LEFT_AFTER + SLACK, "{took:?}");
    assert_eq!(hung.probes().len(), request_count, "it is not asked any more");
    assert_eq!(hung.health_checks(), 2, "nor waited for");
}

#[tokio::test]
async fn a_slow_mail_server_does_not_make_an_origin_look_hung() {
    let tarpit = FakeOrigin::start(|_| Conduct::Hold);
    let other = FakeOrigin::start(|_| Conduct::Hold);
    // A single lost packet isn't silence.
    tarpit.lose_health_checks(1);
    let (_edge, account) = edge(&[&tarpit, &other]).await;
    let slow = addresses("slow");
    let checks = tokio::spawn({
        let (account, slow) = (account.clone(), slow.clone());
        async move { check_all(&account, slow).await }
    });
    // Waits for two answered health checks at each origin; the tarpit loses the first, which is repeated.
    while tarpit.health_checks() < 3 || other.health_checks() < 2 {
        assert!(!checks.is_finished(), "the checks ended without a verdict");
        sleep(Duration::from_millis(50)).await;
    }
    for address in &slow {
        tarpit.release(address, Conduct::Verdict(Status::Accepted));
        other.release(address, Conduct::Verdict(Status::Accepted));
    }
    let took = checks.await.unwrap();
    assert!(took >= LEFT_AFTER, "{took:?}");
    for address in &slow {
        let request_count = tarpit.probes_of(address) + other.probes_of(address);
        assert_eq!(request_count, 1, "{address} stayed where it was");
    }
}

#[tokio::test]
async fn a_busy_worker_s_own_delay_is_not_an_origin_s_silence() {
    const STALL: Duration = Duration::from_millis(1_500);
    let _turn = turn().await;
    let held_at_first = || {
        FakeOrigin::start(|address| match address.split_once('@') {
            Some(("starved", _)) => Conduct::Hold,
            _ => Conduct::Verdict(Status::Accepted),
        })
    };
    let (one, other) = (held_at_first(), held_at_first());
    let edge = Edge::builder().origins(&[&one.url, &other.url]).shimmed().start().await.unwrap();
    let account = account(&edge).await;
    let held_addresses = addresses("starved");
    let checks = tokio::spawn({
        let (account, held_addresses) = (account.clone(), held_addresses.clone());
        async move { check_all(&account, held_addresses).await }
    });
    for address in &held_addresses {
        while one.probes_of(address) + other.probes_of(address) == 0 {
            sleep(Duration::from_millis(10)).await;
        }
    }
    // Keeps the isolate busy while both origins get a health check and answer it immediately.
    for _ in 0..3 {
        edge.keep_busy(STALL).await;
    }
    while one.health_checks() == 0 || other.health_checks() == 0 {
        assert!(!checks.is_finished(), "the checks ended without a verdict");
        sleep(Duration::from_millis(10)).await;
    }
    for address in &held_addresses {
        one.release(address, Conduct::Verdict(Status::Accepted));
        other.release(address, Conduct::Verdict(Status::Accepted));
    }
    checks.await.unwrap();
    for address in &held_addresses {
        assert_eq!(one.probes_of(address) + other.probes_of(address), 1, "{address} has moved");
    }
    let request_count = (one.probes().len(), other.probes().len());
    check_all(&account, addresses("after")).await;
    let asked_again =
        (one.probes().len() - request_count.0, other.probes().len() - request_count.1);
    assert_eq!(asked_again, request_count, "neither comes last");
}

#[tokio::test]
async fn the_only_origin_being_hung_is_502_after_three_seconds_and_it_is_asked_again() {
    let origin = silent();
    let (edge, account) = edge(&[&origin]).await;
    for (n, least) in [LEFT_AFTER, Duration::from_secs(2)].into_iter().enumerate() {
        let started = Instant::now();
        let reply = account.check(&format!("x@only-{n}.example")).await;
        let took = started.elapsed();
        assert_eq!(reply.status, 502, "{}", reply.body);
        assert!(took >= least && took < least + SLACK, "{took:?}");
        assert_eq!(origin.probes().len(), n + 1, "there is no other to ask");
    }
    assert_eq!(edge.leases(&account.email).await.len(), 0);
}

#[tokio::test]
async fn an_origin_that_never_gives_its_verdict_leaves_time_for_the_next() {
    let stuck = FakeOrigin::start(|_| Conduct::Silence);
    let other = fine();
    let edge = Edge::builder().origins(&[&stuck.url, &other.url]);
    // An eighth of the budget, 2.5 s, is left for the next origin, which suffices on a busy machine.
    let edge = edge.var("UPSTREAM_BUDGET_MS", "20000").var("LEASE_TTL_SECONDS", "40");
    let edge = edge.start().await.unwrap();
    let account = account(&edge).await;
    check_all(&account, addresses("stuck")).await;
    assert!(!stuck.probes().is_empty(), "some domains asked it first");
}
