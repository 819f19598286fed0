//! Recovery codes are replaced within a live session only.

use std::time::Duration;

use rcpt_tests::{Edge, people::PASSWORD, service::shim::Fault};
use serde_json::json;
use tokio::time::sleep;

#[tokio::test]
async fn a_session_that_ends_meanwhile_does_not_replace_the_recovery_codes() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let account = edge.account().await;
    let (authenticator, codes) = account.enable_two_factor().await;
    let held = Fault {
        part: "d1",
        statements: &["insert notices", "delete recovery_codes", "insert recovery_codes"],
        times: 1,
        delay_ms: 3_000,
        ..Fault::default()
    };
    edge.fail(&[held]).await;
    let code = edge.fresh_code(&account, &authenticator).await;
    let body = json!({ "password": PASSWORD, "totp_code": code });
    let replacing = tokio::spawn({
        let account = account.clone();
        async move { account.post("/auth/totp/recovery-codes", &body).await }
    });
    // The code is accepted right before the statements that are held.
    while edge.row(&account.email, "totp_last_step").await["totp_last_step"] == 0 {
        assert!(!replacing.is_finished(), "the code was not accepted");
        sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(account.post("/auth/sign-out-everywhere", &json!({})).await.status, 204);
    let reply = replacing.await.unwrap();
    reply.assert_error(401, "invalid_session", "the session ended first");
    assert_eq!(edge.count("recovery_codes").await, 10);
    let reply = account.anonymous.login_with_code(&account.email, PASSWORD, &codes[0]).await;
    assert_eq!(reply.status, 200, "the codes of before still work: {}", reply.body);
}
