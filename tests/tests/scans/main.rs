//! Scans end to end: input, answers by position, cost, and the data that is left afterwards.

mod allowance;
mod ending;
mod events;
mod exactly_once;
mod greylisting;
mod hostile;
mod hung_origins;
mod interim;
mod matching;
mod privacy;
mod secret_replacement;
mod texts;
mod waiting;
mod walk;
mod webhook_failures;
mod webhooks;

use std::time::Duration;

use rcpt_tests::{Account, people::Reply};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

/// Time limit of a step of a test.
const LIMIT: Duration = Duration::from_secs(240);
const LOOK: Duration = Duration::from_millis(200);

/// Starts a scan of these addresses and returns its id.
async fn start(account: &Account, addresses: &[String], details: bool) -> String {
    if addresses.len() <= 1_000 {
        let body = json!({ "addresses": addresses, "details": details });
        let reply = account.post("/scans", &body).await;
        assert_eq!(reply.status, 201, "{}", reply.body);
        return reply.text("id").to_owned();
    }
    let body = json!({ "total": addresses.len(), "details": details });
    let reply = account.post("/scans", &body).await;
    assert_eq!(reply.status, 201, "{}", reply.body);
    let id = reply.text("id").to_owned();
    for (n, part) in addresses.chunks(1_000).enumerate() {
        let reply = put(account, &id, n, part).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
    }
    id
}

async fn put(account: &Account, id: &str, part: usize, addresses: &[String]) -> Reply {
    account.put(&format!("/scans/{id}/parts/{part}"), &json!({ "addresses": addresses })).await
}

async fn show(account: &Account, id: &str) -> Value {
    let reply = account.get(&format!("/scans/{id}")).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.body
}

/// Waits until `is_there` is true for the scan, and returns the scan.
async fn wait_for(account: &Account, id: &str, is_there: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + LIMIT;
    loop {
        let scan = show(account, id).await;
        if is_there(&scan) {
            return scan;
        }
        assert!(Instant::now() < deadline, "still {scan}");
        sleep(LOOK).await;
    }
}

/// Waits until the scan has ended, and returns it.
async fn ended(account: &Account, id: &str) -> Value {
    wait_for(account, id, |scan| !scan["completed_at"].is_null()).await
}

/// All results of a scan, read in pages of `limit`.
async fn results(account: &Account, id: &str, limit: usize) -> Vec<Value> {
    let mut all = Vec::new();
    let mut after = String::new();
    loop {
        let path = format!("/scans/{id}/results?limit={limit}{after}");
        let reply = account.get(&path).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let page = reply.body["results"].as_array().expect("results");
        assert!(page.len() <= limit);
        all.extend(page.iter().cloned());
        match reply.body["next"].as_u64() {
            Some(next) => after = format!("&after={next}"),
            None => return all,
        }
    }
}

/// Asserts that `counts` and `by_verdict` match the results, and add up to the answered positions.
fn assert_adds_up(scan: &Value, results: &[Value]) {
    let counts = scan["counts"].as_object().expect("counts");
    for (status, count) in counts {
        let of_status = results.iter().filter(|result| match &result["status"] {
            Value::Bool(verdict) => verdict.to_string() == *status,
            name => name == status,
        });
        assert_eq!(of_status.count() as u64, count.as_u64().unwrap(), "{status} of {scan}");
    }
    let sum: u64 = counts.values().filter_map(Value::as_u64).sum();
    assert_eq!(Some(sum), scan["answered"].as_u64(), "{scan}");
    let by_verdict = scan["by_verdict"].as_object().expect("by_verdict");
    for (verdict, count) in by_verdict {
        let of_verdict = results.iter().filter(|result| result["verdict"] == **verdict).count();
        assert_eq!(of_verdict as u64, count.as_u64().unwrap(), "{verdict} of {scan}");
    }
    let sum: u64 = by_verdict.values().filter_map(Value::as_u64).sum();
    assert_eq!(Some(sum), scan["answered"].as_u64(), "{scan}");
    let positions: Vec<_> = results.iter().map(|result| result["position"].as_u64()).collect();
    let expected: Vec<_> = (0..scan["total"].as_u64().unwrap()).map(Some).collect();
    assert_eq!(positions, expected, "every position once, in order");
}
