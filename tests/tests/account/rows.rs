//! An account leaves few rows, however often it repeats checks and scans (docs/security.md, B10).
//!
//! - An hour of scans and checks, each with a new `Idempotency-Key`: at most 161 rows, gone a day later.

use rcpt_tests::{Edge, people::send, service::clock};
use reqwest::Method;
use serde_json::json;

/// Rows that a free account can create in an hour with `Idempotency-Key`s: 150 checks, and 11 scans,
/// ten of which are refunded.
const ROWS: u64 = 161;

#[tokio::test]
async fn an_account_that_cycles_checks_and_scans_under_keys_leaves_few_rows_and_none_a_day_later() {
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    clock::today().await;
    let before = edge.dump(&[]).await;
    let mut made = 0;
    for n in 0..40 {
        let request = account.request(Method::POST, "/scans");
        let request = request.header("idempotency-key", format!("a-key-for-one-scan-{n:04}"));
        let reply = send(request.json(&json!({ "total": 1 }))).await;
        if reply.status != 201 {
            assert_eq!(reply.status, 429, "{}", reply.body);
            continue;
        }
        made += 1;
        let path = format!("/scans/{}", reply.text("id"));
        assert_eq!(account.delete(&path, &json!({})).await.status, 204);
    }
    assert_eq!(made, 11, "ten units are given back");
    let mut answered = 0;
    for n in 0..200 {
        let reply = account.check_under(&format!("a-key-for-one-check-{n:04}"), "no address").await;
        answered += u64::from(reply.status == 200);
    }
    assert_eq!(answered, 150);
    let keys = edge.count("idempotency_keys").await;
    assert_eq!((keys, edge.count("scans").await), (ROWS, 0));
    println!("an hour's cycles of a free account: {keys} rows");

    edge.sql("UPDATE idempotency_keys SET expires_at = expires_at - 86400", &[]).await;
    edge.run_scheduled().await;
    let count = |dump: Vec<(String, serde_json::Value)>| -> Vec<(String, usize)> {
        let lasting = |name: &str| !["throttles", "this_database"].contains(&name);
        let rows = dump.into_iter().map(|(name, rows)| (name, rows.as_array().map_or(0, Vec::len)));
        rows.filter(|(name, _)| lasting(name)).collect()
    };
    let mut expected = count(before);
    for (name, rows) in &mut expected {
        // The email that all checks are used comes once a week, which its row remembers.
        *rows += usize::from(name == "notices");
    }
    assert_eq!(count(edge.dump(&[]).await), expected);
}
