//! Identical checks one after the other and at the same time: one probe, and each answer charged.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use rcpt_shared::Status;
use rcpt_tests::{AbortingClient, Account, Conduct, Edge, FakeOrigin, Reply};
use serde_json::{Value, json};
use tokio::{
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep},
};

const SOON: Duration = Duration::from_secs(20);

async fn edge(origin: &FakeOrigin) -> Edge {
    let edge = Edge::builder().origins(&[&origin.url]).var("UPSTREAM_BUDGET_MS", "30000");
    edge.var("LEASE_TTL_SECONDS", "120").start().await.unwrap()
}

fn accepted(address: &str, cached: bool) -> Value {
    json!({ "email": address, "verdict": "deliverable", "status": true, "cached": cached })
}

/// Waits until this many checks of the account hold a lease, which they get after the look-up in the cache.
async fn wait_for_leases(edge: &Edge, account: &Account, count: usize) {
    let deadline = Instant::now() + SOON;
    loop {
        let leases = edge.leases(&account.email).await;
        if leases.len() == count {
            return;
        }
        assert!(Instant::now() < deadline, "{} leases instead of {count}", leases.len());
        sleep(Duration::from_millis(20)).await;
    }
}

fn start(account: &Account, address: &str) -> JoinHandle<Reply> {
    let (account, address) = (account.clone(), address.to_owned());
    tokio::spawn(async move { account.check(&address).await })
}

#[tokio::test]
async fn a_check_right_after_an_identical_one_is_cached_a_hundred_times() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = edge(&origin).await;
    let account = edge.account().await;
    edge.set(&account.email, "plan = 'pro'").await;
    let mut pairs = JoinSet::new();
    for n in 0..100 {
        let account = account.clone();
        pairs.spawn(async move {
            let address = format!("again-{n}@repeats.example");
            let first = account.check(&address).await;
            assert_eq!(first.parts(), (200, &accepted(&address, false)));
            let second = account.check(&address).await;
            assert_eq!(second.parts(), (200, &accepted(&address, true)));
        });
    }
    pairs.join_all().await;
    assert_eq!(origin.probes().len(), 100);
    assert_eq!(account.email_checks().await.used_today, 200);
}

#[tokio::test]
async fn identical_checks_at_the_same_time_cost_one_probe_and_each_answer_is_charged() {
    const AT_ONCE: usize = 20;
    let origin = FakeOrigin::start(|_| Conduct::Hold);
    let edge = edge(&origin).await;
    let [account, other] = [edge.account().await, edge.account().await];
    for account in [&account, &other] {
        edge.set(&account.email, "plan = 'pro'").await;
    }
    let address = "crowd@repeats.example";
    let mut checks = vec![origin.hold(&account, address).await];
    checks.extend((1..AT_ONCE).map(|_| start(&account, address)));
    checks.extend((0..AT_ONCE).map(|_| start(&other, address)));
    for account in [&account, &other] {
        wait_for_leases(&edge, account, AT_ONCE).await;
    }
    origin.release(address, Conduct::Verdict(Status::Accepted));
    for check in checks {
        assert_eq!(check.await.unwrap().parts(), (200, &accepted(address, false)));
    }
    assert_eq!(origin.probes_of(address), 1);
    for account in [&account, &other] {
        assert_eq!(account.email_checks().await.used_today, 20);
        let row = edge.row(&account.email, "daily_charged").await;
        assert_eq!(row, json!({ "daily_charged": 20 }));
        wait_for_leases(&edge, account, 0).await;
    }
    assert_eq!(account.check(address).await.parts(), (200, &accepted(address, true)));
}

#[tokio::test]
async fn checks_of_different_addresses_do_not_wait_for_each_other() {
    let origin = FakeOrigin::start(|address| {
        if address.starts_with("held") { Conduct::Hold } else { Conduct::Verdict(Status::Refused) }
    });
    let edge = edge(&origin).await;
    let account = edge.account().await;
    let held_check = origin.hold(&account, "held@repeats.example").await;
    let reply = account.check("Held@repeats.example").await;
    assert_eq!((reply.status, &reply.body["status"]), (200, &json!(false)), "another local part");
    origin.release("held@repeats.example", Conduct::Verdict(Status::Accepted));
    assert_eq!(held_check.await.unwrap().status, 200);
}

#[tokio::test]
async fn when_the_client_of_the_one_who_asks_leaves_its_verdict_serves_the_others() {
    let origin = FakeOrigin::start(|_| Conduct::Hold);
    let edge = edge(&origin).await;
    let account = edge.account().await;
    let address = "left@repeats.example";
    let leaves = AbortingClient::check(&edge.direct, &account, address).await.unwrap();
    origin.wait_for_probe(address).await;
    let stays = [start(&account, address), start(&account, address)];
    wait_for_leases(&edge, &account, 3).await;
    leaves.abort().unwrap();
    origin.release(address, Conduct::Verdict(Status::Accepted));
    for check in stays {
        assert_eq!(check.await.unwrap().parts(), (200, &accepted(address, false)));
    }
    assert_eq!(origin.probes_of(address), 1);
    wait_for_leases(&edge, &account, 0).await;
    let row = edge.row(&account.email, "daily_charged").await;
    assert_eq!(row, json!({ "daily_charged": 3 }), "the one that left too");
}

#[tokio::test]
async fn a_failure_is_not_shared() {
    let request_count = AtomicUsize::new(0);
    let origin = FakeOrigin::start(move |_| match request_count.fetch_add(1, Ordering::Relaxed) {
        0 => Conduct::Hold,
        _ => Conduct::Verdict(Status::Accepted),
    });
    let edge = edge(&origin).await;
    let account = edge.account().await;
    let address = "fails@repeats.example";
    let first = origin.hold(&account, address).await;
    let others = [start(&account, address), start(&account, address)];
    wait_for_leases(&edge, &account, 3).await;
    origin.release(address, Conduct::Answer(500, "{}"));
    assert_eq!(first.await.unwrap().status, 502);
    for check in others {
        assert_eq!(check.await.unwrap().status, 200);
    }
    assert_eq!(origin.probes_of(address), 2);
    assert_eq!(account.email_checks().await.used_today, 2);
}
