//! The life of a scan as its client sees it, from the list to the results and their removal.

use rcpt_tests::{Stack, people::send};
use reqwest::Method;
use serde_json::{Value, json};

use super::{assert_adds_up, ended, put, results, show, start};

#[tokio::test]
async fn a_list_is_answered_by_position_in_three_forms_and_is_gone_when_it_is_deleted() {
    let stack = Stack::start().await;
    let ann = stack.edge.account().await;
    let list = json!([
        "accepts@sandbox.test",
        "rejects@sandbox.test",
        "no address",
        "Ann <accepts@sandbox.test>",
        "x@nomx.sandbox.test",
        "",
        "anyone@catchall.sandbox.test",
    ]);
    let body = json!({ "addresses": list, "name": "  March  ", "details": true });
    let made = ann.post("/scans", &body).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let id = made.text("id").to_owned();
    assert_eq!(made.header("location"), format!("/v1/scans/{id}"));
    assert_eq!(made.body["name"], "March");
    assert_eq!((&made.body["total"], &made.body["received"]), (&json!(7), &json!(7)));
    assert_eq!(made.body["counts"]["invalid_format"], 2, "at once: {}", made.body);

    let scan = ended(&ann, &id).await;
    assert_eq!(scan["state"], "completed");
    let all = results(&ann, &id, 3).await;
    assert_adds_up(&scan, &all);
    let statuses: Vec<_> = all.iter().map(|result| result["status"].clone()).collect();
    let expected =
        json!([true, false, "invalid_format", true, "no_mx_records", "invalid_format", true]);
    assert_eq!(json!(statuses), expected);
    assert_eq!(all[1]["reason"], "no_such_mailbox");
    assert_eq!(all[1]["smtp_code"], 550);
    for absent in ["email", "smtp_text", "mx_host", "suggestion"] {
        assert!(all.iter().all(|result| result.get(absent).is_none()), "{absent}");
    }

    let refused = ann.get(&format!("/scans/{id}/results?status=false")).await;
    assert_eq!(refused.body["results"].as_array().unwrap().len(), 1, "{}", refused.body);
    let read = async |kind: &str, query: &str| {
        let path = format!("/scans/{id}/results{query}");
        let reply = send(ann.request(Method::GET, &path).header("accept", kind)).await;
        assert!(reply.header("content-type").starts_with(kind), "{}", reply.body);
        reply
    };
    let csv = read("text/csv", "?limit=2").await;
    let text = csv.body.as_str().unwrap();
    assert!(text.starts_with("position,status,verdict,confidence,reason,"), "{text}");
    assert!(text.contains("\r\n1,false,undeliverable,high,no_such_mailbox,"), "{text}");
    let columns = |line: &str| line.matches(',').count();
    assert!(text.lines().all(|line| columns(line) == columns(text.lines().next().unwrap())));
    let next = format!("</v1/scans/{id}/results?after=1&limit=2>; rel=\"next\"");
    assert_eq!(csv.header("link"), next);
    let lines = read("application/x-ndjson", "").await;
    let lines: Vec<Value> = lines
        .body
        .as_str()
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines, all);

    let quota = ann.quota().await.body;
    assert_eq!(quota["scans"]["used_today"], 1);
    assert_eq!((&quota["total_scans"], &quota["completed_scans"]), (&json!(1), &json!(1)));
    assert_eq!(quota["email_checks"]["used_today"], 0, "a scan is no check");
    let listed = ann.get("/scans").await.body;
    assert_eq!(listed["scans"][0]["id"], json!(id));
    assert_eq!(listed["next"], Value::Null);

    let gone = ann.delete(&format!("/scans/{id}"), &json!({})).await;
    assert_eq!(gone.status, 204);
    ann.get(&format!("/scans/{id}")).await.assert_error(404, "no_such_scan", "deleted");
    assert_eq!(stack.edge.sql("SELECT * FROM scan_results", &[]).await, Vec::<Value>::new());
}

#[tokio::test]
async fn pages_are_newest_first_and_parts_come_in_any_order() {
    let stack = Stack::start().await;
    let ann = stack.edge.account().await;
    stack.edge.set(&ann.email, "plan = 'pro'").await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(start(&ann, &["no address".to_owned()], false).await);
    }
    ids.reverse();
    let first = ann.get("/scans?limit=2").await.body;
    assert_eq!(first["next"], json!(ids[1]));
    let second = ann.get(&format!("/scans?limit=2&before={}", ids[1])).await.body;
    let listed: Vec<_> = [&first, &second]
        .into_iter()
        .flat_map(|page| page["scans"].as_array().unwrap().iter().map(|scan| scan["id"].clone()))
        .collect();
    assert_eq!(json!(listed), json!(ids));
    ann.get("/scans?before=x").await.assert_error(400, "invalid_query", "no scan's id");

    let list: Vec<_> = (0..2_003).map(|n| format!("accepts+{n}@sandbox.test")).collect();
    let made = ann.post("/scans", &json!({ "total": list.len() })).await;
    let id = made.text("id");
    assert_eq!(made.body["state"], "open");
    for (n, range) in [(2, 2_000..2_003), (0, 0..1_000), (2, 2_000..2_003), (1, 1_000..2_000)] {
        let reply = put(&ann, id, n, &list[range]).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
    }
    assert_eq!(show(&ann, id).await["received"], 2_003);
    let scan = ended(&ann, id).await;
    assert_adds_up(&scan, &results(&ann, id, 700).await);
    assert_eq!(scan["counts"]["true"], 2_003);
}
