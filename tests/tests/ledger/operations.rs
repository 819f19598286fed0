//! An `Idempotency-Key` belongs to its operation and its request, also while the request is in flight
//! (docs/security.md, Q6).

use std::time::Duration;

use rcpt_shared::Status;
use rcpt_tests::{
    Account, Anonymous, Conduct, Edge, FakeOrigin, Reply,
    people::send,
    service::{clock, clock::today, secret},
};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

const ACCEPTED: Conduct = Conduct::Verdict(Status::Accepted);

/// Operations that accept an `Idempotency-Key`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Check,
    List,
    Domain,
    Decide,
    Scan,
}
use Operation::{Check, Decide, Domain, List, Scan};

const ALL: [Operation; 5] = [Check, List, Domain, Decide, Scan];

impl Operation {
    const fn path(self) -> &'static str {
        match self {
            Check => "/validate_email",
            List => "/validate_emails",
            Domain => "/domains",
            Decide => "/guard/decide",
            Scan => "/scans",
        }
    }

    /// A request about `name`, whose first word determines the origin's behaviour.
    fn body(self, name: &str) -> Value {
        let email = format!("{name}@{name}.operations.example");
        match self {
            Check => json!({ "email": email, "details": true }),
            List => json!({ "emails": [email, "no address"] }),
            Domain => json!({ "domain": format!("{name}.operations.example") }),
            Decide => json!({ "email": email }),
            Scan => json!({ "total": 2, "name": name }),
        }
    }

    /// The address or domain that the origin is asked about.
    fn question(self, name: &str) -> String {
        let body = self.body(name);
        let question = [&body["email"], &body["emails"][0], &body["domain"]];
        question.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned()
    }

    /// Units of an answer.
    const fn units(self) -> u64 {
        match self {
            Check | Domain | Decide => 1,
            List => 2,
            Scan => 0,
        }
    }

    const fn status(self) -> u16 {
        if matches!(self, Scan) { 201 } else { 200 }
    }
}

struct World {
    edge: Edge,
    origin: FakeOrigin,
    account: Account,
}

impl World {
    async fn start() -> Self {
        Self::start_with(|edge| edge).await
    }

    async fn start_with(
        change: impl FnOnce(
            rcpt_tests::service::edge::EdgeBuilder,
        ) -> rcpt_tests::service::edge::EdgeBuilder,
    ) -> Self {
        let origin = FakeOrigin::by_name();
        let edge = Edge::builder().origins(&[&origin.url]);
        let edge = edge.var("UPSTREAM_BUDGET_MS", "60000").var("LEASE_TTL_SECONDS", "300");
        let edge = change(edge).start().await.unwrap();
        let account = edge.account().await;
        edge.set(&account.email, "scan_credits = 100").await;
        edge.sql("UPDATE plans SET max_scans = 100, max_in_flight = 1000", &[]).await;
        let policy = account.put("/guard", &json!({ "deadline_ms": 2_000 })).await;
        assert_eq!(policy.status, 200, "{}", policy.body);
        today().await;
        Self { edge, origin, account }
    }

    fn request(&self, operation: Operation, key: &str, body: &Value) -> RequestBuilder {
        self.request_at(&self.account.anonymous, operation, key, body)
    }

    fn request_at(
        &self,
        anonymous: &Anonymous,
        operation: Operation,
        key: &str,
        body: &Value,
    ) -> RequestBuilder {
        let request = anonymous.request(Method::POST, operation.path()).json(body);
        request.header("x-api-key", &self.account.api_key).header("idempotency-key", key)
    }

    async fn ask(&self, operation: Operation, key: &str, name: &str) -> Reply {
        send(self.request(operation, key, &operation.body(name))).await
    }

    async fn charged(&self) -> u64 {
        let row = self.edge.row(&self.account.email, "daily_charged").await;
        row["daily_charged"].as_u64().unwrap()
    }

    async fn leases(&self) -> usize {
        self.edge.leases(&self.account.email).await.len()
    }

    async fn change_leases(&self, change: &str) {
        let id = self.edge.id(&self.account.email).await;
        let sql = format!("UPDATE leases SET {change} WHERE account_id = ?");
        self.edge.sql_of(&id, &sql, &[id.as_str().into()]).await;
    }

    /// Starts a request that stays in flight until `finish`. A decision is answered by its deadline.
    async fn begin(&self, operation: Operation, key: &str, name: &str) -> JoinHandle<Reply> {
        let before = self.leases().await;
        let request = tokio::spawn(send(self.request(operation, key, &operation.body(name))));
        self.origin.wait_for_probe(&operation.question(name)).await;
        assert_eq!(self.leases().await, before + 1, "{operation:?} holds a lease");
        request
    }

    /// Releases the request, and waits until its lease has ended.
    async fn finish(&self, operation: Operation, name: &str, request: JoinHandle<Reply>) -> Reply {
        let before = self.leases().await;
        self.origin.release(&operation.question(name), ACCEPTED);
        let limit = Instant::now() + Duration::from_secs(60);
        while self.leases().await >= before {
            assert!(Instant::now() < limit, "the lease of {operation:?} stays");
            sleep(Duration::from_millis(20)).await;
        }
        request.await.unwrap()
    }
}

#[tokio::test]
async fn a_key_in_flight_or_answered_is_another_key_at_every_other_operation() {
    let world = World::start().await;
    let mut charged = 0;
    for holder in [Check, List, Domain, Decide, Scan] {
        let key = format!("the-key-in-flight-of-{holder:?}");
        let held = format!("held-{holder:?}").to_lowercase();
        // A scan is created in one transaction, and never in flight.
        let first = match holder {
            Scan => None,
            _ => Some(world.begin(holder, &key, &held).await),
        };
        if holder == Scan {
            assert_eq!(world.ask(Scan, &key, &held).await.status, 201);
        }
        for other in ALL {
            let name = format!("ok-{holder:?}-{other:?}").to_lowercase();
            let reply = world.ask(other, &key, &name).await;
            if other == holder {
                reply.assert_error(422, "idempotency_key_reused", &name);
                continue;
            }
            assert_eq!(reply.status, other.status(), "{name}: {}", reply.body);
            charged += other.units();
            assert_eq!(world.charged().await, charged, "{name}");
            // Under its key each operation repeats its own answer.
            let repeat = world.ask(other, &key, &name).await;
            assert_eq!(repeat.status, other.status(), "{name}: {}", repeat.body);
            let reused = world.ask(other, &key, &format!("{name}-2")).await;
            reused.assert_error(422, "idempotency_key_reused", &name);
            assert_eq!(world.charged().await, charged, "{name}");
        }
        let Some(first) = first else { continue };
        let repeat = world.ask(holder, &key, &held).await;
        if holder == Decide {
            let expected = json!({
                "decision": "allow", "email": holder.body(&held)["email"], "verdict": "unknown",
                "reason": "not_in_time", "message": null, "suggestion": null,
            });
            assert_eq!(
                repeat.parts(),
                (200, &expected),
                "a repeat waits until the policy's deadline"
            );
        } else {
            repeat.assert_error(409, "idempotency_key_in_use", &held);
        }
        let reply = world.finish(holder, &held, first).await;
        charged += holder.units();
        assert_eq!((reply.status, world.charged().await), (200, charged), "{held}: {}", reply.body);
        let repeat = world.ask(holder, &key, &held).await;
        assert_eq!((repeat.status, world.charged().await), (200, charged), "{held}");
        world.ask(holder, &key, "ok-later").await.assert_error(
            422,
            "idempotency_key_reused",
            "after",
        );
    }
    let quota = world.account.quota().await.body;
    assert_eq!(quota["total_scans"], 5, "one for each key");
}

/// Nobody learns the kind of another domain for nothing, under the key of a check in flight.
#[tokio::test]
async fn under_a_key_in_flight_another_address_is_422_at_once_and_nobody_is_asked_about_it() {
    let world = World::start().await;
    let key = "one-slow-check-of-mine";
    let first = world.begin(Check, key, "held-slow").await;
    for (n, deadline) in [None, Some(300), Some(10_000)].into_iter().enumerate() {
        let mut body = Check.body(&format!("ok-curious-{n}"));
        if let Some(deadline) = deadline {
            body["deadline_ms"] = deadline.into();
        }
        let started = Instant::now();
        let reply = send(world.request(Check, key, &body)).await;
        reply.assert_error(422, "idempotency_key_reused", "another address");
        assert!(started.elapsed() < Duration::from_secs(5), "{deadline:?} waits for the first one");
        for question in
            [body["email"].as_str().unwrap(), &format!("ok-curious-{n}.operations.example")]
        {
            assert_eq!(world.origin.probes_of(question), 0, "{question}");
        }
    }
    let decision = world.begin(Decide, key, "held-form").await;
    world.ask(Decide, key, "ok-curious-form").await.assert_error(
        422,
        "idempotency_key_reused",
        "decide",
    );
    assert_eq!(world.origin.probes_of(&Decide.question("ok-curious-form")), 0);
    world.finish(Decide, "held-form", decision).await;
    assert_eq!(world.finish(Check, "held-slow", first).await.status, 200);
    assert_eq!(world.charged().await, 2);
}

/// By the second Worker's clock the first lease had expired, so another request used the key meanwhile.
#[tokio::test]
async fn a_request_that_finds_another_ones_answer_under_its_key_is_charged_for_its_own() {
    let world = World::start().await;
    let mut charged = 0;
    for operation in [Check, List, Domain] {
        let (key, held) =
            (format!("two-clocks-of-{operation:?}"), format!("held-{operation:?}").to_lowercase());
        let first = world.begin(operation, &key, &held).await;
        world.change_leases("expires_at = 1").await;
        let other = world.ask(operation, &key, &format!("ok-{held}")).await;
        assert_eq!(other.status, 200, "{}", other.body);
        world.change_leases("expires_at = unixepoch() + 300").await;
        let reply = world.finish(operation, &held, first).await;
        assert_eq!(reply.status, 200, "{operation:?}: {}", reply.body);
        charged += 2 * operation.units();
        assert_eq!(
            world.charged().await,
            charged,
            "{operation:?}: both answers have been given out"
        );
        // The key stays the other request's.
        let repeat = world.ask(operation, &key, &format!("ok-{held}")).await;
        assert_eq!(repeat.status, 200, "{}", repeat.body);
        world.ask(operation, &key, &held).await.assert_error(422, "idempotency_key_reused", "late");
        assert_eq!(world.charged().await, charged, "{operation:?}");
    }
}

#[tokio::test]
async fn a_key_of_the_previous_secret_is_known_while_its_request_is_in_flight_and_afterwards() {
    let new = secret::value().unwrap();
    let name = secret::name("ADDRESS_SECRET", clock::now() - 1_200, &new);
    let world = World::start_with(|edge| edge.variant(&[(&name, new)])).await;
    let renewed = Anonymous::new(&world.edge.variants[0]);
    let ask = async |operation: Operation, key: &str, name: &str| {
        send(world.request_at(&renewed, operation, key, &operation.body(name))).await
    };
    let key = "while-secrets-are-replaced";
    let mut charged = 0;
    for operation in [Check, List, Domain] {
        let held = format!("held-{operation:?}").to_lowercase();
        let first = world.begin(operation, key, &held).await;
        ask(operation, key, &held).await.assert_error(409, "idempotency_key_in_use", &held);
        ask(operation, key, "ok-other").await.assert_error(422, "idempotency_key_reused", &held);
        assert_eq!(world.finish(operation, &held, first).await.status, 200);
        charged += operation.units();
        assert_eq!(ask(operation, key, &held).await.status, 200);
        ask(operation, key, "ok-other").await.assert_error(422, "idempotency_key_reused", &held);
        assert_eq!(world.charged().await, charged, "{operation:?}");
    }
    // A scan of the previous secret: the same one again, and another one once it is deleted.
    let made = world.ask(Scan, key, "first").await.text("id").to_owned();
    assert_eq!(ask(Scan, key, "first").await.text("id"), made);
    ask(Scan, key, "second").await.assert_error(422, "idempotency_key_reused", "another scan");
    assert_eq!(world.account.delete(&format!("/scans/{made}"), &json!({})).await.status, 204);
    let again = ask(Scan, key, "first").await;
    assert_eq!(again.status, 201, "{}", again.body);
    assert_ne!(again.text("id"), made);
    assert_eq!(ask(Scan, key, "first").await.text("id"), again.text("id"));
}
