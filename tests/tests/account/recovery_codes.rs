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
    let fault = Fault {
        part: "d1",
        statements: &[
            "insert security_events",
            "insert notices",
            "insert changes",
            "insert changes",
            "update second_factors",
            "insert second_factors",
            "insert recovery_codes",
            "update second_factors",
            "update accounts",
        ],
        times: 1,
        delay_ms: 3_000,
        ..Fault::default()
    };
    let code = edge.fresh_code(&account, &authenticator).await;
    edge.fail(&[fault]).await;
    edge.counts().await;
    let body = json!({ "password": PASSWORD, "totp_code": code });
    let replacing = tokio::spawn({
        let account = account.clone();
        async move { account.post("/auth/totp/recovery-codes", &body).await }
    });
    // Five trips: the session, the password's attempt and its refund, the code's attempt, and the trip that the fault
    // delays.
    let mut trips = 0;
    while trips < 5 {
        assert!(!replacing.is_finished(), "nothing was held");
        trips += edge.counts().await.d1_trips;
        sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(account.post("/auth/sign-out-everywhere", &json!({})).await.status, 204);
    let reply = replacing.await.unwrap();
    reply.assert_error(401, "invalid_session", "the session ended first");
    assert_eq!(edge.count("recovery_codes").await, 10);
    let reply = account.anonymous.login_with_code(&account.email, PASSWORD, &codes[0]).await;
    assert_eq!(reply.status, 200, "the codes of before still work: {}", reply.body);
}
