//! Turnstile, if configured: verified requests have their own budget of emails, and all other
//! limits stay (docs/security.md, B9).

use rcpt_tests::{
    Anonymous, Edge, FakeTurnstile, Reply,
    people::{PASSWORD, send},
    service::edge::EdgeBuilder,
};
use reqwest::Method;
use serde_json::{Value, json};

const BUDGETS: [&str; 2] = ["all-registration-mails", "all-reset-mails"];

fn configured(turnstile: &FakeTurnstile) -> EdgeBuilder {
    let edge = Edge::builder().with_waits().var("TURNSTILE_URL", turnstile.url.clone());
    edge.var("TURNSTILE_SECRET", FakeTurnstile::SECRET)
}

/// Uses up the [`BUDGETS`] with this prefix for an hour.
async fn exhaust(edge: &Edge, prefix: &str) {
    for budget in BUDGETS {
        let sql = "INSERT OR REPLACE INTO throttles (key, drained_at, last_attempt)
            VALUES (?, unixepoch() + 1000 * 43 + 3600, '')";
        edge.sql_in(0, sql, &[json!(format!("{prefix}{budget}"))]).await;
    }
}

async fn post(
    anonymous: &Anonymous,
    path: &str,
    from: &str,
    mut body: Value,
    token: Option<&str>,
) -> Reply {
    if let Some(token) = token {
        body["turnstile_token"] = json!(token);
    }
    let request = anonymous.request(Method::POST, path).json(&body);
    send(request.header("cf-connecting-ip", from)).await
}

async fn register(edge: &Edge, from: &str, email: &str, token: Option<&str>) -> Reply {
    let body = json!({ "email": email, "password": PASSWORD });
    post(&edge.anonymous(), "/auth/register", from, body, token).await
}

async fn forgot(edge: &Edge, from: &str, email: &str, token: Option<&str>) -> Reply {
    post(&edge.anonymous(), "/auth/forgot-password", from, json!({ "email": email }), token).await
}

#[tokio::test]
async fn a_person_registers_and_resets_though_others_have_used_up_the_budgets() {
    let turnstile = FakeTurnstile::start();
    let edge = configured(&turnstile).start().await.unwrap();
    let member = edge.account().await.email;
    edge.sql_in(0, "DELETE FROM throttles", &[]).await;
    exhaust(&edge, "").await;
    let email = edge.new_email();
    for token in [None, Some(""), Some("a robot's"), Some(&*"x".repeat(3_000))] {
        let reply = register(&edge, "198.51.100.1", &email, token).await;
        reply.assert_error(503, "unavailable", "no person");
    }
    assert_eq!(turnstile.tokens(), ["a robot's"], "nobody is asked about what is no token");
    assert_eq!(register(&edge, "198.51.100.1", &email, Some("vouched-1")).await.status, 201);
    edge.mailbox().wait_for_mail(&email).await.unwrap();
    let reply = register(&edge, "198.51.100.1", &edge.new_email(), Some("vouched-1")).await;
    reply.assert_error(503, "unavailable", "a token is good once");

    // Members and strangers get the same responses, with and without the budget of verified requests.
    for (prefix, status) in [("", 200), ("verified-", 429)] {
        exhaust(&edge, prefix).await;
        let mut replies = Vec::new();
        for (n, email) in [&member, &edge.new_email()].into_iter().enumerate() {
            let token = format!("vouched-reset-{prefix}{n}");
            let from = format!("203.0.113.{n}");
            let reply = forgot(&edge, &from, email, Some(&token)).await;
            assert_eq!(reply.status, status, "{}", reply.body);
            // The seconds to wait may differ.
            replies.push(reply.body.to_string().replace(|c: char| c.is_ascii_digit(), ""));
            edge.wait_for_reset_mails().await;
        }
        assert_eq!(replies[0], replies[1]);
    }
    edge.mailbox().wait_for_titled(&member, "Set a new password", 1).await.unwrap();
}

#[tokio::test]
async fn a_token_takes_no_limit_of_a_network_or_an_address_away() {
    let turnstile = FakeTurnstile::start();
    let edge = configured(&turnstile).var("MAILS_NETWORK_FREE", "3").start().await.unwrap();
    let email = edge.new_email();
    for n in 0..3 {
        let reply = register(&edge, "198.51.100.1", &email, Some(&format!("vouched-{n}"))).await;
        assert_eq!(reply.status, 201, "{}", reply.body);
    }
    edge.mailbox().wait_for_nth_mail(&email, 2).await.unwrap();
    assert_eq!(edge.mailbox().mails_to(&email).len(), 2, "two an hour to one address");
    assert_eq!(
        register(&edge, "198.51.100.1", &edge.new_email(), Some("vouched-3")).await.status,
        201
    );
    let reply = register(&edge, "198.51.100.1", &edge.new_email(), Some("vouched-4")).await;
    reply.assert_error(429, "throttled", "the network's");
}

#[tokio::test]
async fn nobody_is_worse_off_with_a_token_than_without() {
    let turnstile = FakeTurnstile::start();
    let mut edge = configured(&turnstile).start().await.unwrap();
    // Solvers can be bought, so the budget of verified requests can also be used up.
    exhaust(&edge, "verified-").await;
    for (n, is_down) in [false, true].into_iter().enumerate() {
        turnstile.set_down(is_down);
        let email = edge.new_email();
        let (from, token) = (format!("198.51.100.{n}"), format!("vouched-{n}"));
        assert_eq!(register(&edge, &from, &email, Some(&token)).await.status, 201, "{is_down}");
        edge.mailbox().wait_for_mail(&email).await.unwrap();
        assert_eq!(forgot(&edge, &from, &email, Some(&format!("{token}-r"))).await.status, 200);
    }
    assert_eq!(turnstile.tokens().len(), 4);
    edge.process.wait_for_line("turnstile").await;
    assert!(!edge.process.log().contains(FakeTurnstile::SECRET));
    assert!(!edge.process.log().contains("vouched-"));

    // If Turnstile isn't configured, a token has no effect.
    edge.restart_with(|edge| edge.var("TURNSTILE_SECRET", "")).await.unwrap();
    let email = edge.new_email();
    assert_eq!(register(&edge, "198.51.100.9", &email, Some("vouched-9")).await.status, 201);
    assert_eq!(turnstile.tokens().len(), 4);
}
