//! Secrets are rotated without losing anything: what was made under the older one is found, moved, and
//! found when the older one is gone (docs/trust.md, B6).

use rcpt_tests::{Edge, secret, stack::PASSWORD};
use serde_json::json;

fn rings() -> (String, String) {
    let [old, new] = [(); 2].map(|()| secret::key_ring().unwrap());
    (old, new.replacen("dev1:", "dev2:", 1))
}

#[tokio::test]
async fn addresses_and_authenticators_survive_a_rotation() {
    let ((old_address, new_address), (old_totp, new_totp)) = (rings(), rings());
    let edge = Edge::builder().var("ADDRESS_SECRETS", &old_address).var("TOTP_SECRETS", &old_totp);
    let mut edge = edge.start().await.unwrap();
    let (active, quiet) = (edge.account().await, edge.account().await);
    let (of_active, _) = active.enable_two_factor().await;
    let (of_quiet, _) = quiet.enable_two_factor().await;
    let (unconfirmed, _) = edge.registered().await;

    let both = |new: &str, old: &str| format!("{new},{old}");
    let (address, totp) = (both(&new_address, &old_address), both(&new_totp, &old_totp));
    edge.restart_with(|b| b.var("ADDRESS_SECRETS", address).var("TOTP_SECRETS", totp))
        .await
        .unwrap();
    let anonymous = edge.anonymous();
    let code = edge.fresh_code(&active, &of_active).await;
    let reply = anonymous.login_with_code(&active.email, PASSWORD, &code).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let sealed = edge.row(&active.email, "substr(totp_secret, 1, 5) AS kid").await;
    assert_eq!(sealed, json!({ "kid": "dev2." }), "sealed anew on use");
    assert_eq!(anonymous.register(&unconfirmed, PASSWORD).await.status, 201);
    assert_eq!(anonymous.forgot_password(&quiet.email).await.status, 200);
    let rows = edge.sql("SELECT email FROM accounts", &[]).await;
    assert_eq!(rows.len(), 3, "no second account for an address: {rows:?}");
    edge.run_scheduled().await;
    assert_eq!(quiet.get("/me").await.status, 200, "nobody is signed out");

    edge.restart_with(|b| b.var("ADDRESS_SECRETS", &new_address).var("TOTP_SECRETS", &new_totp))
        .await
        .unwrap();
    for (account, authenticator) in [(&active, &of_active), (&quiet, &of_quiet)] {
        let code = edge.fresh_code(account, authenticator).await;
        let reply = edge.anonymous().login_with_code(&account.email, PASSWORD, &code).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
    }
}
