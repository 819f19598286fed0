//! Showing the API key requires the same proof as a sign-in, and starts no session.

use rcpt_tests::{Account, people::PASSWORD, people::send_all};
use reqwest::Method;
use serde_json::{Value, json};

use crate::edge;

const PATH: &str = "/auth/show-api-key";

async fn sessions(account: &Account) -> Vec<String> {
    let reply = account.get("/auth/sessions").await;
    let sessions = reply.body["sessions"].as_array().unwrap().clone();
    sessions.iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn the_password_shows_the_key_and_starts_no_session() {
    let edge = edge().await;
    let account = edge.account().await;
    let before = (sessions(&account).await, edge.row(&account.email, "*").await);
    let reply = account.post(PATH, &json!({ "password": "not-the-password" })).await;
    reply.assert_error(403, "wrong_password", "a wrong password");
    let reply = account.post(PATH, &json!({ "password": PASSWORD })).await;
    assert_eq!(reply.parts(), (200, &json!({ "api_key": account.api_key })));
    assert_eq!((sessions(&account).await, edge.row(&account.email, "*").await), before);

    let replaced = account.rotate_api_key().await.body["api_key"].clone();
    let reply = account.post(PATH, &json!({ "password": PASSWORD })).await;
    assert_eq!(reply.parts(), (200, &json!({ "api_key": replaced })), "the newest key");

    edge.set(&account.email, "key_active = 0").await;
    let reply = account.post(PATH, &json!({ "password": PASSWORD })).await;
    reply.assert_error(403, "key_deactivated", "a deactivated key");
}

#[tokio::test]
async fn with_two_factor_it_takes_a_code_that_is_used_up() {
    let edge = edge().await;
    let account = edge.account().await;
    let (authenticator, recovery_codes) = account.enable_two_factor().await;
    let shown = async |code: &str| {
        account.post(PATH, &json!({ "password": PASSWORD, "totp_code": code })).await
    };
    shown("").await.assert_error(403, "totp_required", "no code");
    shown(&authenticator.wrong_code()).await.assert_error(403, "totp_invalid", "a wrong code");
    let code = edge.fresh_code(&account, &authenticator).await;
    let body = json!({ "password": "not-the-password", "totp_code": code });
    let reply = account.post(PATH, &body).await;
    reply.assert_error(403, "wrong_password", "a right code beside a wrong password");
    assert_eq!(shown(&code).await.parts(), (200, &json!({ "api_key": account.api_key })));
    shown(&code).await.assert_error(403, "totp_invalid", "the same code again");

    // Sends the requests in parallel, so that each reads the code as unused.
    let body = json!({ "password": PASSWORD, "totp_code": recovery_codes[0] });
    let requests = (0..5).map(|_| account.request(Method::POST, PATH).json(&body));
    let replies = send_all(requests, 5).await;
    let keys = replies.iter().filter(|reply| reply.status == 200).count();
    let refused = replies.iter().filter(|reply| reply.text("code") == "totp_invalid").count();
    let answers: Vec<&Value> = replies.iter().map(|reply| &reply.body).collect();
    assert_eq!((keys, refused), (1, 4), "{answers:?}");
    assert_eq!(account.get("/me").await.body["recovery_codes_left"], 9);
}
