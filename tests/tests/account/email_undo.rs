//! The link at the old mailbox of a changed address reaches it, accepts the owner's password however a thief has timed the
//! change, and suspends what a thief has made (docs/trust.md, A13, A15).

use std::time::Duration;

use rcpt_tests::{Account, Edge, people::PASSWORD, service::shim::Fault};
use serde_json::json;

use super::email_change::{
    ASKED, AWAY, NEW, THIEF, ask, by_link, changed, confirm, link, sign_in, undo,
};

/// Changes the password, and returns the account with its new session.
async fn with_password(account: &Account, password: &str) -> Account {
    let body = json!({ "current_password": account.password, "new_password": password });
    let reply = account.put("/auth/password", &body).await;
    Account::from_credentials(&account.anonymous, password, &reply)
}

/// Moves the account to a new address, and returns that with the token of the link at the old one.
async fn moved(edge: &Edge, account: &Account) -> (String, String) {
    let new = edge.new_email();
    assert_eq!(ask(account, &new, &account.password).await.status, 202);
    let token = link(edge, &new, ASKED, 1).await;
    let body = json!({ "token": token, "password": account.password });
    let reply = edge.anonymous().post("/auth/confirm-email", &body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    (new, link(edge, &account.email, AWAY, 1).await)
}

async fn older(edge: &Edge, id: &str, sql: &str) {
    let sql = format!("UPDATE {sql} WHERE account_id = ?1 RETURNING account_id");
    assert!(!edge.sql_of(id, &sql, &[json!(id)]).await.is_empty(), "{sql}");
}

#[tokio::test]
async fn a_link_whose_first_email_fails_late_is_mailed_by_the_run_meanwhile() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let account = edge.account().await;
    let new = edge.new_email();
    assert_eq!(ask(&account, &new, PASSWORD).await.status, 202);
    let token = link(&edge, &new, ASKED, 1).await;
    edge.counts().await;
    let slow = Fault { part: "mail", times: 1, delay_ms: 4_000, error: "away", ..Fault::default() };
    edge.fail(&[slow]).await;
    assert_eq!(confirm(&edge, &token).await.status, 200);
    edge.wait_for_count("email_changes WHERE undo_hash IS NOT NULL", 1).await;
    edge.run_scheduled().await;
    let line = "the link at an old address";
    edge.process.wait_for_line(line, Duration::from_secs(30)).await.unwrap();
    let token = link(&edge, &account.email, AWAY, 1).await;
    assert_eq!(by_link(&edge, "/auth/freeze", &token).await.status, 204);
    assert_eq!(undo(&edge, &token, PASSWORD, "").await.status, 204);
}

#[tokio::test]
async fn a_link_that_cannot_be_mailed_is_tried_until_it_ends_and_holds_up_no_other_change() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let account = edge.account().await;
    let (new, token) = changed(&edge, &account).await;
    let id = edge.id(&new).await;
    edge.wait_for_count("email_changes WHERE settled = 0", 0).await;
    // More than a run handles, before it in the order of the ids.
    let stuck = "INSERT INTO email_changes
          (id, account_id, state, new_email, token_hash, asked_at, expires_at, old_email, settled)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)
        SELECT '!' || i, ?1, 'moved', 'new@example.org', 'hash' || i, 1, unixepoch() + 600,
          'old@example.org', 0 FROM n";
    edge.sql_of(&id, stuck, &[json!(id)]).await;
    let mails = Fault { part: "mail", times: 1_000_000, error: "away", ..Fault::default() };
    edge.fail(&[mails]).await;
    assert_eq!(undo(&edge, &token, PASSWORD, "").await.status, 204);
    edge.sql("UPDATE email_changes SET settled = 0 WHERE state = 'undone'", &[]).await;
    edge.run_scheduled().await;
    let waiting = "email_changes WHERE settled = 0 AND state";
    assert_eq!(edge.count(&format!("{waiting} = 'undone'")).await, 0, "held up");
    assert!(edge.count(&format!("{waiting} <> 'undone'")).await > 0);
    edge.sql("UPDATE email_changes SET expires_at = 1", &[]).await;
    for _ in 0..4 {
        edge.run_scheduled().await;
    }
    assert_eq!(edge.count("email_changes").await, 0, "their time is over");
}

#[tokio::test]
async fn an_email_that_hangs_is_given_up_before_the_runtime_ends_its_work() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let hang = Fault { part: "mail", times: 1, delay_ms: 300_000, ..Fault::default() };
    edge.fail(&[hang]).await;
    let reply = edge.anonymous().register(&edge.new_email(), PASSWORD).await;
    assert_eq!((reply.status, &reply.body["code"]), (503, &json!("unavailable")));
}
