//! Sign-in: what it gives, and what an account in each of its states is told (docs/interface.md).

use rcpt_tests::people::PASSWORD;
use serde_json::{Value, json};

use crate::{
    answers::{assert_credentials, error, invalid_credentials},
    edge,
};

#[tokio::test]
async fn signing_in_gives_a_new_session_and_the_same_key() {
    let edge = edge().await;
    let account = edge.account().await;
    let anonymous = edge.anonymous();
    let replies = [
        anonymous.login(&account.email, PASSWORD).await,
        anonymous.login(&account.email, PASSWORD).await,
    ];
    let [first, second] =
        replies.each_ref().map(|reply| assert_credentials(&anonymous, reply, &account.email));
    assert_eq!([&first.api_key, &second.api_key], [&account.api_key; 2]);
    assert!(first.token != second.token && first.token != account.token);
    for signed_in in [first, second, account] {
        assert_eq!(signed_in.get("/me/quota").await.status, 200, "all sessions go on");
    }
}

#[tokio::test]
async fn a_code_is_not_needed_without_two_factor_authentication_and_must_be_a_string() {
    let edge = edge().await;
    let anonymous = edge.anonymous();
    let account = edge.account().await;
    let login = async |code: Value| {
        let body = json!({ "email": account.email, "password": PASSWORD, "totp_code": code });
        anonymous.post("/auth/login", &body).await
    };
    assert_credentials(&anonymous, &login(json!("123456")).await, &account.email);
    assert_credentials(&anonymous, &login(Value::Null).await, &account.email);
    let reply = login(json!(123_456)).await;
    assert_eq!((reply.status, &reply.body["code"]), (400, &json!("invalid_body")));
}

#[tokio::test]
async fn an_unknown_address_and_a_wrong_password_get_the_same_answer() {
    let edge = edge().await;
    let account = edge.account().await;
    let (unconfirmed_email, _) = edge.registered().await;
    let closed = edge.account().await;
    edge.set(&closed.email, "state = 'deactivated'").await;
    let (unknown, wrong) = (edge.new_email(), "wrong-anchor-00-quarry");
    for (email, password) in [
        (unknown.as_str(), PASSWORD),
        (&account.email, wrong),
        (&account.email, ""),
        (&account.email, &PASSWORD.to_uppercase()),
        (&unconfirmed_email, wrong),
        (&closed.email, wrong),
        ("no address", PASSWORD),
        ("", ""),
        (&format!(" {}", account.email), PASSWORD),
    ] {
        let reply = edge.anonymous().login(email, password).await;
        assert_eq!(reply.parts(), (401, &invalid_credentials()), "{email:?}");
        assert_eq!(reply.header("www-authenticate"), "Bearer");
    }
}

#[tokio::test]
async fn an_unconfirmed_account_is_401_even_with_the_right_password() {
    let edge = edge().await;
    let (email, _) = edge.registered().await;
    let reply = edge.anonymous().login(&email, "wrong-anchor-00-quarry").await;
    assert_eq!(reply.parts(), (401, &invalid_credentials()));
    let reply = edge.anonymous().login(&email, PASSWORD).await;
    assert_eq!(reply.parts(), (401, &invalid_credentials()));
}

#[tokio::test]
async fn a_deactivated_account_is_403_after_the_right_password() {
    let edge = edge().await;
    let account = edge.account().await;
    edge.set(&account.email, "state = 'deactivated'").await;
    let reply = edge.anonymous().login(&account.email, PASSWORD).await;
    assert_eq!(reply.parts(), (403, &error("deactivated", "This account has been deactivated.")));
}

// --- bodies
