//! Failures in the edge itself: the request gets a clean 503 and counts nothing, and only the log has the cause
//! (docs/security.md, Q4 and L2).

use std::time::Duration;

use rcpt_shared::Status;
use rcpt_tests::{Conduct, Edge, FakeOrigin, Reply, service::clock::today};
use serde_json::json;
use tokio::time::{Instant, sleep};

fn assert_unavailable(reply: &Reply, what: &str) {
    let detail = "The service is temporarily unavailable. Try again in 10 seconds.";
    let expected = json!({ "detail": detail, "code": "unavailable" });
    assert_eq!(reply.parts(), (503, &expected), "{what}");
    assert_eq!(reply.header("retry-after"), "10", "{what}");
    assert_eq!(reply.header("x-request-id").len(), 32, "{what}");
}

#[tokio::test]
async fn a_wrong_configuration_is_named_in_the_log_and_to_nobody_else() {
    let edge = Edge::builder()
        .var("HOMES", "*:9")
        .var("PORTAL_URL", "portal.example")
        .without_ring("SESSION_SECRET")
        .var("SESSION_SECRET_20261128T0130_4e13baf98a", "dG9vLXNob3J0");
    let edge = edge.start().await.unwrap();
    for path in ["/health", "/health/ready", "/me/quota", "/nothing"] {
        assert_unavailable(&edge.anonymous().get(path).await, path);
    }
    assert_unavailable(&edge.anonymous().check_with_key("junk", "x@example.org").await, "a check");
    let line = edge.process.wait_for_line("configuration: ").await;
    for mistake in [
        "HOMES: ",
        "PORTAL_URL: expected an http(s) URL",
        "SESSION_SECRET_20261128T0130_4e13baf98a: expected base64url of at least 32 bytes",
    ] {
        assert!(line.contains(mistake), "{mistake} in {line}");
    }
    assert!(!edge.process.log().contains("dG9vLXNob3J0"), "no part of a secret is logged");
}

#[tokio::test]
async fn a_database_that_fails_makes_the_request_503_and_the_next_one_works_again() {
    let origin = FakeOrigin::by_name();
    let edge = Edge::builder().origins(&[&origin.url]).start().await.unwrap();
    let account = edge.account().await;
    let day = today().await;
    assert_eq!(account.check("cached@example.org").await.status, 200);

    let held_address = "held@example.org";
    let check = origin.hold(&account, held_address).await;
    edge.sql("ALTER TABLE leases RENAME TO leases_gone", &[]).await;
    for address in ["fresh@example.org", "cached@example.org", "no address"] {
        assert_unavailable(&account.check(address).await, address);
    }
    assert_unavailable(&account.quota().await, "quota");
    assert_eq!(origin.probes_of("fresh@example.org"), 0, "without a lease no origin is asked");
    origin.release(held_address, Conduct::Verdict(Status::Accepted));
    assert_unavailable(&check.await.unwrap(), "a check that cannot be settled");
    // The cause is in the log, and names the binding.
    edge.process.wait_for_line(r#""cause":"database: DB"#).await;
    edge.process.wait_for_line("no such table").await;

    edge.sql("ALTER TABLE leases_gone RENAME TO leases", &[]).await;
    let row = edge.row(&account.email, "day, daily_charged").await;
    assert_eq!(row, json!({ "day": day, "daily_charged": 1 }), "only what was answered is charged");
    assert_eq!(account.email_checks().await.used_today, 2, "the lease ends by itself");
    assert_eq!(account.check(held_address).await.body["cached"], false, "unpaid is not remembered");
    assert_eq!(account.check("fresh@example.org").await.status, 200);

    edge.sql("ALTER TABLE plans RENAME TO plans_gone", &[]).await;
    let reply = edge.anonymous().get("/health/ready").await;
    let told = ["status", "database", "origins", "schedule"].map(|member| reply.text(member));
    assert_eq!((reply.status, told), (503, ["down", "down", "up", "up"]));
    edge.sql("ALTER TABLE plans_gone RENAME TO plans", &[]).await;
    // The edge remembers its readiness for some seconds.
    let deadline = Instant::now() + Duration::from_secs(60);
    while edge.anonymous().get("/health/ready").await.status != 200 {
        assert!(Instant::now() < deadline, "never ready again");
        sleep(Duration::from_millis(100)).await;
    }
}
