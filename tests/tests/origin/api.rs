//! Origin's own interface: tickets, bad requests, capacity, health, metrics, start and shutdown, and a log without
//! secrets.

use std::{process::Command, sync::Arc, time::Duration};

use rcpt_shared::{KeyRing, Status, Ticket};
use rcpt_tests::{
    Nsd, Origin, Process, Sandbox,
    process::folder,
    service::{clock, origin, secret},
};
use serde_json::{Value, json};
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
async fn only_a_valid_ticket_for_this_body_opens_the_probe() {
    let (sandbox, origin) = world(|origin| origin).await;
    let stranger = KeyRing::parse(&secret::key_ring().unwrap()).unwrap();
    let issue = |keys: &KeyRing, body: &str, now| {
        Ticket::issue(keys, "test", body.as_bytes(), now).expect("a ticket")
    };
    let now = clock::now();
    for (what, ticket) in [
        ("none", String::new()),
        ("garbage", "not.a.ticket".to_owned()),
        ("forged", issue(&stranger, BODY, now)),
        ("expired", issue(origin.keys(), BODY, now - 61)),
        ("from the future", issue(origin.keys(), BODY, now + 60)),
        ("for another body", issue(origin.keys(), "{}", now)),
    ] {
        let response = origin.post(BODY, &ticket).await.unwrap();
        assert_eq!(refusal(response).await, 401, "{what}");
    }
    assert_eq!(sandbox.server().sessions().len(), 0);
    let response = origin.post(BODY, &origin.ticket(BODY)).await.unwrap();
    assert_eq!(response.status(), 200);
}

#[tokio::test]
async fn a_malformed_request_is_400_and_a_big_one_413() {
    let (_sandbox, origin) = world(|origin| origin).await;
    for body in [
        "",
        "{",
        "[]",
        "{}",
        r#"{"address":7}"#,
        r#"{"address":""}"#,
        r#"{"address":"no at sign"}"#,
        r#"{"address":"a\r\nRCPT TO:<b@sandbox.test>@sandbox.test"}"#,
        r#"{"address":"a@sandbox.test","more":1}"#,
    ] {
        let response = origin.post(body, &origin.ticket(body)).await.unwrap();
        assert_eq!(refusal(response).await, 400, "{body}");
    }
    let big = json!({ "address": "a".repeat(1 << 20) }).to_string();
    let response = origin.post(&big, &origin.ticket(&big)).await.unwrap();
    assert_eq!(refusal(response).await, 413);
}

#[tokio::test]
async fn an_unknown_path_is_404_and_an_unknown_method_405() {
    let (_sandbox, origin) = world(|origin| origin).await;
    assert_eq!(refusal(origin.get("/v1/nothing").await.unwrap()).await, 404);
    let response = origin.get("/v1/probe").await.unwrap();
    assert_eq!(response.headers()["allow"], "POST");
    assert_eq!(refusal(response).await, 405);
}

#[tokio::test]
async fn at_capacity_it_answers_503_with_retry_after_and_then_recovers() {
    let (sandbox, origin) = world(|origin| origin.env("RCPT_MAX_PROBES", "1")).await;
    let origin = Arc::new(origin);
    let busy = tokio::spawn({
        let origin = origin.clone();
        async move { origin.probe("slow@sandbox.test").await }
    });
    while sandbox.server().sessions().is_empty() {
        sleep(Duration::from_millis(10)).await;
    }
    let response = origin.post(BODY, &origin.ticket(BODY)).await.unwrap();
    let retry_after = response.headers()["retry-after"].to_str().unwrap().parse::<u32>();
    assert!(retry_after.is_ok_and(|seconds| seconds >= 1));
    assert_eq!(refusal(response).await, 503);
    assert_eq!(busy.await.unwrap().status, Status::Accepted);
    assert_eq!(origin.probe("accepts@sandbox.test").await.status, Status::Accepted);
}

#[tokio::test]
async fn it_is_healthy_when_it_runs_and_ready_when_a_nameserver_answers() {
    let nsd = Nsd::start(&[], &[]).await.expect("NSD");
    let nameserver = nsd.address().to_string();
    let (_sandbox, ready) = world(|origin| origin.env("RCPT_NAMESERVERS", nameserver)).await;
    assert_eq!(ready.get("/health").await.unwrap().status(), 200);
    assert_eq!(ready.get("/ready").await.unwrap().status(), 200);

    let (_sandbox, without) = world(|origin| origin).await;
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
async fn every_line_of_the_log_is_json() {
    let (_sandbox, mut origin) = world(|origin| origin).await;
    origin.probe("accepts@sandbox.test").await;
    origin.process.terminate();
    origin.process.wait_for_end(Duration::from_secs(5)).await.unwrap();
    let log = origin.process.log();
    assert!(!log.trim().is_empty());
    for line in log.lines() {
        let line: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(line.is_object(), "{line}");
    }
}

#[tokio::test]
async fn sigterm_finishes_what_is_in_flight() {
    let (sandbox, origin) = world(|origin| origin).await;
    let body = r#"{"address":"slow@sandbox.test"}"#;
    let (url, ticket) = (format!("{}/v1/probe", origin.url), origin.ticket(body));
    let request = reqwest::Client::new().post(url).bearer_auth(ticket);
    let running_check =
        tokio::spawn(request.header("content-type", "application/json").body(body).send());
    while sandbox.server().sessions().is_empty() {
        sleep(Duration::from_millis(20)).await;
    }
    let mut process = origin.process;
    process.terminate();
    let response = running_check.await.unwrap().expect("the probe in flight is answered");
    assert_eq!(response.json::<Value>().await.unwrap()["status"], true);
    let status = process.wait_for_end(Duration::from_secs(5)).await.unwrap();
    assert_eq!(Process::code(status), 0);
}

/// Runs `origin` to its end, and returns its exit code and output.
async fn run(mut command: Command, arguments: &[&str]) -> (i32, String) {
    let folder = folder::scratch("origin").unwrap();
    command.args(arguments);
    let mut process = Process::spawn("origin", &command, &folder).unwrap();
    let status = process.wait_for_end(Duration::from_secs(20)).await.unwrap();
    (Process::code(status), process.log())
}

#[tokio::test]
async fn check_config_names_each_mistake_and_shows_no_secret() {
    let mistaken = Origin::builder()
        .env("RCPT_SMTP_PORT", "seventy")
        .env("RCPT_ALLOW_NETWORKS", "10.0.0.0/99")
        .env("RCPT_STARTTLS", "sometimes")
        .env("RCPT_TICKET_SECRETS", "k1:c2VjcmV0LXNlY3JldA");
    let (code, output) = run(mistaken.command().unwrap(), &["--check-config"]).await;
    assert_ne!(code, 0, "{output}");
    for name in ["SMTP_PORT", "ALLOW_NETWORKS", "STARTTLS", "TICKET_SECRETS"] {
        assert!(output.to_ascii_uppercase().contains(name), "{name} is not in: {output}");
    }
    assert!(!output.contains("c2VjcmV0LXNlY3JldA"), "{output}");

    let (code, output) = run(Origin::builder().command().unwrap(), &["--check-config"]).await;
    assert_eq!(code, 0, "{output}");
}

#[tokio::test]
async fn a_wrong_value_stops_the_start_and_is_named() {
    let mistaken = Origin::builder().env("RCPT_BUDGET_MS", "soon");
    let (code, output) = run(mistaken.command().unwrap(), &[]).await;
    assert_ne!(code, 0, "{output}");
    assert!(output.to_ascii_uppercase().contains("BUDGET_MS"), "{output}");
}

#[tokio::test]
async fn a_verdict_is_given_again_for_as_long_as_the_edge_says_and_never_unasked() {
    let (sandbox, origin) = world(|origin| origin).await;
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
    let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
    while ask(Some("2/0/0")).await.is_some() {
        assert!(tokio::time::Instant::now() < deadline, "it does not end");
        sleep(Duration::from_millis(200)).await;
    }
    for wrong in ["0/0/0", "x", "999999999/1/1"] {
        ask(Some(wrong)).await;
    }
    assert!(origin.process.log().contains("remembered"));
}
