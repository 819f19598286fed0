//! A session ends when it has not been used for two hours, and its use costs no write per request (docs/trust.md, A5).

use rcpt_tests::{
    Account, Edge,
    people::send,
    service::{
        clock::now,
        forgery::{self, session_claims, session_of},
    },
};
use reqwest::Method;
use serde_json::json;

async fn shimmed() -> Edge {
    Edge::builder().shimmed().databases(3).start().await.unwrap()
}

/// Creates and returns an account with an older session that was last used `seconds` ago.
async fn unused_for(edge: &Edge, seconds: u64) -> Account {
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    let back = "UPDATE sessions SET seen_at = unixepoch() - ?2, created_at = unixepoch() - 20000 WHERE account_id = ?1";
    edge.sql_of(&id, back, &[json!(id), json!(seconds)]).await;
    let mut claims = session_claims(&id, &session_of(&account.token));
    claims["iat"] = json!(now() - 20_000);
    let token = forgery::session(&edge.key_ring("SESSION_SECRETS"), &claims);
    edge.counts().await;
    Account { token, ..account }
}

/// Returns the seconds since the last recorded use.
async fn age(edge: &Edge, account: &Account) -> u64 {
    let id = edge.id(&account.email).await;
    let age = "SELECT unixepoch() - seen_at AS age FROM sessions WHERE account_id = ?1";
    edge.sql_of(&id, age, &[json!(id)]).await[0]["age"].as_u64().unwrap()
}

#[tokio::test]
async fn a_session_that_was_not_used_for_two_hours_is_over_on_every_route() {
    let edge = shimmed().await;
    let account = unused_for(&edge, 2 * 60 * 60 + 1).await;
    for path in [
        "/me",
        "/me/quota",
        "/me/events",
        "/me/usage",
        "/auth/sessions",
        "/scans",
        "/events",
        "/notifications",
    ] {
        account.get(path).await.assert_error(401, "invalid_session", path);
    }
    let check = account.check_in_session("no address").await;
    assert_eq!((check.status, check.text("code")), (401, "invalid_session"));
    account.rotate_api_key().await.assert_error(401, "invalid_session", "a deed");
    edge.counts().await;
    assert!(age(&edge, &account).await > 2 * 60 * 60, "nothing revives it");
    // The isolate remembers that the session has ended, so nothing is queried.
    account.get("/me").await.assert_error(401, "invalid_session", "again");
    assert_eq!(edge.counts().await.d1_trips, 0);
    // The key isn't affected.
    assert_eq!(account.quota().await.status, 200);
}

#[tokio::test]
async fn a_session_in_use_lives_on() {
    let edge = shimmed().await;
    let account = unused_for(&edge, 2 * 60 * 60 - 60).await;
    assert_eq!(account.get("/me").await.status, 200);
    edge.counts().await;
    assert!(age(&edge, &account).await < 60, "it counts from now on");
}

#[tokio::test]
async fn a_use_is_noted_once_and_not_with_each_request() {
    let edge = shimmed().await;
    let account = unused_for(&edge, 60 * 60).await;
    assert_eq!(account.get("/me").await.status, 200);
    assert_eq!(edge.counts().await.d1_rows_written, 1, "the first use for an hour");
    for _ in 0..20 {
        assert_eq!(account.get("/me").await.status, 200);
    }
    let counts = edge.counts().await;
    assert_eq!((counts.d1_trips, counts.d1_rows_written), (20, 0), "twenty reads");
    let other = unused_for(&edge, 9 * 60).await;
    assert_eq!(other.get("/me").await.status, 200);
    assert_eq!(edge.counts().await.d1_rows_written, 0, "another isolate may have noted it");
    let young = edge.account().await;
    edge.counts().await;
    assert_eq!(young.get("/me").await.status, 200);
    assert_eq!(edge.counts().await.d1_trips, 1, "its start counts");
    let third = unused_for(&edge, 11 * 60).await;
    assert_eq!(third.get("/me").await.status, 200);
    assert_eq!(edge.counts().await.d1_rows_written, 1);
}

#[tokio::test]
async fn what_a_program_asks_by_itself_keeps_no_session_in_use() {
    let edge = shimmed().await;
    let account = unused_for(&edge, 60 * 60).await;
    for path in ["/scans", "/me/quota"] {
        let request = account.request(Method::GET, path).header("x-unattended", "true");
        assert_eq!(send(request).await.status, 200);
    }
    edge.counts().await;
    assert!(age(&edge, &account).await >= 60 * 60);
    assert_eq!(account.get("/scans").await.status, 200);
    edge.counts().await;
    assert!(age(&edge, &account).await < 60, "a person's request is a use");
}
