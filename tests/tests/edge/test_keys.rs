//! Keys with the right `sandbox` check sandbox addresses only, with a separate shield; their checks are never counted,
//! cached or stored.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rcpt_shared::Status;
use rcpt_tests::{
    Account, Conduct, Edge, FakeOrigin, Stack,
    people::{Reply, send, send_at_once},
    service::shim::Counts,
};
use serde_json::{Value, json};

async fn test_key(account: &Account) -> String {
    let terms = json!({ "name": "test", "rights": ["sandbox"] });
    let (key, _) = account.named_key(&terms).await;
    assert!(key.starts_with("rcpt_test_"), "{key}");
    key
}

async fn check(account: &Account, key: &str, body: Value) -> Reply {
    ask(account, "/validate_email", key, body).await
}

async fn ask(account: &Account, path: &str, key: &str, body: Value) -> Reply {
    let request = account.anonymous.request(reqwest::Method::POST, path);
    let request = request.header("idempotency-key", "the-same-for-all-of-them");
    send(request.header("x-api-key", key).json(&body)).await
}

#[tokio::test]
async fn a_test_key_checks_the_sandbox_in_one_trip_and_leaves_nothing_behind() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let origin = FakeOrigin::start(|_| {
        ASKED.fetch_add(1, Relaxed);
        Conduct::Verdict(Status::Refused)
    });
    let edge = Edge::builder().origins(&[&origin.url]).shimmed().start().await.unwrap();
    let account = edge.account().await;
    let key = test_key(&account).await;
    // The account's owner gets an email after the response.
    edge.wait_for_count("notices WHERE told = deeds", 1).await;
    // Uses up the account's allowance: test keys work without it.
    edge.set(&account.email, "plan = 'free', day = 999999, daily_charged = 100, welcome_left = 0")
        .await;
    let before = edge.dump(&[]).await;
    edge.counts().await;
    for asked in 1..=2 {
        let reply = check(&account, &key, json!({ "email": "rejects@sandbox.test" })).await;
        let expected = json!({ "email": "rejects@sandbox.test", "verdict": "undeliverable", "status": false, "cached": false });
        assert_eq!(reply.parts(), (200, &expected));
        assert_eq!(ASKED.load(Relaxed), asked, "asked each time");
        let counts = Counts { d1_rows_read: 0, ..edge.counts().await };
        let one = Counts { d1_trips: 1, d1_statements: 1, ..Counts::default() };
        assert_eq!(counts, one, "one trip, nothing written, no cache");
        assert!(reply.headers.get("ratelimit").is_none(), "nothing of the account is used up");
    }
    let reply = check(&account, &key, json!({ "email": "no address" })).await;
    assert_eq!((reply.status, &reply.body["status"]), (200, &json!("invalid_format")));
    let reply = check(&account, &key, json!({ "email": "http_502@sandbox.test" })).await;
    reply.assert_error(502, "upstream", "an error on request");
    let with_details = json!({ "email": "x@catchall.sandbox.test", "details": true });
    let reply = check(&account, &key, with_details).await;
    assert_eq!((reply.status, reply.body["details"].is_object()), (200, true), "{}", reply.body);
    for address in ["ann@example.org", "ann@notsandbox.test", "sandbox.test@example.org"] {
        let reply = check(&account, &key, json!({ "email": address })).await;
        reply.assert_error(403, "test_key", address);
    }
    assert_eq!(ASKED.load(Relaxed), 3, "no origin hears of those");
    assert_eq!(edge.dump(&[]).await, before);
}

#[tokio::test]
async fn a_slow_address_is_slow_each_time() {
    let stack = Stack::start().await;
    let account = stack.edge.account().await;
    let key = test_key(&account).await;
    let reply = check(&account, &key, json!({ "email": "slow@sandbox.test" })).await;
    assert_eq!((reply.status, &reply.body["cached"]), (200, &json!(false)), "{}", reply.body);
    let body = json!({ "email": "slow@sandbox.test", "deadline_ms": 500 });
    let reply = check(&account, &key, body).await;
    assert_eq!((reply.status, &reply.body["pending"]), (200, &json!(true)), "{}", reply.body);
}

#[tokio::test]
async fn a_list_and_a_domain_of_the_sandbox_are_answered_and_leave_nothing_behind() {
    let stack = Stack::start().await;
    let edge = &stack.edge;
    let account = edge.account().await;
    let key = test_key(&account).await;
    edge.wait_for_count("notices WHERE told = deeds", 1).await;
    edge.set(&account.email, "plan = 'free', day = 999999, daily_charged = 100, welcome_left = 0")
        .await;
    let before = edge.dump(&[]).await;
    let emails = [
        "Ann <accepts@sandbox.test>",
        "rejects@relay.sandbox.test",
        "no address",
        "accepts@Sandbox.test",
        "our_limit@sandbox.test",
        "x@nodomain.test",
    ];
    for details in [false, true] {
        let body = json!({ "emails": emails, "details": details });
        let reply = ask(&account, "/validate_emails", &key, body).await;
        assert_eq!((reply.status, &reply.body["counted"]), (200, &json!(0)), "{}", reply.body);
        let results = reply.body["results"].as_array().unwrap();
        let statuses: Vec<_> = results.iter().map(|result| &result["status"]).collect();
        let expected =
            json!([true, false, "invalid_format", true, "fatal_exception", "domain_not_found"]);
        assert_eq!(json!(statuses), expected);
        assert!(results.iter().all(|result| result["details"].is_object() == details));
        assert!(results.iter().all(|result| result["cached"] != json!(true)), "{}", reply.body);
        assert!(reply.headers.get("ratelimit").is_none(), "nothing of the account is used up");
    }
    for (other, status, code) in
        [("ann@example.org", 403, "test_key"), ("http_503@sandbox.test", 503, "unavailable")]
    {
        let body = json!({ "emails": ["accepts@sandbox.test", other] });
        let reply = ask(&account, "/validate_emails", &key, body).await;
        reply.assert_error(status, code, other);
    }
    let body =
        json!({ "emails": ["accepts@sandbox.test", "slow@sandbox.test"], "deadline_ms": 2_000 });
    let reply = ask(&account, "/validate_emails", &key, body).await;
    let pending = &reply.body["results"][1]["pending"];
    assert_eq!((reply.status, pending), (200, &json!(true)), "{}", reply.body);
    assert_eq!(
        (&reply.body["pending"], &reply.body["results"][0]["status"]),
        (&json!(true), &json!(true))
    );

    for domain in ["relay.sandbox.test", "RELAY.sandbox.test."] {
        let reply = ask(&account, "/domains", &key, json!({ "domain": domain })).await;
        assert_eq!((reply.status, &reply.body["kind"]), (200, &json!("relay")), "{}", reply.body);
        assert!(reply.headers.get("ratelimit").is_none());
    }
    for domain in ["duck.com", "notsandbox.test"] {
        let reply = ask(&account, "/domains", &key, json!({ "domain": domain })).await;
        reply.assert_error(403, "test_key", domain);
    }
    assert_eq!(edge.dump(&[]).await, before);
    let revoke = account.anonymous.request(reqwest::Method::POST, "/keys/self-revoke");
    assert_eq!(send(revoke.header("x-api-key", &key)).await.status, 204);
    for (path, body) in [
        ("/validate_emails", json!({ "emails": ["accepts@sandbox.test"] })),
        ("/domains", json!({ "domain": "sandbox.test" })),
    ] {
        let reply = ask(&account, path, &key, body).await;
        assert_eq!((reply.status, reply.text("code")), (401, "invalid_api_key"), "{path}");
    }
}

#[tokio::test]
async fn a_list_of_which_nothing_is_found_out_is_502_and_texts_need_no_verdict() {
    let origin = FakeOrigin::start(|_| Conduct::Answer(503, ""));
    let edge = Edge::builder().origins(&[&origin.url]).start().await.unwrap();
    let account = edge.account().await;
    let key = test_key(&account).await;
    let emails = ["accepts@sandbox.test", "rejects@sandbox.test", "accepts@SANDBOX.test"];
    let reply = ask(&account, "/validate_emails", &key, json!({ "emails": emails })).await;
    reply.assert_error(502, "upstream", "nobody answers");
    let reply = ask(&account, "/validate_emails", &key, json!({ "emails": ["", "x"] })).await;
    assert_eq!((reply.status, &reply.body["counted"]), (200, &json!(0)), "{}", reply.body);
}

#[tokio::test]
async fn an_idempotency_key_that_is_wrong_with_a_live_key_is_wrong_with_a_test_key() {
    let origin = FakeOrigin::by_name();
    let edge = Edge::builder().origins(&[&origin.url]).start().await.unwrap();
    let account = edge.account().await;
    let keys = [account.api_key.clone(), test_key(&account).await];
    for (path, body) in [
        ("/validate_email", json!({ "email": "accepts@sandbox.test" })),
        ("/validate_emails", json!({ "emails": ["accepts@sandbox.test"] })),
        ("/domains", json!({ "domain": "sandbox.test" })),
    ] {
        for key in &keys {
            let ask = async |idempotency_key: &str| {
                let request = account.anonymous.request(reqwest::Method::POST, path).json(&body);
                send(request.header("x-api-key", key).header("idempotency-key", idempotency_key))
                    .await
            };
            let reply = ask("short").await;
            let error = reply.body["detail"]["error"].as_str().unwrap_or_default();
            assert_eq!(reply.text("code"), "invalid_idempotency_key", "{path}: {}", reply.body);
            assert!(reply.status == 400 && error.contains("16 to 255"), "{path}: {}", reply.body);
            assert_eq!(ask("a-key-that-is-long-enough").await.status, 200, "{path}");
        }
    }
}

#[tokio::test]
async fn a_deadline_is_kept_and_a_test_key_that_ended_is_dead() {
    let origin = FakeOrigin::start(|_| Conduct::Silence);
    let edge = Edge::builder().origins(&[&origin.url]).start().await.unwrap();
    let account = edge.account().await;
    let key = test_key(&account).await;
    let body = json!({ "email": "slow@sandbox.test", "deadline_ms": 300, "details": true });
    let reply = check(&account, &key, body).await;
    assert_eq!((reply.status, &reply.body["pending"]), (200, &json!(true)), "{}", reply.body);
    let revoke = account.anonymous.request(reqwest::Method::POST, "/keys/self-revoke");
    assert_eq!(send(revoke.header("x-api-key", &key)).await.status, 204);
    let reply = check(&account, &key, json!({ "email": "slow@sandbox.test" })).await;
    assert_eq!((reply.status, &reply.body["detail"]["error"]), (401, &json!("Invalid API key.")));
}

#[tokio::test]
async fn the_shield_of_test_keys_is_not_that_of_the_account_s_checks() {
    let edge = Edge::builder().shield("SHIELD_TEST_KEYS", 5).start().await.unwrap();
    let account = edge.account().await;
    let (one, two) = (test_key(&account).await, test_key(&account).await);
    let requests = [one.as_str(), &two].into_iter().cycle().take(12);
    let requests = requests.map(|key| account.anonymous.check_request(key, "no address"));
    let replies = send_at_once(requests).await;
    let admitted = replies.iter().filter(|reply| reply.status == 200).count();
    assert_eq!(admitted, 5, "both keys together");
    for reply in replies.iter().filter(|reply| reply.status != 200) {
        assert_eq!((reply.status, reply.text("code")), (429, "throttled"), "{}", reply.body);
        assert_eq!(reply.header("retry-after"), "10");
    }
    assert_eq!(account.check("no address").await.status, 200, "its live key goes on");
}

#[tokio::test]
async fn a_list_counts_as_its_addresses_at_the_shield_of_test_keys() {
    let edge = Edge::builder().shield("SHIELD_TEST_KEYS", 5).start().await.unwrap();
    let account = edge.account().await;
    let key = test_key(&account).await;
    let list = |count: usize| json!({ "emails": vec!["no address"; count] });
    assert_eq!(ask(&account, "/validate_emails", &key, list(4)).await.status, 200);
    let reply = ask(&account, "/validate_emails", &key, list(2)).await;
    assert_eq!((reply.status, reply.text("code")), (429, "throttled"), "{}", reply.body);
    assert_eq!(reply.header("retry-after"), "10");
    let reply = check(&account, &key, json!({ "email": "no address" })).await;
    assert_eq!((reply.status, reply.text("code")), (429, "throttled"), "{}", reply.body);
    let domain = json!({ "domain": "sandbox.test" });
    let reply = ask(&account, "/domains", &key, domain).await;
    assert_eq!((reply.status, reply.text("code")), (429, "throttled"), "{}", reply.body);
}
