//! A blocked port 25 is our own failure: 503, so that the edge tries another origin, and no verdict
//! about the recipient.

use crate::harness::{MailServer, body, drain, json_of, probe_request, send, shut_port, state};
use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use rcpt_origin::{
    build,
    doctor::{Finding, Health},
};
use serde_json::json;

const ADDRESS: &str = "user@sandbox.test";

#[tokio::test]
async fn while_no_server_greets_us_nobody_is_blamed_for_it() {
    let (route, check) = (format!("sandbox.test={}", shut_port().await), shut_port().await);
    let state = state(&[("RCPT_ROUTES", &route), ("RCPT_PORT_CHECK", &check)]);
    let origin = build(state.clone());
    for probes in 1..=2 {
        let response = send(&origin, probe_request(body(ADDRESS))).await;
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE, "probe {probes}");
        assert_eq!(response.headers()["retry-after"], "15");
        let detail = "Port 25 is shut: no mail server of the port check greets us.";
        assert_eq!(json_of(response).await, json!({ "detail": detail }));
    }
    state.port_check.banner_seen();
    let response = send(&origin, probe_request(body(ADDRESS))).await;
    assert_eq!(json_of(response).await["status"], "smtp_connect_error", "one was heard lately");
}

#[tokio::test]
async fn without_a_port_check_a_dead_server_is_dead() {
    let route = format!("sandbox.test={}", shut_port().await);
    let origin = build(state(&[("RCPT_ROUTES", &route)]));
    let response = send(&origin, probe_request(body(ADDRESS))).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(json_of(response).await["status"], "smtp_connect_error");
}

#[tokio::test]
async fn a_server_that_is_down_is_its_own_fault_while_another_greets_us() {
    let greeting = MailServer::answering("220 mx", "", "250 ok").await;
    let route = format!("sandbox.test={}", shut_port().await);
    let check = format!("{},{}", shut_port().await, greeting.address);
    let origin = build(state(&[("RCPT_ROUTES", &route), ("RCPT_PORT_CHECK", &check)]));
    let response = send(&origin, probe_request(body(ADDRESS))).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(json_of(response).await["status"], "smtp_connect_error");
}

/// A route may use another port than 25.
#[tokio::test]
async fn a_route_that_greets_us_does_not_show_that_the_port_is_open() {
    let greeting = MailServer::answering("220 mx", "", "250 ok").await;
    let routes = format!("greets.test={},sandbox.test={}", greeting.address, shut_port().await);
    let origin = build(state(&[("RCPT_ROUTES", &routes), ("RCPT_PORT_CHECK", &shut_port().await)]));
    let response = send(&origin, probe_request(body("user@greets.test"))).await;
    assert_eq!(json_of(response).await["status"], true);
    let response = send(&origin, probe_request(body(ADDRESS))).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn the_watch_sees_the_port_shut_and_readiness_follows() {
    let nameserver = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = nameserver.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        let mut query = [0; 512];
        while let Ok((length, from)) = nameserver.recv_from(&mut query).await {
            // Returns the query as a response without records.
            query[2] |= 0x80;
            let _ = nameserver.send_to(&query[..length], from).await;
        }
    });
    let hanging = MailServer::serving(|stream, _| drain(stream)).await;
    let check = format!("{},{}", shut_port().await, hanging.address);
    let state = state(&[("RCPT_PORT_CHECK", &check), ("RCPT_NAMESERVERS", &address)]);
    let watching = tokio::spawn(state.port_check.clone().watch());
    while !state.port_check.is_known_shut() {
        tokio::task::yield_now().await;
    }
    let origin = build(state.clone());
    let ready = || Request::get("/ready").body(Body::empty()).unwrap();
    let response = send(&origin, ready()).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.headers()["retry-after"], "15");
    state.port_check.banner_seen();
    let response = send(&origin, ready()).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(json_of(response).await, json!({"status": "ready", "reasons": []}));
    // Origin lists why mail servers may refuse us, and continues: any address may be listed.
    let listed = || Finding {
        check: "blocklist",
        health: Health::Wrong,
        about: "192.0.2.1 is on bl.example".to_owned(),
        advice: "See bl.example.".to_owned(),
        source: None,
    };
    state.watch.take(vec![listed()], 1_000);
    state.watch.take(vec![listed()], 1_600);
    let response = send(&origin, ready()).await;
    assert_eq!(response.status(), StatusCode::OK);
    let reason = json!({"check": "blocklist", "about": "192.0.2.1 is on bl.example",
        "advice": "See bl.example.", "since": 1_000});
    assert_eq!(json_of(response).await, json!({"status": "ready", "reasons": [reason]}));
    let metrics = Request::get("/metrics").body(Body::empty()).unwrap();
    let text = to_bytes(send(&origin, metrics).await.into_body(), 1 << 20).await.unwrap();
    let text = String::from_utf8(text.to_vec()).unwrap();
    for line in ["{check=\"blocklist\"} 1", "{check=\"spf\"} 0"] {
        assert!(text.contains(&format!("\nrcpt_origin_address_findings{line}\n")), "{text}");
    }
    watching.abort();
}
