//! The quota ledger under concurrency, expiry and midnight (docs/security.md, Q1 and Q5).
//!
//! - Q1: of 1,000 checks at once with 100 units left, 100 get 200 and 900 get 429 with the right `Retry-After`; daily
//!   checks go first, then welcome checks; a list reserves all of its units or none.
//! - Q5: a check or list leased on one day and settled on the next is charged to the first.

use rcpt_shared::Status;
use rcpt_tests::{
    Account, Anonymous, Conduct, Edge, Reply, Stack,
    people::{EmailChecks, send_at_once},
    process::turn,
    proof,
    service::clock::{self, resets_at, seconds_to_reset, today},
};
use serde_json::{Value, json};
use tokio::{
    sync::{MutexGuard, OnceCell},
    task::JoinHandle,
    time::Instant,
};

use crate::{World, world};

impl World {
    /// Releases the verdict of a held check, and returns the edge's response.
    async fn finish(&self, check: JoinHandle<Reply>, address: &str) -> Reply {
        self.origin.release(address, Conduct::Verdict(Status::Accepted));
        check.await.unwrap()
    }

    async fn ledger(&self, account: &Account) -> Value {
        let columns = "day, daily_charged, previous_day, previous_charged, welcome_left";
        self.edge.row(&account.email, columns).await
    }

    async fn insert_lease(&self, account: &Account, source: &str, day: u64, expires_at: u64) {
        let id = self.edge.id(&account.email).await;
        let lease = format!("{id}-{source}-{day}-{expires_at}");
        let sql = "INSERT INTO leases (id, account_id, day, n_daily, n_welcome, expires_at)
                   VALUES (?1, ?2, ?3, ?4 = 'daily', ?4 = 'welcome', ?5)";
        let account = id.as_str().into();
        let params = [lease.into(), account, day.into(), source.into(), expires_at.into()];
        self.edge.sql_of(&id, sql, &params).await;
    }
}

fn ledger(day: u64, charged: u64, previous_day: u64, previous_charged: u64, welcome: u64) -> Value {
    json!({
        "day": day, "daily_charged": charged,
        "previous_day": previous_day, "previous_charged": previous_charged,
        "welcome_left": welcome,
    })
}

const UPSTREAM: &str =
    "Upstream error: the check couldn't be completed and wasn't counted. Retry in 5 seconds.";

// --- Q1: never over, never under

/// A stack that accepts all concurrent requests of a test, and gives each check enough time, because speed
/// isn't tested.
///
/// One test at a time uses the stack, because so many concurrent checks keep two cores busy.
async fn stack() -> (&'static Stack, MutexGuard<'static, ()>) {
    static STACK: OnceCell<Stack> = OnceCell::const_new();
    let turn = turn().await;
    let start = async || {
        let stack = Stack::builder().origin_env("RCPT_MAX_PROBES", "2000");
        let stack = stack.edge_var("UPSTREAM_BUDGET_MS", "60000");
        let stack = stack.edge_var("LEASE_TTL_SECONDS", "300").start().await;
        // Other tests cover the limit of checks in flight.
        stack.edge.sql("UPDATE plans SET max_in_flight = 10000", &[]).await;
        stack
    };
    (STACK.get_or_init(start).await, turn)
}

/// Sends all checks concurrently, and asserts that exactly 100 get a 200 and all others the documented 429.
/// The hundred responses.
async fn assert_exactly_a_hundred(
    edge: &Edge,
    account: &Account,
    what: &str,
    address: impl Fn(usize) -> String,
) -> Vec<Reply> {
    let count = proof::count(300, 1_000);
    let direct = Anonymous::new(&edge.direct);
    let request = |n| direct.check_request(&account.api_key, &address(n));
    let requests: Vec<_> = (0..count).map(request).collect();
    let day = today().await;
    let started = Instant::now();
    let replies = send_at_once(requests).await;
    let (taken, refused): (Vec<_>, Vec<_>) =
        replies.into_iter().partition(|reply| reply.status == 200);
    println!("{what}: {} × 200 of {count} in {:?}", taken.len(), started.elapsed());
    let resets_at = resets_at(day);
    for reply in &refused {
        assert_eq!(reply.status, 429, "{}", reply.body);
        assert_eq!(reply.body["detail"]["limit"], "email check");
        assert_eq!(reply.body["detail"]["resets_at"], resets_at.as_str());
        let retry_after: u64 = reply.header("retry-after").parse().unwrap();
        // Each value was right at some time since `started`.
        let seconds_left = seconds_to_reset();
        let passed = started.elapsed().as_secs() + 1;
        assert!(
            (seconds_left..=seconds_left + passed).contains(&retry_after),
            "{retry_after}, now {seconds_left}"
        );
    }
    assert_eq!((taken.len(), refused.len()), (100, count - 100));
    taken
}

async fn assert_nothing_left(edge: &Edge, account: &Account, welcome_charged: i64) {
    let checks = account.email_checks().await;
    let expected =
        EmailChecks { daily_allowance: 100, used_today: 100, left_today: 0, welcome_left: 0 };
    assert_eq!(checks, expected, "{welcome_charged} from the welcome checks");
    assert_eq!(edge.leases(&account.email).await, [] as [Value; 0]);
    let row = edge.row(&account.email, "daily_charged, welcome_left").await;
    assert_eq!(row, json!({ "daily_charged": 100, "welcome_left": 0 }));
}

#[tokio::test]
async fn of_many_fresh_checks_at_once_with_a_hundred_left_exactly_a_hundred_are_answered() {
    let (Stack { edge, .. }, _turn) = stack().await;
    let account = edge.account().await;
    edge.set(&account.email, "welcome_left = 0").await;
    let address = |n| format!("fresh-{n}@catchall.sandbox.test");
    let seconds = assert_exactly_a_hundred(edge, &account, "fresh, daily", address).await;
    for reply in seconds {
        assert_eq!((&reply.body["status"], &reply.body["cached"]), (&json!(true), &json!(false)));
    }
    assert_nothing_left(edge, &account, 0).await;
}

#[tokio::test]
async fn sixty_daily_and_forty_welcome_checks_are_also_exactly_a_hundred() {
    let (Stack { edge, .. }, _turn) = stack().await;
    let account = edge.account().await;
    let day = today().await;
    let expected_row = format!("day = {day}, daily_charged = 40, welcome_left = 40");
    edge.set(&account.email, &expected_row).await;
    let address = |n| format!("both-{n}@catchall.sandbox.test");
    assert_exactly_a_hundred(edge, &account, "fresh, daily and welcome", address).await;
    assert_nothing_left(edge, &account, 40).await;
}

#[tokio::test]
async fn cached_answers_and_invalid_formats_are_counted_just_as_exactly() {
    let (Stack { edge, .. }, _turn) = stack().await;
    let [account, other] = [edge.account().await, edge.account().await];
    let day = today().await;
    let expected_row = format!("day = {day}, daily_charged = 40, welcome_left = 40");
    edge.set(&account.email, &expected_row).await;
    let cached = "popular@catchall.sandbox.test";
    assert_eq!(other.check(cached).await.status, 200);
    let address = |n: usize| if n.is_multiple_of(2) { cached } else { "no address" }.to_owned();
    let seconds = assert_exactly_a_hundred(edge, &account, "cached and invalid", address).await;
    let is_cached = |reply: &&Reply| reply.body["cached"] == true;
    let is_invalid = |reply: &&Reply| reply.body["status"] == "invalid_format";
    let of_each =
        [seconds.iter().filter(is_cached).count(), seconds.iter().filter(is_invalid).count()];
    assert_eq!(of_each.iter().sum::<usize>(), 100, "{of_each:?}");
    assert_nothing_left(edge, &account, 40).await;
}

// --- leases

#[tokio::test]
async fn a_live_lease_counts_as_used_and_an_expired_one_does_not() {
    let world = world().await;
    let account = world.edge.account().await;
    let day = today().await;
    let now = clock::now();
    for (source, expires_at) in
        [("daily", now + 600), ("daily", now - 1), ("welcome", now + 600), ("welcome", now - 1)]
    {
        world.insert_lease(&account, source, day, expires_at).await;
    }
    let expected =
        EmailChecks { daily_allowance: 100, used_today: 1, left_today: 99, welcome_left: 49 };
    assert_eq!(account.email_checks().await, expected);
}

#[tokio::test]
async fn live_leases_alone_can_use_everything_up_and_expired_ones_make_room_again() {
    let world = world().await;
    let account = world.edge.account().await;
    let day = today().await;
    let full = format!("day = {day}, daily_charged = 99, welcome_left = 1");
    world.edge.set(&account.email, &full).await;
    let later = clock::now() + 600;
    world.insert_lease(&account, "daily", day, later).await;
    world.insert_lease(&account, "welcome", day, later).await;
    assert_eq!(account.check("no address").await.status, 429);
    assert_eq!(account.check("refused@leases.example").await.status, 429);
    assert_eq!(world.origin.probes_of("refused@leases.example"), 0);

    let id = world.edge.id(&account.email).await;
    let expire = "UPDATE leases SET expires_at = 1 WHERE account_id = ? AND n_daily = ?";
    world.edge.sql(expire, &[id.as_str().into(), 1.into()]).await;
    assert_eq!(account.check("no address").await.status, 200);
    assert_eq!(account.check("no address").await.status, 429);
    world.edge.sql(expire, &[id.as_str().into(), 0.into()]).await;
    assert_eq!(account.check("no address").await.status, 200);
    assert_eq!(account.check("no address").await.status, 429);
    assert_eq!(world.ledger(&account).await, ledger(day, 100, 0, 0, 0));
}

#[tokio::test]
async fn a_lease_of_another_day_takes_nothing_from_today() {
    let world = world().await;
    let account = world.edge.account().await;
    let day = today().await;
    let later = clock::now() + 600;
    world.insert_lease(&account, "daily", day - 1, later).await;
    world.insert_lease(&account, "welcome", day - 1, later).await;
    let expected =
        EmailChecks { daily_allowance: 100, used_today: 0, left_today: 100, welcome_left: 49 };
    assert_eq!(account.email_checks().await, expected, "welcome checks know no day");
}

#[tokio::test]
async fn a_lease_lives_for_thirty_seconds_and_says_what_it_holds() {
    let world = world().await;
    let account = world.edge.account().await;
    let day = today().await;
    let before = clock::now();
    let address = "held-alive@leases.example";
    let check = world.origin.hold(&account, address).await;
    let leases = world.edge.leases(&account.email).await;
    let [lease] = &leases[..] else { panic!("{leases:?}") };
    assert_eq!(
        (&lease["day"], &lease["n_daily"], &lease["n_welcome"]),
        (&json!(day), &json!(1), &json!(0))
    );
    let expires_at = lease["expires_at"].as_u64().unwrap();
    assert!((before + 30..=clock::now() + 30).contains(&expires_at), "{expires_at}");
    let reply = world.finish(check, address).await;
    let expected =
        json!({ "email": address, "verdict": "deliverable", "status": true, "cached": false });
    assert_eq!(reply.parts(), (200, &expected));
    assert_eq!(world.edge.leases(&account.email).await, [] as [Value; 0]);
    assert_eq!(world.ledger(&account).await, ledger(day, 1, 0, 0, 50));
}

/// Asserts the response to a check whose lease has ended, since another check may have got its unit.
async fn assert_too_late(change: &str, address: &'static str) {
    let world = world().await;
    let account = world.edge.account().await;
    today().await;
    let check = world.origin.hold(&account, address).await;
    let id = world.edge.id(&account.email).await;
    world.edge.sql(&format!("{change} WHERE account_id = ?"), &[id.into()]).await;
    let reply = world.finish(check, address).await;
    assert_eq!(
        reply.parts(),
        (502, &json!({ "detail": UPSTREAM, "code": "upstream" })),
        "{change}"
    );
    assert_eq!(world.ledger(&account).await, ledger(0, 0, 0, 0, 50), "{change}");
    assert_eq!(world.edge.leases(&account.email).await, [] as [Value; 0], "{change}");

    // The verdict wasn't charged, so it isn't cached either.
    assert_eq!(account.check(address).await.body["cached"], false, "{change}");
}

#[tokio::test]
async fn a_verdict_that_comes_after_the_lease_expired_is_502_and_not_counted() {
    assert_too_late("UPDATE leases SET expires_at = 1", "held-expired@leases.example").await;
}

#[tokio::test]
async fn a_verdict_that_comes_after_the_lease_was_cleared_away_is_502_and_not_counted() {
    assert_too_late("DELETE FROM leases", "held-deleted@leases.example").await;
}

#[tokio::test]
async fn a_key_replaced_during_a_check_does_not_make_the_check_free() {
    let world = world().await;
    let account = world.edge.account().await;
    let day = today().await;
    let address = "held-rotated@leases.example";
    let check = world.origin.hold(&account, address).await;
    assert_eq!(account.rotate_api_key().await.status, 200);
    assert_eq!(world.finish(check, address).await.status, 200);
    assert_eq!(world.ledger(&account).await, ledger(day, 1, 0, 0, 50));
}

// --- Q5: midnight. The test changes the account's day instead of the clock: while a check is held, the row gets the
// state after the next day's first charges.

#[tokio::test]
async fn a_check_leased_before_midnight_is_charged_to_the_day_before() {
    let world = world().await;
    let account = world.edge.account().await;
    let day = today().await;
    let address = "held-midnight@leases.example";
    let check = world.origin.hold(&account, address).await;
    let next_day =
        format!("day = {}, daily_charged = 7, previous_day = {day}, previous_charged = 3", day + 1);
    world.edge.set(&account.email, &next_day).await;
    assert_eq!(world.finish(check, address).await.status, 200);
    assert_eq!(world.ledger(&account).await, ledger(day + 1, 7, day, 4, 50));
}

#[tokio::test]
async fn a_check_leased_before_midnight_opens_its_own_day_if_it_is_the_first_to_be_charged() {
    let world = world().await;
    let account = world.edge.account().await;
    let day = today().await;
    let address = "held-first@leases.example";
    let yesterday = format!("day = {}, daily_charged = 9", day - 1);
    world.edge.set(&account.email, &yesterday).await;
    let check = world.origin.hold(&account, address).await;
    assert_eq!(world.finish(check, address).await.status, 200);
    assert_eq!(world.ledger(&account).await, ledger(day, 1, day - 1, 9, 50));
}

#[tokio::test]
async fn a_welcome_check_leased_before_midnight_is_taken_from_the_welcome_checks() {
    let world = world().await;
    let account = world.edge.account().await;
    let day = today().await;
    let address = "held-welcome@leases.example";
    world.edge.set(&account.email, &format!("day = {day}, daily_charged = 100")).await;
    let check = world.origin.hold(&account, address).await;
    let next_day = format!(
        "day = {}, daily_charged = 2, previous_day = {day}, previous_charged = 100",
        day + 1
    );
    world.edge.set(&account.email, &next_day).await;
    assert_eq!(world.finish(check, address).await.status, 200);
    assert_eq!(world.ledger(&account).await, ledger(day + 1, 2, day, 100, 49));
}

#[tokio::test]
async fn a_check_leased_before_midnight_on_an_otherwise_idle_day_is_charged_to_that_day() {
    let world = world().await;
    let account = world.edge.account().await;
    let day = today().await;
    let address = "held-idle@leases.example";
    let check = world.origin.hold(&account, address).await;
    // The next day's first charge has recorded an earlier day: the lease's own day has no charges yet.
    let next_day = format!(
        "day = {}, daily_charged = 1, previous_day = {}, previous_charged = 5",
        day + 1,
        day - 3
    );
    world.edge.set(&account.email, &next_day).await;
    assert_eq!(world.finish(check, address).await.status, 200);
    assert_eq!(world.ledger(&account).await, ledger(day + 1, 1, day, 1, 50));
}
