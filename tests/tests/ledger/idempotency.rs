//! `Idempotency-Key`: one charge for each key, for any number of requests, concurrent or failing (docs/security.md,
//! Q6).
//!
//! - 1,000 keys, each sent three times at once: 1,000 charges, and one probe for each fresh address.
//! - Also with lost replies of the database, expired leases, two live leases, other clocks, clients that leave,
//!   midnight, and a used-up allowance.

use std::time::Duration;

use rcpt_shared::Status;
use rcpt_tests::{
    AbortingClient, Account, Anonymous, Conduct, Edge, FakeOrigin, Reply,
    people::{send, send_at_once},
    process::turn,
    proof,
    service::{clock::today, shim::Fault},
};
use serde_json::{Value, json};
use tokio::{
    sync::{Mutex, MutexGuard, OnceCell},
    task::JoinHandle,
    time::{Instant, sleep},
};

struct World {
    edge: Edge,
    origin: FakeOrigin,
}

/// The shared edge, whose bindings can fail. One test at a time uses it, since a fault can affect any request.
async fn world() -> (&'static World, MutexGuard<'static, ()>) {
    static WORLD: OnceCell<World> = OnceCell::const_new();
    static TURN: Mutex<()> = Mutex::const_new(());
    let start = async || {
        let origin = FakeOrigin::by_name();
        let edge = Edge::builder().origins(&[&origin.url]).shimmed();
        let edge = edge.var("UPSTREAM_BUDGET_MS", "60000").var("LEASE_TTL_SECONDS", "300");
        World { edge: edge.start().await.unwrap(), origin }
    };
    let turn = TURN.lock().await;
    (WORLD.get_or_init(start).await, turn)
}

impl World {
    async fn charged(&self, account: &Account) -> u64 {
        let row = self.edge.row(&account.email, "daily_charged").await;
        row["daily_charged"].as_u64().unwrap()
    }

    /// The number of the account's stored `Idempotency-Key`s.
    async fn stored_key_count(&self, account: &Account) -> usize {
        let id = self.edge.id(&account.email).await;
        let sql = "SELECT name FROM idempotency_keys WHERE account_id = ?";
        self.edge.sql_of(&id, sql, &[id.as_str().into()]).await.len()
    }

    /// Changes all leases of the account: `change` is SQL.
    async fn leases(&self, account: &Account, change: &str) {
        let id = self.edge.id(&account.email).await;
        let sql = format!("UPDATE leases SET {change} WHERE account_id = ?");
        self.edge.sql_of(&id, &sql, &[id.as_str().into()]).await;
    }

    /// Starts a check whose origin doesn't respond yet.
    async fn hold(&self, account: &Account, key: &'static str, address: &str) -> JoinHandle<Reply> {
        let before = self.edge.leases(&account.email).await.len();
        let (sender, owned) = (account.clone(), address.to_owned());
        let check = tokio::spawn(async move { sender.check_under(key, &owned).await });
        self.origin.wait_for_probe(address).await;
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.edge.leases(&account.email).await.len() == before {
            assert!(Instant::now() < deadline, "no lease for {address}");
            sleep(Duration::from_millis(20)).await;
        }
        check
    }

    /// Makes both caches fail for the next check.
    async fn forget_verdicts(&self) {
        let away = |part| Fault { part, times: 2, error: "away", ..Fault::default() };
        self.edge.fail(&[away("cache"), away("kv")]).await;
    }
}

const ACCEPTED: Conduct = Conduct::Verdict(Status::Accepted);

fn verdict(address: &str, cached: bool) -> Value {
    json!({ "email": address, "verdict": "deliverable", "status": true, "cached": cached })
}

/// Repeats the request while another request with the same `Idempotency-Key` is in flight.
async fn patiently(account: &Account, key: &str, address: &str) -> Reply {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let reply = account.check_under(key, address).await;
        if reply.status != 409 {
            return reply;
        }
        assert!(Instant::now() < deadline, "{key} stays in use");
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn each_key_is_charged_once_though_all_are_sent_three_times_at_once() {
    let _alone = turn().await;
    let (world, _turn) = world().await;
    let count = proof::count(120, 1_000);
    let account = world.edge.account().await;
    world.edge.sql("UPDATE plans SET max_in_flight = 10000", &[]).await;
    world.edge.set(&account.email, "plan = 'unlimited'").await;
    let popular = "popular@keys.example";
    // Waits for midnight before the first check, which would otherwise count on the previous day.
    today().await;
    assert_eq!(account.check(popular).await.status, 200);
    let before = world.charged(&account).await;
    let address = |n: usize| match n % 3 {
        0 => format!("ok-{n}@keys.example"),
        1 => popular.to_owned(),
        _ => format!("no address {n}"),
    };
    let key = |n: usize| format!("three-times-at-once-{n}");
    let direct = Anonymous::new(&world.edge.direct);
    let request = |n: usize| {
        let request = direct.check_request(&account.api_key, &address(n));
        request.header("idempotency-key", key(n))
    };
    // Sends as many concurrent requests as workerd can read before it closes their connections.
    let mut replies = Vec::new();
    for keys in (0..count).collect::<Vec<_>>().chunks(120) {
        let thrice = (0..3).flat_map(|_| keys.iter().map(|n| request(*n)));
        replies.extend(send_at_once(thrice.collect::<Vec<_>>()).await);
    }
    for (n, reply) in replies.iter().enumerate() {
        assert!([200, 409].contains(&reply.status), "{n}: {} {}", reply.status, reply.body);
    }
    for n in 0..count {
        let reply = patiently(&account, &key(n), &address(n)).await;
        let status = if n % 3 == 2 { json!("invalid_format") } else { json!(true) };
        assert_eq!((reply.status, &reply.body["status"]), (200, &status), "{n}");
        if n % 3 == 0 {
            assert_eq!(world.origin.probes_of(&address(n)), 1, "{n}");
        }
    }
    assert_eq!(world.charged(&account).await - before, count as u64);
    assert_eq!(world.stored_key_count(&account).await, count);
    let busy = replies.iter().filter(|reply| reply.status == 409).count();
    println!("{count} keys, {} requests: {busy} × 409, {count} charged", 4 * count);
}

#[tokio::test]
async fn a_repeat_is_the_first_answer_and_another_request_is_422() {
    let (world, _turn) = world().await;
    let [account, other] = [world.edge.account().await, world.edge.account().await];
    let day = today().await;
    let (key, address) = ("order-4711-first-try", "ok-repeat@keys.example");
    assert_eq!(account.check_under(key, address).await.parts(), (200, &verdict(address, false)));
    for forgotten in [false, true] {
        if forgotten {
            world.forget_verdicts().await;
        }
        let repeat = account.check_under(key, address).await;
        assert_eq!(repeat.parts(), (200, &verdict(address, true)), "forgotten: {forgotten}");
        world.edge.fail(&[]).await;
    }
    assert_eq!((world.charged(&account).await, world.origin.probes_of(address)), (1, 1));

    let request = |address: &str, details: bool| {
        let request = account.anonymous.check_request(&account.api_key, address);
        request.json(&json!({ "email": address, "details": details }))
    };
    for (address, details) in
        [(address, true), ("ok-other@keys.example", false), ("no address", false)]
    {
        let reply = send(request(address, details).header("idempotency-key", key)).await;
        reply.assert_error(422, "idempotency_key_reused", address);
    }
    // Requests with details, with the cache and without it.
    let detailed = |n: u8| {
        request("ok-why@keys.example", true)
            .header("idempotency-key", format!("why-it-is-so-{n:04}"))
    };
    let first = send(detailed(1)).await;
    assert_eq!(first.body["details"]["reason"], "accepted", "{}", first.body);
    world.forget_verdicts().await;
    let repeat = send(detailed(1)).await;
    world.edge.fail(&[]).await;
    assert_eq!(repeat.body["details"], first.body["details"]);
    assert_eq!(send(detailed(2)).await.status, 200);
    assert_eq!(world.charged(&account).await, 3);

    // An idempotency key belongs to its account, and stays valid with a new API key, but not with the replaced API key.
    assert_eq!(other.check_under(key, "ok-other@keys.example").await.status, 200);
    let rotated = account.rotate_api_key().await;
    assert_eq!(account.check_under(key, address).await.status, 401);
    let account = Account { api_key: rotated.text("api_key").to_owned(), ..account };
    assert_eq!(account.check_under(key, address).await.status, 200);

    // The key stays valid after midnight and without remaining units, until it is removed.
    let yesterday = format!("day = {}, daily_charged = 1", day - 1);
    world.edge.set(&account.email, &yesterday).await;
    assert_eq!(account.check_under(key, address).await.parts(), (200, &verdict(address, true)));
    let row = world.edge.row(&account.email, "day, daily_charged").await;
    assert_eq!(row, json!({ "day": day - 1, "daily_charged": 1 }), "nothing is charged");
    let used_up = format!("day = {day}, daily_charged = 100, welcome_left = 0");
    world.edge.set(&account.email, &used_up).await;
    for other_key in ["order-4712-no-units", key, "order-4713-no-units", key] {
        let expected = if other_key == key { 200 } else { 429 };
        assert_eq!(account.check_under(other_key, address).await.status, expected, "{other_key}");
    }
    assert_eq!(account.check(address).await.status, 429, "without a key it is another check");
    world.edge.set(&account.email, "daily_charged = 50").await;
    world.edge.sql("UPDATE idempotency_keys SET expires_at = 1", &[]).await;
    // The isolate remembers for ten seconds that no unit is left, but still looks up stored responses.
    assert_eq!(account.check_under(key, "ok-later@keys.example").await.status, 200);
    assert_eq!(world.charged(&account).await, 51, "a forgotten key is a new one");
}

#[tokio::test]
async fn a_key_has_16_to_255_printable_characters() {
    let (world, _turn) = world().await;
    let account = world.edge.account().await;
    let long = "k".repeat(256);
    for key in [
        "",
        "fifteen-charact",
        &long,
        "with a space in it",
        "tabs\tare\tno\tgood",
        "ümläuts-are-none-of-them",
    ] {
        let reply = account.check_under(key, "ok-bounds@keys.example").await;
        let error = reply.body["detail"]["error"].as_str().unwrap_or_default();
        assert!(reply.status == 400 && error.contains("16 to 255"), "{key}: {}", reply.body);
    }
    // A repeated header is one value with a comma and a space.
    let twice = account.anonymous.check_request(&account.api_key, "ok-bounds@keys.example");
    let twice = twice.header("idempotency-key", "one-key-of-two-here");
    assert_eq!(send(twice.header("idempotency-key", "one-key-of-two-here")).await.status, 400);
    for key in ["sixteen-characte", &long[1..]] {
        assert_eq!(account.check_under(key, "ok-bounds@keys.example").await.status, 200);
    }
    let junk = account.anonymous.check_request("junk", "ok-bounds@keys.example");
    assert_eq!(send(junk.header("idempotency-key", "short")).await.status, 401, "the key first");
    assert_eq!((world.charged(&account).await, world.stored_key_count(&account).await), (2, 2));
}

#[tokio::test]
async fn while_the_first_is_in_flight_a_repeat_is_409_and_a_failure_frees_the_key() {
    let (world, _turn) = world().await;
    let account = world.edge.account().await;
    today().await;
    let (key, address) = ("order-in-flight-0001", "held-flight@keys.example");
    let first = world.hold(&account, key, address).await;
    let reply = account.check_under(key, address).await;
    reply.assert_error(409, "idempotency_key_in_use", address);
    assert_eq!(reply.header("retry-after"), "1");
    for other in ["ok-another@keys.example", "no address"] {
        let reply = account.check_under(key, other).await;
        reply.assert_error(422, "idempotency_key_reused", other);
    }
    world.origin.release(address, Conduct::Answer(500, "{}"));
    assert_eq!(first.await.unwrap().status, 502);
    assert_eq!(account.check_under(key, address).await.status, 502, "asked again");
    world.origin.release(address, Conduct::Verdict(Status::FatalException));
    let fatal = account.check_under(key, address).await;
    assert_eq!((fatal.status, &fatal.body["status"]), (200, &json!("fatal_exception")));
    assert_eq!((world.charged(&account).await, world.stored_key_count(&account).await), (0, 0));
    world.origin.release(address, ACCEPTED);
    assert_eq!(account.check_under(key, address).await.body, verdict(address, false));
    assert_eq!(account.check_under(key, address).await.body, verdict(address, true));
    assert_eq!((world.charged(&account).await, world.origin.probes_of(address)), (1, 4));

    // The client leaves; its check continues, and the repeat gets that check's response.
    let address = "held-leaver@keys.example";
    let header = "Idempotency-Key: order-of-one-who-left\r\n";
    let leaver = AbortingClient::check_with(&world.edge.direct, &account, address, header);
    let leaver = leaver.await.unwrap();
    world.origin.wait_for_probe(address).await;
    leaver.abort().unwrap();
    world.origin.release(address, ACCEPTED);
    let repeat = patiently(&account, "order-of-one-who-left", address).await;
    assert_eq!(repeat.parts(), (200, &verdict(address, true)));
    assert_eq!((world.charged(&account).await, world.origin.probes_of(address)), (2, 1));
}

#[tokio::test]
async fn a_lease_that_dies_frees_its_key_and_of_two_that_live_one_is_charged() {
    let (world, _turn) = world().await;
    let account = world.edge.account().await;
    today().await;
    // The first request's Worker has ended or is too late, so the request's lease has expired.
    for (n, (key, revived)) in
        [("order-of-the-dead-01", false), ("order-of-two-clocks", true)].into_iter().enumerate()
    {
        let address = format!("held-dead-{n}@keys.example");
        let first = world.hold(&account, key, &address).await;
        world.leases(&account, "expires_at = 1").await;
        let second = world.hold(&account, key, &address).await;
        if revived {
            // By a slow clock, both leases are still alive.
            world.leases(&account, "expires_at = unixepoch() + 300").await;
            assert_eq!(world.edge.leases(&account.email).await.len(), 2);
        }
        world.origin.release(&address, ACCEPTED);
        let mut statuses = [first.await.unwrap().status, second.await.unwrap().status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 502], "revived: {revived}");
        assert_eq!(world.charged(&account).await, n as u64 + 1, "revived: {revived}");
        assert_eq!(account.check_under(key, &address).await.status, 200);
        world.leases(&account, "expires_at = 1").await;
        assert_eq!(world.charged(&account).await, n as u64 + 1);
    }
}

#[tokio::test]
async fn a_reply_of_the_database_that_is_lost_charges_nothing_twice() {
    let (world, _turn) = world().await;
    let account = world.edge.account().await;
    today().await;
    let fault = |statements, late| Fault {
        part: "d1",
        statements,
        times: 1,
        error: "injected",
        late,
        ..Fault::default()
    };
    const CHARGE: &[&str] = &["select room", "update accounts", "insert idempotency_keys"];
    const LEASE: &[&str] = &["select room", "insert leases"];
    const SETTLE: &[&str] = &["update accounts", "insert idempotency_keys", "delete leases"];
    let mut expected = 0;
    for (n, late) in [false, true].into_iter().enumerate() {
        for (statements, address, status) in [
            (CHARGE, "no address".to_owned(), 200),
            (LEASE, format!("ok-lease-{n}@keys.example"), 503),
            (SETTLE, format!("ok-settle-{n}@keys.example"), 200),
        ] {
            let key = format!("lost-reply-{n}-{}", address.replace(' ', "-"));
            let key = &format!("{key:-<20}");
            world.edge.fail(&[fault(statements, late)]).await;
            let first = account.check_under(key, &address).await;
            assert_eq!(first.status, status, "{statements:?} {late}: {}", first.body);
            let repeat = account.check_under(key, &address).await;
            assert_eq!(repeat.status, 200, "{statements:?} {late}: {}", repeat.body);
            expected += 1;
            assert_eq!(world.charged(&account).await, expected, "{statements:?} {late}");
        }
    }
    assert_eq!(world.edge.leases(&account.email).await, [] as [Value; 0]);
}
