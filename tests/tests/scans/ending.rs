//! Addresses for which a scan had no time get a verdict that says so (docs/security.md, S8).
//!
//! - After 24 hours, or two without progress, positions without a verdict are `fatal_exception`, the others keep
//!   theirs, and nobody is asked any more.
//! - A scan that can't ask anybody says so and holds no place.

use rcpt_tests::{Stack, service::shim::Fault};
use serde_json::{Value, json};

use super::{assert_adds_up, ended, put, results, show, start, wait_for};

const DAY: u64 = 24 * 60 * 60;

async fn age(stack: &Stack, id: &str) {
    let sql = "UPDATE scans SET created_at = created_at - ? WHERE id = ?";
    stack.edge.sql(sql, &[json!(DAY), json!(id)]).await;
}

#[tokio::test]
async fn after_its_time_the_positions_without_a_verdict_are_fatal_exceptions() {
    let stack = Stack::start().await;
    let ann = stack.edge.account().await;
    stack.edge.set(&ann.email, "plan = 'pro'").await;
    // The second part never arrives; greylisted addresses wait for five minutes.
    let id = ann.post("/scans", &json!({ "total": 1_003 })).await.text("id").to_owned();
    let mut list: Vec<_> = (0..998).map(|n| format!("accepts+{n}@sandbox.test")).collect();
    list.extend(["greylisted@later.test".to_owned(), "no address".to_owned()]);
    assert_eq!(put(&ann, &id, 0, &list).await.status, 200);
    let scan = wait_for(&ann, &id, |scan| scan["answered"] == 999).await;
    assert_eq!((&scan["waiting"], &scan["state"]), (&json!(1), &json!("open")));
    let before = results(&ann, &id, 1_000).await;
    assert_eq!(before.len(), 999, "what waits is not told yet");
    stack.edge.run_scheduled().await;
    assert_eq!(show(&ann, &id).await["state"], "open", "its time is not over");

    age(&stack, &id).await;
    let late = put(&ann, &id, 1, &list[..3]).await;
    late.assert_error(409, "scan_ended", "too late");
    stack.edge.run_scheduled().await;
    let scan = show(&ann, &id).await;
    assert_eq!((&scan["state"], &scan["waiting"]), (&json!("completed"), &json!(0)));
    let all = results(&ann, &id, 1_000).await;
    assert_adds_up(&scan, &all);
    assert_eq!(all[..998], before[..998], "what was answered stands");
    assert_eq!(all[998]["status"], "blocked_by_provider", "the last that was known");
    for lost in &all[1_000..] {
        assert_eq!(lost["status"], "fatal_exception");
    }
    assert_eq!(ann.quota().await.body["completed_scans"], 1);
}

#[tokio::test]
async fn a_scan_of_which_nothing_is_known_expires_and_gives_its_unit_back() {
    let stack = Stack::start().await;
    let ann = stack.edge.account().await;
    let id = ann.post("/scans", &json!({ "total": 5 })).await.text("id").to_owned();
    assert_eq!(ann.quota().await.body["scans"]["used_today"], 1);
    age(&stack, &id).await;
    stack.edge.run_scheduled().await;
    let scan = show(&ann, &id).await;
    assert_eq!(
        (&scan["state"], &scan["counts"]["fatal_exception"]),
        (&json!("expired"), &json!(5))
    );
    let quota = ann.quota().await.body;
    assert_eq!((&quota["scans"]["used_today"], &quota["completed_scans"]), (&json!(0), &json!(0)));
    assert_adds_up(&scan, &results(&ann, &id, 10).await);
}

#[tokio::test]
async fn results_are_removed_a_week_after_the_end() {
    let stack = Stack::start().await;
    let ann = stack.edge.account().await;
    let id = start(&ann, &["no address".to_owned()], false).await;
    let scan = ended(&ann, &id).await;
    assert!(!scan["results_until"].is_null());
    let sql = "UPDATE scans SET ended_at = ended_at - ? WHERE id = ?";
    stack.edge.sql(sql, &[json!(7 * DAY - 60), json!(id)]).await;
    stack.edge.run_scheduled().await;
    assert_eq!(show(&ann, &id).await["state"], "completed");
    stack.edge.sql(sql, &[json!(60), json!(id)]).await;
    stack.edge.run_scheduled().await;
    ann.get(&format!("/scans/{id}")).await.assert_error(404, "no_such_scan", "a week later");
    for table in ["scans", "scan_parts", "scan_results"] {
        let rows = stack.edge.sql(&format!("SELECT * FROM {table}"), &[]).await;
        assert_eq!(rows, Vec::<Value>::new(), "{table}");
    }
}

#[tokio::test]
async fn nobody_is_asked_about_a_scan_that_was_cancelled_or_is_too_old() {
    let stack = Stack::builder().shimmed().start().await;
    let ann = stack.edge.account().await;
    // The queue reports success without the messages, which the test delivers later.
    stack.edge.counts().await;
    let swallow = Fault { part: "queue", times: 1, swallow: true, ..Fault::default() };
    stack.edge.fail(&[swallow]).await;
    let id = start(&ann, &["accepts+marker@sandbox.test".to_owned()], false).await;
    let messages = stack.edge.queue_messages().await;
    assert_eq!(messages.len(), 1);
    let request_count = || stack.sandbox.server().sessions().len();
    let cancelled = ann.post(&format!("/scans/{id}/cancel"), &json!({})).await;
    assert_eq!(cancelled.status, 200);
    stack.edge.deliver(&messages).await;
    assert_eq!(request_count(), 0, "cancelled");
    let back = "UPDATE scans SET ended_at = NULL, state = 'running' WHERE id = ?";
    stack.edge.sql(back, &[json!(id)]).await;
    let text = messages[0].as_str().unwrap();
    let mut old: Value = serde_json::from_str(text).unwrap();
    let since = old["place"]["since"].as_u64().unwrap();
    old["place"]["since"] = json!(since - DAY);
    stack.edge.deliver(&[json!(old.to_string())]).await;
    assert_eq!(request_count(), 0, "too old");
    // A message that was moved to another position can't be decrypted.
    let mut moved: Value = serde_json::from_str(text).unwrap();
    moved["place"]["part"] = json!(1);
    stack.edge.deliver(&[json!(moved.to_string()), json!("junk"), json!({ "no": "text" })]).await;
    assert_eq!((request_count(), show(&ann, &id).await["answered"].clone()), (0, json!(0)));
    stack.edge.deliver(&messages).await;
    assert_eq!(ended(&ann, &id).await["counts"]["true"], 1, "as it was");
}
