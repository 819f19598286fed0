//! A session lasts until it is ended or its twelve hours are over, and its use costs one write (docs/security.md, A5).

use rcpt_tests::{
    Account, Edge,
    service::{
        clock::now,
        forgery::{self, session_claims, session_of},
    },
};
use serde_json::json;

async fn shimmed() -> Edge {
    Edge::builder().shimmed().databases(3).start().await.unwrap()
}

/// Creates and returns an account with a session that began `seconds` ago.
async fn begun_before(edge: &Edge, seconds: u64) -> Account {
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    let back = "UPDATE sessions SET created_at = unixepoch() - ?2 WHERE account_id = ?1";
    edge.sql_of(&id, back, &[json!(id), json!(seconds)]).await;
    let mut claims = session_claims(&id, &session_of(&account.token));
    claims["iat"] = json!(now() - seconds);
    let token = forgery::session(&edge.key_ring("SESSION_SECRET"), &claims);
    edge.counts().await;
    Account { token, ..account }
}

async fn is_used(edge: &Edge, account: &Account) -> bool {
    let id = edge.id(&account.email).await;
    let used = "SELECT is_used FROM sessions WHERE account_id = ?1";
    edge.sql_of(&id, used, &[json!(id)]).await[0]["is_used"] == 1
}

#[tokio::test]
async fn a_session_that_was_not_used_for_hours_still_works() {
    let edge = shimmed().await;
    let account = begun_before(&edge, 11 * 60 * 60).await;
    assert_eq!(account.get("/me").await.status, 200);
}

#[tokio::test]
async fn a_use_after_the_first_minute_is_noted_once() {
    let edge = shimmed().await;
    let account = begun_before(&edge, 61).await;
    assert!(!is_used(&edge, &account).await);
    edge.counts().await;
    assert_eq!(account.get("/scans").await.status, 200);
    assert_eq!(edge.counts().await.d1_rows_written, 1);
    assert!(is_used(&edge, &account).await);
    edge.counts().await;
    for _ in 0..20 {
        assert_eq!(account.get("/me").await.status, 200);
    }
    let counts = edge.counts().await;
    assert_eq!((counts.d1_trips, counts.d1_rows_written), (20, 0), "twenty reads");
    let young = edge.account().await;
    edge.counts().await;
    assert_eq!(young.get("/me").await.status, 200);
    assert_eq!(edge.counts().await.d1_trips, 1);
    assert!(!is_used(&edge, &young).await, "a program that only signs in");
}
