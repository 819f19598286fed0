//! Origin's own interface with a real nameserver and the sandbox; `origin/tests/service` has the rest.

use std::time::Duration;

use rcpt_tests::{Nsd, Origin, Sandbox, service::origin};
use serde_json::Value;
use tokio::time::sleep;

const BODY: &str = r#"{"address":"accepts@sandbox.test"}"#;

async fn world(
    change: impl FnOnce(origin::OriginBuilder) -> origin::OriginBuilder,
) -> (Sandbox, Origin) {
    let sandbox = Sandbox::start().expect("sandbox");
    let origin = change(Origin::builder().routes(&sandbox.routes()));
    (sandbox, origin.start().await.expect("origin"))
}

/// Returns the status, and asserts that the body is `{detail: string}`.
async fn refusal(response: reqwest::Response) -> u16 {
    let status = response.status().as_u16();
    let body: Value = response.json().await.expect("a JSON body");
    assert!(body["detail"].is_string(), "{body}");
    assert_eq!(body.as_object().map(serde_json::Map::len), Some(1), "{body}");
    status
}

#[tokio::test]
async fn it_is_healthy_when_it_runs_and_ready_when_a_nameserver_answers() {
    let nsd = Nsd::start(&[], &[]).await.expect("NSD");
    let nameserver = nsd.address().to_string();
    let (_sandbox, ready) = world(|origin| origin.env("RCPT_NAMESERVERS", nameserver)).await;
    assert_eq!(ready.get("/health").await.unwrap().status(), 200);
    assert_eq!(ready.get("/ready").await.unwrap().status(), 200);

    let (_sandbox, without) = world(|origin| origin.env("RCPT_NAMESERVERS", "127.0.0.1:1")).await;
    assert_eq!(without.get("/health").await.unwrap().status(), 200);
    assert_eq!(refusal(without.get("/ready").await.unwrap()).await, 503);
}

#[tokio::test]
async fn neither_metrics_nor_log_hold_an_address() {
    let (_sandbox, mut origin) = world(|origin| origin.env("RCPT_LOG_LEVEL", "trace")).await;
    for address in ["accepts+secret-tag@sandbox.test", "blocked+secret-tag@sandbox.test"] {
        origin.probe(address).await;
    }
    let metrics = origin.get("/metrics").await.unwrap();
    assert_eq!(metrics.status(), 200);
    let metrics = metrics.text().await.unwrap();
    assert!(metrics.contains("accepted"), "{metrics}");
    origin.process.terminate();
    origin.process.wait_for_end(Duration::from_secs(5)).await.unwrap();
    let log = origin.process.log();
    assert!(log.contains("harness"), "the request id is not in the log: {log}");
    for text in [metrics, log] {
        assert!(!text.contains("secret-tag"), "{text}");
        assert!(!text.contains("@sandbox.test"), "{text}");
    }
}

#[tokio::test]
async fn a_verdict_is_given_again_for_as_long_as_the_edge_says_and_never_unasked() {
    let (sandbox, mut origin) = world(|origin| origin).await;
    let ask = async |remember: Option<&str>| {
        let mut request = origin.request("/v1/probe", BODY, &origin.ticket(BODY));
        if let Some(times) = remember {
            request = request.header("x-remember", times);
        }
        let response = request.send().await.expect("an answer");
        assert_eq!(response.status(), 200);
        let verdict: Value = response.json().await.expect("a verdict");
        assert_eq!(verdict["status"], true);
        verdict.get("seen_before").and_then(Value::as_u64)
    };
    let running_check = || {
        let lines = sandbox.server().sessions().concat();
        lines.iter().filter(|line| line.contains("RCPT TO:<accepts@")).count()
    };
    assert_eq!(ask(None).await, None);
    assert_eq!(ask(None).await, None, "without the header nothing is remembered");
    let before = running_check();
    assert_eq!(ask(Some("2/0/0")).await, None, "what came before is not known either");
    assert!(ask(Some("2/0/0")).await.is_some());
    assert_eq!(running_check(), before + 1, "the mail server was not asked again");
    assert_eq!(ask(None).await, None, "who does not ask for it is not given it");
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    while ask(Some("2/0/0")).await.is_some() {
        assert!(tokio::time::Instant::now() < deadline, "it does not end");
        sleep(Duration::from_millis(200)).await;
    }
    for wrong in ["0/0/0", "x", "999999999/1/1"] {
        ask(Some(wrong)).await;
    }
    origin.process.wait_for_line("remembered", Duration::from_secs(60)).await.unwrap();
}
