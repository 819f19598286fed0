//! Plans that end, and the signed calls by which a program of the operator sets them (docs/operating/customers.md, "Sell a plan").

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use rcpt_shared::KeyRing;
use rcpt_tests::{
    Account, Conduct, Edge, FakeOrigin, Process, Reply,
    people::send,
    process::{folder, port},
    service::{clock, secret},
};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::task::JoinSet;

const PATH: &str = "/operator/plans";
const CHECKOUT: &str = "pro=https://buy.example/x?client_reference_id={reference}";

/// A service whose operator sells plans, and the operator's program.
struct Shop {
    edge: Edge,
    secrets: String,
    _origin: FakeOrigin,
}

impl Shop {
    async fn open() -> Self {
        let origin = FakeOrigin::start(|_| Conduct::Verdict(rcpt_shared::Status::Accepted));
        let secrets = secret::value().unwrap();
        let edge = Edge::builder().origins(&[&origin.url]).ring("OPERATOR_SECRET", &secrets);
        let edge = edge.var("CHECKOUT_URLS", CHECKOUT).start().await.unwrap();
        Self { edge, secrets, _origin: origin }
    }

    async fn reference(&self, account: &Account) -> String {
        account.get("/me/plan").await.text("reference").to_owned()
    }

    /// Sends a call as a library of Standard Webhooks would.
    async fn call(&self, id: &str, body: &Value) -> Reply {
        self.call_at(clock::now(), id, body).await
    }

    async fn call_at(&self, at: u64, id: &str, body: &Value) -> Reply {
        let text = body.to_string();
        let signature = self.signature(id, at, &text);
        self.send(id, &at.to_string(), &signature, text).await
    }

    fn signature(&self, id: &str, at: u64, text: &str) -> String {
        let ring = KeyRing::parse(&self.secrets).unwrap();
        let mut mac = <Hmac<Sha256>>::new_from_slice(ring.signing().1).unwrap();
        mac.update(format!("{id}.{at}.{text}").as_bytes());
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }

    async fn send(&self, id: &str, at: &str, signature: &str, text: String) -> Reply {
        let request = self.edge.anonymous().request(Method::POST, PATH);
        let request = request.header("webhook-id", id).header("webhook-timestamp", at);
        send(request.header("webhook-signature", signature).body(text)).await
    }

    async fn plan(&self, account: &Account) -> Value {
        let reply = account.get("/me/plan").await;
        let profile = account.get("/me").await;
        assert_eq!((reply.status, &reply.body["plan"]), (200, &profile.body["plan"]));
        json!([reply.body["plan"], reply.body["until"]])
    }
}

/// The time `seconds` from now, in the calls' format.
fn from_now(seconds: i64) -> String {
    let now = chrono::DateTime::from_timestamp(i64::try_from(clock::now()).unwrap() + seconds, 0);
    now.unwrap().to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

fn order(reference: &str, plan: &str, until: Value, occurred_at: &str) -> Value {
    json!({ "reference": reference, "plan": plan, "until": until, "occurred_at": occurred_at })
}

#[tokio::test]
async fn a_paid_plan_is_in_force_with_the_next_check_and_ends_without_a_call() {
    let shop = Shop::open().await;
    let ann = shop.edge.account().await;
    shop.edge.set(&ann.email, "day = 99999, daily_charged = 100, welcome_left = 0").await;
    assert_eq!(ann.quota().await.body["email_checks"]["left_today"], 0);
    let reference = shop.reference(&ann).await;
    let link = format!("https://buy.example/x?client_reference_id={reference}");
    let offered = ann.get("/me/plan").await.body["checkouts"].clone();
    assert_eq!(offered, json!([{ "plan": "pro", "url": link }]));
    assert!(!link.contains(&ann.email) && !link.contains('@'), "{link}");

    let until = from_now(3600);
    let body = order(&reference, "pro", json!(until), &from_now(-1));
    let reply = shop.call("evt_1", &body).await;
    let expected =
        json!({ "reference": reference, "plan": "pro", "until": until, "applied": true });
    assert_eq!(reply.parts(), (200, &expected));
    assert_eq!(shop.plan(&ann).await, json!(["pro", until]));
    assert_eq!(ann.get("/me/plan").await.body["checkouts"], json!([]), "it has been bought");
    assert_eq!(ann.check("one@example.org").await.status, 200);
    let mail = shop.edge.mailbox().wait_for_titled(&ann.email, "Your plan has changed", 1).await;
    let text = mail.unwrap().text;
    assert!(text.contains("on the plan pro now, until "), "{text}");

    // The plan ends without a call, and before the scheduled run.
    shop.edge.set(&ann.email, "plan_until = unixepoch() - 1").await;
    assert_eq!(shop.plan(&ann).await, json!(["free", null]));
    let refused = ann.check("two@example.org").await;
    assert_eq!((refused.status, &refused.body["detail"]["limit"]), (429, &json!("email check")));
    assert_eq!(ann.quota().await.body["plan"], "free");
    shop.edge.run_scheduled().await;
    let columns = "plan, plan_until";
    let tidied = json!({ "plan": "free", "plan_until": null });
    assert_eq!(shop.edge.row(&ann.email, columns).await, tidied);
    let notices = "SELECT deeds FROM notices WHERE kind = 'plan_changed'";
    assert_eq!(shop.edge.sql(notices, &[]).await, [json!({ "deeds": 2 })], "the owner is told");
    shop.edge.run_scheduled().await;
    assert_eq!(shop.edge.sql(notices, &[]).await, [json!({ "deeds": 2 })], "once");
}

#[tokio::test]
async fn events_count_once_and_an_older_one_changes_nothing() {
    let shop = Shop::open().await;
    let ann = shop.edge.account().await;
    let reference = shop.reference(&ann).await;
    let applied = async |id: &str, body: &Value| {
        let reply = shop.call(id, body).await;
        assert_eq!(reply.status, 200, "{id}: {}", reply.body);
        reply.body["applied"].as_bool().unwrap()
    };
    let [bought, cancelled] = [
        order(&reference, "pro", Value::Null, &from_now(-60)),
        order(&reference, "free", Value::Null, &from_now(-30)),
    ];
    assert!(applied("evt_1", &bought).await);
    assert!(!applied("evt_1", &bought).await, "the provider sends it again");
    assert!(applied("evt_2", &cancelled).await);
    assert!(!applied("evt_1", &bought).await, "again, after the cancellation");
    let late = order(&reference, "unlimited", Value::Null, &from_now(-45));
    assert!(!applied("evt_3", &late).await, "it happened before the cancellation");
    assert_eq!(shop.plan(&ann).await, json!(["free", null]));
    // Providers' clocks have a resolution of a second: of two events of the same second, the later
    // call wins.
    let same_second = cancelled["occurred_at"].as_str().unwrap();
    let again = order(&reference, "pro", json!(from_now(3600)), same_second);
    assert!(applied("evt_4", &again).await && !applied("evt_2", &cancelled).await);
    assert_eq!(shop.plan(&ann).await[0], "pro");
    let sql = "SELECT operator, action, value, id FROM operator_actions ORDER BY rowid";
    let record = |action, value, id| json!({ "operator": "webhook", "action": action, "value": value, "id": id });
    let expected = [
        record("set-plan", "pro", "evt_1"),
        record("set-plan", "free", "evt_2"),
        record("older-plan", "unlimited", "evt_3"),
        record("set-plan", "pro", "evt_4"),
    ];
    assert_eq!(shop.edge.sql(sql, &[]).await, expected);

    // A call that arrives after the end that it sets, and a call that gives the free plan an end.
    let ended = order(&reference, "unlimited", json!(from_now(-5)), &from_now(-10));
    assert!(applied("evt_5", &ended).await);
    assert_eq!(shop.plan(&ann).await, json!(["free", null]));
    let free = order(&reference, "free", json!(from_now(60)), &from_now(-9));
    assert!(applied("evt_6", &free).await);
    assert_eq!(shop.plan(&ann).await, json!(["free", null]));
}

#[tokio::test]
async fn of_twenty_events_at_the_same_time_the_newest_holds() {
    let shop = Arc::new(Shop::open().await);
    let ann = shop.edge.account().await;
    let reference = shop.reference(&ann).await;
    let mut calls = JoinSet::new();
    for n in 0..20 {
        let (plan, age) = if n == 13 { ("unlimited", 1) } else { ("pro", 10 + n) };
        let body = order(&reference, plan, Value::Null, &from_now(-age));
        let shop = Arc::clone(&shop);
        calls.spawn(async move { shop.call(&format!("evt_{n}"), &body).await.status });
    }
    assert_eq!(calls.join_all().await, [200; 20]);
    assert_eq!(shop.plan(&ann).await, json!(["unlimited", null]));
}

#[tokio::test]
async fn a_call_that_is_not_signed_now_and_by_the_operator_changes_nothing() {
    let shop = Shop::open().await;
    let ann = shop.edge.account().await;
    let reference = shop.reference(&ann).await;
    let body = order(&reference, "pro", Value::Null, &from_now(0));
    let (text, now) = (body.to_string(), clock::now());
    let genuine = shop.signature("evt_1", now, &text);
    let other = Shop { secrets: secret::value().unwrap(), ..shop };
    let forged = other.signature("evt_1", now, &text);
    let shop = other;
    let before = shop.edge.dump(&["throttles", "sessions"]).await;
    let at = now.to_string();
    for (what, id, at, signature, text) in [
        ("another secret", "evt_1", &at, &forged, text.clone()),
        ("another id", "evt_2", &at, &genuine, text.clone()),
        ("another body", "evt_1", &at, &genuine, text.replace("pro", "unlimited")),
        ("another time", "evt_1", &(now + 1).to_string(), &genuine, text.clone()),
        ("no signature", "evt_1", &at, &String::new(), text.clone()),
        ("no JSON", "evt_1", &at, &forged, "{".to_owned()),
    ] {
        let reply = shop.send(id, at, signature, text).await;
        reply.assert_error(403, "invalid_signature", what);
    }
    let bare = send(shop.edge.anonymous().request(Method::POST, PATH).body(text)).await;
    bare.assert_error(403, "invalid_signature", "no headers");
    assert_eq!(shop.edge.dump(&["throttles", "sessions"]).await, before);
}

#[tokio::test]
async fn a_call_of_the_wrong_time_account_plan_or_body_is_refused_by_name() {
    let shop = Shop::open().await;
    let ann = shop.edge.account().await;
    let reference = shop.reference(&ann).await;
    let fine = order(&reference, "pro", Value::Null, &from_now(0));
    let with = |member: &str, value: Value| {
        let mut body = fine.clone();
        body[member] = value;
        body
    };
    for away in [-301, 301] {
        // Of the right time, it would be refused for its plan. A second that ends meanwhile makes the later time right.
        let reply = loop {
            let now = clock::now();
            let at = now.saturating_add_signed(away);
            let reply = shop.call_at(at, "evt_0", &with("plan", json!("gold"))).await;
            if clock::now() == now {
                break reply;
            }
        };
        reply.assert_error(403, "invalid_signature", &away.to_string());
    }
    let altered = reference.replace("acct_0", "acct_1");
    for (body, status, code) in [
        (with("plan", json!("gold")), 400, "no_such_plan"),
        (with("plan", json!("")), 400, "no_such_plan"),
        (with("reference", json!("acct_1")), 404, "no_such_account"),
        (with("reference", json!(altered)), 404, "no_such_account"),
        (with("reference", json!(ann.email)), 404, "no_such_account"),
        (with("occurred_at", json!(from_now(400))), 400, "invalid_body"),
        (with("occurred_at", json!("yesterday")), 400, "invalid_body"),
        (with("until", json!(5)), 400, "invalid_body"),
        (json!({}), 400, "invalid_body"),
    ] {
        let reply = shop.call("evt_1", &body).await;
        reply.assert_error(status, code, &body.to_string());
    }
    assert_eq!(shop.plan(&ann).await, json!(["free", null]));
    // None of these calls has consumed the id.
    assert_eq!(shop.call("evt_1", &fine).await.body["applied"], true);
    assert_eq!(ann.delete("/me", &json!({ "password": ann.password })).await.status, 204);
    let gone = shop.call("evt_2", &fine).await;
    gone.assert_error(404, "no_such_account", "the account is deleted");
}

#[tokio::test]
async fn without_operator_secrets_there_is_no_such_path() {
    let edge = super::edge().await;
    let ann = edge.account().await;
    let reply = edge.anonymous().post(PATH, &json!({})).await;
    assert_eq!(
        (reply.status, &reply.body["detail"]),
        (404, &json!("There is nothing at this path."))
    );
    let plan = ann.get("/me/plan").await;
    let reference = plan.text("reference").to_owned();
    let expected =
        json!({ "plan": "free", "until": null, "reference": reference, "checkouts": [] });
    assert_eq!(plan.parts(), (200, &expected));
}

/// Stripe's events in the order of a purchase, with times moved to the present.
fn stripe_events(reference: &str) -> Vec<Value> {
    let text = include_str!("../../../docs/examples/stripe-events.json");
    let mut events: Vec<Value> = serde_json::from_str(text).unwrap();
    let start = clock::now() - 10;
    for event in &mut events {
        event["created"] = json!(event["created"].as_u64().unwrap() + start);
        let object = &mut event["data"]["object"];
        if object["client_reference_id"].is_string() {
            object["client_reference_id"] = json!(reference);
        } else {
            let end = &mut object["items"]["data"][0]["current_period_end"];
            *end = json!(end.as_u64().unwrap() + start);
        }
    }
    events
}

#[tokio::test]
async fn the_example_for_stripe_sets_the_plan_that_was_bought_and_takes_it_back() {
    const STRIPE_SECRET: &str = "whsec_of_the_endpoint";
    let shop = Shop::open().await;
    let ann = shop.edge.account().await;
    let folder = folder::scratch("stripe").unwrap();
    let listens_on = port::free();
    let mut command = std::process::Command::new("node");
    command.arg(folder::repository().join("docs/examples/stripe-plans.mjs"));
    command.env("STRIPE_WEBHOOK_SECRET", STRIPE_SECRET).env("OPERATOR_SECRET", &shop.secrets);
    command.env("RCPT_URL", &shop.edge.url).env("PLANS", r#"{"price_1QrcptPro": "pro"}"#);
    command.env("STORE", folder.join("customers.json")).env("PORT", listens_on.to_string());
    let mut program = Process::spawn("stripe-plans", &command, &folder).unwrap();
    program.wait_for_line("listening on port", std::time::Duration::from_secs(30)).await.unwrap();
    let post = async |event: &Value, secret: &str| {
        let (at, text) = (clock::now(), event.to_string());
        let mut mac = <Hmac<Sha256>>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(format!("{at}.{text}").as_bytes());
        let signature = mac
            .finalize()
            .into_bytes()
            .iter()
            .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        let request = reqwest::Client::new().post(format!("http://127.0.0.1:{listens_on}/"));
        let request = request.header("stripe-signature", format!("t={at},v1={signature}"));
        request.body(text).send().await.unwrap().status().as_u16()
    };
    let events = stripe_events(&shop.reference(&ann).await);
    let [created, completed, deleted] = &events[..] else { panic!("{events:?}") };
    assert_eq!(post(created, "whsec_of_somebody_else").await, 400);
    assert_eq!(post(created, STRIPE_SECRET).await, 200, "whose it is is not known yet");
    assert_eq!(shop.plan(&ann).await, json!(["free", null]));
    assert_eq!(post(completed, STRIPE_SECRET).await, 200);
    let plan = shop.plan(&ann).await;
    // The plan ends a month later, plus three days for the renewal to arrive.
    let end = chrono::DateTime::parse_from_rfc3339(plan[1].as_str().unwrap()).unwrap();
    let days = (end.timestamp() - i64::try_from(clock::now()).unwrap()) / 86_400;
    assert_eq!((&plan[0], days), (&json!("pro"), 32));
    assert_eq!(post(deleted, STRIPE_SECRET).await, 200);
    assert_eq!(post(created, STRIPE_SECRET).await, 200, "sent again, late");
    assert_eq!(shop.plan(&ann).await, json!(["free", null]));
}
