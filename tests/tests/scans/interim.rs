//! Results while a scan runs and after it was cancelled: interim verdicts, and whether they may change.

use rcpt_tests::{Stack, people::send};
use reqwest::Method;
use serde_json::{Value, json};

use super::{assert_adds_up, ended, results, show, start, wait_for};

fn list() -> Vec<String> {
    [
        "accepts@sandbox.test",
        "greylisted@later.test",
        "anyone@catchall.sandbox.test",
        "rejects@sandbox.test",
        "Ann <ann@@example.org>",
        "blocked@sandbox.test",
    ]
    .map(str::to_owned)
    .into()
}

/// Each position with its verdict, and whether the verdict is final.
fn result_rows(page: &Value) -> Vec<(u64, &str, bool)> {
    let results = page["results"].as_array().unwrap().iter();
    let positions = results.map(|result| {
        let position = result["position"].as_u64().unwrap();
        (position, result["verdict"].as_str().unwrap(), result["final"].as_bool().unwrap())
    });
    positions.collect()
}

#[tokio::test]
async fn what_is_known_is_given_while_a_scan_runs_and_stays_when_it_is_stopped() {
    let stack = Stack::start().await;
    let ann = stack.edge.account().await;
    let id = start(&ann, &list(), false).await;
    let scan = wait_for(&ann, &id, |scan| scan["answered"] == 5 && scan["waiting"] == 1).await;
    assert_eq!(
        (&scan["state"], &scan["by_verdict"]),
        (
            &json!("running"),
            &json!({ "deliverable": 1, "undeliverable": 2, "risky": 1, "unknown": 1 })
        )
    );
    let path = format!("/scans/{id}/results");
    let read = async |query: &str| {
        let reply = ann.get(&format!("{path}{query}")).await;
        assert_eq!(reply.status, 200, "{query}: {}", reply.body);
        reply.body
    };
    let finals = [
        (0, "deliverable", true),
        (2, "risky", true),
        (3, "undeliverable", true),
        (4, "undeliverable", true),
        (5, "unknown", true),
    ];
    let mut all = finals.to_vec();
    all.insert(1, (1, "unknown", false));
    assert_eq!(result_rows(&read("").await), finals, "a client that asks for nothing new");
    assert_eq!(result_rows(&read("?interim=true").await), all);
    assert_eq!(result_rows(&read("?interim=true&verdict=unknown").await), [all[1], all[5]]);
    assert_eq!(result_rows(&read("?verdict=unknown").await), [all[5]]);
    assert_eq!(result_rows(&read("?verdict=risky&status=true").await), [all[2]]);
    assert_eq!(result_rows(&read("?verdict=risky&status=false").await), []);

    let page = ann.get(&format!("{path}?limit=2&interim=true&verdict=unknown")).await;
    let next = format!("</v1{path}?after=5&limit=2&verdict=unknown&interim=true>; rel=\"next\"");
    assert!(["", &next].contains(&page.header("link")), "{}", page.header("link"));
    let csv = send(
        ann.request(Method::GET, &format!("{path}?interim=true&limit=3"))
            .header("accept", "text/csv"),
    );
    let csv = csv.await;
    assert_eq!(
        csv.body.as_str().unwrap(),
        "position,status,verdict,final\r\n0,true,deliverable,true\r\n\
         1,blocked_by_provider,unknown,false\r\n2,true,risky,true\r\n"
    );
    let next = format!("</v1{path}?after=2&limit=3&interim=true>; rel=\"next\"");
    assert_eq!(csv.header("link"), next);

    let stopped = ann.post(&format!("/scans/{id}/cancel"), &json!({})).await;
    assert_eq!((stopped.status, &stopped.body["state"]), (200, &json!("cancelled")));
    assert_eq!(
        result_rows(&read("?interim=true").await),
        all,
        "what was learnt stays, and isn't final"
    );
    assert_eq!(result_rows(&read("").await), finals);
    assert_eq!(show(&ann, &id).await["by_verdict"], scan["by_verdict"]);
    for query in ["verdict=maybe", "interim=yes", "verdict=true"] {
        ann.get(&format!("{path}?{query}")).await.assert_error(400, "invalid_query", query);
    }
}

#[tokio::test]
async fn what_is_no_address_has_evidence_in_every_form() {
    let stack = Stack::start().await;
    let ann = stack.edge.account().await;
    let list =
        ["Ann <ann@@example.org>", "a\"b@example.org", "", "x@=.example", "accepts@sandbox.test"];
    let id = start(&ann, &list.map(str::to_owned), true).await;
    let scan = ended(&ann, &id).await;
    let all = results(&ann, &id, 10).await;
    assert_adds_up(&scan, &all);
    let single = ann
        .post("/validate_email", &json!({ "email": "ann@@example.org", "details": true }))
        .await
        .body;
    assert_eq!(all[0]["verdict"], single["verdict"]);
    for member in ["confidence", "reason", "problem", "catch_all", "smtp_code"] {
        assert_eq!(all[0][member], single["details"][member], "{member}");
        assert_eq!(all[1].get("problem").map(Value::is_string), Some(true), "{}", all[1]);
    }
    assert_eq!((&all[4]["problem"], &all[4]["confidence"]), (&Value::Null, &json!("high")));
    let path = format!("/scans/{id}/results");
    let csv = send(ann.request(Method::GET, &path).header("accept", "text/csv")).await;
    let lines: Vec<_> = csv.body.as_str().unwrap().split("\r\n").collect();
    assert_eq!(
        lines[1],
        "0,invalid_format,undeliverable,high,malformed,,,,unknown,false,false,false,,\
         \"There are 2 @ signs in it, and an address has one.\",true"
    );
    assert!(
        lines[2].ends_with(",A quotation mark isn't allowed before the @.,true"),
        "{}",
        lines[2]
    );
    assert!(lines[4].ends_with(",The character = isn't allowed after the @.,true"), "{}", lines[4]);
    let stored_results = stack.edge.sql("SELECT results FROM scan_results", &[]).await;
    assert!(!format!("{stored_results:?}").contains("example"), "{stored_results:?}");
}
