//! Sessions are rows on the server: signing out ends a session immediately, and owners can recognise each.

use rcpt_tests::{
    Account,
    people::{PASSWORD, send},
};
use reqwest::Method;
use serde_json::{Value, json};

use super::edge;

const NEW: &str = "copper-meadow-58-lattice";

async fn signed_in_again(account: &Account) -> Account {
    let reply = account.anonymous.login(&account.email, PASSWORD).await;
    Account::from_credentials(&account.anonymous, PASSWORD, &reply)
}

async fn assert_over(session: &Account, why: &str) {
    session.get("/me").await.assert_error(401, "invalid_session", why);
    session.get("/me/quota").await.assert_error(401, "invalid_session", why);
    assert_eq!(session.check_in_session("no address").await.status, 401, "{why}");
    session.rotate_api_key().await.assert_error(401, "invalid_session", why);
}

#[tokio::test]
async fn signing_out_ends_this_session_on_the_server_and_no_other() {
    let account = edge().await.account().await;
    let elsewhere = signed_in_again(&account).await;
    let reply = elsewhere.post("/auth/sign-out", &json!({})).await;
    assert_eq!(reply.parts(), (204, &Value::String(String::new())));
    assert_over(&elsewhere, "signed out").await;
    let again = elsewhere.post("/auth/sign-out", &json!({})).await;
    again.assert_error(401, "invalid_session", "twice");
    assert_eq!(account.get("/me").await.status, 200, "the other session");
    assert_eq!(account.quota().await.status, 200, "the key");
}

#[tokio::test]
async fn turning_two_factor_on_ends_the_sessions_that_showed_no_code() {
    let account = edge().await.account().await;
    let elsewhere = signed_in_again(&account).await;
    account.enable_two_factor().await;
    assert_over(&elsewhere, "without a code").await;
    assert_eq!(account.get("/me").await.status, 200, "the one that turned it on");
}

#[tokio::test]
async fn a_new_password_leaves_one_session_the_new_one() {
    let account = edge().await.account().await;
    let elsewhere = signed_in_again(&account).await;
    let change = json!({ "current_password": PASSWORD, "new_password": NEW });
    let reply = account.put("/auth/password", &change).await;
    let changed = Account::from_credentials(&account.anonymous, NEW, &reply);
    assert_over(&elsewhere, "another session").await;
    assert_over(&account, "the session that changed it").await;
    assert_eq!(changed.get("/me").await.status, 200);
}

#[tokio::test]
async fn a_session_says_which_browser_and_country_and_nothing_finer() {
    let edge = edge().await;
    let account = edge.account().await;
    let body = json!({ "email": account.email, "password": PASSWORD });
    let agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
    let request = account.anonymous.request(Method::POST, "/auth/login").json(&body);
    let reply = send(request.header("user-agent", agent).header("cf-ipcountry", "NZ")).await;
    assert_eq!(reply.status, 200);
    let sql = "SELECT browser, country, expires_at - created_at AS seconds FROM sessions
        WHERE account_id = ? AND browser <> 'another client'";
    let rows = edge.sql(sql, &[edge.id(&account.email).await.into()]).await;
    let expected = json!({ "browser": "Firefox on Linux", "country": "NZ", "seconds": 43_200 });
    assert_eq!(rows, [expected]);
}
