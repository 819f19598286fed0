//! A scan whose addresses wait in the queue while `SCAN_SECRET` is replaced (docs/operating/incidents.md, Replace a
//! secret).

use rcpt_tests::{
    Account, Stack,
    service::{secret, shim::Fault},
};
use serde_json::{Value, json};

use super::{ended, show, start};

const LIST: [&str; 2] = ["accepts@sandbox.test", "rejects@sandbox.test"];

/// Starts a scan whose messages the test delivers later.
async fn waiting(stack: &Stack, account: &Account) -> (String, Vec<Value>) {
    stack.edge.counts().await;
    stack.edge.fail(&[Fault { part: "queue", times: 1, swallow: true, ..Fault::default() }]).await;
    let id = start(account, &LIST.map(str::to_owned), false).await;
    let messages = stack.edge.queue_messages().await;
    assert!(!messages.is_empty());
    (id, messages)
}

async fn matches(account: &Account, id: &str) -> (u16, Value) {
    let path = format!("/scans/{id}/parts/0/match");
    let reply = account.post(&path, &json!({ "addresses": LIST })).await;
    (reply.status, reply.body)
}

#[tokio::test]
async fn a_scan_in_the_queue_is_answered_whichever_of_the_two_secrets_sealed_it() {
    let [old, new] = [(); 2].map(|()| secret::value().unwrap());
    let mut stack = Stack::builder().shimmed().start().await;
    let ann = stack.edge.account().await;
    stack.edge.set(&ann.email, "plan = 'unlimited'").await;

    stack.edge.restart_with(|edge| edge.ring("SCAN_SECRET", &old)).await.unwrap();
    let (before, sealed_before) = waiting(&stack, &ann).await;
    let (late, sealed_late) = waiting(&stack, &ann).await;
    // The first of a ring signs.
    let both = format!("{new},{old}");
    stack.edge.restart_with(|edge| edge.ring("SCAN_SECRET", &both)).await.unwrap();
    let (after, sealed_after) = waiting(&stack, &ann).await;
    stack.edge.deliver(&sealed_before).await;
    let scan = ended(&ann, &before).await;
    assert_eq!((&scan["counts"]["true"], &scan["counts"]["false"]), (&json!(1), &json!(1)));
    for id in [&before, &late, &after] {
        assert_eq!(matches(&ann, id).await, (200, json!({ "matches": true })));
    }

    stack.edge.restart_with(|edge| edge.ring("SCAN_SECRET", &new)).await.unwrap();
    stack.edge.deliver(&sealed_after).await;
    let scan = ended(&ann, &after).await;
    assert_eq!((&scan["counts"]["true"], &scan["counts"]["false"]), (&json!(1), &json!(1)));
    assert_eq!(matches(&ann, &after).await, (200, json!({ "matches": true })));
    // Without the old value, waiting addresses are lost and nothing can be matched: it stays for a day.
    stack.edge.deliver(&sealed_late).await;
    assert_eq!(show(&ann, &late).await["answered"], 0);
    let (status, refusal) = matches(&ann, &before).await;
    assert_eq!((status, &refusal["code"]), (409, &json!("nothing_to_match")));
}
