//! A mail that cannot be handed over is a 503 and leaves nothing half-done.

use rcpt_tests::{Edge, Reply, people::PASSWORD};
use serde_json::{Value, json};

const NEW: &str = "copper-meadow-58-lattice";

fn assert_unavailable(reply: &Reply, what: &str) {
    let detail = "The service is temporarily unavailable. Retry later.";
    let expected = json!({ "detail": detail, "code": "unavailable" });
    assert_eq!(reply.parts(), (503, &expected), "{what}");
    assert_eq!(reply.header("retry-after"), "10", "{what}");
}

/// Everything but what counts attempts.
async fn state(edge: &Edge) -> Vec<(String, Value)> {
    edge.dump(&["throttles"]).await
}

#[tokio::test]
async fn without_mail_every_operation_that_mails_is_503_and_changes_nothing() {
    let mut edge = Edge::builder().start().await.unwrap();
    let (account, pending) = (edge.account().await, edge.account().await);
    let authenticator = pending.set_up_two_factor().await;
    let (email, confirmation) = edge.registered().await;
    let protected = edge.account().await;
    let (second, recovery_codes) = protected.enable_two_factor().await;
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
    assert_unavailable(&anonymous.reset_password(reset, NEW).await, "a reset");
    assert_unavailable(&account.rotate_api_key().await, "a rotation");
    let change = json!({ "current_password": PASSWORD, "new_password": NEW });
    assert_unavailable(&account.put("/auth/password", &change).await, "a change of password");
    assert_unavailable(&pending.enable_with(&authenticator.code()).await, "turning on");
    let login = anonymous.login_with_code(&protected.email, PASSWORD, &recovery_codes[0]).await;
    assert_unavailable(&login, "a recovery code");
    let off = json!({ "password": PASSWORD, "totp_code": recovery_codes[0] });
    assert_unavailable(&protected.post("/auth/totp/disable", &off).await, "turning off");
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
    assert_eq!(pending.enable_with(&authenticator.code()).await.status, 200);
    assert_eq!(protected.rotate_with(&recovery_codes[0]).await.status, 200);
    let code = edge.fresh_code(&protected, &second).await;
    assert_eq!(protected.rotate_with(&code).await.status, 200);
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
