//! Junk keys cost nothing (docs/security.md, A7): neither a D1 statement nor a KV call.
//!
//! `shim.mjs` runs before the Worker in its isolate and counts the Worker's calls of bindings. A valid key proves that
//! calls are counted.

use rcpt_shared::KeyRing;
use rcpt_shared::Status;
use rcpt_tests::{
    Anonymous, Conduct, Edge, FakeOrigin,
    people::send_all,
    proof,
    service::{forgery, secret, shim::Counts},
};
use reqwest::{Method, header::HeaderValue};
use serde_json::json;

/// The `nth` invalid key; the last digit of `nth` selects one of ten kinds.
fn junk(nth: usize, genuine: &str, strangers: &KeyRing) -> Vec<u8> {
    let id = format!("{nth:016x}");
    let stranger = forgery::api_key(strangers, &id, 1);
    let (at, bit) = (10 + nth % (genuine.len() - 10), nth % 7);
    let text = match nth % 10 {
        0 => stranger,
        1 => format!("rcpt_live_{nth}"),
        2 => forgery::with_another_mac(&forgery::api_key(strangers, &id, 7)),
        3 => genuine[..nth % genuine.len()].to_owned(),
        4 => format!("{genuine}{nth}"),
        5 => stranger.to_lowercase(),
        6 => stranger.replacen("live", "test", 1),
        7 => "k".repeat(nth % 4000 + 1),
        8 => format!("rcpt_live_{}", "z".repeat(63)),
        // A valid key with one bit changed.
        _ => {
            let mut bytes = genuine.as_bytes().to_vec();
            bytes[at] ^= 1 << bit;
            return bytes;
        }
    };
    text.into_bytes()
}

#[tokio::test]
async fn junk_keys_are_401_and_touch_neither_d1_nor_kv() {
    let count = proof::count(1_000, 10_000);
    let ours = secret::value().unwrap();
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = Edge::builder()
        .origins(&[&origin.url])
        .ring("API_KEY_SECRET", &ours)
        .shimmed()
        .start()
        .await
        .unwrap();
    let account = edge.account().await;
    // These keys have the right kid but another secret, so only their MAC is wrong.
    let strangers = KeyRing::parse(&secret::value().unwrap()).unwrap();
    edge.counts().await;
    assert_eq!(account.check("someone@example.org").await.status, 200);
    let good = edge.counts().await;
    assert_eq!((good.d1_trips, good.kv_reads), (2, 1), "{good:?}");
    let anonymous = Anonymous::on_kept_connections(&edge.url);
    let body = json!({ "email": "someone@example.org" });
    let requests = (0..count).map(|nth| {
        let request = match nth / 10 % 2 {
            0 => anonymous.request(Method::POST, "/validate_email").json(&body),
            _ => anonymous.request(Method::GET, "/me/quota"),
        };
        let key = HeaderValue::from_bytes(&junk(nth, &account.api_key, &strangers));
        request.header("x-api-key", key.unwrap_or_else(|_| HeaderValue::from_static("")))
    });
    let replies = send_all(requests, 64).await;
    let refused = replies.iter().filter(|reply| reply.status == 401).count();
    let counts = edge.counts().await;
    println!("{count} junk keys: {refused} answered 401, {counts:?}");
    assert_eq!((refused, counts), (count, Counts::default()));
    for (nth, reply) in replies.iter().enumerate() {
        let shaped = reply.text("code") == "invalid_api_key";
        assert!(shaped, "{nth}: {}", reply.body);
    }
}
