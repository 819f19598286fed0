//! Scans that wait for mail servers: for how long, which scans may run meanwhile, and what happens
//! to failing messages.

use rcpt_tests::{
    Account, Edge, Stack,
    service::{clock, shim::Fault},
};
use serde_json::{Value, json};

use tokio::time::{Instant, sleep};

use super::{LIMIT, LOOK, assert_adds_up, ended, results, show, start, wait_for};

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
async fn sandbox_addresses_for_our_own_failures_end_as_such_within_half_a_minute() {
    let stack = Stack::start().await;
    let ann = stack.edge.account().await;
    let ours = ["http_429", "http_502", "http_503", "our_limit", "fatal_exception", "dns_failure"];
    let others = ["unavailable", "ratelimited", "accepts"];
    let list = ours.iter().chain(&others).map(|name| format!("{name}@sandbox.test"));
    let id = start(&ann, &list.collect::<Vec<_>>(), true).await;
    let scan = wait_for(&ann, &id, |scan| scan["waiting"] == 8).await;
    assert!(scan["estimated_seconds_left"].as_u64().unwrap() <= 20, "{scan}");
    let scan = ended(&ann, &id).await;
    let duration = at(&scan, "completed_at") - at(&scan, "created_at");
    assert!(duration <= 45, "half a minute, on a busy machine: {duration} s");
    let all = results(&ann, &id, 100).await;
    assert_adds_up(&scan, &all);
    for (result, name) in all.iter().zip(ours) {
        let reason = if name == "dns_failure" { name } else { "our_limit" };
        let told = (&result["status"], &result["reason"], &result["verdict"]);
        assert_eq!(told, (&json!("fatal_exception"), &json!(reason), &json!("unknown")), "{name}");
    }
    assert_eq!(scan["counts"]["true"], 1, "{scan}");
    let used = async || ann.quota().await.body["scans"]["used_today"].clone();
    assert_eq!(used().await, 1, "something was answered");

    // Where nothing is, the day's scan is given back.
    stack.edge.set(&ann.email, "scan_credits = 1").await;
    let list = ["our_limit@sandbox.test".to_owned(), "no address".to_owned()];
    let id = start(&ann, &list, false).await;
    assert_eq!(ann.quota().await.body["scans"]["credits"], 0);
    let scan = ended(&ann, &id).await;
    assert_eq!(
        (&scan["state"], &scan["counts"]["fatal_exception"]),
        (&json!("completed"), &json!(1))
    );
    assert_eq!((used().await, &ann.quota().await.body["scans"]["credits"]), (json!(1), &json!(1)));
}

const HOUR: i64 = 3_600;

/// Lets the scan's last progress, and the times of its retries, be older by these seconds.
async fn let_pass(edge: &Edge, id: &str, seconds: i64) {
    for sql in [
        "UPDATE scans SET progress_at = progress_at - ? WHERE id = ?",
        "UPDATE scan_retries SET due_at = due_at - ? WHERE scan_id = ?",
    ] {
        edge.sql(sql, &[json!(seconds), json!(id)]).await;
    }
}

#[tokio::test]
async fn while_no_origin_can_be_reached_a_scan_says_what_it_waits_for_and_holds_no_place() {
    let mut stack = Stack::start().await;
    stack.origin.kill();
    let ann = stack.edge.account().await;
    stack.edge.set(&ann.email, "scan_credits = 3").await;
    let list =
        ["accepts@sandbox.test", "no address", "accepts+2@sandbox.test", "accepts@sandbox.test"];
    let list = list.map(str::to_owned);
    let id = start(&ann, &list, false).await;
    let scan = wait_for(&ann, &id, |scan| scan["waiting"] == 3).await;
    let now = i64::try_from(clock::now()).unwrap();
    assert_eq!((&scan["state"], &scan["answered"]), (&json!("running"), &json!(1)), "{scan}");
    assert_eq!(scan["estimated_seconds_left"], Value::Null, "nothing is known of the pace");
    assert!((-5..=31).contains(&(at(&scan, "next_retry_at") - now)), "{scan}");
    assert_eq!(at(&scan, "retries_until") - at(&scan, "created_at"), 24 * HOUR);
    // Its place is free: another scan can start, and wait beside it.
    let other = start(&ann, &list, false).await;
    wait_for(&ann, &other, |scan| scan["waiting"] == 3).await;
    // The owner who gives up gets the scan back: nothing about an address was answered.
    let used = async || {
        let scans = ann.quota().await.body["scans"].clone();
        (scans["used_today"].clone(), scans["credits"].clone())
    };
    assert_eq!(used().await, (json!(1), json!(2)));
    let cancelled = ann.post(&format!("/scans/{other}/cancel"), &json!({})).await.body;
    assert_eq!((&cancelled["state"], &cancelled["waiting"]), (&json!("cancelled"), &json!(0)));
    assert_eq!(used().await, (json!(1), json!(3)));

    // It ends after two hours without progress, and is given back.
    let_pass(&stack.edge, &id, 2 * HOUR - 60).await;
    stack.edge.run_scheduled().await;
    assert_eq!(show(&ann, &id).await["state"], "running");
    let_pass(&stack.edge, &id, 60).await;
    stack.edge.run_scheduled().await;
    let scan = show(&ann, &id).await;
    assert_eq!(
        (&scan["state"], &scan["counts"]["fatal_exception"]),
        (&json!("expired"), &json!(3)),
        "{scan}"
    );
    assert_adds_up(&scan, &results(&ann, &id, 10).await);
    assert_eq!(used().await, (json!(0), json!(3)));

    // An origin that comes back is asked.
    let id = start(&ann, &list, false).await;
    wait_for(&ann, &id, |scan| scan["waiting"] == 3).await;
    stack.origin.restart().await.unwrap();
    let scan = ended(&ann, &id).await;
    assert_eq!(
        (&scan["state"], &scan["counts"]["true"]),
        (&json!("completed"), &json!(3)),
        "{scan}"
    );
    assert_eq!(used().await, (json!(1), json!(3)));
}

#[tokio::test]
async fn a_scan_that_servers_keep_waiting_has_not_stalled() {
    let stack = Stack::start().await;
    let ann = stack.edge.account().await;
    let id = waiting_scan(&ann, "greylisted@later.test").await;
    let due = "UPDATE scan_retries SET due_at = unixepoch() + ? WHERE scan_id = ?";
    // Due in an hour; due for almost two hours, while it waits for its place.
    for (since, due_in) in [(5 * HOUR, HOUR), (5 * HOUR, 60 - 2 * HOUR)] {
        let progress = "UPDATE scans SET progress_at = unixepoch() - ? WHERE id = ?";
        stack.edge.sql(progress, &[json!(since), json!(id)]).await;
        stack.edge.sql(due, &[json!(due_in), json!(id)]).await;
        stack.edge.run_scheduled().await;
        assert_eq!(show(&ann, &id).await["state"], "running", "{due_in}");
    }
    // Its message was lost.
    stack.edge.sql(due, &[json!(-2 * HOUR), json!(id)]).await;
    stack.edge.run_scheduled().await;
    let scan = show(&ann, &id).await;
    assert_eq!(
        (&scan["state"], &scan["counts"]["blocked_by_provider"]),
        (&json!("completed"), &json!(1)),
        "{scan}"
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
