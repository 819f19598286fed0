//! Checks by day: exact, without a row for any single check, and removed with the account.

use rcpt_shared::Status;
use rcpt_tests::{Account, Conduct, Edge, FakeOrigin, people::PASSWORD, service::clock::today};
use serde_json::{Value, json};

use super::edge;

/// The checks of the last 30 days, today's first.
async fn counts(account: &Account) -> Vec<i64> {
    let reply = account.get("/me/usage").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let days = reply.body["days"].as_array().unwrap();
    assert_eq!(days.len(), 30);
    days.iter().rev().map(|day| day["email_checks"].as_i64().unwrap()).collect()
}

async fn check(account: &Account, times: usize) {
    for _ in 0..times {
        assert_eq!(account.check("not an address").await.status, 200);
    }
}

/// The number of stored days before the account's current one.
async fn days(account: &Account) -> Value {
    let columns = "json_array_length(days) + (previous_day > 0) AS stored";
    edge().await.row(&account.email, columns).await["stored"].clone()
}

/// Makes the days before the account's current one 40 days older.
const AGE: &str = "previous_day = max(0, previous_day - 40), days = (
    SELECT json_group_array(json_array(max(0, d.value ->> 0 - 40), d.value ->> 1, d.value ->> 2)) FROM json_each(days) d)";

#[tokio::test]
async fn each_day_has_its_number_in_the_account_s_own_row() {
    let edge = edge().await;
    let account = edge.account().await;
    today().await;
    check(&account, 2).await;
    assert_eq!(counts(&account).await[..4], [2, 0, 0, 0]);
    assert_eq!(days(&account).await, 1, "the welcome checks that it began with");

    edge.set(&account.email, "day = day - 3").await;
    assert_eq!(counts(&account).await[..4], [0, 0, 0, 2], "the day that is not over for it yet");
    check(&account, 3).await;
    assert_eq!(counts(&account).await[..4], [3, 0, 0, 2]);
    assert_eq!(days(&account).await, 2, "one for the day that is over");

    edge.set(&account.email, "day = day - 1").await;
    check(&account, 1).await;
    edge.set(&account.email, "previous_charged = previous_charged + 1").await;
    assert_eq!(counts(&account).await[..4], [1, 4, 0, 2], "leased before midnight, charged after");

    edge.set(&account.email, "daily_charged = 100").await;
    check(&account, 2).await;
    assert_eq!(counts(&account).await[..4], [102, 4, 0, 2], "welcome checks count");

    edge.set(&account.email, AGE).await;
    edge.set(&account.email, "day = day - 40").await;
    check(&account, 1).await;
    let after_a_pause = counts(&account).await;
    assert_eq!((after_a_pause[0], after_a_pause.iter().sum::<i64>()), (1, 1));
    edge.set(&account.email, "daily_charged = 100").await;
    check(&account, 1).await;
    assert_eq!(counts(&account).await[0], 101, "one welcome check of today, none of before");
}

#[tokio::test]
async fn days_from_before_the_chart_go_and_a_deleted_account_leaves_none() {
    let edge = edge().await;
    let account = edge.account().await;
    today().await;
    for _ in 0..4 {
        check(&account, 1).await;
        edge.set(&account.email, "day = day - 1").await;
        edge.set(&account.email, AGE).await;
    }
    check(&account, 1).await;
    assert_eq!(days(&account).await, 2, "the day before, and one to count welcome checks from");
    let body = json!({ "password": PASSWORD });
    let id = edge.id(&account.email).await;
    assert_eq!(account.delete("/me", &body).await.status, 204);
    let query = "SELECT days FROM accounts WHERE id = ?1";
    assert_eq!(edge.sql(query, &[id.into()]).await.len(), 0);
}

#[tokio::test]
async fn a_check_that_is_settled_after_midnight_keeps_the_days_before() {
    let origin = FakeOrigin::start(|_| Conduct::Hold);
    let edge = Edge::builder().origins(&[&origin.url]).start().await.unwrap();
    let account = edge.account().await;
    let day = today().await;
    let begin = |day: u64| {
        format!(
            "day = {day}, daily_charged = 4, previous_day = {}, previous_charged = 7, previous_welcome = 50",
            day - 3
        )
    };

    // The account's last charged day is yesterday, the lease's is today.
    edge.set(&account.email, &begin(day - 1)).await;
    let check = origin.hold(&account, "first@usage.example").await;
    origin.release("first@usage.example", Conduct::Verdict(Status::Accepted));
    assert_eq!(check.await.unwrap().status, 200);
    assert_eq!(counts(&account).await[..6], [1, 4, 0, 0, 7, 0]);

    // The account's last charged day is today, the lease's is yesterday, which has no charge.
    edge.set(&account.email, &begin(day)).await;
    edge.set(&account.email, "days = '[]'").await;
    let check = origin.hold(&account, "late@usage.example").await;
    edge.sql("UPDATE leases SET day = day - 1", &[]).await;
    origin.release("late@usage.example", Conduct::Verdict(Status::Accepted));
    assert_eq!(check.await.unwrap().status, 200);
    assert_eq!(counts(&account).await[..5], [4, 1, 0, 7, 0]);
}
