//! Every route against every caller (docs/security.md, A8), as one table, which must cover
//! `/v1/openapi-account.json`.

use std::collections::BTreeSet;

use rcpt_tests::{
    Account, Edge,
    people::{PASSWORD, send},
    service::forgery::{self, session_claims},
};
use reqwest::Method;
use serde_json::{Value, json};

const CALLERS: [&str; 9] = [
    "nobody",
    "the key of a registration",
    "the session of a registration",
    "the key",
    "the session",
    "the session of another account",
    "the key of a deactivated account",
    "the session of a deactivated account",
    "a replaced key",
];

/// Expected statuses for each caller. The bodies contain the account's own password and address. Another account that
/// sends these bodies acts on itself, or is rejected.
#[rustfmt::skip]
pub(super) const TABLE: [(&str, &str, [u16; CALLERS.len()]); 68] = [
    //                                       nobody  registered     account    other  deactivated  old
    //                                               key  session  key  session       key  session key
    ("POST",   "/v1/validate_email",           [401, 401, 401,     200, 200,   200,   401, 401,    401]),
    ("POST",   "/v1/validate_emails",          [401, 401, 401,     200, 200,   200,   401, 401,    401]),
    // No origin runs here.
    ("POST",   "/v1/domains",                  [401, 401, 401,     502, 502,   502,   401, 401,    401]),
    ("GET",    "/v1/guard",                    [401, 401, 401,     401, 200,   200,   401, 401,    401]),
    ("PUT",    "/v1/guard",                    [401, 401, 401,     401, 200,   200,   401, 401,    401]),
    ("POST",   "/v1/guard/secret",             [401, 401, 401,     401, 200,   200,   401, 401,    401]),
    ("POST",   "/v1/guard/decide",             [401, 401, 401,     200, 200,   200,   401, 401,    401]),
    // A hook name that was never issued.
    ("POST",   "/v1/guard/hooks/supabase/{hook}", [404, 404, 404,  404, 404,   404,   404, 404,    404]),
    ("POST",   "/v1/scans",                    [401, 401, 401,     201, 201,   201,   401, 401,    401]),
    ("GET",    "/v1/scans",                    [401, 401, 401,     200, 200,   200,   401, 401,    401]),
    ("GET",    "/v1/scans/{id}",               [401, 401, 401,     404, 404,   404,   401, 401,    401]),
    ("DELETE", "/v1/scans/{id}",               [401, 401, 401,     404, 404,   404,   401, 401,    401]),
    ("POST",   "/v1/scans/{id}/cancel",        [401, 401, 401,     404, 404,   404,   401, 401,    401]),
    ("PUT",    "/v1/scans/{id}/parts/{n}",     [401, 401, 401,     404, 404,   404,   401, 401,    401]),
    ("POST",   "/v1/scans/{id}/parts/{n}/match", [401, 401, 401,   404, 404,   404,   401, 401,    401]),
    ("GET",    "/v1/events",                   [401, 401, 401,     200, 200,   200,   401, 401,    401]),
    ("GET",    "/v1/scans/{id}/results",       [401, 401, 401,     404, 404,   404,   401, 401,    401]),
    ("GET",    "/v1/notifications",            [401, 401, 401,     401, 200,   200,   401, 401,    401]),
    ("PUT",    "/v1/notifications",            [401, 401, 401,     401, 200,   200,   401, 401,    401]),
    ("POST",   "/v1/notifications/secret",     [401, 401, 401,     401, 409,   409,   401, 401,    401]),
    ("POST",   "/v1/notifications/test",       [401, 401, 401,     401, 409,   409,   401, 401,    401]),
    ("GET",    "/v1/me/quota",                 [401, 401, 401,     200, 200,   200,   401, 401,    401]),
    ("GET",    "/v1/me",                       [401, 401, 401,     401, 200,   200,   401, 401,    401]),
    ("GET",    "/v1/me/events",                [401, 401, 401,     401, 200,   200,   401, 401,    401]),
    ("GET",    "/v1/me/export",                [401, 401, 401,     401, 200,   200,   401, 401,    401]),
    ("POST",   "/v1/me/stop-changes",          [401, 401, 401,     401, 204,   204,   401, 401,    401]),
    ("DELETE", "/v1/me",                       [401, 401, 401,     401, 204,   403,   401, 401,    401]),
    ("PUT",    "/v1/auth/settings",            [401, 401, 401,     401, 200,   200,   401, 401,    401]),
    ("PUT",    "/v1/auth/password",            [401, 401, 401,     401, 200,   403,   401, 401,    401]),
    ("POST",   "/v1/auth/rotate-api-key",      [401, 401, 401,     401, 200,   200,   401, 401,    401]),
    ("POST",   "/v1/auth/show-api-key",        [401, 401, 401,     401, 200,   403,   401, 401,    401]),
    ("POST",   "/v1/keys",                     [401, 401, 401,     401, 201,   403,   401, 401,    401]),
    ("GET",    "/v1/keys",                     [401, 401, 401,     401, 200,   200,   401, 401,    401]),
    ("DELETE", "/v1/keys/{id}",                [401, 401, 401,     401, 404,   404,   401, 401,    401]),
    ("POST",   "/v1/keys/{id}/replace",        [401, 401, 401,     401, 404,   403,   401, 401,    401]),
    ("POST",   "/v1/keys/replace-all",         [401, 401, 401,     401, 200,   403,   401, 401,    401]),
    // Accepts any body. The call ends the key, so the test restores the account's row.
    ("POST",   "/v1/keys/self-revoke",         [204, 204, 204,     204, 204,   204,   204, 204,    204]),
    ("POST",   "/v1/auth/passkeys/options",    [401, 401, 401,     401, 200,   403,   401, 401,    401]),
    // The body contains no passkey.
    ("POST",   "/v1/auth/passkeys",            [401, 401, 401,     401, 400,   400,   401, 401,    401]),
    ("GET",    "/v1/auth/passkeys",            [401, 401, 401,     401, 200,   200,   401, 401,    401]),
    ("DELETE", "/v1/auth/passkeys/{id}",       [401, 401, 401,     401, 404,   404,   401, 401,    401]),
    ("POST",   "/v1/auth/passkeys/sign-in/options", [200, 200, 200, 200, 200,  200,   200, 200,    200]),
    ("POST",   "/v1/auth/passkeys/sign-in",    [401, 401, 401,     401, 401,   401,   401, 401,    401]),
    // Ends a live session, whatever the state of its account.
    ("POST",   "/v1/auth/sign-out",            [401, 401, 401,     401, 204,   204,   401, 204,    401]),
    ("POST",   "/v1/auth/sign-out-everywhere", [401, 401, 401,     401, 204,   204,   401, 401,    401]),
    ("GET",    "/v1/me/usage",                 [401, 401, 401,     401, 200,   200,   401, 401,    401]),
    ("GET",    "/v1/me/plan",                  [401, 401, 401,     401, 200,   200,   401, 401,    401]),
    ("GET",    "/v1/site",                     [200, 200, 200,     200, 200,   200,   200, 200,    200]),
    ("POST",   "/v1/auth/change-email",        [401, 401, 401,     401, 400,   403,   401, 401,    401]),
    ("POST",   "/v1/auth/confirm-email",       [400, 400, 400,     400, 400,   400,   400, 400,    400]),
    ("POST",   "/v1/auth/stop-changes",        [400, 400, 400,     400, 400,   400,   400, 400,    400]),
    ("GET",    "/v1/auth/sessions",            [401, 401, 401,     401, 200,   200,   401, 401,    401]),
    ("DELETE", "/v1/auth/sessions/{id}",       [401, 401, 401,     401, 404,   404,   401, 401,    401]),
    ("POST",   "/v1/auth/totp/setup",          [401, 401, 401,     401, 200,   403,   401, 401,    401]),
    ("POST",   "/v1/auth/totp/enable",         [401, 401, 401,     401, 409,   409,   401, 401,    401]),
    ("POST",   "/v1/auth/totp/disable",        [401, 401, 401,     401, 409,   409,   401, 401,    401]),
    ("POST",   "/v1/auth/totp/recovery-codes", [401, 401, 401,     401, 409,   409,   401, 401,    401]),
    ("POST",   "/v1/auth/register",            [201, 201, 201,     201, 201,   201,   201, 201,    201]),
    ("POST",   "/v1/auth/verify-email",        [400, 400, 400,     400, 400,   400,   400, 400,    400]),
    ("POST",   "/v1/auth/login",               [200, 200, 200,     200, 200,   200,   200, 200,    200]),
    ("POST",   "/v1/auth/forgot-password",     [200, 200, 200,     200, 200,   200,   200, 200,    200]),
    ("POST",   "/v1/auth/stop-emails",         [400, 400, 400,     400, 400,   400,   400, 400,    400]),
    ("POST",   "/v1/auth/reset-password/show", [400, 400, 400,     400, 400,   400,   400, 400,    400]),
    ("POST",   "/v1/auth/reset-password",      [400, 400, 400,     400, 400,   400,   400, 400,    400]),
    ("GET",    "/v1/health",                   [200, 200, 200,     200, 200,   200,   200, 200,    200]),
    // No origin runs here.
    ("GET",    "/v1/health/ready",             [503, 503, 503,     503, 503,   503,   503, 503,    503]),
    ("GET",    "/v1/openapi.json",             [200, 200, 200,     200, 200,   200,   200, 200,    200]),
    ("GET",    "/v1/openapi-account.json",     [200, 200, 200,     200, 200,   200,   200, 200,    200]),
];

/// Rights of which a key needs at least one, by operation. Operations that aren't listed reject keys.
#[rustfmt::skip]
const RIGHTS: [(&str, &str, &[&str]); 14] = [
    ("POST",   "/v1/validate_email",           &["checks", "sandbox"]),
    ("POST",   "/v1/validate_emails",          &["checks", "sandbox"]),
    ("POST",   "/v1/domains",                  &["checks", "sandbox"]),
    ("POST",   "/v1/scans",                    &["scans"]),
    ("GET",    "/v1/scans",                    &["scans", "scans:read"]),
    ("GET",    "/v1/scans/{id}",               &["scans", "scans:read"]),
    ("DELETE", "/v1/scans/{id}",               &["scans"]),
    ("POST",   "/v1/scans/{id}/cancel",        &["scans"]),
    ("PUT",    "/v1/scans/{id}/parts/{n}",     &["scans"]),
    ("POST",   "/v1/scans/{id}/parts/{n}/match", &["scans"]),
    ("GET",    "/v1/events",                   &["scans", "scans:read", "webhooks"]),
    ("GET",    "/v1/scans/{id}/results",       &["scans", "scans:read"]),
    ("GET",    "/v1/me/quota",                 &["quota"]),
    ("POST",   "/v1/guard/decide",             &["guard", "sandbox"]),
];
const ALL_RIGHTS: [&str; 7] =
    ["checks", "scans", "scans:read", "quota", "guard", "webhooks", "sandbox"];
/// Indexes of the callers in [`TABLE`].
pub(super) const NOBODY: usize = 0;
pub(super) const FIRST_KEY: usize = 3;

/// A body with every member that an operation may accept.
pub(super) fn body(path: &str, account: &Account) -> Value {
    // The guard's settings and the terms of a key refuse unknown members.
    match path {
        "/v1/guard" => return json!({}),
        "/v1/keys" => return json!({ "name": "key", "rights": ["checks"], "password": PASSWORD }),
        _ => {}
    }
    let takes_any_text = ["/v1/validate_email", "/v1/guard/decide"].contains(&path);
    let email = if takes_any_text { "no address" } else { &account.email };
    if path.starts_with("/v1/scans/") {
        return json!({ "addresses": ["no address", "nor this"] });
    }
    json!({
        "emails": ["no address"], "domain": "relay.sandbox.test", "total": 2, "email": email, "password": PASSWORD, "token": "unknown", "totp_code": "123456",
        "name": "key", "rights": ["checks"], "display_name": "Ann", "current_password": PASSWORD, "new_password": "copper-meadow-58-lattice",
        "credential": { "id": "AAAA", "response": {
            "clientDataJSON": "", "attestationObject": "", "authenticatorData": "", "signature": "", "userHandle": "",
        } },
    })
}

/// Credentials of a caller.
enum Proof {
    None,
    Key(String),
    Session(String),
}

async fn with_password(edge: &Edge, password: &str) -> Account {
    let (anonymous, email) = (edge.anonymous(), edge.new_email());
    assert_eq!(anonymous.register(&email, password).await.status, 201);
    let mail = edge.mailbox().wait_for_mail(&email).await.unwrap();
    let reply = anonymous.verify_email(mail.token().unwrap()).await;
    Account::from_credentials(&anonymous, password, &reply)
}

/// A key and a session that are valid except for the account's state.
async fn credentials(edge: &Edge, email: &str) -> (Proof, Proof) {
    let id = edge.id(email).await;
    let session_id = format!("{:0>32}", &id[..16.min(id.len())]);
    let row = "INSERT INTO sessions (id, account_id, created_at, expires_at, browser, country) \
               VALUES (?1, ?2, unixepoch(), unixepoch() + 3600, 'a test', 'DE')";
    edge.sql_of(&id, row, &[json!(session_id), json!(id)]).await;
    forged(edge, &id, &session_id)
}

fn forged(edge: &Edge, id: &str, session_id: &str) -> (Proof, Proof) {
    let [keys, sessions] = ["API_KEY_SECRET", "SESSION_SECRET"].map(|var| edge.key_ring(var));
    let session = forgery::session(&sessions, &session_claims(id, session_id));
    (Proof::Key(forgery::api_key(&keys, id, 1)), Proof::Session(session))
}

async fn edge_with_callers() -> (Edge, Account, [Proof; CALLERS.len()]) {
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let rotated = account.rotate_api_key().await;
    let (registered, _) = edge.registered().await;
    let confirmed = edge.account().await;
    let (Proof::Key(key), Proof::Session(session)) = credentials(&edge, &confirmed.email).await
    else {
        unreachable!("a key and a session")
    };
    let replies = [
        send(confirmed.anonymous.request(Method::GET, "/me").bearer_auth(session)).await,
        send(confirmed.anonymous.request(Method::GET, "/me/quota").header("x-api-key", key)).await,
    ];
    assert_eq!(
        replies.map(|reply| reply.status),
        [200, 200],
        "the state alone makes the difference"
    );
    let deactivated = edge.account().await.email;
    let (deactivated_key, deactivated_session) = credentials(&edge, &deactivated).await;
    // Only the state changes: the key's version is still the account's own.
    edge.set(&deactivated, "state = 'deactivated'").await;
    let other = with_password(&edge, "another-quarry-66-anchor").await;
    let registered = edge.registered_id(&registered).await;
    let (registered_key, registered_session) = forged(&edge, &registered, &"0".repeat(32));
    let callers = [
        Proof::None,
        registered_key,
        registered_session,
        Proof::Key(rotated.text("api_key").to_owned()),
        Proof::Session(account.token.clone()),
        Proof::Session(other.token),
        deactivated_key,
        deactivated_session,
        Proof::Key(account.api_key.clone()),
    ];
    (edge, account, callers)
}

#[tokio::test]
async fn every_route_answers_every_caller_as_the_table_says() {
    let (edge, account, callers) = edge_with_callers().await;
    edge.sql("CREATE TABLE saved AS SELECT * FROM accounts", &[]).await;
    // Replacing an account's row also removes its sessions and keys.
    edge.sql("CREATE TABLE saved_keys AS SELECT * FROM keys", &[]).await;
    edge.sql("CREATE TABLE saved_sessions AS SELECT * FROM sessions", &[]).await;
    edge.sql("CREATE TABLE saved_directory AS SELECT * FROM directory", &[]).await;
    let before = edge.row(&account.email, "*").await;
    let mut wrong = Vec::new();
    for (method, path, expected) in TABLE {
        for ((caller, proof), expected) in CALLERS.into_iter().zip(&callers).zip(expected) {
            let below = path.strip_prefix("/v1").unwrap();
            let request = account.anonymous.request(Method::try_from(method).unwrap(), below);
            let request = match proof {
                Proof::None => request,
                Proof::Key(key) => request.header("x-api-key", key),
                Proof::Session(token) => request.bearer_auth(token),
            };
            let request =
                if method == "GET" { request } else { request.json(&body(path, &account)) };
            let reply = send(request).await;
            if reply.status != expected {
                wrong.push(format!("{method} {path}, {caller}: {} {}", reply.status, reply.body));
            }
            if reply.status == expected && expected >= 400 && expected != 503 {
                assert!(reply.body.get("detail").is_some(), "{method} {path}: {}", reply.body);
            }
            if !["the key", "the session"].contains(&caller) && path != "/v1/auth/forgot-password" {
                let after = edge.row(&account.email, "*").await;
                assert_eq!(after, before, "{method} {path}: {caller} changed the account");
            }
            edge.sql("INSERT OR REPLACE INTO accounts SELECT * FROM saved", &[]).await;
            let sessions = "INSERT OR REPLACE INTO sessions SELECT * FROM saved_sessions";
            edge.sql(sessions, &[]).await;
            edge.sql("INSERT OR REPLACE INTO keys SELECT * FROM saved_keys", &[]).await;
            edge.sql("INSERT OR REPLACE INTO directory SELECT * FROM saved_directory", &[]).await;
            edge.sql("DELETE FROM closed_accounts", &[]).await;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn the_table_has_a_row_for_every_route() {
    let document = crate::edge().await.anonymous().get("/openapi-account.json").await.body;
    let served: BTreeSet<(String, String)> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().keys();
            methods.map(|method| (method.to_uppercase(), path.clone())).collect::<Vec<_>>()
        })
        .collect();
    let rows = TABLE.map(|(method, path, _)| (method.to_owned(), path.to_owned()));
    assert_eq!(served, BTreeSet::from(rows));
    for (method, path, expected) in TABLE {
        let responses = &document["paths"][path][method.to_lowercase()]["responses"];
        let takes_keys = RIGHTS.iter().any(|(on, at, _)| (*on, *at) == (method, path));
        for status in expected.into_iter().chain(takes_keys.then_some(403)) {
            assert!(responses[status.to_string()].is_object(), "{method} {path}: {status}");
        }
    }
}

#[tokio::test]
async fn a_key_does_what_its_rights_say_on_every_route_and_nothing_else() {
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let mut keys = Vec::new();
    for right in ALL_RIGHTS {
        let key = account.named_key(&json!({ "name": right, "rights": [right] })).await.0;
        keys.push((right, key));
    }
    let mut wrong = Vec::new();
    for (method, path, expected) in TABLE {
        // Every key may end itself; another test covers that.
        if path == "/v1/keys/self-revoke" {
            continue;
        }
        let rights = RIGHTS.iter().find(|(on, at, _)| (*on, *at) == (method, path));
        for (right, key) in &keys {
            let takes_keys = expected[NOBODY] == 401 && expected[FIRST_KEY] != 401;
            let (status, code) = match rights.map(|(.., rights)| rights.contains(right)) {
                _ if !takes_keys => (expected[NOBODY], None),
                Some(true) => (expected[FIRST_KEY], None),
                _ if *right == "sandbox" => (403, Some("test_key")),
                Some(false) | None => (403, Some("missing_right")),
            };
            let below = path.strip_prefix("/v1").unwrap();
            let request = account.anonymous.request(Method::try_from(method).unwrap(), below);
            let request = request.header("x-api-key", key);
            let request =
                if method == "GET" { request } else { request.json(&body(path, &account)) };
            let reply = send(request).await;
            let mut is_right = code.is_none_or(|code| reply.text("code") == code);
            if code == Some("missing_right") {
                let detail = reply.body["detail"].as_str().unwrap_or_default();
                let named = |rights: &[&str]| rights.iter().any(|right| detail.contains(right));
                is_right &= rights.is_none_or(|(.., rights)| named(rights));
            }
            if reply.status != status || !is_right {
                wrong.push(format!("{method} {path}, {right}: {} {}", reply.status, reply.body));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
