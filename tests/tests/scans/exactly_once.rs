//! Every position gets one correct result, whatever fails; and the cost of a scan (docs/security.md, S1 and S4).
//!
//! - S1: 10,000 addresses in the long form, with five kills of the origin and messages that come twice and late. Each
//!   call of a binding fails once before and once after its effect.
//! - S4: at most 40 statements and 24 queue operations for a thousand addresses, and no write to KV.

use std::time::Duration;

use rcpt_tests::{Account, Stack, proof, service::shim::Fault};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{assert_adds_up, ended, put, results, show, start, wait_for};

/// Addresses of every kind that has an immediate final verdict, and their statuses.
fn mixed(count: usize) -> (Vec<String>, Vec<Value>) {
    let kinds: [(&str, &str, Value); 6] = [
        ("accepts+", "@sandbox.test", json!(true)),
        ("rejects+", "@sandbox.test", json!(false)),
        ("blocked+", "@sandbox.test", json!("blocked_by_provider")),
        ("x", "@nomx.sandbox.test", json!("no_mx_records")),
        ("x", ".sandbox.test", json!("invalid_format")),
        ("any", "@catchall.sandbox.test", json!(true)),
    ];
    let of = |n: usize| {
        let (local, domain, status) = &kinds[n % kinds.len()];
        (format!("{local}{n}{domain}"), status.clone())
    };
    (0..count).map(of).unzip()
}

fn assert_right(statuses: &[Value], results: &[Value]) {
    for (n, (expected, result)) in statuses.iter().zip(results).enumerate() {
        assert_eq!(&result["status"], expected, "position {n}: {result}");
    }
}

/// Creates an account of the plan `pro`, which allows scans of this size.
async fn account_of(stack: &Stack) -> Account {
    let account = stack.edge.account().await;
    stack.edge.set(&account.email, "plan = 'pro'").await;
    account
}

#[tokio::test]
async fn an_origin_that_is_killed_and_messages_that_come_twice_change_nothing() {
    let mut stack = Stack::builder().shimmed().start().await;
    let ann = account_of(&stack).await;
    let (list, statuses) = mixed(proof::count(1_000, 10_000));
    stack.edge.counts().await;
    let id = start(&ann, &list, false).await;
    let messages = stack.edge.queue_messages().await;
    for n in 0..proof::count(1, 5) {
        let enough = (list.len() / 8 * (n + 1)).min(list.len() / 2) as u64;
        wait_for(&ann, &id, |scan| scan["answered"].as_u64() >= Some(enough)).await;
        stack.origin.restart().await.unwrap();
        // Delivers messages a second time, while the first deliveries are being processed.
        stack.edge.deliver(&messages[..messages.len().min(6)]).await;
    }
    let scan = ended(&ann, &id).await;
    stack.edge.deliver(&messages[..messages.len().min(6)]).await;
    assert_eq!(show(&ann, &id).await, scan, "late deliveries change nothing");
    let all = results(&ann, &id, 1_000).await;
    assert_adds_up(&scan, &all);
    assert_right(&statuses, &all);
    assert_eq!(ann.quota().await.body["completed_scans"], 1);
}

/// The service's calls of its bindings, from receiving the list to the last result.
const CALLS: [(&str, &[&str]); 7] = [
    ("d1", &["insert scans", "update accounts", "select scans"]),
    (
        "d1",
        &[
            "select accounts",
            "insert scan_parts",
            "select accounts",
            "update scan_parts",
            "select scan_parts",
        ],
    ),
    ("queue", &[]),
    ("d1", &["select scans"]),
    ("d1", &["update scans"]),
    ("d1", &["insert scan_results", "update scans"]),
    (
        "d1",
        &[
            "insert scan_results",
            "update scans",
            "select scan_results",
            "update accounts",
            "insert notices",
            "insert webhook_deliveries",
        ],
    ),
];

#[tokio::test]
async fn a_binding_that_fails_at_any_call_before_or_after_its_effect_loses_nothing() {
    let stack = Stack::builder().shimmed().start().await;
    let (list, statuses) = mixed(30);
    for (part, statements) in CALLS {
        for late in [false, true] {
            let ann = account_of(&stack).await;
            let fault =
                Fault { part, statements, times: 1, error: "struck", late, ..Fault::default() };
            stack.edge.counts().await;
            stack.edge.fail(&[fault]).await;
            let made = ann.post("/scans", &json!({ "total": list.len() })).await;
            let made = if made.status == 201 {
                made
            } else {
                assert_eq!(made.status, 503, "{part} {statements:?}: {}", made.body);
                assert_eq!(ann.get("/scans").await.body["scans"], json!([]), "{statements:?}");
                ann.post("/scans", &json!({ "total": list.len() })).await
            };
            let id = made.text("id").to_owned();
            let mut response = put(&ann, &id, 0, &list).await;
            if response.status == 503 {
                response = put(&ann, &id, 0, &list).await;
            }
            assert_eq!(response.status, 200, "{part} {statements:?}: {}", response.body);
            // A failed message returns after a minute: the test doesn't wait that long.
            sleep(Duration::from_secs(2)).await;
            let messages = stack.edge.queue_messages().await;
            stack.edge.fail(&[]).await;
            stack.edge.deliver(&messages[..messages.len().min(6)]).await;
            let scan = ended(&ann, &id).await;
            let all = results(&ann, &id, 1_000).await;
            assert_adds_up(&scan, &all);
            assert_right(&statuses, &all);
            let quota = ann.quota().await.body;
            assert_eq!(quota["scans"]["used_today"], 1, "{part} {statements:?} {late}");
            assert_eq!(quota["completed_scans"], 1, "{part} {statements:?} {late}");
        }
    }
}

#[tokio::test]
async fn a_thousand_addresses_cost_few_rows_few_statements_and_few_messages() {
    let stack = Stack::builder().shimmed().start().await;
    let ann = account_of(&stack).await;
    let list: Vec<_> = (0..1_000).map(|n| format!("accepts+{n}@sandbox.test")).collect();
    stack.edge.counts().await;
    let id = start(&ann, &list, true).await;
    // Polling with a session isn't part of the cost, so the scan is read only once, after its end.
    let process = &stack.edge.process;
    let is_over = || process.log().matches("\"outcome\":\"asked\"").count() >= 4;
    while !is_over() {
        sleep(Duration::from_millis(100)).await;
    }
    let counts = stack.edge.counts().await;
    assert_eq!(show(&ann, &id).await["state"], "completed");
    // A message is written, read and deleted.
    let operations = counts.queue_messages * 3;
    let rows = stack.edge.sql("SELECT count(*) AS n FROM scan_results", &[]).await;
    println!("statements {}, queue operations {operations}, rows {rows:?}", counts.d1_statements);
    assert!(counts.d1_statements <= 40, "{counts:?}");
    assert!(operations <= 24, "{counts:?}");
    assert_eq!((counts.kv_writes, counts.cache_writes), (0, 0));
}
