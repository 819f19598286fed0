//! The HTTP interface.

use crate::harness::{
    MailServer, REQUEST_ID, SECRETS, body, drain, json_of, origin, probe_request, send, state,
    ticket, verdict,
};
use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use rcpt_origin::surroundings::unix_now;
use rcpt_shared::{KeyRing, Ticket};
use serde_json::json;
use std::{convert::Infallible, time::Duration};
use tokio::time::{Instant, sleep};
use tokio_stream::StreamExt as _;

const ADDRESS: &str = "user@sandbox.test";

#[tokio::test]
async fn a_verdict_is_200_with_the_evidence_and_the_request_id() {
    let server =
        MailServer::answering("220 mx", "250-PIPELINING\r\n", "550 5.1.1 <user@sandbox.test> no")
            .await;
    let origin = origin(&[("RCPT_ROUTES", &server.route())]);
    let response = send(&origin, probe_request(body(ADDRESS))).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["x-request-id"], REQUEST_ID);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(
        json_of(response).await,
        json!({"status": false, "reason": "no_such_mailbox", "stage": "rcpt",
        "mx_host": "127.0.0.1", "smtp_code": 550, "enhanced_code": "5.1.1",
        "details": {
            "smtp_text": "[address] no", "catch_all": "unknown", "confidence": "medium",
            "verdict": "undeliverable", "disposable": false, "role_account": false, "free_provider": false,
            "domain": { "kind": "organization", "accepts_mail": true, "evidence": [{ "source": "sandbox" }] }
        }})
    );
}

#[tokio::test]
async fn without_a_good_ticket_nothing_is_asked() {
    let origin = origin(&[]);
    let good = body(ADDRESS);
    let other = ticket(&body("other@sandbox.test"));
    let issued = |secrets: &str, seconds: u64| {
        let keys = KeyRing::parse(secrets).unwrap();
        let time = unix_now() + seconds - 61;
        format!("Bearer {}", Ticket::issue(&keys, REQUEST_ID, good.as_bytes(), time).unwrap())
    };
    let forged = issued(&SECRETS.replace('Q', "R"), 61);
    for authorization in [
        None,
        Some("Bearer x"),
        Some("Basic dTpw"),
        Some(&*format!("Bearer {other}")),
        Some(&*forged),
        Some(&*issued(SECRETS, 0)),
        Some(&*issued(SECRETS, 121)),
    ] {
        let mut request = Request::post("/v1/probe");
        if let Some(value) = authorization {
            request = request.header("authorization", value);
        }
        let response = send(&origin, request.body(Body::from(good.clone())).unwrap()).await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{authorization:?}");
        assert_eq!(response.headers()["www-authenticate"], "Bearer");
        let detail = "The ticket is missing or not valid for this request.";
        assert_eq!(json_of(response).await, json!({ "detail": detail }));
    }
}

#[tokio::test]
async fn a_malformed_body_is_400_and_a_large_one_413() {
    let origin = origin(&[]);
    for bad in [
        "",
        "null",
        "{",
        "[]",
        "{}",
        r#"{"address":""}"#,
        r#"{"address":"no at sign"}"#,
        r#"{"address":1}"#,
        r#"{"address":"nobody"}"#,
        r#"{"address":"a@b.example","more":1}"#,
        r#"{"address":"a@b.example\r\nRCPT TO:<c@d.example>"}"#,
    ] {
        let response = send(&origin, probe_request(bad.to_owned())).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{bad}");
        // The ticket's holder may learn how many secrets are accepted, and nobody else.
        assert_eq!(response.headers()["x-rcpt-secrets"], "1");
        assert!(json_of(response).await["detail"].is_string());
    }
    let stranger = Request::post("/v1/probe").body(Body::from("{}")).unwrap();
    assert!(!send(&origin, stranger).await.headers().contains_key("x-rcpt-secrets"));
    let response = send(&origin, probe_request(" ".repeat(4_097))).await;
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert!(json_of(response).await["detail"].is_string());
}

#[tokio::test(start_paused = true)]
async fn a_body_that_comes_an_octet_a_second_is_408_after_five() {
    let origin = origin(&[]);
    for path in ["/v1/probe", "/v1/probe/batch"] {
        let (began, text) = (Instant::now(), body(ADDRESS));
        let octets = text.clone().into_bytes();
        let drip = tokio_stream::iter(octets).then(|octet| async move {
            sleep(Duration::from_secs(1)).await;
            Ok::<_, Infallible>(vec![octet])
        });
        let request =
            Request::post(path).header("authorization", format!("Bearer {}", ticket(&text)));
        let response = send(&origin, request.body(Body::from_stream(drip)).unwrap()).await;
        assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT, "{path}");
        assert_eq!(began.elapsed().as_secs(), 5, "{path}");
    }
}

#[tokio::test]
async fn above_max_probes_it_is_503_with_retry_after() {
    let server = MailServer::serving(|stream, _| drain(stream)).await;
    let state = state(&[("RCPT_ROUTES", &server.route()), ("RCPT_MAX_PROBES", "1")]);
    let origin = rcpt_origin::build(state.clone());
    let permit = state.permits.try_acquire().unwrap();
    let response = send(&origin, probe_request(body(ADDRESS))).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.headers()["retry-after"], "1");
    assert_eq!(json_of(response).await, json!({"detail": "No room for a further probe."}));
    drop(permit);
    let response = send(&origin, probe_request(body("a@nowhere.invalid"))).await;
    assert_eq!(response.status(), StatusCode::OK, "the permit is free again");
}

#[tokio::test]
async fn special_use_domains_are_answered_without_a_question() {
    let origin = origin(&[]);
    for domain in ["localhost", "a.test", "b.invalid", "c.example", "d.local", "e.onion"] {
        let verdict = verdict(&origin, &format!("user@{domain}")).await;
        let verdict = serde_json::to_value(verdict).unwrap();
        let not_found = "domain_not_found";
        let details = json!({ "catch_all": "unknown", "confidence": "high", "verdict": "undeliverable",
            "disposable": false, "role_account": false, "free_provider": false,
            "domain": { "kind": "unknown", "accepts_mail": false, "evidence": [{ "source": "dns" }] } });
        let due =
            json!({ "status": not_found, "reason": not_found, "stage": "dns", "details": details });
        assert_eq!(verdict, due, "{domain}");
    }
}

#[tokio::test]
async fn when_no_nameserver_answers_it_is_our_failure() {
    let origin = origin(&[]);
    let verdict = serde_json::to_value(verdict(&origin, "user@example.com").await).unwrap();
    let details = json!({ "catch_all": "unknown", "confidence": "none", "verdict": "unknown", "disposable": false,
        "role_account": false, "free_provider": false, "domain": { "kind": "unknown" } });
    let failure = json!({ "status": "fatal_exception", "reason": "dns_failure", "stage": "dns", "details": details });
    assert_eq!(verdict, failure);
    let response = send(&origin, Request::get("/ready").body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(json_of(response).await, json!({"detail": "No nameserver answers."}));
}

#[tokio::test]
async fn unknown_paths_and_methods_are_404_and_405() {
    let origin = origin(&[]);
    let response = send(&origin, Request::get("/v1/nothing").body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    assert_eq!(json_of(response).await, json!({"detail": "Not found."}));
    let response = send(&origin, Request::get("/v1/probe").body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(response.headers()["allow"], "POST");
    assert_eq!(json_of(response).await, json!({"detail": "Method not allowed."}));
}

#[tokio::test]
async fn every_response_has_a_request_id() {
    let origin = origin(&[]);
    let ask = |id: &str| Request::get("/health").header("x-request-id", id).body(Body::empty());
    let response = send(&origin, ask("edge-7").unwrap()).await;
    assert_eq!(response.headers()["x-request-id"], "edge-7");
    assert_eq!(json_of(response).await, json!({"status": "ok"}));
    let response = send(&origin, ask("user@example.org").unwrap()).await;
    let id = response.headers()["x-request-id"].to_str().unwrap();
    assert_eq!(id.len(), 32, "one that could be an address is replaced");
}

#[tokio::test]
async fn metrics_count_verdicts_and_name_no_one() {
    let server = MailServer::answering("220 mx", "", "250 ok").await;
    let origin = origin(&[("RCPT_ROUTES", &server.route())]);
    verdict(&origin, ADDRESS).await;
    let response = send(&origin, Request::get("/metrics").body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::OK);
    let text = to_bytes(response.into_body(), 65_536).await.unwrap();
    let text = String::from_utf8(text.to_vec()).unwrap();
    let line = r#"rcpt_origin_probes_total{status="true",reason="accepted_catch_all",stage="rcpt",operator="other"} 1"#;
    assert!(text.contains(line), "{text}");
    assert!(!text.contains("sandbox") && !text.contains("127.0.0.1"), "{text}");
}

async fn metrics(origin: &axum::Router, accept: &str) -> (String, String) {
    let request = Request::get("/metrics").header("accept", accept).body(Body::empty()).unwrap();
    let response = send(origin, request).await;
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    let text = to_bytes(response.into_body(), 65_536).await.unwrap();
    (kind, String::from_utf8(text.to_vec()).unwrap())
}

#[tokio::test]
async fn metrics_are_the_classic_text_unless_open_metrics_is_asked_for() {
    let server = MailServer::answering("220 mx", "", "250 ok").await;
    let origin = origin(&[("RCPT_ROUTES", &server.route())]);
    verdict(&origin, ADDRESS).await;
    verdict(&origin, "user@example.com").await;
    // Only a question for the root tells of the nameservers.
    let ready = Request::get("/ready").body(Body::empty()).unwrap();
    assert_eq!(send(&origin, ready).await.status(), StatusCode::SERVICE_UNAVAILABLE);

    let (kind, text) = metrics(&origin, "*/*").await;
    assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
    // Each sample must follow the help and the type of its family.
    let (mut described, mut samples) = (String::new(), 0);
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').expect(line);
            assert!(!help.is_empty(), "{line}");
            described = name.to_owned();
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect(line);
            assert_eq!(name, described);
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
        } else {
            let name = line.split(['{', ' ']).next().unwrap();
            let suffix = name.strip_prefix(&described).expect(line);
            assert!(["", "_bucket", "_sum", "_count"].contains(&suffix), "{line}");
            samples += 1;
        }
    }
    assert!(samples > 10, "{text}");
    for line in [
        "# TYPE rcpt_origin_probes_total counter",
        "# HELP rcpt_origin_probes_total Probes finished, by verdict.",
        concat!(r#"rcpt_origin_build_info{version=""#, env!("CARGO_PKG_VERSION"), r#""} 1"#),
        r#"rcpt_origin_dns_questions_total{nameserver="1",outcome="failed"} 1"#,
        "rcpt_origin_nameserver_answers 0",
        "rcpt_origin_port_25_open 1",
        "rcpt_origin_ready 0",
    ] {
        assert!(text.lines().any(|told| told == line), "{line} not in\n{text}");
    }
    assert!(text.contains("\nprocess_start_time_seconds "), "{text}");

    let (kind, text) = metrics(&origin, "application/openmetrics-text;version=1.0.0").await;
    assert_eq!(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert!(text.ends_with("# EOF\n") && text.contains("# TYPE rcpt_origin_probes counter"));
}
