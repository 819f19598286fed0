//! Cost of a request in storage, counted at the bindings, and its log line.

use std::time::Duration;

use rcpt_tests::{
    Edge, FakeOrigin,
    service::shim::{Counts, Fault},
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

/// Waits for the writes after the response, and compares the counts, except rows read.
async fn settled(edge: &Edge, expected: Counts, what: &str) {
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut counts = edge.counts().await;
    while counts.kv_writes < expected.kv_writes && Instant::now() < deadline {
        sleep(Duration::from_millis(20)).await;
        counts.kv_writes += edge.counts().await.kv_writes;
    }
    assert_eq!(Counts { d1_rows_read: 0, ..counts }, expected, "{what}");
}

#[tokio::test]
async fn each_kind_of_check_costs_what_the_architecture_says() {
    let origin = FakeOrigin::by_name();
    let edge = Edge::builder().origins(&[&origin.url]).shimmed().start().await.unwrap();
    let account = edge.account().await;
    edge.counts().await;
    let one = Counts { d1_trips: 1, d1_statements: 1, d1_rows_written: 1, ..Counts::default() };
    let fresh = Counts {
        d1_trips: 2,
        d1_statements: 3,
        d1_rows_written: 3,
        d1_rows_read: 0,
        kv_reads: 1,
        kv_writes: 0,
        cache_reads: 1,
        cache_writes: 1,
        ..Counts::default()
    };
    let expect = async |address: &str, status: u16, counts: Counts, what: &str| {
        assert_eq!(account.check(address).await.status, status, "{what}");
        settled(&edge, counts, what).await;
    };
    expect("a@cost.example", 200, fresh, "fresh: lease; charge and end the lease").await;
    let cached = Counts { cache_reads: 1, ..one };
    expect("a@cost.example", 200, cached, "cached: one statement").await;
    expect("no address", 200, one, "invalid format").await;
    let cached_elsewhere = Counts { kv_writes: 1, ..fresh };
    expect("seen@cost.example", 200, cached_elsewhere, "asked about before: from now on in KV")
        .await;
    let failed = Counts { cache_writes: 0, d1_statements: 2, d1_rows_written: 2, ..fresh };
    expect("broken@cost.example", 502, failed, "no origin: lease; end the lease").await;

    edge.fail(&[Fault { part: "cache", times: 1, error: "away", ..Fault::default() }]).await;
    let elsewhere = Counts { cache_reads: 1, kv_reads: 1, ..one };
    expect("seen@cost.example", 200, elsewhere, "known in another data centre").await;

    assert_eq!(account.quota().await.status, 200);
    settled(&edge, Counts { d1_rows_written: 0, ..one }, "the report").await;

    let empty_body = account.anonymous.request(reqwest::Method::POST, "/validate_email");
    let empty_body = empty_body.header("x-api-key", &account.api_key).body("{}");
    assert_eq!(rcpt_tests::people::send(empty_body).await.status, 400);
    settled(&edge, Counts::default(), "a body without an address").await;

    let under = async |key: &str, address: &str, status: u16, counts: Counts, what: &str| {
        assert_eq!(account.check_under(key, address).await.status, status, "{what}");
        settled(&edge, counts, what).await;
    };
    let key = "cost-of-a-fresh-check";
    let keyed = Counts { d1_statements: 5, d1_rows_written: 4, ..fresh };
    under(key, "keyed@cost.example", 200, keyed, "one row more, which is removed later").await;
    let none = Counts { d1_rows_written: 0, ..cached };
    let repeat = Counts { d1_statements: 3, ..none };
    under(key, "keyed@cost.example", 200, repeat, "a repeat writes nothing").await;
    let keyed = Counts { d1_statements: 3, d1_rows_written: 2, ..cached };
    under("cost-of-a-cached-check", "keyed@cost.example", 200, keyed, "cached").await;

    edge.set(&account.email, "plan = 'free', day = 999999, daily_charged = 100, welcome_left = 0")
        .await;
    let refused = Counts { cache_reads: 1, d1_trips: 2, d1_statements: 2, ..Counts::default() };
    expect("a@cost.example", 429, refused, "a refusal: one more, to tell its reason").await;
}

#[tokio::test]
async fn the_log_line_of_a_check_says_how_it_ended_and_what_it_cost() {
    let origin = FakeOrigin::by_name();
    let edge = Edge::builder().origins(&[&origin.url]).start().await.unwrap();
    let account = edge.account().await;
    let address = "logged@cost.example";
    for (address, outcome, trips, statements, rows, cache, kv, origins) in [
        (address, "true", 2, 3, 3, 2, 1, 1),
        (address, "true", 1, 1, 1, 1, 0, 0),
        ("no address", "invalid_format", 1, 1, 1, 0, 0, 0),
        ("broken@cost.example", "upstream", 2, 2, 2, 1, 1, 1),
    ] {
        let reply = account.check(address).await;
        let line = line_of(&edge, reply.header("x-request-id")).await;
        assert_eq!(line["outcome"], outcome, "{line}");
        let d1 = ["d1_trips", "d1_statements", "d1_rows_written"];
        let d1 = d1.map(|name| line[name].as_u64().unwrap());
        assert_eq!(d1, [trips, statements, rows], "{address}: {line}");
        let cost = ["cache_calls", "kv_calls", "origin_calls"];
        let cost = cost.map(|name| line[name].as_u64().unwrap());
        assert_eq!(cost, [cache, kv, origins], "{address}: {line}");
        for time in ["d1_ms", "cache_ms", "kv_ms", "origin_ms"] {
            assert!(line[time].is_u64(), "{line}");
        }
        assert!(line["wasm_bytes"].as_u64() > Some(65_536), "{line}");
    }
    let reply = account.anonymous.check_with_key("junk", address).await;
    let line = line_of(&edge, reply.header("x-request-id")).await;
    assert_eq!((&line["outcome"], &line["d1_trips"]), (&json!("invalid_api_key"), &json!(0)));
}

/// The log line of a request, which is written after the response.
async fn line_of(edge: &Edge, request_id: &str) -> Value {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let log = edge.process.log();
        if let Some(line) = log.lines().find(|line| line.contains(request_id)) {
            let start = line.find('{').expect("a JSON line");
            return serde_json::from_str(&line[start..]).expect("a JSON line");
        }
        assert!(Instant::now() < deadline, "no line of {request_id}");
        sleep(Duration::from_millis(20)).await;
    }
}
