//! `GET /v1/events` lists each scan that completed or expired in the last 24 hours once, ordered
//! by end time.

use rcpt_tests::{Account, Edge};
use serde_json::{Value, json};

use super::start;

async fn page(account: &Account, after: &str) -> Value {
    let reply = account.get(&format!("/events{after}")).await;
    assert_eq!(reply.status, 200, "{after}: {}", reply.body);
    reply.body
}

#[tokio::test]
async fn a_listener_gets_each_end_once_and_those_of_a_day_only() {
    let edge = Edge::builder().start().await.unwrap();
    let (ann, bob) = (edge.account().await, edge.account().await);
    edge.set(&ann.email, "plan = 'unlimited'").await;
    assert_eq!(page(&ann, "").await, json!({ "events": [], "next": "0." }));
    let mut ids = Vec::new();
    for _ in 0..103 {
        // A scan of a malformed address ends as soon as it is received.
        ids.push(start(&ann, &["no address".to_owned()], false).await);
    }
    // All scans end in one second, except two: one ended a day ago, and one ends later.
    let ended = "UPDATE scans SET ended_at = unixepoch() - 2";
    edge.sql(ended, &[]).await;
    let (old, new) = (ids.remove(0), ids.pop().unwrap());
    let set = async |id: &str, at: &str| {
        let sql = format!("UPDATE scans SET ended_at = {at} WHERE id = ?");
        edge.sql(&sql, &[json!(id)]).await;
    };
    set(&old, "unixepoch() - 86401").await;
    set(&new, "unixepoch() + 1000").await;
    let cancelled = ann.post("/scans", &json!({ "total": 2 })).await;
    ann.post(&format!("/scans/{}/cancel", cancelled.text("id")), &json!({})).await;

    let first = page(&ann, "").await;
    let second = page(&ann, &format!("?after={}", first["next"].as_str().unwrap())).await;
    let listed = |page: &Value| -> Vec<String> {
        let events = page["events"].as_array().unwrap().iter();
        events.map(|event| event["event"]["data"]["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((listed(&first).len(), listed(&second).len()), (100, 1));
    assert_eq!([listed(&first), listed(&second)].concat(), ids, "in order, the newest not yet");
    let event = &first["events"][0];
    assert_eq!(event["id"], ids[0].replace("scan_", "msg_"));
    assert_eq!(event["event"]["type"], "scan.completed");
    assert_eq!(event["event"]["data"]["by_verdict"]["undeliverable"], 1);
    set(&new, "unixepoch() - 1").await;
    let third = page(&ann, &format!("?after={}", second["next"].as_str().unwrap())).await;
    assert_eq!(listed(&third), [new], "once its second is over");

    assert_eq!(page(&bob, "").await["events"], json!([]), "another account's");
    for query in ["?after=x", "?after=-1.x", "?after="] {
        ann.get(&format!("/events{query}")).await.assert_error(400, "invalid_query", query);
    }
    assert_eq!(edge.anonymous().get("/events").await.status, 401);
}
