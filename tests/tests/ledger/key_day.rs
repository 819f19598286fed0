//! `key_last_used` of `GET /v1/me`: the last day with a charge to the current key.

use rcpt_tests::{Account, people::send, service::clock::today};
use reqwest::Method;
use serde_json::{Value, json};

use crate::world;

/// The age of the shown day in days; `None` if no day is shown.
async fn days_ago(account: &Account) -> Option<u64> {
    let shown = account.get("/me").await.body["key_last_used"].take();
    if shown == Value::Null {
        return None;
    }
    let sql = "SELECT unixepoch('now') / 86400 - unixepoch(?) / 86400 AS ago";
    let rows = world().await.edge.sql(sql, &[shown]).await;
    Some(rows[0]["ago"].as_u64().unwrap())
}

/// Makes the key's last charge this many days older.
async fn age(account: &Account, days: u64) {
    world().await.edge.age_key_use(&account.email, days).await;
}

#[tokio::test]
async fn only_what_is_charged_to_the_key_is_its_use() {
    let world = world().await;
    let account = world.edge.account().await;
    today().await;
    assert_eq!(account.quota().await.status, 200);
    assert_eq!(account.check_in_session("accepted@key.example").await.status, 200);
    assert_eq!(account.check_in_session("not an address").await.status, 200);
    assert_eq!(days_ago(&account).await, None, "sessions' checks, and a report, are no use of it");

    for (what, address) in [
        ("charged at once", "not an address"),
        ("cached", "accepted@key.example"),
        ("asked for", "accepted-fresh@key.example"),
    ] {
        assert_eq!(account.check(address).await.status, 200, "{what}");
        assert_eq!(days_ago(&account).await, Some(0), "{what}");
        age(&account, 3).await;
        assert_eq!(account.check_in_session(address).await.status, 200);
        assert_eq!(days_ago(&account).await, Some(3), "{what}, then by a session");
    }

    let body = json!({ "addresses": ["accepted@key.example"] });
    let scan = account.anonymous.request(Method::POST, "/scans").json(&body);
    assert_eq!(send(scan.header("x-api-key", &account.api_key)).await.status, 201);
    assert_eq!(days_ago(&account).await, Some(0), "a scan");
}

#[tokio::test]
async fn a_new_key_has_no_use_not_even_by_a_check_that_the_old_one_began() {
    let world = world().await;
    let account = world.edge.account().await;
    today().await;
    assert_eq!(account.check("not an address").await.status, 200);
    let address = "held-key-day@leases.example";
    let check = world.origin.hold(&account, address).await;
    let api_key = account.rotate_api_key().await.text("api_key").to_owned();
    world.origin.release(address, rcpt_tests::Conduct::Verdict(rcpt_shared::Status::Accepted));
    assert_eq!(check.await.unwrap().status, 200);
    assert_eq!(days_ago(&account).await, None);
    let account = Account { api_key, ..account };
    assert_eq!(account.check("not an address").await.status, 200);
    assert_eq!(days_ago(&account).await, Some(0));
}
