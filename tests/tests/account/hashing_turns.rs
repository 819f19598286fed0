//! Permission to hash a password is requested after every throttle, and an attempt without
//! permission isn't counted (docs/security.md, A3 and B2).

use rcpt_tests::{
    Anonymous, Edge,
    people::{PASSWORD, send, send_all},
    process::turn,
};
use reqwest::{Method, RequestBuilder};
use serde_json::json;

fn post(anonymous: &Anonymous, path: &str, from: &str, email: &str) -> RequestBuilder {
    let body = json!({ "email": email, "password": PASSWORD });
    anonymous.request(Method::POST, path).json(&body).header("cf-connecting-ip", from)
}

#[tokio::test]
async fn networks_that_have_to_wait_take_no_turn_from_a_sign_in_elsewhere() {
    let _turn = turn().await;
    let edge = Edge::builder().with_waits().var("PASSWORD_HASHES_PER_MINUTE", "300");
    // Each network has a single attempt, used for its first registration.
    let edge =
        edge.var("THROTTLE_NETWORK_FREE_ATTEMPTS", "1").var("THROTTLE_NETWORK_SECONDS", "86400");
    let edge = edge.start().await.unwrap();
    let victim = edge.account().await;
    let anonymous = edge.anonymous();
    let networks = (0..5).map(|k| format!("203.0.113.{k}"));
    let registrations = networks.flat_map(|from| {
        let anonymous = anonymous.clone();
        (0..80).map(move |n| {
            let email = format!("x{n}-{from}@rcpt-tests.net");
            post(&anonymous, "/auth/register", &from, &email)
        })
    });
    let replies = send_all(registrations, 20).await;
    let refused = replies.iter().filter(|reply| reply.status == 429);
    let refused = refused.inspect(|reply| reply.assert_error(429, "throttled", "a network"));
    // The rejected requests outnumber the 50 that can wait for a hash.
    assert_eq!(refused.count(), replies.len() - 5);
    for n in 0..5 {
        let from = format!("198.51.100.{n}");
        let reply = send(post(&anonymous, "/auth/login", &from, &victim.email)).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
    }
}

#[tokio::test]
async fn a_password_takes_one_turn_from_every_keyboard() {
    let mut edge = Edge::builder().with_waits().start().await.unwrap();
    for password in ["cafe-meadow-58", "cafe\u{301}-meadow-58"] {
        // Starts an isolate that may hash once a minute, and hasn't hashed yet.
        edge.restart_with(|b| b.var("PASSWORD_HASHES_PER_MINUTE", "1")).await.unwrap();
        let reply = edge.anonymous().login("nobody@rcpt-tests.net", password).await;
        reply.assert_error(401, "invalid_credentials", password);
    }
}

#[tokio::test]
async fn an_attempt_that_gets_no_turn_is_not_counted() {
    let mut edge = Edge::builder().with_waits().start().await.unwrap();
    let owner = edge.account().await;
    edge.restart_with(|b| b.var("PASSWORD_HASHES_PER_MINUTE", "1")).await.unwrap();
    let anonymous = edge.anonymous();
    // Another request uses the only hash of this minute.
    send(post(&anonymous, "/auth/login", "203.0.113.1", "nobody@rcpt-tests.net")).await;
    for n in 0..30 {
        let from = format!("198.51.100.{n}");
        let reply = send(post(&anonymous, "/auth/login", &from, &owner.email)).await;
        reply.assert_error(503, "unavailable", "no turn");
    }
    let email = edge.new_email();
    for n in 0..5 {
        let from = format!("198.51.100.{n}");
        let reply = send(post(&anonymous, "/auth/register", &from, &email)).await;
        reply.assert_error(503, "unavailable", "no turn");
    }
    edge.restart_with(|b| b.var("PASSWORD_HASHES_PER_MINUTE", "1000000")).await.unwrap();
    let reply = send(post(&anonymous, "/auth/login", "198.51.100.1", &owner.email)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let reply = send(post(&anonymous, "/auth/register", "198.51.100.1", &email)).await;
    assert_eq!(reply.status, 201, "{}", reply.body);
    edge.mailbox().wait_for_mail(&email).await.unwrap();
}
