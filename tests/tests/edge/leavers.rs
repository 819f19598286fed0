//! Clients that leave during a check. The check is charged once if it has reached an origin, causes no additional work,
//! and leaves nothing in memory (docs/security.md, B4 and B7).
//!
//! - B4: 1,000 clients leave after 0.1 to 9 s in the long form: as many charges as probes, and never more probes in
//!   flight than the plan allows.
//! - B7: the Worker's linear memory is the same before and after 20,000 of them.

use std::time::Duration;

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use rcpt_shared::Status;
use rcpt_tests::{
    AbortingClient, Account, Conduct, Edge, FakeOrigin, process::turn, proof, service::wasm_bytes,
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

const PATIENCE: Duration = Duration::from_secs(60);

async fn edge(answers_after: Duration) -> (Edge, FakeOrigin) {
    let origin = FakeOrigin::start(move |_| Conduct::Late(Status::Accepted, answers_after));
    let edge = Edge::builder().origins(&[&origin.url]);
    // The budget is raised, because a check that exceeds it is free: on a busy machine, a thousand checks take longer
    // than in production.
    let edge = edge.var("UPSTREAM_BUDGET_MS", "40000").var("LEASE_TTL_SECONDS", "90");
    (edge.start().await.unwrap(), origin)
}

async fn on_plan(edge: &Edge, plan: &str) -> Account {
    let account = edge.account().await;
    edge.set(&account.email, &format!("plan = '{plan}'")).await;
    account
}

/// Sends these checks, one per `pace`; each client leaves after the time given with its check.
async fn leave(edge: &Edge, pace: Duration, checks: Vec<(Account, String, Duration)>) {
    let mut leavers = JoinSet::new();
    for (account, address, after) in checks {
        sleep(pace).await;
        let direct = edge.direct.clone();
        leavers.spawn(async move {
            let leaver = AbortingClient::check(&direct, &account, &address).await.unwrap();
            sleep(after).await;
            leaver.abort().unwrap();
        });
    }
    leavers.join_all().await;
}

/// Waits until no check is in flight.
async fn wait_until_settled(edge: &Edge) {
    let deadline = Instant::now() + PATIENCE;
    let live = "SELECT id FROM leases WHERE expires_at > unixepoch() LIMIT 1";
    loop {
        // The last checks may not have their leases yet.
        sleep(Duration::from_millis(500)).await;
        if edge.sql(live, &[]).await.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "still in flight");
    }
}

fn probes_of(origin: &FakeOrigin, account: usize) -> usize {
    let domain = format!("@of-{account}.example");
    origin.probes().iter().filter(|probe| probe.address.ends_with(&domain)).count()
}

async fn charged(edge: &Edge, account: &Account) -> u64 {
    edge.row(&account.email, "daily_charged").await["daily_charged"].as_u64().unwrap()
}

#[tokio::test]
async fn every_probe_that_reached_an_origin_is_charged_once_whenever_its_client_left() {
    let _turn = turn().await;
    let (leavers, longest) = (proof::count(80, 1_000), proof::count(1_500, 9_000) as u64);
    let (edge, origin) = edge(Duration::from_millis(longest + 500)).await;
    let seed = 20_261_122;
    let mut random = StdRng::seed_from_u64(seed);
    let mut accounts = Vec::new();
    for _ in 0..4 {
        accounts.push(on_plan(&edge, "unlimited").await);
    }
    let checks = (0..leavers).map(|n| {
        let after = Duration::from_millis(random.random_range(100..=longest));
        let of = n % accounts.len();
        (accounts[of].clone(), format!("left-{n}@of-{of}.example"), after)
    });
    // A hundred checks a second, each held for seconds, give hundreds of concurrent requests. A flood of new
    // connections would really silence the origin.
    leave(&edge, Duration::from_millis(10), checks.collect()).await;
    wait_until_settled(&edge).await;
    let mut probes = 0;
    for (of, account) in accounts.iter().enumerate() {
        let request_count = probes_of(&origin, of);
        assert_eq!(
            charged(&edge, account).await,
            request_count as u64,
            "account {of}, seed {seed}"
        );
        probes += request_count;
    }
    println!("{leavers} leavers after 0.1 to {longest} ms: {probes} probes, as many charged");
    assert!(probes > leavers / 2 && probes <= leavers, "{probes}");
}

#[tokio::test]
async fn nobody_holds_more_of_an_origin_by_leaving() {
    const SHARE: usize = 10;
    const HELD: Duration = Duration::from_secs(9);
    let (edge, origin) = edge(HELD).await;
    let account = on_plan(&edge, "free").await;
    let started = Instant::now();
    for wave in 0..proof::count(3, 20) {
        let checks = (0..20).map(|n| {
            let address = format!("greedy-{wave}-{n}@of-0.example");
            (account.clone(), address, Duration::from_millis(50))
        });
        leave(&edge, Duration::ZERO, checks.collect()).await;
    }
    let live = edge.leases(&account.email).await.len();
    let request_count = probes_of(&origin, 0);
    let rounds = started.elapsed().as_secs() / HELD.as_secs() + 1;
    wait_until_settled(&edge).await;
    assert!(
        live <= SHARE && request_count as u64 <= SHARE as u64 * rounds,
        "{live} live, {request_count} asked"
    );
    assert_eq!(charged(&edge, &account).await, probes_of(&origin, 0) as u64);
}

#[tokio::test]
async fn clients_that_leave_leave_nothing_in_memory() {
    const AT_ONCE: usize = 200;
    let _turn = turn().await;
    let (edge, _origin) = edge(Duration::from_millis(150)).await;
    let account = on_plan(&edge, "unlimited").await;
    let wave = async |name: &str| {
        let checks = (0..AT_ONCE).map(|n| {
            let address = format!("{name}-{n}@memory.example");
            (account.clone(), address, Duration::from_millis(60))
        });
        leave(&edge, Duration::ZERO, checks.collect()).await;
        wait_until_settled(&edge).await;
    };
    // Memory grows to the peak of these concurrent requests.
    for n in 0..proof::count(3, 10) {
        wave(&format!("warm-{n}")).await;
    }
    let before = wasm_bytes(&edge).unwrap();
    let waves = proof::count(3, 100);
    for n in 0..waves {
        wave(&format!("wave-{n}")).await;
    }
    let after = wasm_bytes(&edge).unwrap();
    println!("{} leavers: {before} bytes before, {after} after", waves * AT_ONCE);
    // Memory grows in pages of 64 KiB.
    assert_eq!(after, before);
}
