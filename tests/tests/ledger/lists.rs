//! `POST /v1/validate_emails`: one lease of several units, one batch to the origins, one answer (docs/security.md,
//! Q1 to Q6).

use std::time::Duration;

use rcpt_shared::Status;
use rcpt_tests::{
    Account, Conduct, Edge, FakeOrigin, Reply,
    people::{EmailChecks, send},
    service::{clock::today, shim::Counts},
};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::{
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep},
};

const ACCEPTED: Conduct = Conduct::Verdict(Status::Accepted);

struct World {
    edge: Edge,
    origin: FakeOrigin,
    account: Account,
}

impl World {
    async fn start() -> Self {
        let origin = FakeOrigin::by_name();
        let edge = Edge::builder().origins(&[&origin.url]).var("LEASE_TTL_SECONDS", "60");
        let edge = edge.shimmed().start().await.unwrap();
        let account = edge.account().await;
        today().await;
        Self { edge, origin, account }
    }

    fn request(&self, body: &Value) -> RequestBuilder {
        let request = self.account.anonymous.request(Method::POST, "/validate_emails");
        request.header("x-api-key", &self.account.api_key).json(body)
    }

    async fn list(&self, emails: &[String]) -> Reply {
        send(self.request(&json!({ "emails": emails }))).await
    }

    async fn under(&self, key: &str, body: &Value) -> Reply {
        send(self.request(body).header("idempotency-key", key)).await
    }

    /// Sends a list with the address `held_email`, and waits until its probe has begun.
    async fn begin(&self, emails: &[String], held_email: &str) -> JoinHandle<Reply> {
        let request = self.request(&json!({ "emails": emails }));
        let list = tokio::spawn(send(request));
        self.origin.wait_for_probe(held_email).await;
        list
    }

    async fn charged(&self) -> Value {
        self.edge.row(&self.account.email, "daily_charged, welcome_left").await
    }

    async fn leases(&self) -> usize {
        self.edge.leases(&self.account.email).await.len()
    }

    async fn settled(&self) {
        let limit = Instant::now() + Duration::from_secs(60);
        while self.leases().await > 0 {
            assert!(Instant::now() < limit, "the lease stays");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

fn emails(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{prefix}-{n}@lists.example")).collect()
}

fn statuses(reply: &Reply) -> Vec<Value> {
    let results = reply.body["results"].as_array();
    results.into_iter().flatten().map(|result| result["status"].clone()).collect()
}

#[tokio::test]
async fn a_list_is_answered_in_its_order_and_a_repetition_is_charged_and_not_asked_again() {
    let world = World::start().await;
    assert_eq!(world.account.check("ok-known@lists.example").await.status, 200);
    let list = [
        "ok-1@lists.example",
        "ok-known@lists.example",
        "no address",
        "Ann <ok-1@Lists.example>",
        "broken-1@lists.example",
        "fatal-1@lists.example",
        "ok-2@lists.example",
    ]
    .map(str::to_owned);
    let reply = world.list(&list).await;
    let fresh = |email: &str| json!({ "email": email, "verdict": "deliverable", "status": true, "cached": false });
    let unasked = |email: &str| json!({ "email": email, "verdict": "unknown", "status": "fatal_exception", "cached": false });
    let expected = json!({ "counted": 5, "results": [
        fresh("ok-1@lists.example"),
        { "email": "ok-known@lists.example", "verdict": "deliverable", "status": true, "cached": true },
        { "email": "no address", "verdict": "undeliverable", "status": "invalid_format" },
        fresh("ok-1@Lists.example"),
        unasked("broken-1@lists.example"),
        unasked("fatal-1@lists.example"),
        fresh("ok-2@lists.example"),
    ] });
    assert_eq!(reply.parts(), (200, &expected));
    assert_eq!(world.origin.probes_of("ok-1@lists.example"), 1);
    assert_eq!(world.charged().await, json!({ "daily_charged": 6, "welcome_left": 50 }));
    assert_eq!(world.leases().await, 0);
    // The verdicts are cached for single checks.
    assert_eq!(world.account.check("ok-2@lists.example").await.body["cached"], true);
    assert_eq!(world.account.check("broken-1@lists.example").await.status, 502);
}

#[tokio::test]
async fn one_known_address_costs_as_a_list_what_it_costs_alone() {
    let world = World::start().await;
    let known = ["ok-known@lists.example".to_owned()];
    assert_eq!(world.account.check(&known[0]).await.status, 200);
    world.edge.counts().await;
    let reply = world.list(&known).await;
    assert_eq!((reply.status, &reply.body["counted"]), (200, &json!(1)), "{}", reply.body);
    let Counts { d1_trips, d1_rows_written, .. } = world.edge.counts().await;
    assert_eq!((d1_trips, d1_rows_written), (1, 1));
    assert_eq!(world.charged().await, json!({ "daily_charged": 2, "welcome_left": 50 }));
}

#[tokio::test]
async fn a_list_of_a_caller_who_may_not_check_it_looks_nothing_up() {
    let world = World::start().await;
    let list = emails("ok-looked-up", 60);
    let refused = async |key: &str, status: u16, what: &str| {
        let request = world.account.anonymous.request(Method::POST, "/validate_emails");
        let request = request.header("x-api-key", key).json(&json!({ "emails": list }));
        world.edge.counts().await;
        let reply = send(request).await;
        assert_eq!(reply.status, status, "{what}: {}", reply.body);
        let Counts { cache_reads, kv_reads, .. } = world.edge.counts().await;
        assert_eq!((cache_reads, kv_reads), (0, 0), "{what}");
    };
    let replaced = world.account.api_key.clone();
    let key = world.account.rotate_api_key().await.text("api_key").to_owned();
    refused(&replaced, 401, "a replaced key").await;
    let few = "day = 999999, daily_charged = 100, welcome_left = 50";
    world.edge.set(&world.account.email, few).await;
    refused(&key, 429, "fewer checks than addresses").await;
}

#[tokio::test]
async fn a_hundred_fresh_addresses_with_a_key_and_details_cost_six_rows_at_most() {
    let world = World::start().await;
    let body = json!({ "emails": emails("ok-cost", 100), "details": true });
    world.edge.counts().await;
    let reply = world.under("a-hundred-in-one-call", &body).await;
    assert_eq!((reply.status, &reply.body["counted"]), (200, &json!(100)), "{}", reply.body);
    assert_eq!(statuses(&reply), vec![json!(true); 100]);
    let counts = world.edge.counts().await;
    println!("100 addresses: {counts:?}");
    assert!(counts.d1_rows_written <= 6, "{counts:?}");
    assert_eq!((counts.d1_trips, counts.kv_writes), (2, 0), "{counts:?}");
    let stored = "SELECT answer FROM idempotency_keys";
    let id = world.edge.id(&world.account.email).await;
    let rows = world.edge.sql_of(&id, stored, &[]).await;
    assert!(rows.len() == 1 && !rows[0].to_string().contains("lists.example"), "one sealed row");
    // The repeat gets everything from the stored row: nothing is probed, charged or written.
    let probes = world.origin.probes().len();
    let again = world.under("a-hundred-in-one-call", &body).await;
    assert_eq!(statuses(&again), statuses(&reply));
    let details = again.body["results"][99]["details"]["reason"].as_str();
    assert_eq!((details, &again.body["counted"]), (Some("accepted"), &json!(100)));
    let none = Counts { d1_rows_read: 0, ..world.edge.counts().await };
    assert_eq!((none.d1_rows_written, none.cache_reads, none.kv_reads), (0, 0, 0), "{none:?}");
    assert_eq!(world.origin.probes().len(), probes);
    assert_eq!(world.charged().await["daily_charged"], 100);
    let other = json!({ "emails": emails("ok-other", 100), "details": true });
    assert_eq!(world.under("a-hundred-in-one-call", &other).await.status, 422);
}

#[tokio::test]
async fn where_fewer_checks_are_left_than_addresses_nothing_is_asked_or_counted() {
    let world = World::start().await;
    let day = today().await;
    let few = format!("day = {day}, daily_charged = 98, welcome_left = 1");
    world.edge.set(&world.account.email, &few).await;
    let reply = world.list(&emails("ok-many", 4)).await;
    assert_eq!((reply.status, &reply.body["code"]), (429, &json!("used_up")), "{}", reply.body);
    let text = reply.body["detail"]["error"].as_str().unwrap();
    assert!(text.starts_with("Only 3 email checks are left, fewer than the list has"), "{text}");
    assert!(reply.header("ratelimit").starts_with("\"daily\";r=2;"), "and a welcome check");
    assert_eq!(reply.header("ratelimit-policy"), r#""daily";q=100;w=86400, "welcome";q=50"#);
    assert_eq!(world.origin.probes().len(), 0);
    let before = json!({ "daily_charged": 98, "welcome_left": 1 });
    assert_eq!(world.charged().await, before);
    // Two daily units and one welcome check suffice for a list of three.
    let reply = world.list(&emails("ok-three", 3)).await;
    assert_eq!((reply.status, &reply.body["counted"]), (200, &json!(3)), "{}", reply.body);
    assert_eq!(world.charged().await, json!({ "daily_charged": 100, "welcome_left": 0 }));
    let reply = world.list(&emails("ok-none", 1)).await;
    assert_eq!((reply.status, &reply.body["code"]), (429, &json!("used_up")));
}

/// Q1 with lists: the allowance is never exceeded, and no unit is left that a single check could have used.
#[tokio::test]
async fn of_many_lists_and_checks_at_once_exactly_a_hundred_units_are_charged() {
    let world = World::start().await;
    world.edge.sql("UPDATE plans SET max_in_flight = 10000", &[]).await;
    world.edge.set(&world.account.email, "welcome_left = 7").await;
    let mut all = JoinSet::new();
    for n in 0..30 {
        let list = emails(&format!("ok-race{n}"), 1 + n % 9);
        all.spawn(send(world.request(&json!({ "emails": list }))));
    }
    let mut counted = 0;
    while let Some(reply) = all.join_next().await {
        let reply = reply.unwrap();
        assert!(matches!(reply.status, 200 | 429), "{}", reply.body);
        counted += reply.body["counted"].as_u64().unwrap_or_default();
    }
    while world.list(&emails(&format!("ok-rest{counted}"), 1)).await.status == 200 {
        counted += 1;
    }
    assert_eq!(counted, 107);
    assert_eq!(world.charged().await, json!({ "daily_charged": 100, "welcome_left": 0 }));
    assert_eq!(world.leases().await, 0);
}

#[tokio::test]
async fn a_list_counts_as_the_plans_number_in_flight_at_most() {
    let world = World::start().await;
    world.edge.sql("UPDATE plans SET max_in_flight = 3", &[]).await;
    let held_address = "held-list@lists.example";
    let mut list = emails("ok-wide", 5);
    list.push(held_address.to_owned());
    let wide = world.begin(&list, held_address).await;
    let used =
        EmailChecks { daily_allowance: 100, used_today: 6, left_today: 94, welcome_left: 50 };
    assert_eq!(world.account.email_checks().await, used, "all of its units count as used");
    let reply = world.account.check("ok-beside@lists.example").await;
    assert_eq!((reply.status, &reply.body["code"]), (429, &json!("too_many_in_flight")));
    world.origin.release(held_address, ACCEPTED);
    assert_eq!(wide.await.unwrap().body["counted"], 6);
    // One check in flight leaves room for a list of two addresses, but not for a list of three.
    let single = "held-single@lists.example";
    let check = world.origin.hold(&world.account, single).await;
    let reply = world.list(&emails("ok-three", 3)).await;
    assert_eq!((reply.status, &reply.body["code"]), (429, &json!("too_many_in_flight")));
    assert_eq!(world.list(&emails("ok-two", 2)).await.status, 200);
    world.origin.release(single, ACCEPTED);
    assert_eq!(check.await.unwrap().status, 200);
}

#[tokio::test]
async fn at_the_deadline_what_is_there_is_given_and_the_rest_under_the_key_counted_once() {
    let world = World::start().await;
    let mut attempt = 0;
    // A charge has a tenth of a second, which a machine with much to do may not keep; then nothing is given out.
    let (key, held, body, reply) = loop {
        attempt += 1;
        let (key, held) = (
            format!("a-list-by-a-deadline-{attempt}"),
            format!("held-late-{attempt}@lists.example"),
        );
        let list = [format!("ok-soon-{attempt}@lists.example"), held.clone(), "no address".into()];
        let body = json!({ "emails": list, "deadline_ms": 1_000 });
        let reply = world.under(&key, &body).await;
        if attempt == 20 || reply.body["results"][2]["pending"] != true {
            break (key, held, body, reply);
        }
        world.origin.release(&held, ACCEPTED);
        world.settled().await;
        world.edge.set(&world.account.email, "daily_charged = 0").await;
    };
    let (key, held) = (key.as_str(), held.as_str());
    let pending = json!({ "pending": true, "results": [
        { "email": body["emails"][0], "verdict": "deliverable", "status": true, "cached": false },
        { "email": held, "verdict": "unknown", "status": "smtp_timeout", "cached": false, "pending": true },
        { "email": "no address", "verdict": "undeliverable", "status": "invalid_format" },
    ] });
    assert_eq!(reply.parts(), (200, &pending));
    assert_eq!((reply.header("retry-after"), world.leases().await), ("2", 1));
    assert_eq!(world.charged().await["daily_charged"], 2, "for what is given out");
    let again = world.under(key, &body).await;
    assert_eq!((again.status, &again.body["pending"]), (200, &json!(true)), "still on its way");
    world.origin.release(held, ACCEPTED);
    world.settled().await;
    let whole = world.under(key, &body).await;
    assert_eq!(statuses(&whole), [json!(true), json!(true), json!("invalid_format")]);
    assert_eq!((&whole.body["counted"], whole.body.get("pending")), (&json!(3), None));
    assert_eq!(world.charged().await["daily_charged"], 3);
    assert_eq!(world.origin.probes_of(held), 1);
}

/// Q4: another check may have used the units in the meantime.
#[tokio::test]
async fn a_list_whose_lease_expired_is_502_and_charges_and_caches_nothing() {
    let world = World::start().await;
    let held_address = "held-expired@lists.example";
    let list = ["ok-expired@lists.example".to_owned(), held_address.to_owned()];
    let running = world.begin(&list, held_address).await;
    let id = world.edge.id(&world.account.email).await;
    let expire = "UPDATE leases SET expires_at = 1 WHERE account_id = ?";
    world.edge.sql_of(&id, expire, &[id.as_str().into()]).await;
    world.origin.release(held_address, ACCEPTED);
    let reply = running.await.unwrap();
    assert_eq!((reply.status, &reply.body["code"]), (502, &json!("upstream")), "{}", reply.body);
    assert_eq!(world.charged().await, json!({ "daily_charged": 0, "welcome_left": 50 }));
    assert_eq!(world.leases().await, 0);
    let fresh = world.account.check("ok-expired@lists.example").await;
    assert_eq!(fresh.body["cached"], false, "it wasn't paid for");
}

#[tokio::test]
async fn a_list_about_which_nothing_was_found_out_is_502_and_releases_its_units() {
    let world = World::start().await;
    let reply = world.list(&emails("broken", 3)).await;
    assert_eq!((reply.status, &reply.body["code"]), (502, &json!("upstream")), "{}", reply.body);
    assert_eq!(
        (world.leases().await, world.charged().await["daily_charged"].clone()),
        (0, json!(0))
    );
    let reply = world.list(&["http_429@sandbox.test".to_owned()]).await;
    assert_eq!((reply.status, world.leases().await), (429, 0), "the sandbox' errors too");
    // With a `fatal_exception` for every address, the request still succeeds.
    let reply = world.list(&emails("fatal", 2)).await;
    assert_eq!((reply.status, &reply.body["counted"]), (200, &json!(0)), "{}", reply.body);
    assert_eq!(
        (world.leases().await, world.charged().await["daily_charged"].clone()),
        (0, json!(0))
    );
}

#[tokio::test]
async fn a_list_that_is_too_long_or_too_large_is_refused_before_it_costs_anything() {
    let world = World::start().await;
    world.edge.counts().await;
    let reply = world.list(&emails("ok-long", 101)).await;
    assert_eq!((reply.status, &reply.body["code"]), (400, &json!("invalid_body")));
    let mut large = emails("ok-large", 99);
    large.push("x".repeat(48 * 1024));
    let reply = world.list(&large).await;
    assert_eq!(
        (reply.status, &reply.body["code"]),
        (413, &json!("body_too_large")),
        "{}",
        reply.body
    );
    assert_eq!(world.edge.counts().await, Counts::default());
    // A hundred addresses of the greatest length fit into a body.
    let longest = (0..100).map(|n| {
        let label = format!("{n:03}{}", "d".repeat(60));
        format!("{}@{label}.{label}.{}.example", "l".repeat(64), "d".repeat(50))
    });
    let longest: Vec<_> = longest.collect();
    assert!(longest[0].len() > 240, "{}", longest[0].len());
    let reply = world.list(&longest).await;
    assert_eq!((reply.status, &reply.body["counted"]), (200, &json!(100)), "{}", reply.body);
}
