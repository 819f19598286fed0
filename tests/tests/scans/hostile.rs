//! Mistakes and attacks of a client: a clear error, and nothing half done (docs/security.md, S9).
//!
//! - A part that was changed, is too small or large, lies beyond the end, comes after it, or is another account's gets
//!   a clear error. Order doesn't matter, and a repeat changes nothing. 100,000 declared positions are one row.

use rcpt_tests::{Account, Edge, people::send};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::{put, show};

async fn edge() -> &'static Edge {
    static EDGE: OnceCell<Edge> = OnceCell::const_new();
    EDGE.get_or_init(async || Edge::builder().start().await.unwrap()).await
}

async fn pro() -> Account {
    let account = edge().await.account().await;
    edge().await.set(&account.email, "plan = 'pro'").await;
    account
}

fn list(from: usize, to: usize) -> Vec<String> {
    (from..to).map(|n| format!("accepts+{n}@sandbox.test")).collect()
}

#[tokio::test]
async fn a_body_that_is_no_scan_is_refused_and_nothing_is_charged() {
    let account = pro().await;
    let long = "x".repeat(101);
    for (body, code) in [
        (json!({}), "invalid_scan"),
        (json!({ "addresses": [] }), "invalid_scan"),
        (json!({ "total": 0 }), "invalid_scan"),
        (json!({ "total": 3, "addresses": ["a@b.example"] }), "invalid_scan"),
        (json!({ "addresses": list(0, 1_001) }), "invalid_scan"),
        (json!({ "total": -1 }), "invalid_body"),
        (json!({ "total": 1.5 }), "invalid_body"),
        (json!({ "total": 5_000_000_000_u64 }), "invalid_body"),
        (json!({ "addresses": [1] }), "invalid_body"),
        (json!({ "addresses": "a@b.example" }), "invalid_body"),
        (json!({ "total": 1, "name": long }), "invalid_name"),
        (json!({ "total": 1, "name": "a\u{0}b" }), "invalid_name"),
        (json!({ "total": 100_000 }), "scan_too_large"),
    ] {
        let reply = account.post("/scans", &body).await;
        reply.assert_error(400, code, &body.to_string());
    }
    for body in ["", "{", "[]", "\"x\""] {
        let reply = send(account.request(Method::POST, "/scans").body(body)).await;
        assert_eq!(reply.status, 400, "{body}: {}", reply.body);
    }
    let large = "x".repeat(257 * 1024);
    let reply = send(account.request(Method::POST, "/scans").body(large)).await;
    assert_eq!(reply.status, 413, "{}", reply.body);
    assert_eq!(account.get("/scans").await.body["scans"], json!([]));
    assert_eq!(account.quota().await.body["scans"]["used_today"], 0);
}

#[tokio::test]
async fn parts_that_do_not_fit_change_nothing() {
    let account = pro().await;
    let made = account.post("/scans", &json!({ "total": 1_500 })).await;
    let id = made.text("id");
    put(&account, id, 2, &list(0, 1)).await.assert_error(400, "no_such_part", "beyond the end");
    put(&account, id, usize::MAX, &list(0, 1)).await.assert_error(400, "no_such_part", "far");
    put(&account, id, 0, &list(0, 999)).await.assert_error(400, "part_size", "too few");
    put(&account, id, 1, &list(0, 501)).await.assert_error(400, "part_size", "too many");
    put(&account, id, 1, &[]).await.assert_error(400, "part_size", "none");
    let path = format!("/scans/{id}/parts/0");
    for (method, path) in [(Method::PUT, path.clone()), (Method::POST, format!("{path}/match"))] {
        let body = json!({ "emails": list(0, 1_000) });
        let reply = send(account.request(method, &path).json(&body)).await;
        reply.assert_error(400, "invalid_body", "the list under another name");
        assert_eq!(reply.text("detail"), "Missing 'addresses' field in request body.", "{path}");
    }
    assert_eq!(show(&account, id).await["received"], 0);
    assert_eq!(put(&account, id, 1, &list(0, 500)).await.status, 200);
    let again = put(&account, id, 1, &list(0, 500)).await;
    assert_eq!((again.status, &again.body["received"]), (200, &json!(500)), "again: no change");
    let other = put(&account, id, 1, &list(1, 501)).await;
    other.assert_error(409, "part_conflict", "other addresses");
    let cancelled = account.post(&format!("/scans/{id}/cancel"), &json!({})).await;
    assert_eq!(cancelled.status, 200);
    put(&account, id, 0, &list(0, 1_000)).await.assert_error(409, "scan_ended", "after its end");
    assert_eq!(show(&account, id).await["received"], 500);
}

#[tokio::test]
async fn a_scan_of_another_account_is_not_there_for_anybody() {
    let (ann, bob) = (pro().await, pro().await);
    let id = ann.post("/scans", &json!({ "total": 5 })).await.text("id").to_owned();
    let before = show(&ann, &id).await;
    let long = "x".repeat(2_000);
    for id in [id.as_str(), "scan_0", "x", "%00", "'--", &long] {
        let scan = format!("/scans/{id}");
        for (method, path) in [
            (Method::GET, scan.clone()),
            (Method::GET, format!("{scan}/results")),
            (Method::POST, format!("{scan}/cancel")),
            (Method::DELETE, scan.clone()),
            (Method::PUT, format!("{scan}/parts/0")),
        ] {
            let body = json!({ "addresses": list(0, 5) });
            let request = bob.request(method.clone(), &path);
            let request = if method == Method::PUT { request.json(&body) } else { request };
            let reply = send(request).await;
            reply.assert_error(404, "no_such_scan", &format!("{method} {path}"));
        }
    }
    assert_eq!(show(&ann, &id).await, before);
    assert_eq!(bob.get("/scans").await.body["scans"], json!([]));
    for query in ["limit=0", "limit=10001", "limit=x", "after=-1", "after=x", "status=maybe"] {
        let reply = ann.get(&format!("/scans/{id}/results?{query}")).await;
        reply.assert_error(400, "invalid_query", query);
        let parameter = query.split('=').next().unwrap();
        let parameter_error = format!("The '{parameter}' parameter must be ");
        assert!(reply.text("detail").starts_with(&parameter_error), "{}", reply.body);
    }
    ann.get("/scans?limit=101").await.assert_error(400, "invalid_query", "a page");
    let far = ann.get(&format!("/scans/{id}/results?after=4294967295")).await;
    assert_eq!((far.status, &far.body["results"]), (200, &json!([])));
}

#[tokio::test]
async fn what_is_declared_and_never_sent_is_one_row() {
    let account = edge().await.account().await;
    edge().await.set(&account.email, "plan = 'unlimited'").await;
    let made = account.post("/scans", &json!({ "total": 100_000 })).await;
    assert_eq!(made.status, 201);
    let id: Value = made.body["id"].clone();
    for table in ["scan_parts", "scan_results"] {
        let sql = format!("SELECT * FROM {table} WHERE scan_id = ?");
        assert_eq!(edge().await.sql(&sql, std::slice::from_ref(&id)).await, [] as [Value; 0]);
    }
}

#[tokio::test]
async fn who_asks_for_scans_without_end_is_turned_away_and_nobody_else_is() {
    let edge = Edge::builder().shield("SHIELD_SCANS", 5).start().await.unwrap();
    let (busy, other) = (edge.account().await, edge.account().await);
    let by_key = async |path: &str| {
        let request = busy.anonymous.request(Method::GET, path);
        send(request.header("x-api-key", &busy.api_key)).await
    };
    for _ in 0..5 {
        assert_eq!(by_key("/scans").await.status, 200);
    }
    let turned_away = by_key("/scans").await;
    turned_away.assert_error(429, "throttled", "the sixth");
    assert_eq!(turned_away.header("retry-after"), "60");
    for reply in [
        by_key("/me/quota").await,
        busy.get("/scans").await,
        other.get("/scans").await,
        busy.check("no address").await,
    ] {
        assert_eq!(reply.status, 200, "{}", reply.body);
    }
}
