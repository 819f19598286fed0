//! Junk keys cost nothing (trust A7): no statement on D1, no call of KV.
//!
//! `observed.mjs` stands before the Worker in its isolate and counts what the Worker asks of the two
//! bindings. A good key shows that it would see a call.

use rcpt_shared::KeyRing;
use rcpt_shared::Status;
use rcpt_tests::{Anonymous, Conduct, Edge, FakeOrigin, actor::send_all, forgery, secret};
use reqwest::{Method, header::HeaderValue};
use serde_json::{Value, json};

const COUNT: usize = 10_000;

async fn calls(edge: &Edge) -> (u64, u64) {
    let seen = edge.observed().await;
    let count = |name: &str| seen.get(name).and_then(Value::as_u64).unwrap();
    (count("d1"), count("kv"))
}

/// The `nth` key that is none: ten kinds in turn.
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
        8 => format!("rcpt_live_{}", "z".repeat(45)),
        // One bit of a good key.
        _ => {
            let mut bytes = genuine.as_bytes().to_vec();
            bytes[at] ^= 1 << bit;
            return bytes;
        }
    };
    text.into_bytes()
}

#[tokio::test]
async fn ten_thousand_junk_keys_are_401_and_touch_neither_d1_nor_kv() {
    let ours = secret::key_ring().unwrap();
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = Edge::builder()
        .origins(&[&origin.url])
        .var("API_KEY_SECRETS", &ours)
        .observed()
        .start()
        .await
        .unwrap();
    let account = edge.account().await;
    // Same kid, other secret: checksum and form are right.
    let strangers = KeyRing::parse(&secret::key_ring().unwrap()).unwrap();
    let before = calls(&edge).await;
    assert_eq!(account.check("someone@example.org").await.status, 200);
    let after_good = calls(&edge).await;
    assert!(after_good.0 > before.0 && after_good.1 > before.1, "{before:?} {after_good:?}");
    // The verdict is put into KV after the answer has left.
    let mut settled = after_good;
    loop {
        account.get("/health").await;
        let now = calls(&edge).await;
        if now == settled && origin.probes_of("someone@example.org") == 1 && now.1 >= before.1 + 2 {
            break;
        }
        settled = now;
    }

    let anonymous = Anonymous::on_kept_connections(&edge.url);
    let body = json!({ "email": "someone@example.org" });
    let requests = (0..COUNT).map(|nth| {
        let request = match nth / 10 % 2 {
            0 => anonymous.request(Method::POST, "/validate_email").json(&body),
            _ => anonymous.request(Method::GET, "/me/quota"),
        };
        let key = HeaderValue::from_bytes(&junk(nth, &account.api_key, &strangers));
        request.header("x-api-key", key.unwrap_or_else(|_| HeaderValue::from_static("")))
    });
    let replies = send_all(requests, 64).await;
    let refused = replies.iter().filter(|reply| reply.status == 401).count();
    let after = calls(&edge).await;
    let (d1, kv) = (after.0 - settled.0, after.1 - settled.1);
    println!("{COUNT} junk keys: {refused} answered 401, {d1} D1 and {kv} KV calls");
    assert_eq!((refused, d1, kv), (COUNT, 0, 0));
    for (nth, reply) in replies.iter().enumerate() {
        let shaped = reply.body == json!({ "detail": { "error": "Invalid API key." } })
            || reply.text("code") == "invalid_api_key";
        assert!(shaped, "{nth}: {}", reply.body);
    }
}
