//! The allowance of scans is exact: with concurrent requests, at midnight, and when a unit is
//! refunded (docs/security.md, S7).
//!
//! - Of 100 scans at once with three left, three are made; credits go after the daily scans.
//! - A unit comes back once, to where it came from, if no origin was asked or nothing was found out because of us; at
//!   most ten a day for what the owner cancels or deletes.

use std::collections::BTreeSet;

use rcpt_tests::{
    Account, Edge, Stack,
    people::{send, send_all},
    service::{
        clock::{resets_at, today},
        shim::Fault,
    },
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::ended;

async fn edge() -> &'static Edge {
    static EDGE: OnceCell<Edge> = OnceCell::const_new();
    EDGE.get_or_init(async || Edge::builder().start().await.unwrap()).await
}

async fn account(assignments: &str) -> Account {
    let account = edge().await.account().await;
    edge().await.set(&account.email, assignments).await;
    account
}

async fn scans(account: &Account) -> Value {
    account.quota().await.body["scans"].clone()
}

#[tokio::test]
async fn of_a_hundred_at_once_with_three_left_three_are_made() {
    let day = today().await;
    // Eighteen of twenty daily scans are used, and one credit is left. At most three scans run in parallel.
    let used = format!("plan = 'pro', scans_day = {day}, scans_charged = 18, scan_credits = 1");
    let account = account(&used).await;
    let body = json!({ "total": 10 });
    let requests = (0..100).map(|_| account.request(Method::POST, "/scans").json(&body));
    let replies = send_all(requests, 25).await;
    let made = replies.iter().filter(|reply| reply.status == 201).count();
    let statuses: Vec<_> = replies.iter().map(|reply| reply.status).collect();
    assert_eq!(made, 3, "{statuses:?}");
    assert!(replies.iter().all(|reply| [201, 409, 429].contains(&reply.status)), "{statuses:?}");
    let allowance = scans(&account).await;
    assert_eq!((&allowance["used_today"], &allowance["credits"]), (&json!(20), &json!(0)));

    // More scans could run, so the allowance is the reason for the rejections.
    let id = replies.iter().find(|reply| reply.status == 201).unwrap().text("id").to_owned();
    edge().await.sql("UPDATE scans SET handed = 1 WHERE id = ?", &[json!(id)]).await;
    assert_eq!(account.post(&format!("/scans/{id}/cancel"), &json!({})).await.status, 200);
    let refused = account.post("/scans", &body).await;
    let detail = &refused.body["detail"];
    assert_eq!((refused.status, &detail["limit"]), (429, &json!("scan")), "{}", refused.body);
    assert_eq!(detail["resets_at"], json!(resets_at(day)));
    let retry: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=86_400).contains(&retry));
}

#[tokio::test]
async fn a_unit_goes_back_to_where_it_came_from_unless_an_origin_was_asked() {
    let day = today().await;
    let account = account("scan_credits = 1").await;
    let begin = async || {
        let reply = account.post("/scans", &json!({ "total": 10 })).await;
        assert_eq!(reply.status, 201, "{}", reply.body);
        reply.text("id").to_owned()
    };
    let cancel = async |id: &str| {
        let reply = account.post(&format!("/scans/{id}/cancel"), &json!({})).await;
        assert_eq!((reply.status, &reply.body["state"]), (200, &json!("cancelled")));
    };
    let assert_left = async |used: u64, credits: u64, why: &str| {
        let scans = scans(&account).await;
        assert_eq!(
            (&scans["used_today"], &scans["credits"]),
            (&json!(used), &json!(credits)),
            "{why}"
        );
    };
    let first = begin().await;
    assert_left(1, 1, "the daily ones first").await;
    cancel(&first).await;
    assert_left(0, 1, "given back").await;
    cancel(&first).await;
    assert_left(0, 1, "once").await;
    let daily = begin().await;
    edge().await.sql("UPDATE scans SET handed = 1 WHERE id = ?", &[json!(daily)]).await;
    cancel(&daily).await;
    assert_left(1, 1, "an origin was asked").await;
    let credit = begin().await;
    assert_left(1, 0, "then the credits").await;
    assert_eq!(account.delete(&format!("/scans/{credit}"), &json!({})).await.status, 204);
    assert_left(1, 1, "deleting cancels first").await;

    // A unit is not refunded after its day.
    let yesterday = begin().await;
    let older = "UPDATE scans SET source = 'daily', day = ? WHERE id = ?";
    edge().await.sql(older, &[json!(day - 1), json!(yesterday)]).await;
    cancel(&yesterday).await;
    assert_left(1, 0, "not given back to another day").await;
    edge().await.set(&account.email, &format!("scans_day = {}", day - 1)).await;
    assert_left(0, 0, "a new day").await;
}

#[tokio::test]
async fn sizes_and_numbers_at_a_time_are_the_plans() {
    let account = account("scan_credits = 5").await;
    let create = async |body: Value| account.post("/scans", &body).await;
    let reply = create(json!({ "total": 201 })).await;
    reply.assert_error(400, "scan_too_large", "free");
    assert_eq!(scans(&account).await["used_today"], 0, "nothing is charged");
    assert_eq!(create(json!({ "total": 200 })).await.status, 201);
    create(json!({ "total": 1 })).await.assert_error(409, "too_many_scans", "one at a time");
    edge().await.set(&account.email, "plan = 'pro'").await;
    assert_eq!(create(json!({ "total": 10_000 })).await.status, 201);
    assert_eq!(create(json!({ "total": 1 })).await.status, 201);
    create(json!({ "total": 1 })).await.assert_error(409, "too_many_scans", "three at a time");
    assert_eq!(scans(&account).await["scan_size"], 10_000);
}

#[tokio::test]
async fn a_key_makes_one_scan_and_a_repeat_finishes_what_was_cut_off() {
    let stack = Stack::builder().shimmed().start().await;
    let edge = &stack.edge;
    let account = edge.account().await;
    today().await;
    edge.set(&account.email, "scan_credits = 3").await;
    let addresses: Vec<_> = (0..3).map(|n| format!("accepts+{n}@sandbox.test")).collect();
    let body = json!({ "addresses": addresses, "name": "keyed" });
    let request = |key: &str, body: &Value| {
        let request = account.request(Method::POST, "/scans").json(body);
        request.header("idempotency-key", key)
    };
    // Creates the scan, but fails to queue its addresses.
    let lost = Fault { part: "queue", times: 1, error: "injected", ..Fault::default() };
    edge.fail(&[lost]).await;
    let key = "the-customers-of-may";
    assert_eq!(send(request(key, &body)).await.status, 503);
    let repeats = send_all((0..10).map(|_| request(key, &body)), 10).await;
    let id = repeats[0].text("id").to_owned();
    for repeat in &repeats {
        assert_eq!((repeat.status, repeat.text("id")), (201, id.as_str()), "{}", repeat.body);
        assert_eq!(repeat.header("location"), format!("/v1/scans/{id}"));
    }
    ended(&account, &id).await;
    assert_eq!(send(request(key, &body)).await.body["state"], "completed");
    let other = json!({ "addresses": ["accepts+4@sandbox.test"], "name": "keyed" });
    send(request(key, &other)).await.assert_error(422, "idempotency_key_reused", "another list");
    let check = account.check_under(key, "accepts+0@sandbox.test").await;
    assert_eq!(
        (check.status, &check.body["status"]),
        (200, &json!(true)),
        "a check's key is another one"
    );
    send(request("short", &other)).await.assert_error(400, "invalid_idempotency_key", "short");

    // Sends five `Idempotency-Key`s in parallel, each three times, with three units left.
    edge.sql("UPDATE plans SET max_scans = 10", &[]).await;
    let total = json!({ "total": 2 });
    let keys = (0..15).map(|n| request(&format!("one-of-five-keys-{}", n % 5), &total));
    let replies = send_all(keys, 15).await;
    let made: BTreeSet<_> =
        replies.iter().filter(|reply| reply.status == 201).map(|reply| reply.text("id")).collect();
    let refused = replies.iter().filter(|reply| reply.status == 429).count();
    assert_eq!((made.len(), refused), (3, 6), "{replies:?}");
    let quota = account.quota().await;
    let scans = &quota.body["scans"];
    assert_eq!((&scans["used_today"], &scans["credits"]), (&json!(1), &json!(0)));
    assert_eq!(quota.body["total_scans"], 4);
}

#[tokio::test]
async fn ten_units_a_day_are_given_back_to_an_owner_and_what_we_failed_always_is() {
    today().await;
    let account = account("scan_credits = 30").await;
    let cycle = async |ends: bool| {
        let made = account.post("/scans", &json!({ "total": 1 })).await;
        let path = format!("/scans/{}", made.text("id"));
        if ends {
            assert_eq!(account.post(&format!("{path}/cancel"), &json!({})).await.status, 200);
        }
        assert_eq!(account.delete(&path, &json!({})).await.status, 204);
    };
    let scans_left = async || {
        let scans = scans(&account).await;
        (scans["used_today"].as_u64().unwrap(), scans["credits"].as_u64().unwrap())
    };
    for n in 0..10 {
        cycle(n % 2 == 0).await;
        assert_eq!(scans_left().await, (0, 30), "given back, {n}");
    }
    cycle(true).await;
    assert_eq!(scans_left().await, (1, 30), "the eleventh is kept");
    cycle(false).await;
    assert_eq!(scans_left().await, (1, 29), "so is every later one");

    // This scan expires without a result, so its unit is refunded even after ten refunds.
    let made = account.post("/scans", &json!({ "total": 1 })).await;
    assert_eq!(scans_left().await, (1, 28));
    let aged = "UPDATE scans SET created_at = created_at - 86400 WHERE id = ?";
    edge().await.sql(aged, &[made.body["id"].clone()]).await;
    edge().await.run_scheduled().await;
    assert_eq!(scans_left().await, (1, 29), "expired");

    edge().await.set(&account.email, "refunds_day = refunds_day - 1").await;
    cycle(false).await;
    assert_eq!(scans_left().await, (1, 29), "another day");
}
