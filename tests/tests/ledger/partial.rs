//! At its deadline a list is charged for the results that it gives out, before they leave; its lease keeps the rest
//! (docs/security.md, Q4 and Q6).

use std::time::Duration;

use rcpt_shared::Status;
use rcpt_tests::{
    Account, Conduct, Edge, FakeOrigin, Reply,
    people::send,
    service::{clock::today, shim::Fault},
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

const ACCEPTED: Conduct = Conduct::Verdict(Status::Accepted);
/// Statements of the charge at the deadline.
const PART: &[&str] = &["update accounts", "update leases"];

struct World {
    edge: Edge,
    origin: FakeOrigin,
    account: Account,
}

impl World {
    async fn start() -> Self {
        let origin = FakeOrigin::by_name();
        let edge = Edge::builder().origins(&[&origin.url]).var("LEASE_TTL_SECONDS", "120");
        let edge = edge.shimmed().start().await.unwrap();
        let account = edge.account().await;
        today().await;
        Self { edge, origin, account }
    }

    /// Sends a list of three addresses and a text, of which `held` has no verdict by the deadline.
    async fn list(&self, key: Option<&str>, held: &str, deadline_ms: u64) -> Reply {
        self.list_with(&self.account.api_key, key, held, deadline_ms).await
    }

    async fn list_with(
        &self,
        api_key: &str,
        key: Option<&str>,
        held: &str,
        deadline_ms: u64,
    ) -> Reply {
        let emails = [
            format!("ok-1-{held}"),
            held.to_owned(),
            "no address".to_owned(),
            format!("ok-2-{held}"),
        ];
        let body = json!({ "emails": emails, "deadline_ms": deadline_ms });
        let request = self.account.anonymous.request(Method::POST, "/validate_emails").json(&body);
        let request = request.header("x-api-key", api_key);
        let request = match key {
            Some(key) => request.header("idempotency-key", key),
            None => request,
        };
        send(request).await
    }

    /// Sends lists until one is charged at its deadline, and returns its held address. A charge has a tenth of a
    /// second, which a machine with much to do may not keep; what was charged too late is taken back.
    async fn partly(&self, name: &str, list: impl AsyncFn(&str) -> Reply) -> String {
        for n in 1.. {
            let row = self.edge.row(&self.account.email, "daily_charged, welcome_left, key_use");
            let row = row.await;
            let held = format!("held-{name}-{n}@partial.example");
            let given = pending(&list(&held).await);
            if given == PARTLY {
                return held;
            }
            assert!(given == NOTHING && n < TRIES, "{given:?}, attempt {n}");
            self.change_leases("expires_at = 1").await;
            self.finish(&held, ACCEPTED).await;
            let before = format!(
                "daily_charged = {}, welcome_left = {}, key_use = '{}'",
                row["daily_charged"],
                row["welcome_left"],
                row["key_use"].as_str().unwrap()
            );
            self.edge.set(&self.account.email, &before).await;
        }
        unreachable!()
    }

    async fn charged(&self) -> Value {
        self.edge.row(&self.account.email, "daily_charged").await["daily_charged"].clone()
    }

    async fn used(&self) -> i64 {
        self.account.email_checks().await.used_today
    }

    async fn change_leases(&self, change: &str) {
        let id = self.edge.id(&self.account.email).await;
        let sql = format!("UPDATE leases SET {change} WHERE account_id = ?");
        self.edge.sql_of(&id, &sql, &[id.as_str().into()]).await;
    }

    async fn finish(&self, held: &str, conduct: Conduct) {
        self.origin.release(held, conduct);
        let limit = Instant::now() + Duration::from_secs(60);
        while !self.edge.leases(&self.account.email).await.is_empty() {
            assert!(Instant::now() < limit, "the lease stays");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Returns which results are pending.
fn pending(reply: &Reply) -> Vec<bool> {
    assert_eq!((reply.status, &reply.body["pending"]), (200, &json!(true)), "{}", reply.body);
    assert_eq!((&reply.body["counted"], reply.header("retry-after")), (&Value::Null, "2"));
    let results = reply.body["results"].as_array().unwrap();
    results.iter().map(|result| result["pending"] == true).collect()
}

/// Most lists of which one is charged in time.
const TRIES: usize = 20;
const PARTLY: [bool; 4] = [false, true, false, false];
const NOTHING: [bool; 4] = [true; 4];

/// Time of a charge that is far too slow.
const SLOW: Duration = Duration::from_secs(10);

fn fault(late: bool, times: u32) -> Fault {
    Fault { part: "d1", statements: PART, times, error: "injected", late, ..Fault::default() }
}

#[tokio::test]
async fn what_is_given_out_at_the_deadline_is_charged_and_the_rest_when_it_is_there() {
    let world = World::start().await;
    for (n, (end, rest)) in
        [(ACCEPTED, 1), (Conduct::Verdict(Status::FatalException), 0)].into_iter().enumerate()
    {
        let before = world.used().await;
        let key = |held: &str| format!("a-list-in-two-parts-{held}");
        let held = async |held: &str| world.list(Some(&key(held)), held, 1_500).await;
        let held = world.partly(&format!("{n}"), held).await;
        assert_eq!(world.charged().await, before + 3, "before they leave");
        assert_eq!(world.used().await, before + 4, "the lease holds the fourth");
        world.finish(&held, end).await;
        assert_eq!(
            (world.charged().await, world.used().await),
            (json!(before + 3 + rest), before + 3 + rest)
        );
        let whole = world.list(Some(&key(&held)), &held, 1_500).await;
        assert_eq!(
            (whole.status, &whole.body["counted"]),
            (200, &json!(3 + rest)),
            "{}",
            whole.body
        );
        assert_eq!(world.charged().await, before + 3 + rest, "a repeat isn't counted");
    }
}

#[tokio::test]
async fn a_list_whose_worker_ends_after_its_deadline_has_paid_for_what_it_gave() {
    let world = World::start().await;
    let held = world.partly("dead", async |held| world.list(None, held, 1_500).await).await;
    world.change_leases("expires_at = 1").await;
    assert_eq!(
        (world.charged().await, world.used().await),
        (json!(3), 3),
        "the fourth is free again"
    );
    world.finish(&held, ACCEPTED).await;
    assert_eq!(world.charged().await, 3, "an expired lease charges nothing more");
}

#[tokio::test]
async fn a_charge_at_the_deadline_that_fails_or_is_slow_lets_nothing_out_and_charges_nothing_twice()
{
    let world = World::start().await;
    let slow = Fault {
        part: "d1",
        statements: PART,
        times: 1,
        delay_ms: u64::try_from(SLOW.as_millis()).unwrap(),
        ..Fault::default()
    };
    // A lost charge or a lost reply is repeated once.
    for (n, (fault, expected)) in [
        (fault(false, 1), PARTLY),
        (fault(true, 1), PARTLY),
        (fault(false, 2), NOTHING),
        (fault(true, 2), NOTHING),
        (slow, NOTHING),
    ]
    .into_iter()
    .enumerate()
    {
        let before = world.used().await;
        let key = |held: &str| format!("charged-with-fault-{held}");
        let list = async |held: &str| {
            world.edge.fail(std::slice::from_ref(&fault)).await;
            let started = Instant::now();
            let reply = world.list(Some(&key(held)), held, 1_500).await;
            assert!(started.elapsed() < SLOW, "{fault:?} delays the answer");
            reply
        };
        let held = if expected == PARTLY {
            world.partly(&format!("fault-{n}"), list).await
        } else {
            let held = format!("held-fault-{n}@partial.example");
            let reply = list(&held).await;
            assert_eq!(pending(&reply), NOTHING, "{fault:?}: {}", reply.body);
            let results = reply.body["results"].as_array().unwrap();
            let none = results.iter().all(|result| result["status"] == "smtp_timeout");
            assert!(none, "nothing is said: {}", reply.body);
            held
        };
        world.finish(&held, ACCEPTED).await;
        world.edge.fail(&[]).await;
        assert_eq!(
            (world.charged().await, world.used().await),
            (json!(before + 4), before + 4),
            "{fault:?}"
        );
        let whole = world.list(Some(&key(&held)), &held, 1_500).await;
        assert_eq!((whole.status, &whole.body["counted"]), (200, &json!(4)), "{}", whole.body);
        assert_eq!(world.charged().await, before + 4, "{fault:?}");
    }
}

#[tokio::test]
async fn units_of_both_allowances_and_of_a_limited_key_are_charged_in_their_order() {
    let world = World::start().await;
    let day = today().await;
    let two_left = format!("day = {day}, daily_charged = 98, welcome_left = 5");
    world.edge.set(&world.account.email, &two_left).await;
    let limited = json!({ "name": "four", "rights": ["checks"], "daily_limit": 4 });
    let (key, _) = world.account.named_key(&limited).await;
    let held = async |held: &str| world.list_with(&key, None, held, 1_500).await;
    let held = world.partly("both", held).await;
    let row = async || world.edge.row(&world.account.email, "daily_charged, welcome_left").await;
    assert_eq!(
        row().await,
        json!({ "daily_charged": 100, "welcome_left": 4 }),
        "two, and a welcome check"
    );
    let of_key = async || {
        let id = world.edge.id(&world.account.email).await;
        let sql = "SELECT u.value ->> 2 AS charged FROM accounts a, json_each(a.key_use) u WHERE a.id = ?";
        world.edge.sql_of(&id, sql, &[id.as_str().into()]).await[0]["charged"].clone()
    };
    assert_eq!(of_key().await, 3);
    let reply = world.account.anonymous.check_with_key(&key, "ok-fifth@partial.example").await;
    assert_eq!(reply.status, 429, "the lease holds the fourth: {}", reply.body);
    // Midnight: the rest is charged to the day of the lease.
    let older = format!("day = {}, previous_day = 0", day - 1);
    world.edge.set(&world.account.email, &older).await;
    world.change_leases("day = day - 1").await;
    world.finish(&held, ACCEPTED).await;
    assert_eq!(row().await, json!({ "daily_charged": 100, "welcome_left": 3 }));
    assert_eq!(of_key().await, 3, "the key has charges of a newer day");
}

#[tokio::test]
async fn a_repeat_while_the_list_is_in_flight_says_nothing_and_costs_nothing() {
    let world = World::start().await;
    let key = |held: &str| format!("asked-again-too-early-{held}");
    let held = async |held: &str| world.list(Some(&key(held)), held, 1_500).await;
    let held = world.partly("early", held).await;
    assert_eq!(pending(&world.list(Some(&key(&held)), &held, 300).await), NOTHING);
    assert_eq!((world.charged().await, world.used().await), (json!(3), 4));
    let key = key(&held);
    let check = world.account.check_under(&key, &held);
    let release = async {
        let limit = Instant::now() + Duration::from_secs(60);
        while world.edge.leases(&world.account.email).await.len() < 2 {
            assert!(Instant::now() < limit, "the check has no lease");
            sleep(Duration::from_millis(20)).await;
        }
        world.finish(&held, ACCEPTED).await;
    };
    let (check, ()) = tokio::join!(check, release);
    assert_eq!(
        (check.status, world.charged().await),
        (200, json!(5)),
        "a check's key is another one"
    );
}
