//! The owner sees the account's sessions, and can end each of them, but none of another account.

use rcpt_tests::{
    Account,
    people::{PASSWORD, Reply, send},
};
use reqwest::Method;
use serde_json::{Value, json};

use super::edge;

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

async fn with_firefox(account: &Account) -> Account {
    let login = account.anonymous.request(Method::POST, "/auth/login");
    let body = json!({ "email": account.email, "password": PASSWORD });
    let reply = send(login.header("user-agent", FIREFOX).json(&body)).await;
    Account::from_credentials(&account.anonymous, PASSWORD, &reply)
}

async fn listed(account: &Account) -> Vec<Value> {
    let reply = account.get("/auth/sessions").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.body["sessions"].as_array().unwrap().clone()
}

async fn end(account: &Account, id: &str) -> Reply {
    account.delete(&format!("/auth/sessions/{id}"), &json!({})).await
}

#[tokio::test]
async fn the_list_names_every_session_and_each_can_be_ended() {
    let account = edge().await.account().await;
    let other = with_firefox(&account).await;
    let sessions = listed(&account).await;
    assert_eq!(sessions.len(), 2);
    assert_eq!((&sessions[0]["current"], &sessions[1]["current"]), (&json!(true), &json!(false)));
    assert_eq!(sessions[1]["browser"], "Firefox on Linux");
    let members: Vec<_> = sessions[1].as_object().unwrap().keys().cloned().collect();
    assert_eq!(members, ["browser", "country", "created_at", "current", "expires_at", "id"]);
    assert_eq!(listed(&other).await[0]["id"], sessions[1]["id"], "its own comes first");

    let id = sessions[1]["id"].as_str().unwrap();
    assert_eq!(end(&account, id).await.status, 204);
    other.get("/me").await.assert_error(401, "invalid_session", "ended from elsewhere");
    end(&account, id).await.assert_error(404, "no_such_session", "twice");
    end(&other, id).await.assert_error(401, "invalid_session", "by the one that is over");
    assert_eq!(listed(&account).await.len(), 1);

    let own = sessions[0]["id"].as_str().unwrap();
    assert_eq!(end(&account, own).await.status, 204);
    account.get("/auth/sessions").await.assert_error(401, "invalid_session", "its own");
}

#[tokio::test]
async fn another_account_s_session_and_junk_are_no_such_session() {
    let [account, stranger] = [edge().await.account().await, edge().await.account().await];
    let id = listed(&account).await[0]["id"].as_str().unwrap().to_owned();
    for id in
        [id.as_str(), "1", "x'; DELETE FROM sessions; --", &"0".repeat(32), &id.to_uppercase()]
    {
        let id = id.replace(' ', "%20").replace(';', "%3B");
        end(&stranger, &id).await.assert_error(404, "no_such_session", &id);
    }
    assert_eq!(account.get("/me").await.status, 200);
}

#[tokio::test]
async fn an_expired_session_is_not_listed() {
    let account = edge().await.account().await;
    with_firefox(&account).await;
    let expire = "UPDATE sessions SET expires_at = 1 WHERE account_id = ?1 AND browser = ?2";
    let id = edge().await.id(&account.email).await;
    edge().await.sql(expire, &[id.into(), "Firefox on Linux".into()]).await;
    assert_eq!(listed(&account).await.len(), 1);
}

#[tokio::test]
async fn the_twenty_first_sign_in_ends_an_unused_session_before_an_older_one_in_use() {
    let edge = edge().await;
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    edge.sql_of(
        &id,
        "UPDATE sessions SET created_at = 1, is_used = 1 WHERE account_id = ?",
        &[json!(id)],
    )
    .await;
    let rows = "INSERT INTO sessions (id, account_id, created_at, expires_at, browser, country, is_used)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
        SELECT printf('%032x', i), ?1, unixepoch() - 5000 + i * 10, unixepoch() + 1000, '', '', i <> 7 FROM n";
    edge.sql_of(&id, rows, &[json!(id)]).await;
    assert_eq!(listed(&account).await.len(), 20);
    let newest = with_firefox(&account).await;
    let sessions = listed(&newest).await;
    assert_eq!(sessions.len(), 20);
    assert_eq!(edge.count(&format!("sessions WHERE account_id = '{id}'")).await, 20);
    let unused = format!("{:032x}", 7);
    assert!(sessions.iter().all(|session| session["id"] != json!(unused)), "the only unused one");
    assert_eq!(account.get("/me").await.status, 200, "the oldest, in use");
    let times: Vec<_> =
        sessions[1..].iter().map(|one| one["created_at"].as_str().unwrap()).collect();
    assert!(times.is_sorted_by(|one, next| one >= next), "{times:?}");
}
