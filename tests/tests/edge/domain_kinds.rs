//! The kind of a domain: charged as a check, once per `Idempotency-Key`, and not at all if it couldn't be
//! determined.

use rcpt_tests::{Account, Edge, Reply, Stack, people::send};
use reqwest::Method;
use serde_json::json;

async fn ask(account: &Account, domain: &str, key: Option<&str>) -> Reply {
    let request = account.anonymous.request(Method::POST, "/domains");
    let request = request.header("x-api-key", &account.api_key).json(&json!({ "domain": domain }));
    send(match key {
        Some(key) => request.header("idempotency-key", key),
        None => request,
    })
    .await
}

#[tokio::test]
async fn a_domain_counts_as_a_check_and_once_under_its_key() {
    let stack = Stack::start().await;
    let ann = stack.edge.account().await;
    let expected = json!({
        "name": "relay.sandbox.test", "kind": "relay", "accepts_mail": true, "operator": null,
        "suspected": null, "evidence": [{ "source": "sandbox", "list": null, "as_of": null }],
        "suggestion": null
    });
    assert_eq!(ask(&ann, "Relay.sandbox.TEST.", None).await.parts(), (200, &expected));
    assert_eq!(ann.email_checks().await.used_today, 1);

    let key = "one-question-about-a-domain";
    for _ in 0..3 {
        assert_eq!(ask(&ann, "relay.sandbox.test", Some(key)).await.parts(), (200, &expected));
        assert_eq!(ann.email_checks().await.used_today, 2);
    }
    let other = ask(&ann, "provider.sandbox.test", Some(key)).await;
    assert_eq!((other.status, &other.body["code"]), (422, &json!("idempotency_key_reused")));
    // An `Idempotency-Key` of a check is another key.
    assert_eq!(ann.check_under(key, "a@relay.sandbox.test").await.status, 200);
    assert_eq!(ask(&ann, "ann@sandbox.test", None).await.status, 400);
    assert_eq!(ann.email_checks().await.used_today, 3);

    // The domain is listed, and the test's DNS has no answer for it.
    let listed = ask(&ann, "mailinator.com", None).await;
    assert_eq!((listed.status, &listed.body["kind"]), (200, &json!("disposable")));
    assert_eq!(ann.email_checks().await.used_today, 4);

    let used_up = "day = 99999, daily_charged = 100, welcome_left = 0";
    stack.edge.set(&ann.email, used_up).await;
    assert_eq!(ask(&ann, "relay.sandbox.test", None).await.status, 429);
}

#[tokio::test]
async fn a_question_that_nobody_answers_is_not_counted() {
    let edge = Edge::builder().start().await.unwrap();
    let ann = edge.account().await;
    let reply = ask(&ann, "relay.sandbox.test", None).await;
    assert_eq!((reply.status, &reply.body["code"]), (502, &json!("upstream")));
    assert_eq!(ann.email_checks().await.used_today, 0);
}
