//! Sign-in: its response, and the response for an account in each of its states (docs/account-api.md).

use std::time::Duration;

use rcpt_tests::{
    Edge,
    people::{PASSWORD, send},
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{
    answers::{assert_credentials, error, invalid_credentials},
    edge,
};

#[tokio::test]
async fn signing_in_gives_a_new_session_and_the_same_key() {
    let edge = edge().await;
    let account = edge.account().await;
    let anonymous = edge.anonymous();
    let replies = [
        anonymous.login(&account.email, PASSWORD).await,
        anonymous.login(&account.email, PASSWORD).await,
    ];
    let [first, second] =
        replies.each_ref().map(|reply| assert_credentials(&anonymous, reply, &account.email));
    assert_eq!([&first.api_key, &second.api_key], [&account.api_key; 2]);
    assert!(first.token != second.token && first.token != account.token);
    for signed_in in [first, second, account] {
        assert_eq!(signed_in.get("/me/quota").await.status, 200, "all sessions go on");
    }
}

#[tokio::test]
async fn a_code_is_not_needed_without_two_factor_authentication_and_must_be_a_string() {
    let edge = edge().await;
    let anonymous = edge.anonymous();
    let account = edge.account().await;
    let login = async |code: Value| {
        let body = json!({ "email": account.email, "password": PASSWORD, "totp_code": code });
        anonymous.post("/auth/login", &body).await
    };
    assert_credentials(&anonymous, &login(json!("123456")).await, &account.email);
    assert_credentials(&anonymous, &login(Value::Null).await, &account.email);
    let reply = login(json!(123_456)).await;
    assert_eq!((reply.status, &reply.body["code"]), (400, &json!("invalid_body")));
}

#[tokio::test]
async fn an_unknown_address_and_a_wrong_password_get_the_same_answer() {
    let edge = edge().await;
    let account = edge.account().await;
    let (unconfirmed_email, _) = edge.registered().await;
    let closed = edge.account().await;
    edge.set(&closed.email, "state = 'deactivated'").await;
    let (unknown, wrong) = (edge.new_email(), "wrong-anchor-00-quarry");
    for (email, password) in [
        (unknown.as_str(), PASSWORD),
        (&account.email, wrong),
        (&account.email, ""),
        (&account.email, &PASSWORD.to_uppercase()),
        (&unconfirmed_email, wrong),
        (&closed.email, wrong),
        ("no address", PASSWORD),
        ("", ""),
        (&format!(" {}", account.email), PASSWORD),
    ] {
        let reply = edge.anonymous().login(email, password).await;
        assert_eq!(reply.parts(), (401, &invalid_credentials()), "{email:?}");
        assert_eq!(reply.header("www-authenticate"), "Bearer");
    }
}

#[tokio::test]
async fn an_unconfirmed_account_is_401_even_with_the_right_password() {
    let edge = edge().await;
    let (email, _) = edge.registered().await;
    let reply = edge.anonymous().login(&email, "wrong-anchor-00-quarry").await;
    assert_eq!(reply.parts(), (401, &invalid_credentials()));
    let reply = edge.anonymous().login(&email, PASSWORD).await;
    assert_eq!(reply.parts(), (401, &invalid_credentials()));
}

#[tokio::test]
async fn a_deactivated_account_is_403_after_the_right_password() {
    let edge = edge().await;
    let account = edge.account().await;
    edge.set(&account.email, "state = 'deactivated'").await;
    let reply = edge.anonymous().login(&account.email, PASSWORD).await;
    assert_eq!(reply.parts(), (403, &error("deactivated", "This account has been deactivated.")));
}

// --- bodies

/// The log lines of sign-ins with this outcome, once there are `count` of them.
async fn sign_ins(edge: &Edge, outcome: &str, count: usize) -> Vec<Value> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let log = edge.process.log();
        let lines = log.lines().filter_map(|line| {
            let json = line.find('{').and_then(|start| line.get(start..))?;
            serde_json::from_str::<Value>(json).ok()
        });
        let is_one = |line: &Value| line["route"] == "/v1/auth/login" && line["outcome"] == outcome;
        let lines: Vec<_> = lines.filter(is_one).collect();
        if lines.len() >= count {
            return lines;
        }
        assert!(Instant::now() < deadline, "{}", edge.process.last_lines());
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn an_attack_can_be_found_in_the_log_and_no_check_is_somebodys() {
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let nobody = edge.new_email();
    for (email, network) in [(&account.email, "203.0.113.7"), (&nobody, "203.0.113.8")] {
        let body = json!({ "email": email, "password": "wrong-wrong-wrong" });
        let request = edge.anonymous().request(Method::POST, "/auth/login").json(&body);
        let reply = send(request.header("cf-connecting-ip", network)).await;
        reply.assert_error(401, "invalid_credentials", "a wrong password");
    }
    let lines = sign_ins(&edge, "invalid_credentials", 2).await;
    let id = edge.id(&account.email).await;
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["account"], json!(id));
    assert!(lines[1].get("account").is_none(), "{}", lines[1]);
    let networks = [&lines[0]["network"], &lines[1]["network"]];
    assert!(networks.iter().all(|network| network.is_string()) && networks[0] != networks[1]);
    assert!(!edge.process.log().contains("203.0.113.7"), "the network is hashed");

    assert_eq!(account.check("accepts@sandbox.test").await.status, 502, "no origin");
    let check = edge.process.wait_for_line("/v1/validate_email").await;
    assert!(!check.contains(&id) && !check.contains("\"network\""), "{check}");
}
