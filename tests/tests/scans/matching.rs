//! A list is compared with a sent part, and the comparison can't be used to find out the list's content (docs/scans.md,
//! "What a comparison tells").

use rcpt_tests::{
    Account, Edge,
    people::{Reply, send_all},
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::put;

async fn edge() -> &'static Edge {
    static EDGE: OnceCell<Edge> = OnceCell::const_new();
    EDGE.get_or_init(async || Edge::builder().start().await.unwrap()).await
}

/// Creates a scan of these addresses and sends them all.
async fn scan(account: &Account, addresses: &[&str]) -> String {
    let made = account.post("/scans", &json!({ "addresses": addresses })).await;
    assert_eq!(made.status, 201, "{}", made.body);
    made.text("id").to_owned()
}

async fn compare(account: &Account, id: &str, addresses: &[&str]) -> Reply {
    account.post(&format!("/scans/{id}/parts/0/match"), &json!({ "addresses": addresses })).await
}

async fn pro() -> Account {
    let account = edge().await.account().await;
    edge().await.set(&account.email, "plan = 'unlimited'").await;
    account
}

const LIST: [&str; 3] = ["a@one.example", "Bob <b@two.example>", "no address"];

#[tokio::test]
async fn a_part_is_known_by_all_its_addresses_in_their_order() {
    let ann = pro().await;
    let id = scan(&ann, &LIST).await;
    for (list, matches) in [
        (LIST, true),
        ([LIST[1], LIST[0], LIST[2]], false),
        ([LIST[0], "b@two.example", LIST[2]], false),
        ([LIST[0], LIST[1], "no  address"], false),
    ] {
        let reply = compare(&ann, &id, &list).await;
        assert_eq!(reply.parts(), (200, &json!({ "matches": matches })), "{list:?}");
    }
    ann.post(&format!("/scans/{id}/cancel"), &json!({})).await;
    assert_eq!(compare(&ann, &id, &LIST).await.body["matches"], true, "also after the end");
    compare(&ann, &id, &LIST[..2]).await.assert_error(400, "part_size", "too few");
    compare(&ann, &id, &[]).await.assert_error(400, "part_size", "none");
    let beyond = format!("/scans/{id}/parts/1/match");
    let beyond = ann.post(&beyond, &json!({ "addresses": LIST })).await;
    beyond.assert_error(400, "no_such_part", "beyond the end");
    let bob = pro().await;
    compare(&bob, &id, &LIST).await.assert_error(404, "no_such_scan", "another account");
    let counted = "SELECT comparisons FROM scan_parts WHERE scan_id = ?";
    let counted = edge().await.sql(counted, &[json!(id)]).await;
    assert_eq!(counted, [json!({ "comparisons": 5 })], "only what was compared counts");
}

#[tokio::test]
async fn a_part_of_one_address_cannot_be_compared_however_it_is_written() {
    let ann = pro().await;
    for list in [
        &["a@one.example"][..],
        &["a@one.example", "a@one.example"],
        &["a@one.example", "Ann <A@ONE.example>"],
        &["a@one.example", "", "no address"],
    ] {
        let id = scan(&ann, list).await;
        compare(&ann, &id, list).await.assert_error(409, "nothing_to_match", &format!("{list:?}"));
        let mac = "SELECT mac FROM scan_parts WHERE scan_id = ?";
        let stored_results = edge().await.sql(mac, &[json!(id)]).await;
        assert_eq!(stored_results, [json!({ "mac": "" })], "{list:?}: a hash of one address");
    }
    let open = ann.post("/scans", &json!({ "total": 3 })).await;
    let early = compare(&ann, open.text("id"), &LIST).await;
    early.assert_error(409, "nothing_to_match", "not sent yet");
}

#[tokio::test]
async fn twenty_guesses_are_answered_and_no_more_whichever_way_they_come() {
    let ann = pro().await;
    let statuses = |replies: &[Reply]| {
        let of = |status| replies.iter().filter(|reply| reply.status == status).count();
        (of(200), of(409))
    };
    // Makes all comparisons in parallel.
    let id = scan(&ann, &LIST).await;
    let path = format!("/scans/{id}/parts/0/match");
    let guesses = (0..60).map(|n| {
        let guess = json!({ "addresses": [format!("guess{n}@one.example"), LIST[1], LIST[2]] });
        ann.request(Method::POST, &path).json(&guess)
    });
    let replies = send_all(guesses, 30).await;
    assert_eq!(statuses(&replies), (20, 40), "{:?}", replies.last());
    compare(&ann, &id, &LIST).await.assert_error(409, "matches_used_up", "the right one neither");

    // Sends the part again: right and wrong guesses get the same response.
    let list = LIST.map(str::to_owned);
    put(&ann, &id, 0, &list).await.assert_error(409, "matches_used_up", "the right one");
    let other = ["guess@one.example", LIST[1], LIST[2]].map(str::to_owned);
    put(&ann, &id, 0, &other).await.assert_error(409, "matches_used_up", "another one");

    let id = scan(&ann, &LIST).await;
    assert_eq!(put(&ann, &id, 0, &list).await.status, 200, "a repeat isn't a guess");
    let path = format!("/scans/{id}/parts/0");
    let guesses = (0..60).map(|n| {
        let guess = json!({ "addresses": [format!("guess{n}@one.example"), LIST[1], LIST[2]] });
        ann.request(Method::PUT, &path).json(&guess)
    });
    let replies = send_all(guesses, 30).await;
    let conflicts = replies.iter().filter(|reply| reply.body["code"] == "part_conflict").count();
    assert_eq!(conflicts, 19, "the twentieth says what all after it say");
    put(&ann, &id, 0, &list).await.assert_error(409, "matches_used_up", "the right one");
    compare(&ann, &id, &LIST).await.assert_error(409, "matches_used_up", "together twenty");
    let mixed = scan(&ann, &LIST).await;
    for n in 0..10 {
        put(&ann, &mixed, 0, &other).await.assert_error(409, "part_conflict", &n.to_string());
        assert_eq!(compare(&ann, &mixed, &LIST).await.body, json!({ "matches": true }));
    }
    compare(&ann, &mixed, &LIST).await.assert_error(409, "matches_used_up", "ten of each");
    let counted: Vec<Value> = edge().await.sql("SELECT comparisons FROM scan_parts", &[]).await;
    let most = counted.iter().filter_map(|part| part["comparisons"].as_u64()).max();
    assert_eq!(most, Some(20));
}
