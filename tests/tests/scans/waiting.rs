//! Scans that wait for mail servers: for how long, which scans may run meanwhile, and what happens
//! to failing messages.

use rcpt_tests::{
    Account, Edge, Stack,
    service::{clock, shim::Fault},
};
use serde_json::{Value, json};

use tokio::time::{Instant, sleep};

use super::{LIMIT, LOOK, ended, results, show, start, wait_for};

fn at(scan: &Value, member: &str) -> i64 {
    let text = scan[member].as_str().unwrap_or_else(|| panic!("no {member}: {scan}"));
    chrono::DateTime::parse_from_rfc3339(text).unwrap().timestamp()
}

#[tokio::test]
async fn sandbox_addresses_that_wait_are_settled_within_half_a_minute() {
    let stack = Stack::start().await;
    let ann = stack.edge.account().await;
    let list = ["greylisted@sandbox.test".to_owned(), "accepts@sandbox.test".to_owned()];
    let id = start(&ann, &list, false).await;
    let scan = wait_for(&ann, &id, |scan| scan["waiting"] == 1).await;
    let seconds_left = scan["estimated_seconds_left"].as_u64().unwrap();
    assert!((1..=15).contains(&seconds_left), "{scan}");
    let scan = ended(&ann, &id).await;
    assert_eq!((&scan["state"], &scan["answered"]), (&json!("completed"), &json!(2)));
    assert_eq!((&scan["next_retry_at"], &scan["retries_until"]), (&Value::Null, &Value::Null));
    assert!(at(&scan, "completed_at") - at(&scan, "created_at") <= 60, "{scan}");
    let all = results(&ann, &id, 10).await;
    assert_eq!(
        (&all[0]["status"], &all[0]["final"]),
        (&json!("blocked_by_provider"), &json!(true))
    );
}

#[tokio::test]
async fn the_time_left_follows_what_is_due() {
    let stack = Stack::start().await;
    let ann = stack.edge.account().await;
    let list = ["greylisted@later.test".to_owned(), "accepts@sandbox.test".to_owned()];
    let id = start(&ann, &list, false).await;
    let scan = wait_for(&ann, &id, |scan| scan["waiting"] == 1).await;
    let now = i64::try_from(clock::now()).unwrap();
    // The server defers `greylisted` for five minutes; the waits before the three retries are 5, 20 and 60 minutes.
    let near = |member: &str, seconds: i64| {
        let off = at(&scan, member) - now - seconds;
        assert!((-60..=1).contains(&off), "{member} is {off} s off: {scan}");
    };
    near("next_retry_at", 300);
    near("retries_until", 300 + 4 * 3600 + 4 * 3600);
    let seconds_left = scan["estimated_seconds_left"].as_i64().unwrap();
    assert!((5040..=5100).contains(&seconds_left), "5, 20 and 60 minutes: {scan}");
    let listed = ann.get("/scans").await.body["scans"][0].clone();
    assert_eq!(listed["retries_until"], scan["retries_until"]);
    let cancelled = ann.post(&format!("/scans/{id}/cancel"), &json!({})).await.body;
    for member in ["estimated_seconds_left", "next_retry_at", "retries_until"] {
        assert_eq!(cancelled[member], Value::Null, "{member}");
    }
    assert_eq!(stack.edge.sql("SELECT * FROM scan_retries", &[]).await, [] as [Value; 0]);

    let open = ann.post("/scans", &json!({ "total": 3 })).await.body;
    assert_eq!(open["estimated_seconds_left"], Value::Null, "parts are missing");
}

/// Starts a scan of one address whose server asks for a later retry.
async fn waiting_scan(account: &Account, address: &str) -> String {
    let id = start(account, &[address.to_owned()], false).await;
    wait_for(account, &id, |scan| scan["waiting"] == 1).await;
    id
}

/// Waits until the consumer has logged this outcome.
async fn logged(edge: &Edge, outcome: &str) {
    let deadline = Instant::now() + LIMIT;
    while !edge.process.log().contains(&format!("\"outcome\":\"{outcome}\"")) {
        assert!(Instant::now() < deadline, "no message with outcome {outcome}");
        sleep(LOOK).await;
    }
}

#[tokio::test]
async fn up_to_three_scans_wait_beside_one_that_runs_and_a_retry_takes_its_place_or_queues() {
    let stack = Stack::builder().shimmed().edge_var("SCAN_RETRY_SECONDS", "10,3600").start().await;
    let edge = &stack.edge;
    let ann = edge.account().await;
    edge.set(&ann.email, "scan_credits = 9").await;
    let rounds =
        async || edge.sql("SELECT round FROM scan_results WHERE round > 0", &[]).await.len();
    // The first scan is retried after ten seconds.
    let first = waiting_scan(&ann, "ratelimited@later.test").await;

    // A second scan counts as running because addresses are missing, so the retry is queued and no server is contacted.
    let running = ann.post("/scans", &json!({ "total": 2 })).await;
    assert_eq!(running.status, 201, "{}", running.body);
    let again = ann.post("/scans", &json!({ "total": 2 })).await;
    again.assert_error(409, "too_many_scans", "one runs");
    logged(edge, "no place").await;
    assert_eq!((rounds().await, &show(&ann, &first).await["waiting"]), (0, &json!(1)));

    // Once the running scan has ended, the queued message is processed.
    let id = running.text("id");
    assert_eq!(ann.post(&format!("/scans/{id}/cancel"), &json!({})).await.status, 200);
    let message = edge.queue_messages().await.pop().unwrap();
    let queued: Value = serde_json::from_str(message.as_str().unwrap()).unwrap();
    assert_eq!(queued["misses"], 0, "no origin was asked, so none was full");
    edge.deliver(&[message]).await;
    assert_eq!((rounds().await, &show(&ann, &first).await["waiting"]), (1, &json!(1)));

    // Three more scans wait, so a fifth isn't accepted.
    for tag in 1..4 {
        waiting_scan(&ann, &format!("greylisted+{tag}@later.test")).await;
    }
    let fifth = ann.post("/scans", &json!({ "total": 2 })).await;
    fifth.assert_error(409, "too_many_scans", "four are under way");
    assert_eq!(
        ann.quota().await.body["scans"]["used_today"],
        1,
        "the number of a day is as before"
    );
    assert_eq!(ann.quota().await.body["scans"]["credits"], 6, "and the credits");
}

#[tokio::test]
async fn messages_that_fail_for_any_reason_come_again_later_and_are_not_dropped() {
    let stack = Stack::builder().shimmed().start().await;
    let ann = stack.edge.account().await;
    stack.edge.counts().await;
    let lost = Fault { part: "queue", times: 1, swallow: true, ..Fault::default() };
    stack.edge.fail(&[lost]).await;
    start(&ann, &["accepts@sandbox.test".to_owned()], false).await;
    let messages = stack.edge.queue_messages().await;
    let down = Fault { part: "d1", times: 1_000, error: "down", ..Fault::default() };
    stack.edge.fail(&[down]).await;
    let outcome = stack.edge.deliver(&messages).await;
    stack.edge.fail(&[]).await;
    let retries = |outcome: &Value| {
        assert_eq!(outcome["outcome"], "ok", "{outcome}");
        outcome["retryMessages"][0]["delaySeconds"].as_u64()
    };
    assert_eq!(retries(&outcome), Some(30), "{outcome}");

    let broken = Edge::builder().var("HOMES", "*:99").start().await.unwrap();
    let health = broken.anonymous().get("/health").await;
    assert_eq!(health.status, 503, "{}", health.body);
    let outcome = broken.deliver(&messages).await;
    assert_eq!(retries(&outcome), Some(30), "{outcome}");
}
