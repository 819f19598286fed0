//! A failing webhook is retried with growing delays and the same id, and delays no other account's webhook.

use rcpt_tests::{Account, Edge, FakeWebhook, service::shim::Fault};
use serde_json::{Value, json};

use super::{
    start,
    webhooks::{set, settings},
};

const FLAKY: &str = "flaky.example.com";
const FINE: &str = "fine.example.com";

async fn account(edge: &Edge, host: &str, scans: usize) -> Account {
    let account = edge.account().await;
    edge.set(&account.email, "plan = 'unlimited'").await;
    set(&account, &format!("https://{host}/")).await;
    for _ in 0..scans {
        // A scan of a malformed address ends as soon as it is received.
        start(&account, &["no address".to_owned()], false).await;
    }
    account
}

/// Runs the scheduled handler as if the endpoints' pauses had passed.
async fn run_scheduled_later(edge: &Edge) {
    edge.sql("UPDATE webhooks SET free_at = 0", &[]).await;
    edge.run_scheduled().await;
}

#[tokio::test]
async fn what_fails_is_sent_again_later_and_delays_nobody_else() {
    let server = FakeWebhook::start();
    let edge = Edge::builder().webhooks(server.port).start().await.unwrap();
    server.answer(FLAKY, 500);
    let flaky = account(&edge, FLAKY, 3).await;
    edge.run_scheduled().await;
    assert_eq!(server.events(FLAKY).len(), 1, "one that fails stands for all that wait");
    edge.run_scheduled().await;
    assert_eq!(server.events(FLAKY).len(), 1, "not before five minutes");
    let waits = "SELECT failures, free_at - unixepoch() AS wait FROM webhooks";
    for failures in 1..10 {
        let row = &edge.sql(waits, &[]).await[0];
        let expected = 14_400.min(300 << (failures - 1));
        let wait = row["wait"].as_i64().unwrap();
        assert_eq!(row["failures"], failures);
        assert!((expected - 60..=expected).contains(&wait), "{wait} of {expected}");
        run_scheduled_later(&edge).await;
    }
    let attempts = server.events(FLAKY);
    assert_eq!(attempts.len(), 10);
    let of_first = attempts.iter().filter(|event| event.id == attempts[0].id).count();
    assert_eq!(of_first, 4, "in turn");
    let first: Vec<_> = attempts.iter().filter(|event| event.id == attempts[0].id).collect();
    assert!(first.iter().all(|event| event.text == first[0].text), "each attempt says the same");

    // A change of the URL shortens the wait from four hours to five minutes.
    set(&flaky, &format!("https://{FLAKY}/other")).await;
    edge.run_scheduled().await;
    assert_eq!(server.events(FLAKY).len(), 10);
    let wait = edge.sql(waits, &[]).await[0]["wait"].as_i64().unwrap();
    assert!((240..=300).contains(&wait), "{wait}");

    // Three endpoints that never respond, each with several deliveries, beside an endpoint that
    // works.
    for host in ["a", "b", "c"] {
        server.answer(&format!("{host}.dead.example.com"), 0);
        account(&edge, &format!("{host}.dead.example.com"), 2).await;
    }
    edge.sql("UPDATE webhooks SET failures = 1 WHERE url LIKE '%dead%'", &[]).await;
    let fine = account(&edge, FINE, 4).await;
    edge.run_scheduled().await;
    assert_eq!(server.events(FINE).len(), 4, "{:?}", settings(&fine).await);
    let request_count: usize = ["a", "b", "c"]
        .iter()
        .map(|host| server.events(&format!("{host}.dead.example.com")).len())
        .sum();
    assert!(request_count <= 3, "one attempt at each");

    // The endpoint works again: a successful test releases all waiting deliveries.
    server.answer(FLAKY, 200);
    assert_eq!(flaky.post("/notifications/test", &json!({})).await.body["state"], "delivered");
    edge.run_scheduled().await;
    let deliveries = settings(&flaky).await["deliveries"].as_array().unwrap().clone();
    assert_eq!(deliveries.len(), 4);
    assert!(deliveries.iter().all(|delivery| delivery["state"] == "delivered"), "{deliveries:?}");
}

#[tokio::test]
async fn what_is_not_taken_within_a_day_is_given_up_and_what_is_removed_is_gone() {
    let server = FakeWebhook::start();
    let edge = Edge::builder().webhooks(server.port).shimmed().start().await.unwrap();
    server.answer(FLAKY, 503);
    let ann = account(&edge, FLAKY, 2).await;
    let bob = account(&edge, FINE, 1).await;
    edge.set(&bob.email, "state = 'deactivated'").await;
    run_scheduled_later(&edge).await;
    assert_eq!(server.events(FINE).len(), 0, "the account is closed");
    // An attempt whose result can't be stored is repeated with the same id.
    edge.counts().await;
    let statements = &["update webhook_deliveries", "update webhooks"];
    let fault = Fault { part: "d1", statements, times: 1, error: "struck", ..Fault::default() };
    edge.fail(&[fault]).await;
    run_scheduled_later(&edge).await;
    run_scheduled_later(&edge).await;
    let ids: Vec<_> = server.events(FLAKY).into_iter().map(|event| event.id).collect();
    assert_eq!((ids.len(), &ids[1]), (3, &ids[2]));
    let age = "UPDATE webhook_deliveries SET created_at = created_at - 86400 WHERE id = ?";
    let id = server.events(FLAKY)[0].id.clone();
    edge.sql(age, &[json!(id)]).await;
    run_scheduled_later(&edge).await;
    let deliveries = settings(&ann).await["deliveries"].as_array().unwrap().clone();
    let state =
        |wanted: &str| deliveries.iter().find(|d| d["id"] == wanted).unwrap()["state"].clone();
    assert_eq!(state(&id), "failed");
    let other = deliveries.iter().find(|delivery| delivery["id"] != json!(id)).unwrap();
    assert_eq!((&other["state"], &other["status"]), (&json!("pending"), &json!(503)));
    edge.sql(
        "UPDATE webhook_deliveries SET created_at = created_at - 6 * 86400 WHERE id = ?",
        &[json!(id)],
    )
    .await;
    edge.run_scheduled().await;
    assert_eq!(settings(&ann).await["deliveries"].as_array().unwrap().len(), 1, "after a week");

    set(&ann, "").await;
    let rows = edge
        .sql("SELECT w.url FROM webhooks w JOIN webhook_deliveries d USING (account_id)", &[])
        .await;
    assert_eq!(rows.len(), 1, "only Bob's: {rows:?}");
    assert_eq!(ann.put("/notifications", &json!({ "webhook_url": "" })).await.status, 200, "twice");
}

#[tokio::test]
async fn a_scan_that_was_deleted_before_its_event_was_taken_is_told_as_it_ended() {
    let server = FakeWebhook::start();
    let edge = Edge::builder().webhooks(server.port).start().await.unwrap();
    server.answer(FLAKY, 503);
    let ann = account(&edge, FLAKY, 1).await;
    let scans = ann.get("/scans").await.body["scans"].clone();
    let id = scans[0]["id"].as_str().unwrap();
    run_scheduled_later(&edge).await;
    assert_eq!(ann.delete(&format!("/scans/{id}"), &json!({})).await.status, 204);
    server.answer(FLAKY, 200);
    run_scheduled_later(&edge).await;
    let events = server.events(FLAKY);
    let body: Value = serde_json::from_str(&events.last().unwrap().text).unwrap();
    assert!(events.iter().all(|event| event.text == events[0].text), "{}", events[0].text);
    assert_eq!((&body["type"], &body["data"]["id"]), (&json!("scan.completed"), &json!(id)));
    let counts = [&scans[0]["counts"], &scans[0]["by_verdict"]];
    assert_eq!([&body["data"]["counts"], &body["data"]["by_verdict"]], counts);
    assert_eq!(settings(&ann).await["deliveries"][0]["state"], "delivered");
}

/// In a scheduled run, the directory and one more database accept statements and never respond.
#[tokio::test]
async fn databases_that_hang_keep_no_other_from_its_deliveries() {
    const LATER: u64 = 40_000;
    let server = FakeWebhook::start();
    let edge = Edge::builder().webhooks(server.port).shimmed().start().await.unwrap();
    let (fine, number) = loop {
        let account = edge.account().await;
        let id = edge.id(&account.email).await;
        let number = u8::from_str_radix(&id[..2], 16).unwrap();
        if number > 0 {
            break (account, number);
        }
    };
    edge.set(&fine.email, "plan = 'unlimited'").await;
    set(&fine, &format!("https://{FINE}/")).await;
    for _ in 0..4 {
        start(&fine, &["no address".to_owned()], false).await;
    }
    let before = server.events(FINE).len();
    assert!(before < 4, "some wait for the schedule");
    let hangs = |database| Fault {
        part: "d1",
        database: Some(database),
        times: 1_000_000,
        delay_ms: LATER,
        ..Fault::default()
    };
    edge.fail(&[hangs(0), hangs(3 - number)]).await;
    edge.run_scheduled().await;
    edge.fail(&[]).await;
    assert_eq!(server.events(FINE).len(), 4);
    // The run waits once for each of the two databases.
    let counts = edge.counts().await;
    assert!(counts.d1_statements < 1_000, "{counts:?}");
    for line in ["no answer in time", "it hung earlier"] {
        edge.process.wait_for_line(line).await;
    }
}
