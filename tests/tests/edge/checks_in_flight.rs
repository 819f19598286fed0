//! No free probes and no hoarding: an abandoned check is charged, no account exceeds its share of checks, and repeated
//! rejections cost D1 nothing.

use std::time::Duration;

use rcpt_shared::Status;
use rcpt_tests::{
    AbortingClient, Account, Conduct, Edge, FakeOrigin,
    service::{
        clock::{self, today},
        shim::Fault,
    },
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

async fn start_with_held_probes() -> (Edge, FakeOrigin) {
    let origin = FakeOrigin::start(|_| Conduct::Hold);
    let edge = Edge::builder().origins(&[&origin.url]).shimmed().start().await.unwrap();
    (edge, origin)
}

async fn wait_until_used(account: &Account, used: i64) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let now = account.email_checks().await.used_today;
        if now == used {
            return;
        }
        assert!(Instant::now() < deadline, "{now} used, expected {used}");
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn an_account_holds_no_more_checks_than_its_plan_allows_and_the_others_cost_nothing() {
    let (edge, origin) = start_with_held_probes().await;
    let account = edge.account().await;
    let address = |n| format!("held-{n}@flight.example");
    let mut checks = Vec::new();
    for n in 0..10 {
        checks.push(origin.hold(&account, &address(n)).await);
    }
    let reply = account.check(&address(10)).await;
    assert_eq!(reply.status, 429, "{}", reply.body);
    assert_eq!(reply.header("retry-after"), "1");
    assert_eq!(reply.body["code"], "too_many_in_flight");
    assert_eq!(reply.body["detail"]["limit"], "email check");
    let resets_at = reply.body["detail"]["resets_at"].as_str().unwrap();
    assert!(reply.body["detail"]["error"].as_str().unwrap().contains(resets_at), "{}", reply.body);
    assert_eq!(origin.probes_of(&address(10)), 0);
    assert_eq!(account.email_checks().await.used_today, 10);
    for (n, check) in checks.into_iter().enumerate() {
        origin.release(&address(n), Conduct::Verdict(Status::Accepted));
        assert_eq!(check.await.unwrap().status, 200);
    }
    origin.release(&address(10), Conduct::Verdict(Status::Accepted));
    assert_eq!(account.check(&address(10)).await.status, 200, "there is room again");
    assert_eq!(account.email_checks().await.used_today, 11);
}

#[tokio::test]
async fn a_check_whose_client_leaves_is_charged_once_and_cached() {
    let (edge, origin) = start_with_held_probes().await;
    let account = edge.account().await;
    for n in 0..3 {
        let address = format!("left-{n}@flight.example");
        let leaver = AbortingClient::check(&edge.direct, &account, &address).await.unwrap();
        origin.wait_for_probe(&address).await;
        leaver.abort().unwrap();
        sleep(Duration::from_millis(300)).await;
        origin.release(&address, Conduct::Verdict(Status::Accepted));
        let charged = format!("daily_charged = {}", n + 1);
        let deadline = Instant::now() + Duration::from_secs(60);
        while edge.row(&account.email, "daily_charged").await["daily_charged"] != json!(n + 1) {
            assert!(Instant::now() < deadline, "{charged}");
            sleep(Duration::from_millis(50)).await;
        }
        wait_until_used(&account, n + 1).await;
        let reply = account.check(&address).await;
        assert_eq!((reply.status, &reply.body["cached"]), (200, &json!(true)), "{}", reply.body);
        edge.set(&account.email, &charged).await;
        assert_eq!(origin.probes_of(&address), 1);
    }
}

#[tokio::test]
async fn a_replaced_key_is_looked_up_once_and_then_known_to_be_dead() {
    let (edge, _origin) = start_with_held_probes().await;
    let account = edge.account().await;
    assert_eq!(account.rotate_api_key().await.status, 200);
    assert_eq!(account.check("no address").await.status, 401);
    // The email about the rotation is sent after the response.
    let deadline = Instant::now() + Duration::from_secs(60);
    while edge.sql("SELECT kind FROM notices WHERE told = deeds", &[]).await.is_empty() {
        assert!(Instant::now() < deadline, "never mailed");
        sleep(Duration::from_millis(50)).await;
    }
    edge.counts().await;
    for _ in 0..20 {
        let reply = account.check("no address").await;
        assert_eq!(
            reply.parts(),
            (401, &json!({ "detail": { "error": "Invalid API key." }, "code": "invalid_api_key" }))
        );
    }
    assert_eq!(edge.counts().await.d1_trips, 0);
}

#[tokio::test]
async fn a_used_up_account_is_looked_up_once_in_ten_seconds() {
    let (edge, _origin) = start_with_held_probes().await;
    let account = edge.account().await;
    let today = "day = unixepoch() / 86400, daily_charged = 100, welcome_left = 0";
    edge.set(&account.email, today).await;
    assert_eq!(account.check("no address").await.status, 429);
    edge.counts().await;
    let begun = Instant::now();
    for _ in 0..20 {
        assert_eq!(account.check("no address").await.status, 429);
    }
    let (trips, windows) = (edge.counts().await.d1_trips, begun.elapsed().as_secs() / 10);
    assert!(trips <= windows, "{trips} in {:?}", begun.elapsed());
    edge.set(&account.email, "daily_charged = 99").await;
    let deadline = Instant::now() + Duration::from_secs(60);
    while account.check("no address").await.status != 200 {
        assert!(Instant::now() < deadline, "never asked again");
        sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn a_used_up_allowance_does_not_answer_for_another_credential_of_the_account() {
    let (edge, _origin) = start_with_held_probes().await;
    let account = edge.account().await;
    edge.set(&account.email, "day = unixepoch() / 86400, daily_charged = 100, welcome_left = 0")
        .await;
    assert_eq!(account.check("no address").await.status, 429);
    assert_eq!(account.rotate_api_key().await.status, 200);
    // For some seconds, the isolate remembers that no unit is left; only then is the replaced key rejected.
    let deadline = Instant::now() + Duration::from_secs(60);
    while account.check("no address").await.status != 401 {
        assert!(Instant::now() < deadline, "the replaced key is never refused");
        sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn a_charge_whose_reply_was_lost_is_not_charged_again() {
    let (edge, _origin) = start_with_held_probes().await;
    let account = edge.account().await;
    let lost = Fault {
        part: "d1",
        statements: &["update accounts"],
        times: 1,
        error: "D1_ERROR: injected",
        late: true,
        ..Fault::default()
    };
    edge.fail(&[lost]).await;
    assert_eq!(account.check("no address").await.status, 200);
    assert_eq!(account.email_checks().await.used_today, 1);
}

#[tokio::test]
async fn when_the_client_leaves_or_the_worker_dies_the_units_come_back_with_the_end_of_the_lease() {
    // The shortest configurable lifetime, so that the test needn't wait for thirty seconds.
    const LEASE: u64 = 15;
    let origin = FakeOrigin::start(|_| Conduct::Hold);
    let edge = Edge::builder().origins(&[&origin.url]).var("LEASE_TTL_SECONDS", LEASE.to_string());
    let mut edge = edge.start().await.unwrap();
    let account = edge.account().await;
    today().await;
    let leaves = origin.hold(&account, "leaves@example.org").await;
    leaves.abort();
    let dies = origin.hold(&account, "dies@example.org").await;
    let leases = edge.leases(&account.email).await;
    let expiries = leases.iter().filter_map(|lease| lease["expires_at"].as_u64());
    let last = expiries.max().expect("a lease");
    assert!(last <= clock::now() + LEASE, "{leases:?}");
    dies.abort();
    edge.restart().await.unwrap();
    assert_eq!(edge.row(&account.email, "daily_charged").await, json!({ "daily_charged": 0 }));

    // On a busy machine, a start can take longer than the lease, so the time before the request is compared.
    loop {
        let asked_at = clock::now();
        if account.email_checks().await.used_today == 0 {
            break;
        }
        assert!(asked_at <= last + 1, "no later than the lease's end");
        sleep(Duration::from_millis(100)).await;
    }
    let row = edge.row(&account.email, "day, daily_charged, welcome_left").await;
    assert_eq!(row, json!({ "day": 0, "daily_charged": 0, "welcome_left": 50 }));
    let open_leases: Vec<Value> = edge.leases(&account.email).await;
    assert!(
        open_leases.iter().all(|lease| lease["expires_at"].as_u64() <= Some(last)),
        "{open_leases:?}"
    );
}
