//! A link that cannot be mailed is a 503 and leaves nothing half-done. What happens to other mails is in
//! `notices.rs`.

use rcpt_tests::{Edge, Reply, people::PASSWORD};
use serde_json::{Value, json};

const NEW: &str = "copper-meadow-58-lattice";

fn assert_unavailable(reply: &Reply, what: &str) {
    let detail = "The service is temporarily unavailable. Try again in 10 seconds.";
    let expected = json!({ "detail": detail, "code": "unavailable" });
    assert_eq!(reply.parts(), (503, &expected), "{what}");
    assert_eq!(reply.header("retry-after"), "10", "{what}");
}

/// Everything but what counts attempts, and the number that a database is given when it is first used.
async fn state(edge: &Edge) -> Vec<(String, Value)> {
    edge.dump(&["throttles", "this_database"]).await
}

#[tokio::test]
async fn without_mail_every_operation_that_mails_a_link_is_503_and_changes_nothing() {
    let mut edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let (email, confirmation) = edge.registered().await;
    assert_eq!(account.anonymous.forgot_password(&account.email).await.status, 200);
    let reset = edge.mailbox().wait_for_nth_mail(&account.email, 2).await.unwrap();
    let reset = reset.token().unwrap();

    edge.restart_with(|builder| builder.mailless(true)).await.unwrap();
    let before = state(&edge).await;
    let anonymous = edge.anonymous();
    assert_unavailable(&anonymous.register(&edge.new_email(), PASSWORD).await, "a new address");
    assert_unavailable(&anonymous.register(&email, NEW).await, "an unconfirmed address");
    assert_unavailable(&anonymous.register(&account.email, NEW).await, "a confirmed address");
    let reply = anonymous.forgot_password("nobody@rcpt-tests.net").await;
    assert_unavailable(&reply, "a forgotten password of nobody");
    let reply = anonymous.forgot_password(&account.email).await;
    assert_unavailable(&reply, "a forgotten password of an account");
    assert_eq!(state(&edge).await, before, "nothing has changed");
    let log = edge.process.log();
    assert!(log.contains("mail: not handed over"), "the cause is in the log");
    assert!(!log.contains("not allowed"), "the runtime's own words, with the recipient, are not");

    edge.restart_with(|builder| builder.mailless(false)).await.unwrap();
    let reply = anonymous.verify_email(confirmation.token().unwrap()).await;
    assert_eq!(reply.status, 200, "the older confirmation link: {}", reply.body);
    assert_eq!(anonymous.login(&email, PASSWORD).await.status, 200, "with the older password");
    assert_eq!(account.get("/me").await.status, 200, "the session");
    assert_eq!(account.quota().await.status, 200, "the key");
    assert_eq!(anonymous.reset_password(reset, NEW).await.status, 200, "the older reset link");
}

#[tokio::test]
async fn a_reset_link_that_cannot_be_mailed_does_not_void_the_one_before() {
    let mut edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    assert_eq!(account.anonymous.forgot_password(&account.email).await.status, 200);
    let mail = edge.mailbox().wait_for_nth_mail(&account.email, 2).await.unwrap();
    edge.restart_with(|builder| builder.mailless(true)).await.unwrap();
    let before = state(&edge).await;
    let reply = account.anonymous.forgot_password(&account.email).await;
    assert_unavailable(&reply, "a forgotten password");
    assert_eq!(state(&edge).await, before, "nothing has changed");
    edge.restart_with(|builder| builder.mailless(false)).await.unwrap();
    let reply = account.anonymous.reset_password(mail.token().unwrap(), NEW).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
}
