//! Credentials for checks: keys and sessions that work, and all kinds that don't.

use std::sync::LazyLock;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::Mac as _;
use rcpt_shared::{KeyRing, Status, Ticket};
use rcpt_tests::{
    Conduct, Edge, FakeOrigin, Reply,
    people::send,
    service::{
        clock,
        forgery::{self, session_claims, session_of},
        secret,
    },
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

static API_KEYS: LazyLock<String> = LazyLock::new(|| secret::value().unwrap());
static SESSIONS: LazyLock<String> = LazyLock::new(|| secret::value().unwrap());

/// An address whose verdict is cached before the first test.
const CACHED: &str = "cached@example.org";

struct World {
    edge: Edge,
    origin: FakeOrigin,
}

async fn world() -> &'static World {
    static WORLD: OnceCell<World> = OnceCell::const_new();
    WORLD
        .get_or_init(async || {
            let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
            let edge = Edge::builder()
                .origins(&[&origin.url])
                .ring("API_KEY_SECRET", &API_KEYS)
                .ring("SESSION_SECRET", &SESSIONS);
            let edge = edge.start().await.unwrap();
            assert_eq!(edge.account().await.check(CACHED).await.status, 200);
            World { edge, origin }
        })
        .await
}

fn ring(configured: &str) -> KeyRing {
    KeyRing::parse(configured).unwrap()
}

fn api_keys() -> KeyRing {
    ring(&API_KEYS)
}

fn sessions() -> KeyRing {
    ring(&SESSIONS)
}

/// Returns a ring of another secret.
fn stranger() -> KeyRing {
    ring(&secret::value().unwrap())
}

fn denied(error: &str) -> Value {
    let code = match error {
        INVALID_KEY | SEVERAL_KEYS => "invalid_api_key",
        MISSING => "missing_credentials",
        _ => "invalid_session",
    };
    json!({ "detail": { "error": error }, "code": code })
}

const INVALID_KEY: &str = "Invalid API key.";
const SEVERAL_KEYS: &str = "More than one API key was sent: send one X-API-Key header.";
const INVALID_SESSION: &str = "Invalid or expired session token. Sign in again.";
const MISSING: &str = "Missing API key: send it in the X-API-Key header.";

async fn check(headers: &[(&str, &str)], address: &str) -> Reply {
    let request = world().await.edge.anonymous().request(Method::POST, "/validate_email");
    let request =
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    send(request.json(&json!({ "email": address }))).await
}

/// Asserts the same 401 on every path through the handler (fresh, cached, no address), without a
/// request to an origin.
async fn assert_refused(headers: &[(&str, &str)], error: &str, why: &str) {
    let fresh = format!("fresh-{}@example.org", why.replace(' ', "-"));
    for address in [&fresh, CACHED, "not an address"] {
        let reply = check(headers, address).await;
        assert_eq!(reply.parts(), (401, &denied(error)), "{why}: {address}");
        let challenge = match error {
            MISSING => "ApiKey, Bearer",
            INVALID_KEY | SEVERAL_KEYS => "ApiKey",
            _ => "Bearer",
        };
        assert_eq!(reply.header("www-authenticate"), challenge, "{why}");
    }
    assert_eq!(world().await.origin.probes_of(&fresh), 0, "{why}");
}

/// Asserts a rejection on every path, before the body is read and without storage.
async fn assert_refused_at_once(headers: &[(&str, &str)], error: &str, why: &str) {
    assert_refused(headers, error, why).await;
    let reply = check(headers, "").await;
    assert_eq!(reply.parts(), (401, &denied(error)), "{why}, and no address");
}

async fn assert_taken(headers: &[(&str, &str)], why: &str) {
    let reply = check(headers, CACHED).await;
    let expected =
        json!({ "email": CACHED, "verdict": "deliverable", "status": true, "cached": true });
    assert_eq!(reply.parts(), (200, &expected), "{why}");
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

#[tokio::test]
async fn a_key_and_a_session_both_work() {
    let account = world().await.edge.account().await;
    assert_taken(&[("X-API-Key", &account.api_key)], "key").await;
    let pasted = format!("\t{}  ", account.api_key);
    assert_taken(&[("X-API-Key", &pasted)], "blanks around the key").await;
    assert_taken(&[("Authorization", &bearer(&account.token))], "session").await;
    let lower = format!("bearer {}", account.token);
    assert_taken(&[("Authorization", &lower)], "the scheme's case does not matter").await;
}

#[tokio::test]
async fn where_both_are_sent_the_key_wins() {
    let account = world().await.edge.account().await;
    let (good, junk) = (bearer(&account.token), bearer("junk"));
    let key = &account.api_key;
    assert_taken(&[("X-API-Key", key), ("Authorization", &junk)], "valid key, junk session").await;
    let headers = [("X-API-Key", "junk"), ("Authorization", good.as_str())];
    assert_refused_at_once(&headers, INVALID_KEY, "junk key and valid session").await;
    let headers = [("X-API-Key", ""), ("Authorization", good.as_str())];
    assert_refused_at_once(&headers, INVALID_KEY, "empty key and valid session").await;
}

#[tokio::test]
async fn without_a_key_the_answer_is_401_and_says_where_to_put_one() {
    let account = world().await.edge.account().await;
    assert_refused_at_once(&[], MISSING, "nothing").await;
    let basic = format!("Basic {}", account.token);
    assert_refused_at_once(&[("Authorization", &basic)], MISSING, "another scheme").await;
    assert_refused_at_once(&[("Authorization", &account.token)], MISSING, "no scheme").await;
    let query = format!("/validate_email?api_key={}", account.api_key);
    let request = world().await.edge.anonymous().request(Method::POST, &query);
    let reply = send(request.json(&json!({ "email": CACHED }))).await;
    assert_eq!(reply.parts(), (401, &denied(MISSING)), "keys do not go into URLs");
}

#[tokio::test]
async fn a_key_in_the_place_of_a_session_is_401_and_says_where_it_belongs() {
    let account = world().await.edge.account().await;
    let key = "This is an API key: send it in the X-API-Key header. Account endpoints need a session \
                  token. You get one by signing in.";
    for presented in [&account.api_key, "rcpt_live_junk"] {
        let authorization = bearer(presented);
        assert_refused_at_once(&[("Authorization", &authorization)], key, "a key as Bearer").await;
    }
}

#[tokio::test]
async fn a_malformed_key_is_401() {
    let account = world().await.edge.account().await;
    let key = &account.api_key;
    let flipped = if key.ends_with('0') { "1" } else { "0" };
    let other_checksum = format!("{}{flipped}", key.split_at(key.len() - 1).0);
    let long = "x".repeat(5_000);
    for junk in [
        "",
        "junk",
        "rcpt_live_",
        key.strip_prefix("rcpt_live_").unwrap(),
        &key.to_lowercase(),
        &format!("{key}0"),
        &other_checksum,
        &account.token,
        &long,
    ] {
        assert_refused_at_once(&[("X-API-Key", junk)], INVALID_KEY, "malformed").await;
    }
}

#[tokio::test]
async fn two_keys_in_one_request_are_401_and_named_as_two() {
    let account = world().await.edge.account().await;
    let key = &account.api_key;
    for both in [format!("{key},{key}"), format!("{key}, {key}")] {
        assert_refused_at_once(&[("X-API-Key", &both)], SEVERAL_KEYS, "two keys").await;
    }
    assert_refused_at_once(&[("X-API-Key", key), ("X-API-Key", key)], SEVERAL_KEYS, "two headers")
        .await;
}

#[tokio::test]
async fn a_key_with_the_right_checksum_and_another_mac_is_401() {
    let edge = &world().await.edge;
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    assert_eq!(forgery::api_key(&api_keys(), &id, 1), account.api_key, "the forger knows how");
    for (key, why) in [
        (forgery::with_another_mac(&account.api_key), "a changed MAC"),
        (forgery::api_key(&stranger(), &id, 1), "another secret"),
        (forgery::api_key(&sessions(), &id, 1), "the secret of sessions"),
    ] {
        assert_refused_at_once(&[("X-API-Key", &key)], INVALID_KEY, why).await;
    }
}

#[tokio::test]
async fn a_genuine_key_of_another_version_or_of_nobody_is_401() {
    let edge = &world().await.edge;
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    for (key, why) in [
        (forgery::api_key(&api_keys(), &id, 0), "the version before"),
        (forgery::api_key(&api_keys(), &id, 2), "the next version"),
        (forgery::api_key(&api_keys(), "0123456789abcdef", 1), "no such account"),
    ] {
        assert_refused(&[("X-API-Key", &key)], INVALID_KEY, why).await;
    }
    assert_taken(&[("X-API-Key", &account.api_key)], "its own key still works").await;
}

#[tokio::test]
async fn neither_key_nor_session_of_a_registration_works() {
    let edge = &world().await.edge;
    let (email, _) = edge.registered().await;
    let id = edge.registered_id(&email).await;
    let key = forgery::api_key(&api_keys(), &id, 1);
    assert_refused(&[("X-API-Key", &key)], INVALID_KEY, "a registration's key").await;
    let token = bearer(&forgery::session(&sessions(), &session_claims(&id, &"0".repeat(32))));
    let headers = [("Authorization", token.as_str())];
    assert_refused(&headers, INVALID_SESSION, "a registration's session").await;
}

#[tokio::test]
async fn a_replaced_key_is_401_in_the_next_request() {
    let account = world().await.edge.account().await;
    let reply = account.rotate_api_key().await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_refused(&[("X-API-Key", &account.api_key)], INVALID_KEY, "replaced").await;
    let new = reply.body["api_key"].as_str().unwrap();
    assert_taken(&[("X-API-Key", new)], "the new key").await;
    assert_taken(&[("Authorization", &bearer(&account.token))], "the session").await;
}

#[tokio::test]
async fn a_deactivated_key_is_401_and_the_session_goes_on() {
    let edge = &world().await.edge;
    let account = edge.account().await;
    edge.set(&account.email, "key_active = 0").await;
    assert_refused(&[("X-API-Key", &account.api_key)], INVALID_KEY, "deactivated key").await;
    assert_taken(&[("Authorization", &bearer(&account.token))], "the session").await;
}

#[tokio::test]
async fn a_deactivated_account_is_401_by_key_and_by_session() {
    let edge = &world().await.edge;
    let account = edge.account().await;
    edge.set(&account.email, "state = 'deactivated'").await;
    let key = [("X-API-Key", account.api_key.as_str())];
    assert_refused(&key, INVALID_KEY, "deactivated account by key").await;
    let token = bearer(&account.token);
    let session = [("Authorization", token.as_str())];
    assert_refused(&session, INVALID_SESSION, "deactivated account by session").await;
}

#[tokio::test]
async fn a_session_ends_with_its_row() {
    let edge = &world().await.edge;
    let account = edge.account().await;
    edge.end_sessions(&account.email).await;
    let token = bearer(&account.token);
    let session = [("Authorization", token.as_str())];
    assert_refused(&session, INVALID_SESSION, "an ended session").await;
    assert_taken(&[("X-API-Key", &account.api_key)], "the key").await;
}

#[tokio::test]
async fn a_session_that_is_not_exactly_right_is_401() {
    let edge = &world().await.edge;
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    let sign = |claims: &Value| forgery::session(&sessions(), claims);
    let good = session_claims(&id, &session_of(&account.token));
    assert_taken(&[("Authorization", &bearer(&sign(&good)))], "the forger knows how").await;
    let with = |claim: &str, value: Value| {
        let mut claims = good.clone();
        claims[claim] = value;
        sign(&claims)
    };
    let now = clock::now();
    let token = &account.token;
    let (signed, signature) = token.rsplit_once('.').unwrap();
    // The right secret signs, and its id is another one's.
    let renamed = {
        let header = json!({ "typ": "JWT", "alg": "HS256", "kid": stranger().signing().0 });
        let claims = signed.split_once('.').unwrap().1;
        let signed = format!("{}.{claims}", URL_SAFE_NO_PAD.encode(header.to_string()));
        let tag = sessions().signing_mac().chain_update(&signed).finalize().into_bytes();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag))
    };
    for (forged, why) in [
        ("junk".to_owned(), "junk"),
        (format!("{signed}."), "no signature"),
        (format!("{signed}.{}", signature.to_uppercase()), "another signature"),
        (with("exp", json!(now)), "expired now"),
        (with("exp", json!(now - 3600)), "expired"),
        (with("iat", json!(now + 3600)), "from the future"),
        (with("iss", json!("somebody")), "another issuer"),
        (with("aud", json!("origin")), "another audience"),
        (with("sub", json!("nobody")), "no account"),
        (forgery::session(&stranger(), &good), "another secret"),
        (forgery::session(&api_keys(), &good), "the secret of keys"),
        (renamed, "an unknown kid"),
        (forgery::with_algorithm(token, "none", ""), "alg none"),
        (forgery::with_algorithm(token, "none", signature), "alg none with a signature"),
        (forgery::with_algorithm(token, "NONE", ""), "alg NONE"),
        (forgery::with_algorithm(token, "HS512", signature), "alg HS512"),
        (forgery::with_algorithm(token, "RS256", signature), "alg RS256"),
        (Ticket::issue(&sessions(), "id", b"", now).unwrap(), "a ticket"),
    ] {
        let value = bearer(&forged);
        assert_refused_at_once(&[("Authorization", &value)], INVALID_SESSION, why).await;
    }
    for (signed, why) in [
        (with("sub", json!("0123456789abcdef")), "unknown account"),
        (with("jti", json!("0".repeat(32))), "a session that never was"),
        (with("jti", json!("")), "no session"),
    ] {
        let value = bearer(&signed);
        assert_refused(&[("Authorization", &value)], INVALID_SESSION, why).await;
    }
    assert_refused_at_once(&[("Authorization", "Bearer ")], INVALID_SESSION, "empty").await;
}

#[tokio::test]
async fn a_changed_claim_breaks_the_signature() {
    let edge = &world().await.edge;
    let [account, other] = [edge.account().await, edge.account().await];
    // The claims of one token and the signature of another, both genuine.
    let (claims, _) = account.token.rsplit_once('.').unwrap();
    let (_, signature) = other.token.rsplit_once('.').unwrap();
    let spliced = bearer(&format!("{claims}.{signature}"));
    let headers = [("Authorization", spliced.as_str())];
    assert_refused_at_once(&headers, INVALID_SESSION, "a spliced token").await;
}
