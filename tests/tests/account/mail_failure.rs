//! A confirmation link that can't be emailed is a 503 and leaves nothing half-done. A reset link is emailed later;
//! meanwhile the previous link works. `notices.rs` tests other emails.

use rcpt_tests::{Edge, Reply, people::PASSWORD, service::shim::Fault};
use serde_json::{Value, json};

const NEW: &str = "copper-meadow-58-lattice";

fn assert_unavailable(reply: &Reply, what: &str) {
    let detail = "The service is temporarily unavailable. Try again in 10 seconds.";
    let expected = json!({ "detail": detail, "code": "unavailable" });
    assert_eq!(reply.parts(), (503, &expected), "{what}");
    assert_eq!(reply.header("retry-after"), "10", "{what}");
}

/// All rows except the counts of attempts, and the number that a database gets on first use.
async fn state(edge: &Edge) -> Vec<(String, Value)> {
    edge.dump(&["throttles", "this_database"]).await
}

#[tokio::test]
async fn without_mail_a_registration_is_503_and_changes_nothing() {
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
    assert_eq!(state(&edge).await, before, "nothing has changed");
    edge.process.wait_for_line("mail: not handed over").await;
    let log = edge.process.log();
    assert!(!log.contains("not allowed"), "the runtime's own words, with the recipient, are not");

    edge.restart_with(|builder| builder.mailless(false)).await.unwrap();
    let reply = anonymous.verify_email(confirmation.token().unwrap()).await;
    assert_eq!(reply.status, 200, "the older confirmation link: {}", reply.body);
    assert_eq!(anonymous.login(&email, PASSWORD).await.status, 200, "with the older password");
    assert_eq!(account.get("/me").await.status, 200, "the session");
    assert_eq!(account.quota().await.status, 200, "the key");
    assert_eq!(anonymous.reset_password(reset, NEW).await.status, 200, "the older reset link");
}

const RESET: &str = "Set a new password";

#[tokio::test]
async fn a_reset_link_that_cannot_be_mailed_comes_later_and_the_one_before_works_until_then() {
    let mut edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let anonymous = edge.anonymous();
    assert_eq!(anonymous.forgot_password(&account.email).await.status, 200);
    let first = edge.mailbox().wait_for_titled(&account.email, RESET, 1).await.unwrap();
    edge.wait_for_reset_mails().await;
    edge.restart_with(|builder| builder.mailless(true)).await.unwrap();
    for email in [&account.email, &edge.new_email()] {
        let reply = anonymous.forgot_password(email).await;
        assert_eq!(reply.status, 200, "the answer does not wait for the mail: {}", reply.body);
    }
    let line = "a forgotten password";
    edge.process.wait_for_line(line).await;
    let valid = "reset_links WHERE expires_at > unixepoch()";
    assert_eq!(edge.count(valid).await, 1, "the link before");
    edge.restart_with(|builder| builder.mailless(false)).await.unwrap();
    edge.sql("UPDATE mail_due SET due_at = 0", &[]).await;
    edge.run_scheduled().await;
    let second = edge.mailbox().wait_for_titled(&account.email, RESET, 1).await.unwrap();
    assert_eq!(edge.count("mail_due").await, 0);
    let reply = anonymous.reset_password(first.token().unwrap(), NEW).await;
    reply.assert_error(400, "invalid_token", "replaced by the one that was mailed");
    let reply = anonymous.reset_password(second.token().unwrap(), NEW).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
}

#[tokio::test]
async fn a_reset_link_works_while_the_next_one_is_being_mailed() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let account = edge.account().await;
    let anonymous = edge.anonymous();
    anonymous.forgot_password(&account.email).await;
    let first = edge.mailbox().wait_for_titled(&account.email, RESET, 1).await.unwrap();
    edge.wait_for_reset_mails().await;
    let slow = Fault { part: "mail", times: 1, delay_ms: 20_000, ..Fault::default() };
    edge.fail(&[slow]).await;
    anonymous.forgot_password(&account.email).await;
    edge.wait_for_count("reset_links WHERE next_hash IS NOT NULL", 1).await;
    let reply = anonymous.reset_password(first.token().unwrap(), NEW).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
}

#[tokio::test]
async fn mails_that_were_not_sent_use_up_nothing() {
    let edge = Edge::builder().with_waits().shimmed().start().await.unwrap();
    let ann = edge.account().await;
    let anonymous = edge.anonymous();
    let refuse = |times| Fault { part: "mail", times, error: "quota", ..Fault::default() };
    let counted = "throttles WHERE drained_at > unixepoch() AND key NOT LIKE 'registration%'
        AND key NOT LIKE 'all-registration%' AND key NOT LIKE 'network:%'";
    edge.fail(&[refuse(1)]).await;
    assert_eq!(anonymous.forgot_password(&ann.email).await.status, 200);
    edge.wait_for_count(counted, 0).await;
    assert_eq!(anonymous.forgot_password(&ann.email).await.status, 200);
    edge.mailbox().wait_for_titled(&ann.email, RESET, 1).await.expect("asked again, it comes");

    let stranger = edge.new_email();
    edge.fail(&[refuse(3)]).await;
    for _ in 0..3 {
        assert_unavailable(&anonymous.register(&stranger, PASSWORD).await, "no mail");
    }
    assert_eq!(anonymous.register(&stranger, PASSWORD).await.status, 201);
    let mail = edge.mailbox().wait_for_mail(&stranger).await.expect("tried again, it comes");
    assert_eq!(anonymous.verify_email(mail.token().unwrap()).await.status, 200);
}
