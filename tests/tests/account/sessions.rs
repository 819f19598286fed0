//! Sessions are unforgeable and end immediately (docs/security.md, A5).
//!
//! - Refused: `alg: none` or another than HS256, a wrong `iss`, `aud` or `kid`, an expired token, any bit changed.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rcpt_shared::KeyRing;
use rcpt_tests::{
    Account, Anonymous, Edge,
    people::{PASSWORD, send, send_all},
    process::turn,
    proof,
    service::{
        clock,
        forgery::{self, session_claims, session_of, with_algorithm},
        secret,
    },
};
use reqwest::{Method, header::HeaderValue};
use serde_json::{Value, json};

use crate::edge;

fn ring(configured: &str) -> KeyRing {
    KeyRing::parse(configured).unwrap()
}

async fn assert_refused(token: &str, why: &str) {
    let request = edge().await.anonymous().request(Method::GET, "/me");
    send(request.bearer_auth(token)).await.assert_error(401, "invalid_session", why);
}

fn changed(claims: &Value, member: &str, value: Value) -> Value {
    let mut claims = claims.clone();
    claims[member] = value;
    claims
}

/// Replaces members of the token's header, and signs it with the ring's first secret.
fn with_header(ring: &KeyRing, token: &str, header: &Value) -> String {
    use hmac::{Hmac, KeyInit as _, Mac as _};
    let claims = token.split('.').nth(1).unwrap();
    let signed = format!("{}.{claims}", URL_SAFE_NO_PAD.encode(header.to_string()));
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(ring.signing().1).unwrap();
    mac.update(signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}

#[tokio::test]
async fn a_token_with_another_algorithm_key_or_claim_is_401() {
    let edge = edge().await;
    let account = edge.account().await;
    let claims = session_claims(&edge.id(&account.email).await, &session_of(&account.token));
    let genuine = forgery::session(&edge.key_ring("SESSION_SECRET"), &claims);
    let reply = send(edge.anonymous().request(Method::GET, "/me").bearer_auth(&genuine)).await;
    assert_eq!(reply.status, 200, "the forgery is one: {}", reply.body);

    let signature = genuine.rsplit('.').next().unwrap();
    for algorithm in ["none", "None", "NONE", "", "HS384", "HS512", "RS256", "ES256", "EdDSA"] {
        assert_refused(&with_algorithm(&genuine, algorithm, signature), algorithm).await;
        assert_refused(&with_algorithm(&genuine, algorithm, ""), algorithm).await;
    }
    let ours = edge.key_ring("SESSION_SECRET");
    let header: Value = {
        let header = genuine.split('.').next().unwrap();
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap()
    };
    assert_eq!(with_header(&ours, &genuine, &header).rsplit('.').next().unwrap().len(), 43);
    for (member, value) in [
        ("alg", json!("none")),
        ("alg", json!("HS512")),
        ("alg", json!(null)),
        ("kid", json!("dev2")),
        ("kid", json!("")),
        ("kid", json!("../../dev/null")),
        ("kid", json!(null)),
    ] {
        let token = with_header(&ours, &genuine, &changed(&header, member, value.clone()));
        assert_refused(&token, &format!("{member} {value}, well signed")).await;
    }
    let now = clock::now();
    for (member, value) in [
        ("iss", json!("other")),
        ("iss", Value::Null),
        ("aud", json!("origin")),
        ("aud", json!(["portal", "origin"])),
        ("aud", Value::Null),
        ("exp", json!(now)),
        ("exp", json!(now - 1)),
        ("exp", json!("never")),
        ("exp", Value::Null),
        ("iat", json!(now + 3600)),
        ("sub", json!("0000000000000000")),
        ("sub", json!("")),
        ("sub", Value::Null),
        ("jti", json!("0".repeat(32))),
        ("jti", json!("")),
        ("jti", json!(1)),
        ("jti", Value::Null),
    ] {
        let token = forgery::session(&ours, &changed(&claims, member, value.clone()));
        assert_refused(&token, &format!("{member}: {value}")).await;
    }
    let stranger = ring(&secret::value().unwrap());
    assert_refused(&forgery::session(&stranger, &claims), "another secret under the kid").await;
    let [header, claims, signature] = genuine.split('.').collect::<Vec<_>>()[..] else { panic!() };
    for (token, why) in [
        (String::new(), "empty"),
        (".".into(), "a dot"),
        ("..".into(), "two dots"),
        ("...".into(), "three dots"),
        ("junk".into(), "junk"),
        (format!("{header}.{claims}"), "two parts"),
        (format!("{header}.{claims}."), "no signature"),
        (format!("{header}..{signature}"), "no claims"),
        (format!(".{claims}.{signature}"), "no header"),
        (format!("{genuine}."), "a fourth part"),
        (format!("{genuine}.{signature}"), "a fourth part"),
        (format!("{genuine}="), "padding"),
        (format!("{header}.{claims}.{signature}{signature}"), "two signatures"),
        (format!("{claims}.{header}.{signature}"), "swapped parts"),
        ("e30.e30.e30".into(), "empty objects"),
        ("a".repeat(8000), "very long"),
    ] {
        assert_refused(&token, why).await;
    }
}

/// Flips every bit of one token, or of six tokens in the long form, one at a time, except those that HTTP can't carry.
#[tokio::test]
async fn no_token_with_one_bit_changed_is_accepted() {
    let _turn = turn().await;
    let edge = edge().await;
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    let mut tokens = vec![account.token.clone()];
    for _ in 1..proof::count(1, 6) {
        tokens.push(account.anonymous.login(&account.email, PASSWORD).await.text("token").into());
    }
    assert!(tokens.iter().all(|token| token.len() > 200), "{id}");
    let anonymous = &Anonymous::on_kept_connections(&edge.url);
    let requests = tokens.iter().flat_map(|token| {
        (0..token.len() * 8).filter_map(move |bit| {
            let mut bytes = format!("Bearer {token}").into_bytes();
            bytes["Bearer ".len() + bit / 8] ^= 1 << (bit % 8);
            let value = HeaderValue::from_bytes(&bytes).ok()?;
            Some(anonymous.request(Method::GET, "/me").header("authorization", value))
        })
    });
    let replies = send_all(requests, 64).await;
    let accepted = replies.iter().filter(|reply| reply.status != 401).count();
    println!(
        "{} single-bit changes of {} tokens: {accepted} accepted",
        replies.len(),
        tokens.len()
    );
    assert!(replies.len() >= 1_700 * tokens.len(), "{}", replies.len());
    assert_eq!(accepted, 0);
    assert_eq!(account.get("/me").await.status, 200, "unchanged it is accepted");
}

#[tokio::test]
async fn signing_out_everywhere_ends_every_session_and_not_the_key() {
    let account = edge().await.account().await;
    let elsewhere = account.anonymous.login(&account.email, PASSWORD).await;
    let elsewhere = Account::from_credentials(&account.anonymous, PASSWORD, &elsewhere);
    let reply = elsewhere.post("/auth/sign-out-everywhere", &json!({})).await;
    assert_eq!(reply.parts(), (204, &Value::String(String::new())));
    for session in [&account, &elsewhere] {
        session.get("/me").await.assert_error(401, "invalid_session", "the next call");
        let again = session.post("/auth/sign-out-everywhere", &json!({})).await;
        again.assert_error(401, "invalid_session", "twice");
    }
    assert_eq!(account.quota().await.status, 200, "the key works on");
    assert_eq!(account.anonymous.login(&account.email, PASSWORD).await.status, 200);
}

#[tokio::test]
async fn a_session_under_the_older_of_two_secrets_works_until_that_secret_goes() {
    let [old, new] = [(); 2].map(|()| secret::value().unwrap());
    let mut edge = Edge::builder().ring("SESSION_SECRET", &old).start().await.unwrap();
    let account = edge.account().await;
    edge.restart_with(|builder| builder.ring("SESSION_SECRET", &format!("{new},{old}")))
        .await
        .unwrap();
    assert_eq!(account.get("/me").await.status, 200, "the older secret");
    let renewed = account.anonymous.login(&account.email, PASSWORD).await;
    let renewed = Account::from_credentials(&account.anonymous, PASSWORD, &renewed);
    edge.restart_with(|builder| builder.ring("SESSION_SECRET", &new)).await.unwrap();
    account.get("/me").await.assert_error(401, "invalid_session", "the secret is gone");
    assert_eq!(renewed.get("/me").await.status, 200, "the newer secret");
}
