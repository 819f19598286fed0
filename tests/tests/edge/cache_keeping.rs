//! Storing a verdict in the cache: its share of the response time, and its URL, which doesn't name the checked domain.

use std::{fs, path::Path, time::Duration};

use rcpt_shared::Status;
use rcpt_tests::{Account, Conduct, Edge, FakeOrigin, people::send, service::shim::Fault};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

/// Time that a slow cache takes to store a verdict.
const SLOW: Duration = Duration::from_secs(8);

#[tokio::test]
async fn a_cache_that_is_slow_to_keep_a_verdict_does_not_hold_the_answer() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = Edge::builder().origins(&[&origin.url]).shimmed().start().await.unwrap();
    let account = edge.account().await;
    assert_eq!(account.check("warm@example.org").await.status, 200);
    let keeping = Fault {
        part: "cache",
        // Lets the preceding look-up through.
        skip: 1,
        times: 1,
        delay_ms: u64::try_from(SLOW.as_millis()).unwrap(),
        ..Fault::default()
    };
    edge.fail(&[keeping]).await;
    let started = Instant::now();
    let reply = account.check("x@example.org").await;
    let took = started.elapsed();
    let expected = json!({ "email": "x@example.org", "verdict": "deliverable", "status": true, "cached": false });
    assert_eq!(reply.parts(), (200, &expected));
    assert!(took < SLOW / 2, "{took:?}");
}

#[tokio::test]
async fn verdicts_are_kept_under_the_workers_own_name() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = Edge::builder().origins(&[&origin.url]).shimmed();
    let edge = edge.var("PORTAL_URL", "https://rcpt.example/").start().await.unwrap();
    let account = edge.account().await;
    assert_eq!(account.check("x@example.org").await.status, 200);
    let urls = edge.cache_urls().await;
    let [url] = &urls[..] else { panic!("{urls:?}") };
    let key = url.as_str().unwrap().strip_prefix("https://rcpt.example/v1/verdicts/").unwrap();
    assert!(key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit()), "{key}");
    let reply = edge.anonymous().get(&format!("/verdicts/{key}")).await;
    assert_eq!(reply.status, 404, "nothing is served there");
}

async fn details(account: &Account, address: &str) -> Value {
    let body = json!({ "email": address, "details": true });
    let request = account.anonymous.request(Method::POST, "/validate_email");
    let reply = send(request.header("x-api-key", &account.api_key).json(&body)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.body
}

fn holds(folder: &Path, text: &str) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        if path.is_dir() {
            holds(&path, text)
        } else {
            let bytes = fs::read(&path).unwrap_or_default();
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        }
    })
}

#[tokio::test]
async fn the_checked_domain_is_not_stored_where_it_is_its_own_mail_host() {
    const IMPLICIT: &str = r#"{"status":true,"reason":"accepted","stage":"rcpt","mx_host":"quince-implicit.example","seen_before":9}"#;
    const INSIDE: &str = r#"{"status":true,"reason":"accepted","stage":"rcpt","mx_host":"mx1.quince-inside.example","seen_before":9}"#;
    let origin = FakeOrigin::start(|address| {
        Conduct::Answer(200, if address.contains("inside") { INSIDE } else { IMPLICIT })
    });
    let edge = Edge::builder().origins(&[&origin.url]).start().await.unwrap();
    let account = edge.account().await;
    for (address, host) in [
        ("x@quince-implicit.example", "quince-implicit.example"),
        ("x@quince-inside.example", "mx1.quince-inside.example"),
    ] {
        // The first response comes from the origin's memory, the second from our cache.
        for _ in 0..2 {
            let body = details(&account, address).await;
            assert_eq!(
                (&body["cached"], &body["details"]["mx_host"]),
                (&json!(true), &json!(host))
            );
        }
    }
    let state = edge.state().join("v3");
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds(&state.join("kv"), r#""mx_host":"mx1.@""#) {
        assert!(Instant::now() < deadline, "KV has not got it");
        sleep(Duration::from_millis(50)).await;
    }
    for store in ["kv", "cache"] {
        assert!(!holds(&state.join(store), "quince"), "{store}");
    }
}
