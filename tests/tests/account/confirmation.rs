//! Confirmation: the emailed link works once, for 24 hours, and only by POST (docs/security.md, A2).
//!
//! - One of 100 POSTs at once succeeds, opening the link uses nothing up, and expired, replaced, used and tampered
//!   tokens get the same 400.

use rcpt_tests::{Edge, people::send, process::turn, service::clock};
use reqwest::Method;
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    answers::{assert_credentials, invalid_token},
    edge,
};

#[tokio::test]
async fn confirming_signs_in_and_grants_the_welcome_checks_once() {
    let edge = edge().await;
    let anonymous = edge.anonymous();
    let (email, mail) = edge.registered().await;
    let token = mail.token().unwrap();
    let reply = anonymous.verify_email(token).await;
    let account = assert_credentials(&anonymous, &reply, &email);
    assert_eq!(account.get("/me/quota").await.status, 200, "the session works");
    assert_eq!(account.email_checks().await.welcome_left, 50, "the key works");
    let row = edge.row(&email, "state").await;
    assert_eq!(row, json!({ "state": "confirmed" }));

    let reply = anonymous.verify_email(token).await;
    assert_eq!(reply.parts(), (400, &invalid_token()), "used");
    assert_eq!(account.email_checks().await.welcome_left, 50);
}

#[tokio::test]
async fn unknown_tampered_and_expired_tokens_get_the_answer_of_used_ones() {
    let edge = edge().await;
    let anonymous = edge.anonymous();
    let (email, mail) = edge.registered().await;
    let token = mail.token().unwrap();
    let flipped = if token.starts_with('A') { 'B' } else { 'A' };
    let tampered = format!("{flipped}{}", token.split_at(1).1);
    let (shorter, _) = token.split_at(token.len() - 1);
    let longer = format!("{token}A");
    let padded = format!("{token}=");
    let spaced = format!(" {token}");
    let unknown = "A".repeat(43);
    for (presented, why) in [
        ("", "empty"),
        ("junk", "junk"),
        (&unknown, "unknown"),
        (&tampered, "tampered"),
        (shorter, "shorter"),
        (&longer, "longer"),
        (&padded, "padded"),
        (&spaced, "spaced"),
    ] {
        let reply = anonymous.verify_email(presented).await;
        assert_eq!(reply.parts(), (400, &invalid_token()), "{why}");
    }
    let select = "SELECT token_hash FROM registrations WHERE email = ?";
    let stored = edge.sql(select, &[email.as_str().into()]).await;
    let [stored] = &stored[..] else { panic!("{stored:?}") };
    let reply = anonymous.verify_email(stored["token_hash"].as_str().unwrap()).await;
    assert_eq!(reply.parts(), (400, &invalid_token()), "what is stored opens nothing");

    let expire = "UPDATE registrations SET expires_at = expires_at - 86400 WHERE email = ?";
    edge.sql(expire, &[email.as_str().into()]).await;
    let reply = anonymous.verify_email(token).await;
    assert_eq!(reply.parts(), (400, &invalid_token()), "24 hours later");
    assert_eq!(edge.count(&format!("accounts WHERE email = '{email}'")).await, 0);
}

#[tokio::test]
async fn a_link_is_valid_for_24_hours() {
    let edge = edge().await;
    let anonymous = edge.anonymous();
    let before = clock::now();
    let (email, mail) = edge.registered().await;
    let sql = "SELECT expires_at FROM registrations WHERE email = ?";
    let rows = edge.sql(sql, &[email.as_str().into()]).await;
    let expires_at = rows[0]["expires_at"].as_u64().unwrap();
    assert!((before + 86_400..=clock::now() + 86_400).contains(&expires_at), "{expires_at}");
    // The link still works a minute before it expires.
    let almost = "UPDATE registrations SET expires_at = expires_at - 86340 WHERE email = ?";
    edge.sql(almost, &[email.as_str().into()]).await;
    assert_credentials(&anonymous, &anonymous.verify_email(mail.token().unwrap()).await, &email);
}

#[tokio::test]
async fn following_the_link_consumes_nothing() {
    let edge = Edge::builder().pages().start().await.unwrap();
    let anonymous = edge.anonymous();
    let (email, mail) = edge.registered().await;
    let token = mail.token().unwrap();
    let client = reqwest::Client::new();
    for _ in 0..20 {
        let page = send(client.get(mail.link().unwrap())).await;
        assert_eq!(page.status, 200);
        let path = format!("/auth/verify-email?token={token}");
        for method in [Method::GET, Method::HEAD] {
            let reply = send(anonymous.request(method, &path)).await;
            assert_eq!((reply.status, reply.header("allow")), (405, "POST"));
        }
    }
    // A POST without the token in its body doesn't confirm either.
    let path = format!("/auth/verify-email?token={token}");
    let reply = anonymous.post(&path, &json!({})).await;
    assert_eq!(reply.status, 400);
    assert_credentials(&anonymous, &anonymous.verify_email(token).await, &email);
}

#[tokio::test]
async fn of_a_hundred_uses_of_a_link_at_once_exactly_one_succeeds() {
    let _turn = turn().await;
    let edge = edge().await;
    let anonymous = edge.anonymous();
    let (email, mail) = edge.registered().await;
    let mut uses = JoinSet::new();
    for _ in 0..100 {
        let (anonymous, token) = (anonymous.clone(), mail.token().unwrap().to_owned());
        uses.spawn(async move { anonymous.verify_email(&token).await });
    }
    let (taken, refused): (Vec<_>, Vec<_>) =
        uses.join_all().await.into_iter().partition(|reply| reply.status == 200);
    assert_eq!((taken.len(), refused.len()), (1, 99));
    for reply in &taken {
        assert_credentials(&anonymous, reply, &email);
    }
    for reply in refused {
        assert_eq!(reply.parts(), (400, &invalid_token()));
    }
    assert_eq!(edge.row(&email, "welcome_left").await, json!({ "welcome_left": 50 }));
}

// --- sign-in
