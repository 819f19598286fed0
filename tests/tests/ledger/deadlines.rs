//! Checks with `deadline_ms`: the response comes in time, the end of the probe charges the check, and a repeat with the
//! same `Idempotency-Key` returns the verdict (docs/security.md, Q4, Q6).

use std::time::Duration;

use rcpt_shared::Status;
use rcpt_tests::{
    Account, Conduct, Edge, FakeOrigin, Reply, Stack, people::send, service::clock::today,
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

const ACCEPTED: Conduct = Conduct::Verdict(Status::Accepted);

struct World {
    edge: Edge,
    origin: FakeOrigin,
    account: Account,
}

impl World {
    async fn start() -> Self {
        let origin = FakeOrigin::by_name();
        let edge = Edge::builder().origins(&[&origin.url]).var("UPSTREAM_BUDGET_MS", "60000");
        let edge = edge.var("LEASE_TTL_SECONDS", "300").start().await.unwrap();
        let account = edge.account().await;
        today().await;
        Self { edge, origin, account }
    }

    async fn check(&self, key: Option<&str>, address: &str, deadline_ms: u64) -> Reply {
        let body = json!({ "email": address, "deadline_ms": deadline_ms });
        check(&self.account, key, &body).await
    }

    async fn leases(&self) -> usize {
        self.edge.leases(&self.account.email).await.len()
    }

    /// Waits until the probe behind a pending answer has ended its lease.
    async fn settled(&self) {
        let limit = Instant::now() + Duration::from_secs(60);
        while self.leases().await > 0 {
            assert!(Instant::now() < limit, "the lease stays");
            sleep(Duration::from_millis(20)).await;
        }
    }

    async fn charged(&self) -> Value {
        self.edge.row(&self.account.email, "daily_charged").await["daily_charged"].clone()
    }

    /// Runs a check whose verdict isn't known by its deadline.
    async fn pending(&self, key: Option<&str>, address: &str) {
        let reply = self.check(key, address, 300).await;
        assert_pending(&reply, address);
        self.origin.wait_for_probe(address).await;
        assert_eq!(self.leases().await, 1, "the lease stays until the probe ends");
    }
}

async fn check(account: &Account, key: Option<&str>, body: &Value) -> Reply {
    let mut request = account.anonymous.request(Method::POST, "/validate_email");
    request = request.header("x-api-key", &account.api_key).json(body);
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    send(request).await
}

fn assert_pending(reply: &Reply, address: &str) {
    let pending = json!({ "email": address, "verdict": "unknown", "status": "smtp_timeout", "cached": false, "pending": true });
    assert_eq!(reply.parts(), (200, &pending));
    assert_eq!(reply.header("retry-after"), "2");
}

#[tokio::test]
async fn a_pending_check_is_charged_when_its_verdict_comes_and_given_under_its_key_once() {
    let world = World::start().await;
    let (key, address) = ("pending-and-then-asked", "held-charged@deadlines.example");
    world.pending(Some(key), address).await;
    assert_eq!(world.charged().await, 0, "nothing is charged before the verdict");
    assert_eq!(world.account.email_checks().await.used_today, 1, "its lease counts as used");
    // A repeat during the probe is pending again, without a second lease or probe.
    assert_pending(&world.check(Some(key), address, 300).await, address);
    assert_eq!((world.leases().await, world.origin.probes_of(address)), (1, 1));
    let without = world.account.check_under(key, address).await;
    assert_eq!(without.status, 409, "without a deadline as before");
    world.origin.release(address, ACCEPTED);
    world.settled().await;
    assert_eq!(world.charged().await, 1);
    let verdict =
        json!({ "email": address, "verdict": "deliverable", "status": true, "cached": true });
    for deadline_ms in [300, 10_000] {
        let reply = world.check(Some(key), address, deadline_ms).await;
        assert_eq!(reply.parts(), (200, &verdict));
    }
    assert_eq!(world.account.check_under(key, address).await.parts(), (200, &verdict));
    let other = world.check(Some(key), "ok-other@deadlines.example", 300).await;
    assert_eq!(other.status, 422, "the key of another address");
    assert_eq!((world.charged().await, world.origin.probes_of(address)), (json!(1), 1));
    // Without an `Idempotency-Key`, a repeat is a normal check.
    assert_eq!(world.check(None, address, 300).await.parts(), (200, &verdict));
    assert_eq!(world.charged().await, 2);
}

#[tokio::test]
async fn a_repeat_waits_for_the_first_ones_verdict_up_to_its_own_deadline() {
    let world = World::start().await;
    let (key, address) = ("waits-for-the-first-one", "held-waits@deadlines.example");
    world.pending(Some(key), address).await;
    let repeat = world.check(Some(key), address, 10_000);
    let release = async {
        sleep(Duration::from_millis(300)).await;
        world.origin.release(address, ACCEPTED);
    };
    let (reply, ()) = tokio::join!(repeat, release);
    let verdict =
        json!({ "email": address, "verdict": "deliverable", "status": true, "cached": true });
    assert_eq!(reply.parts(), (200, &verdict));
    assert_eq!((world.charged().await, world.origin.probes_of(address)), (json!(1), 1));
}

#[tokio::test]
async fn a_pending_check_that_finds_nothing_out_is_released_and_its_repeat_is_the_first() {
    let world = World::start().await;
    for (n, end) in [Conduct::Verdict(Status::FatalException), Conduct::Answer(500, "{}")]
        .into_iter()
        .enumerate()
    {
        let key = format!("pending-and-released-{n}");
        let address = format!("held-released-{n}@deadlines.example");
        world.pending(Some(&key), &address).await;
        world.origin.release(&address, end);
        world.settled().await;
        assert_eq!(world.charged().await, n, "nothing is charged for it");
        world.origin.release(&address, ACCEPTED);
        let reply = world.check(Some(&key), &address, 10_000).await;
        let verdict =
            json!({ "email": address, "verdict": "deliverable", "status": true, "cached": false });
        assert_eq!(reply.parts(), (200, &verdict));
        assert_eq!(world.origin.probes_of(&address), 2);
    }
    assert_eq!(world.charged().await, 2);
}

#[tokio::test]
async fn a_repeat_takes_the_place_of_a_first_one_that_fails_while_it_waits() {
    let world = World::start().await;
    let (key, address) = ("takes-the-place-of-it", "held-takes@deadlines.example");
    world.pending(Some(key), address).await;
    let repeat = world.check(Some(key), address, 10_000);
    let fail = async {
        sleep(Duration::from_millis(300)).await;
        world.origin.release(address, Conduct::Answer(500, "{}"));
        let limit = Instant::now() + Duration::from_secs(60);
        while world.leases().await > 0 && world.origin.probes_of(address) < 2 {
            assert!(Instant::now() < limit, "the first one goes on");
            sleep(Duration::from_millis(5)).await;
        }
        world.origin.release(address, ACCEPTED);
    };
    let (reply, ()) = tokio::join!(repeat, fail);
    // A request between the two releases fails like the first request.
    assert!([200, 502].contains(&reply.status), "{}", reply.body);
    assert!(world.origin.probes_of(address) <= 2);
    let charged = u64::from(reply.status == 200);
    assert_eq!((world.charged().await, world.leases().await), (json!(charged), 0));
}

#[tokio::test]
async fn a_lease_that_runs_out_after_a_pending_answer_is_released() {
    let world = World::start().await;
    let (key, address) = ("its-lease-runs-out-first", "held-expired@deadlines.example");
    world.pending(Some(key), address).await;
    let id = world.edge.id(&world.account.email).await;
    let expire = "UPDATE leases SET expires_at = 1 WHERE account_id = ?";
    world.edge.sql_of(&id, expire, &[id.as_str().into()]).await;
    assert_eq!(world.account.email_checks().await.used_today, 0);
    world.origin.release(address, ACCEPTED);
    world.settled().await;
    assert_eq!(world.charged().await, 0);
    // The check wasn't charged, so it is neither stored under the `Idempotency-Key` nor cached.
    let reply = world.check(Some(key), address, 10_000).await;
    let verdict =
        json!({ "email": address, "verdict": "deliverable", "status": true, "cached": false });
    assert_eq!(reply.parts(), (200, &verdict));
}

#[tokio::test]
async fn a_pending_answer_is_nobodys_verdict() {
    let world = World::start().await;
    let address = "held-joined@deadlines.example";
    world.pending(None, address).await;
    let patient = {
        let (account, address) = (world.account.clone(), address.to_owned());
        tokio::spawn(async move { account.check(&address).await })
    };
    let limit = Instant::now() + Duration::from_secs(60);
    while world.leases().await < 2 {
        assert!(Instant::now() < limit, "the second check has no lease");
        sleep(Duration::from_millis(20)).await;
    }
    world.origin.release(address, ACCEPTED);
    let verdict =
        json!({ "email": address, "verdict": "deliverable", "status": true, "cached": false });
    assert_eq!(patient.await.unwrap().parts(), (200, &verdict));
    world.settled().await;
    // The edge sends both, because each has a deadline of its own; a real origin joins their probes.
    assert_eq!((world.charged().await, world.origin.probes_of(address)), (json!(2), 2));
}

#[tokio::test]
async fn the_last_unit_is_held_by_a_pending_check_and_its_repeat_needs_none() {
    let world = World::start().await;
    let day = today().await;
    let one_left = format!("day = {day}, daily_charged = 99, welcome_left = 0");
    world.edge.set(&world.account.email, &one_left).await;
    let (key, address) = ("has-the-last-unit-of-all", "held-last@deadlines.example");
    world.pending(Some(key), address).await;
    let other = world.check(Some("comes-second-and-last"), "ok-x@deadlines.example", 300).await;
    assert_eq!(other.status, 429);
    assert_pending(&world.check(Some(key), address, 300).await, address);
    world.origin.release(address, ACCEPTED);
    world.settled().await;
    assert_eq!(world.check(Some(key), address, 300).await.body["status"], true);
    assert_eq!(world.charged().await, 100);
}

#[tokio::test]
async fn a_key_replaced_or_an_account_deleted_behind_a_pending_answer_leaves_the_ledger_whole() {
    let world = World::start().await;
    let address = "held-replaced@deadlines.example";
    world.pending(None, address).await;
    assert_eq!(world.account.rotate_api_key().await.status, 200);
    world.origin.release(address, ACCEPTED);
    world.settled().await;
    assert_eq!(world.charged().await, 1, "the check isn't free");

    let next = World::start().await;
    let address = "held-deleted@deadlines.example";
    next.pending(None, address).await;
    let id = next.edge.id(&next.account.email).await;
    let body = json!({ "password": next.account.password });
    let deleted = next.account.delete("/me", &body).await;
    assert!((200..300).contains(&deleted.status), "{} {}", deleted.status, deleted.body);
    next.origin.release(address, ACCEPTED);
    let sql = "SELECT id FROM leases WHERE account_id = ?";
    let limit = Instant::now() + Duration::from_secs(60);
    while !next.edge.sql_of(&id, sql, &[id.as_str().into()]).await.is_empty() {
        assert!(Instant::now() < limit, "a lease of nobody stays");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_deadline_out_of_its_range_is_400_and_asks_and_counts_nothing() {
    let world = World::start().await;
    for bad in [json!(299), json!(10_001), json!("300"), json!(null), json!(300.5)] {
        let body = json!({ "email": "ok-bad@deadlines.example", "deadline_ms": bad });
        let reply = check(&world.account, None, &body).await;
        let error = reply.body["detail"]["error"].as_str().unwrap_or_default();
        assert_eq!(reply.status, 400, "{bad}: {}", reply.body);
        assert!(error.contains("'deadline_ms'") && error.contains("300 to 10000"), "{error}");
    }
    assert_eq!((world.origin.probes().len(), world.charged().await), (0, json!(0)));
    // If the verdict arrives in time, the response is the same as without a deadline.
    let in_time = "ok-in-time@deadlines.example";
    let verdict =
        json!({ "email": in_time, "verdict": "deliverable", "status": true, "cached": false });
    assert_eq!(world.check(None, in_time, 10_000).await.parts(), (200, &verdict));
}

#[tokio::test]
async fn the_details_of_a_pending_answer_say_what_is_known() {
    let stack = Stack::builder().start().await;
    let account = stack.edge.account().await;
    let body = json!({ "email": "slow@sandbox.test", "deadline_ms": 2_400, "details": true });
    let reply = check(&account, None, &body).await;
    assert_eq!((reply.status, &reply.body["pending"]), (200, &json!(true)), "{}", reply.body);
    assert_eq!(reply.body["verdict"], "unknown");
    let details = &reply.body["details"];
    for (member, value) in
        [("reason", json!("timeout")), ("role_account", json!(false)), ("retry_after", json!(2))]
    {
        assert_eq!(details[member], value, "{member} of {details}");
    }
    assert_eq!(details["domain"]["name"], "sandbox.test", "{details}");
}
