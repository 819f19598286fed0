//! The end of a scan is announced by email, and by a webhook in the form of Standard Webhooks.
//! Neither the email nor the webhook contains an address.
//!
//! - S10: an event is repeated for a day with the same id and growing delays; an endpoint that fails or hangs delays no
//!   other; the URL leads to the public Internet, redirects aren't followed, and tests are ten an hour.

use rcpt_tests::{
    Account, Dns, Edge, FakeDns, FakeWebhook, Stack,
    people::{Reply, send},
    service::clock,
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{LIMIT, LOOK, ended, start};

const HOST: &str = "hooks.example.com";

pub async fn set(account: &Account, url: &str) -> Value {
    let reply = account.put("/notifications", &json!({ "webhook_url": url })).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.body
}

pub async fn settings(account: &Account) -> Value {
    let reply = account.get("/notifications").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.body
}

/// Waits until the newest delivery has been attempted, and returns it.
async fn tried(account: &Account) -> Value {
    let deadline = Instant::now() + LIMIT;
    loop {
        let delivery = settings(account).await["deliveries"][0].clone();
        if delivery["attempts"] != 0 || Instant::now() > deadline {
            return delivery;
        }
        sleep(LOOK).await;
    }
}

/// Sends `GET` with the API key.
async fn by_key(account: &Account, path: &str) -> Reply {
    let request = account.anonymous.request(Method::GET, path);
    let reply = send(request.header("x-api-key", &account.api_key)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply
}

#[tokio::test]
async fn every_end_is_announced_and_ends_within_ten_minutes_share_an_email() {
    let edge = Stack::builder().start().await.edge;
    let ann = edge.account().await;
    edge.set(&ann.email, "plan = 'unlimited'").await;
    let end = async || {
        let id = start(&ann, &["no address".to_owned()], false).await;
        ended(&ann, &id).await;
    };
    let told = async || {
        edge.run_scheduled().await;
        let mails = edge.mailbox().mails_to(&ann.email).into_iter();
        mails.filter(|mail| mail.subject.contains("ended")).collect::<Vec<_>>()
    };
    end().await;
    let first = told().await;
    assert_eq!((first.len(), &*first[0].subject), (1, "Your scan has ended"));
    for _ in 0..3 {
        end().await;
    }
    edge.sql("UPDATE notices SET due_at = due_at - 300", &[]).await;
    assert_eq!(told().await.len(), 1, "within ten minutes");
    edge.sql("UPDATE notices SET due_at = due_at - 300", &[]).await;
    let mails = told().await;
    assert_eq!(mails.len(), 2);
    let all = mails.last().unwrap();
    assert_eq!(all.subject, "Your scans have ended");
    assert_eq!(all.text.matches("Addresses: 1").count(), 3, "{}", all.text);
    // Thirty a day at most, however they are spread.
    for sent in 3..=33 {
        end().await;
        edge.sql("UPDATE notices SET due_at = due_at - 600", &[]).await;
        let count = told().await.len();
        assert_eq!(count, sent.min(30), "the {sent}th");
    }
}

#[tokio::test]
async fn the_end_of_a_scan_is_told_by_email_and_by_a_signed_webhook_without_an_address() {
    let server = FakeWebhook::start();
    let stack = Stack::builder().webhooks(server.port).start().await;
    let ann = stack.edge.account().await;
    stack.edge.set(&ann.email, "plan = 'pro'").await;
    let before = settings(&ann).await;
    let nothing = json!({ "scan_email": true, "allowance_email": true, "webhook_url": null, "webhook_secret": null,
        "previous_secret_until": null, "deliveries": [] });
    assert_eq!(before, nothing);
    let url = format!("https://{HOST}/rcpt?a=b");
    let secret = set(&ann, &url).await["webhook_secret"].as_str().unwrap().to_owned();

    let list = [
        "accepts+marker@sandbox.test",
        "rejects@sandbox.test",
        "no address",
        "x@nomx.sandbox.test",
    ];
    let id = start(&ann, &list.map(str::to_owned), true).await;
    let scan = ended(&ann, &id).await;
    let event = server.wait_for(HOST, 1).await.remove(0);
    assert_eq!(
        (event.url.as_str(), event.id.as_str()),
        (url.as_str(), id.replace("scan_", "msg_").as_str())
    );
    assert!(event.is_signed_by(&secret), "{event:?}");
    let age = clock::now() - event.timestamp.parse::<u64>().unwrap();
    assert!((0..60).contains(&age), "{age}");
    let data = json!({ "id": id, "state": "completed", "total": 4, "answered": 4, "counts": scan["counts"],
        "by_verdict": { "deliverable": 1, "undeliverable": 3, "risky": 0, "unknown": 0 } });
    let at = scan["completed_at"].clone();
    assert_eq!(event.body(), json!({ "type": "scan.completed", "timestamp": at, "data": data }));

    // A polling client gets the same event, once.
    let deadline = Instant::now() + LIMIT;
    let page = loop {
        let page = by_key(&ann, "/events").await.body;
        if page["events"] != json!([]) {
            break page;
        }
        assert!(Instant::now() < deadline, "no event");
        sleep(LOOK).await;
    };
    assert_eq!(page["events"], json!([{ "id": event.id, "event": event.body() }]));
    let next = page["next"].as_str().unwrap();
    let nothing = by_key(&ann, &format!("/events?after={next}")).await.body;
    assert_eq!(nothing, json!({ "events": [], "next": next }));

    let mail =
        stack.edge.mailbox().wait_for_titled(&ann.email, "Your scan has ended", 1).await.unwrap();
    let counts = "Addresses: 4\nDeliverable: 1\nUndeliverable: 3\nRisky: 0\nUnknown: 0";
    assert!(
        mail.text.contains(counts) && mail.text.contains(&format!("/scans?id={id}")),
        "{}",
        mail.text
    );
    for told in [&mail.text, &event.text, &event.head] {
        assert!(!told.contains("sandbox.test") && !told.contains("marker"), "{told}");
    }
    stack
        .edge
        .mailbox()
        .wait_for_titled(&ann.email, "Your webhook has been changed", 1)
        .await
        .unwrap();

    // The delivery is stored after the server's response.
    let delivered = tried(&ann).await;
    assert_eq!(
        (&delivered["event"], &delivered["state"], &delivered["status"], &delivered["attempts"]),
        (&json!("scan.completed"), &json!("delivered"), &json!(204), &json!(1))
    );
    stack.edge.run_scheduled().await;
    assert_eq!(server.events(HOST).len(), 1, "told once");

    secrets_are_replaced(&stack.edge, &ann, &server, &secret).await;

    // Disabled notifications aren't sent.
    let off =
        ann.put("/notifications", &json!({ "scan_email": false, "webhook_url": "" })).await.body;
    assert_eq!(
        off,
        json!({ "scan_email": false, "allowance_email": true, "webhook_url": null, "webhook_secret": null,
        "previous_secret_until": null, "deliveries": [] })
    );
    let event_count = server.events(HOST).len();
    ended(&ann, &start(&ann, &["no address".to_owned()], false).await).await;
    stack.edge.sql("UPDATE notices SET due_at = 0", &[]).await;
    stack.edge.run_scheduled().await;
    assert_eq!(server.events(HOST).len(), event_count);
    assert!(
        stack.edge.mailbox().wait_for_titled(&ann.email, "Your scan has ended", 1).await.is_ok()
    );
    let ends = stack
        .edge
        .mailbox()
        .mails_to(&ann.email)
        .into_iter()
        .filter(|mail| mail.subject.contains("ended"));
    assert_eq!(ends.count(), 1);
}

/// Replaces the secret, and asserts that both secrets sign a test delivery.
async fn secrets_are_replaced(edge: &Edge, ann: &Account, server: &FakeWebhook, old: &str) {
    let replaced = ann.post("/notifications/secret", &json!({})).await;
    assert_eq!(replaced.status, 200, "{}", replaced.body);
    let new = replaced.text("webhook_secret").to_owned();
    assert!(!replaced.body["previous_secret_until"].is_null());
    let test = async || {
        let count = server.events(HOST).len();
        let reply = ann.post("/notifications/test", &json!({})).await;
        assert_eq!(
            (reply.status, &reply.body["state"], &reply.body["event"]),
            (200, &json!("delivered"), &json!("webhook.test")),
            "{}",
            reply.body
        );
        let event = server.wait_for(HOST, count + 1).await.remove(count);
        assert_eq!(reply.body["id"], event.id);
        (event.is_signed_by(old), event.is_signed_by(&new))
    };
    assert_eq!(test().await, (true, true));
    edge.sql("UPDATE webhooks SET previous_until = unixepoch()", &[]).await;
    assert_eq!(test().await, (false, true));
    assert_eq!(settings(ann).await["previous_secret_until"], Value::Null);
    // A new webhook has none of the old secrets.
    set(ann, "").await;
    let fresh = set(ann, &format!("https://{HOST}/rcpt")).await["webhook_secret"].clone();
    assert!(fresh != *old && fresh != *new);
}

#[tokio::test]
async fn a_webhook_leads_to_the_public_internet_and_tests_of_it_are_few() {
    let server = FakeWebhook::start();
    let resolver = FakeDns::start(|target| {
        match (target.contains("type=A&") || target.ends_with("type=A"), target) {
            (_, name) if name.contains("silent") => Dns::Silence,
            (_, name) if name.contains("gone") => Dns::Document(r#"{"Status":3}"#),
            (true, name) if name.contains("inside") => Dns::Document(
                r#"{"Status":0,"Answer":[{"type":5,"data":"x."},{"type":1,"data":"1.1.1.1"},{"type":1,"data":"10.0.0.1"}]}"#,
            ),
            (false, name) if name.contains("six") => {
                Dns::Document(r#"{"Status":0,"Answer":[{"type":28,"data":"fd00::1"}]}"#)
            }
            (true, _) => Dns::Document(r#"{"Status":0,"Answer":[{"type":1,"data":"1.1.1.1"}]}"#),
            (false, _) => Dns::Document(r#"{"Status":0}"#),
        }
    });
    let edge =
        Edge::builder().var("DNS_URL", &resolver.url).webhooks(server.port).start().await.unwrap();
    let ann = edge.account().await;
    let test = async || ann.post("/notifications/test", &json!({})).await;
    test().await.assert_error(409, "no_webhook", "none yet");
    ann.post("/notifications/secret", &json!({})).await.assert_error(409, "no_webhook", "none yet");
    for (url, code) in [
        ("http://hooks.example.com/", "invalid_webhook"),
        ("https://hooks.example.com:8443/", "invalid_webhook"),
        ("https://user@hooks.example.com/", "invalid_webhook"),
        ("https://[::1]/", "invalid_webhook"),
        ("https://127.0.0.1/", "webhook_not_public"),
        ("https://0x7f000001/", "webhook_not_public"),
        ("https://localhost/", "webhook_not_public"),
        ("https://db.internal/", "webhook_not_public"),
    ] {
        let body = json!({ "webhook_url": url, "scan_email": false });
        ann.put("/notifications", &body).await.assert_error(400, code, url);
    }
    let wrong = ann.put("/notifications", &json!({ "webhook_url": 5 })).await;
    wrong.assert_error(400, "invalid_body", "no text");
    assert_eq!(settings(&ann).await["scan_email"], true, "nothing half done");

    for (host, problem) in
        [("inside", "not_public"), ("six", "not_public"), ("gone", "no_dns"), ("silent", "no_dns")]
    {
        set(&ann, &format!("https://{host}.example.com/")).await;
        let reply = test().await;
        assert_eq!(
            (&reply.body["state"], &reply.body["problem"]),
            (&json!("failed"), &json!(problem)),
            "{host}"
        );
        assert_eq!(server.events(&format!("{host}.example.com")).len(), 0, "{host}");
    }
    set(&ann, &format!("https://{HOST}/")).await;
    server.answer(HOST, 302);
    assert_eq!(test().await.body["status"], 302);
    assert_eq!(server.events("elsewhere.example.com").len(), 0, "redirects are not followed");
    for _ in 5..10 {
        assert_eq!(test().await.body["state"], "failed");
    }
    test().await.assert_error(429, "throttled", "ten an hour");
    assert_eq!(server.events(HOST).len(), 6);
    let deliveries = settings(&ann).await["deliveries"].as_array().unwrap().clone();
    assert_eq!(deliveries.len(), 10);
    // Other accounts' test deliveries are counted separately.
    let bob = edge.account().await;
    set(&bob, "https://bob.example.com/").await;
    assert_eq!(bob.post("/notifications/test", &json!({})).await.body["state"], "delivered");
}
