//! Replacing the API key, and the display name (docs/account-api.md).

use rcpt_tests::{
    Account, Reply,
    people::{PASSWORD, send},
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::edge;

fn error(code: &str, detail: &str) -> Value {
    json!({ "detail": detail, "code": code })
}

fn missing_session() -> Value {
    let detail = "Missing session token: sign in and send it as Authorization: Bearer <token>.";
    error("missing_credentials", detail)
}

fn invalid_session() -> Value {
    error("invalid_session", "Invalid or expired session token. Sign in again.")
}

fn key_as_session() -> Value {
    let detail = "This is an API key: send it in the X-API-Key header. Account endpoints need a session \
                  token. You get one by signing in.";
    error("invalid_session", detail)
}

fn invalid_name() -> Value {
    error(
        "invalid_display_name",
        "The display name must have 1 to 100 characters and no control characters.",
    )
}

/// Returns the new key of a successful replacement; asserts that the response has no other member.
fn new_key(reply: &Reply) -> String {
    let key = reply.body["api_key"].as_str().unwrap_or_default().to_owned();
    assert_eq!(reply.parts(), (200, &json!({ "api_key": key })));
    assert!(key.starts_with("rcpt_live_") && key.len() == 73, "{key}");
    key
}

async fn rename(account: &Account, name: impl Into<Value>) -> Reply {
    account.put("/auth/settings", &json!({ "display_name": name.into() })).await
}

// --- POST /auth/rotate-api-key

#[tokio::test]
async fn rotation_gives_a_new_key_and_the_old_one_is_dead_in_the_next_request() {
    let edge = edge().await;
    let old = edge.account().await;
    let api_key = new_key(&old.rotate_api_key().await);
    assert_ne!(api_key, old.api_key);
    assert_eq!(old.quota().await.parts(), (401, &error("invalid_api_key", "Invalid API key.")));
    let new = Account { api_key, ..old };
    assert_eq!(new.quota().await.status, 200);
    assert_eq!(new.get("/me/quota").await.status, 200, "the session goes on");

    let login = edge.anonymous().login(&new.email, PASSWORD).await;
    assert_eq!((login.status, &login.body["api_key"]), (200, &json!(new.api_key)));
}

#[tokio::test]
async fn every_rotation_gives_another_key_and_only_the_last_works() {
    let account = edge().await.account().await;
    let mut keys = vec![account.api_key.clone()];
    for _ in 0..4 {
        keys.push(new_key(&account.rotate_api_key().await));
    }
    let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
    assert_eq!(distinct.len(), keys.len());
    for (index, api_key) in keys.iter().enumerate() {
        let holder = Account { api_key: api_key.clone(), ..account.clone() };
        let expected = if index + 1 == keys.len() { 200 } else { 401 };
        assert_eq!(holder.quota().await.status, expected, "key {index}");
    }
}

#[tokio::test]
async fn rotations_at_once_all_give_different_keys_and_one_of_them_works() {
    let account = edge().await.account().await;
    let mut rotations = JoinSet::new();
    for _ in 0..10 {
        let account = account.clone();
        rotations.spawn(async move { new_key(&account.rotate_api_key().await) });
    }
    let keys = rotations.join_all().await;
    let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
    assert_eq!(distinct.len(), 10);
    let mut working = 0;
    for api_key in keys {
        let holder = Account { api_key, ..account.clone() };
        working += usize::from(holder.quota().await.status == 200);
    }
    assert_eq!(working, 1);
}

#[tokio::test]
async fn a_key_cannot_rotate_itself_nor_rename_the_account() {
    let account = edge().await.account().await;
    for (method, path, body) in [
        (Method::POST, "/auth/rotate-api-key", json!({})),
        (Method::PUT, "/auth/settings", json!({ "display_name": "Ann" })),
    ] {
        let request = account.anonymous.request(method, path);
        let reply = send(request.header("x-api-key", &account.api_key).json(&body)).await;
        assert_eq!(reply.parts(), (401, &missing_session()), "{path}");
        assert_eq!(reply.header("www-authenticate"), "Bearer");
    }
    assert_eq!(account.quota().await.status, 200, "the key is still the same");
}

#[tokio::test]
async fn a_session_is_needed_and_must_be_alive() {
    let edge = edge().await;
    let account = edge.account().await;
    let [ended, closed] = [edge.account().await, edge.account().await];
    edge.end_sessions(&ended.email).await;
    edge.set(&closed.email, "state = 'deactivated'").await;
    let bearer = |token: &str| Some(format!("Bearer {token}"));
    for (authorization, expected, why) in [
        (None, missing_session(), "nothing"),
        (Some("Basic YTpi".to_owned()), missing_session(), "another scheme"),
        (bearer("junk"), invalid_session(), "junk"),
        (bearer(&account.api_key), key_as_session(), "the key as a session"),
        (bearer(&ended.token), invalid_session(), "ended"),
        (bearer(&closed.token), invalid_session(), "deactivated"),
    ] {
        for (method, path) in
            [(Method::POST, "/auth/rotate-api-key"), (Method::PUT, "/auth/settings")]
        {
            let mut request = account.anonymous.request(method, path);
            if let Some(value) = &authorization {
                request = request.header("authorization", value);
            }
            let reply = send(request.json(&json!({ "display_name": "Eve" }))).await;
            assert_eq!(reply.parts(), (401, &expected), "{path}: {why}");
        }
    }
    for untouched in [&account, &ended, &closed] {
        let row = edge.row(&untouched.email, "display_name").await;
        assert_eq!(row, json!({ "display_name": "" }));
        assert_eq!(edge.own_version(&untouched.email).await, 1);
    }
}

#[tokio::test]
async fn a_session_rotates_even_where_a_key_is_sent_beside_it() {
    let account = edge().await.account().await;
    let request = account.request(Method::POST, "/auth/rotate-api-key");
    new_key(&send(request.header("x-api-key", "junk")).await);
}

#[tokio::test]
async fn a_code_is_not_needed_without_two_factor_authentication_and_must_be_a_string() {
    let account = edge().await.account().await;
    let rotate = async |body: &'static str| {
        send(account.request(Method::POST, "/auth/rotate-api-key").body(body)).await
    };
    for body in ["", "{}", r#"{"totp_code":null}"#, r#"{"totp_code":"123456"}"#] {
        new_key(&rotate(body).await);
    }
    let version = edge().await.own_version(&account.email).await;
    let detail = "The 'totp_code' field must be a string.";
    let reply = rotate(r#"{"totp_code":123456}"#).await;
    assert_eq!(reply.parts(), (400, &error("invalid_body", detail)));
    let reply = rotate("totp_code=123456").await;
    assert_eq!(reply.parts(), (400, &error("invalid_body", "The request body is not JSON.")));
    assert_eq!(edge().await.own_version(&account.email).await, version, "nothing changed");
}

// --- PUT /auth/settings

#[tokio::test]
async fn a_display_name_has_1_to_100_characters_however_many_bytes() {
    let edge = edge().await;
    let account = edge.account().await;
    for name in ["A", &"x".repeat(100), &"ψ".repeat(100), &"🗝".repeat(100), " ", "Ann O'Neil <3"]
    {
        let reply = rename(&account, name).await;
        let expected = json!({ "email": account.email, "display_name": name });
        assert_eq!(reply.parts(), (200, &expected), "{name}");
        let row = edge.row(&account.email, "display_name").await;
        assert_eq!(row, json!({ "display_name": name }));
    }
}

#[tokio::test]
async fn a_name_that_is_empty_too_long_or_has_control_characters_is_400_and_changes_nothing() {
    let edge = edge().await;
    let account = edge.account().await;
    assert_eq!(rename(&account, "Ann").await.status, 200);
    for name in [
        "",
        &"x".repeat(101),
        &"ψ".repeat(101),
        "a\nb",
        "a\r\nb",
        "a\tb",
        "a\0b",
        "\u{7f}",
        "a\u{85}b",
        "\u{1b}[31m",
    ] {
        let reply = rename(&account, name).await;
        assert_eq!(reply.parts(), (400, &invalid_name()), "{name:?}");
    }
    let row = edge.row(&account.email, "display_name").await;
    assert_eq!(row, json!({ "display_name": "Ann" }));
}

#[tokio::test]
async fn a_settings_body_of_another_shape_is_400_invalid_body() {
    let account = edge().await.account().await;
    for (body, detail) in [
        ("", "Missing 'display_name' field in request body."),
        ("{}", "Missing 'display_name' field in request body."),
        ("{\"display_name\":", "The request body is not JSON."),
        (r#"{"display_name":null}"#, "The 'display_name' field must be a string."),
        (r#"{"display_name":7}"#, "The 'display_name' field must be a string."),
        (r#"{"display_name":["Ann"]}"#, "The 'display_name' field must be a string."),
    ] {
        let reply = send(account.request(Method::PUT, "/auth/settings").body(body)).await;
        assert_eq!(reply.parts(), (400, &error("invalid_body", detail)), "{body}");
    }
}

#[tokio::test]
async fn one_account_renames_itself_only() {
    let edge = edge().await;
    let [ann, bob] = [edge.account().await, edge.account().await];
    assert_eq!(rename(&ann, "Ann").await.status, 200);
    assert_eq!(rename(&bob, "Bob").await.status, 200);
    let row = edge.row(&ann.email, "display_name").await;
    assert_eq!(row, json!({ "display_name": "Ann" }));
}
