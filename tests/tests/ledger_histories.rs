//! Trust Q2: random histories against the real Worker and D1, the invariants checked after every step.

use std::{env, sync::Arc, time::Duration};

use rcpt_tests::ledger::{Step, World, shrink::shrink, step::history};
use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{Instant, timeout},
};

/// Steps in total; `LEDGER_STEPS` changes it.
const STEPS: usize = 10_000;
/// Steps of one account: enough for some twenty midnights and as many plans.
const LENGTH: usize = 200;
/// Accounts at a time.
const AT_ONCE: usize = 12;
/// Runs to make a failing history short.
const ATTEMPTS: usize = 60;

fn from_env(name: &str) -> Option<u64> {
    env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name}={value}")))
}

/// What goes wrong in this history, if anything.
async fn fault(world: &World, steps: &[Step]) -> Option<String> {
    // A history of 200 steps takes seconds; a hung one must not hang the search.
    match timeout(Duration::from_secs(120), world.play(steps)).await {
        Ok(played) => played.err().map(|error| format!("{error:#}")),
        Err(_) => Some("it takes longer than two minutes".to_owned()),
    }
}

/// The shortest failing part of a failing history, and what goes wrong in it.
async fn shortest(world: &World, steps: Vec<Step>) -> (Vec<Step>, String) {
    let short = shrink(steps, ATTEMPTS, async |part| fault(world, part).await.is_some()).await;
    let fault = fault(world, &short).await.unwrap_or_else(|| "not every time".to_owned());
    (short, fault)
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_random_steps_leave_every_invariant_whole() {
    let total = from_env("LEDGER_STEPS").map_or(STEPS, |steps| steps.try_into().unwrap());
    let seed = from_env("LEDGER_SEED").unwrap_or_else(|| u64::from(rand_seed()));
    println!("LEDGER_SEED={seed}");
    let world = Arc::new(World::start().await.unwrap());
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let started = Instant::now();
    let mut histories = JoinSet::new();
    for n in 0..total.div_ceil(LENGTH) {
        let (world, places) = (Arc::clone(&world), Arc::clone(&places));
        let steps = history(seed.wrapping_add(n as u64), LENGTH);
        histories.spawn(async move {
            let _place = places.acquire().await.unwrap();
            fault(&world, &steps).await.map(|fault| (steps, fault))
        });
    }
    let mut played = 0;
    while let Some(outcome) = histories.join_next().await {
        if let Some((steps, first)) = outcome.unwrap() {
            histories.shutdown().await;
            let (short, fault) = shortest(&world, steps).await;
            panic!("LEDGER_SEED={seed}: {first}\nshortest: {short:?}\n{fault}");
        }
        played += LENGTH;
    }
    println!("{played} steps, 0 violations, in {:?}", started.elapsed());
}

fn rand_seed() -> u32 {
    rcpt_tests::clock::now() as u32
}

/// A proof that cannot fail proves nothing: a database that forgets now and then is found out.
#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_that_loses_a_charge_is_found_and_its_history_made_short() {
    let world = World::start().await.unwrap();
    let forget = "CREATE TRIGGER forget AFTER UPDATE OF daily_charged ON accounts
                  WHEN NEW.daily_charged = 3 AND OLD.daily_charged = 2
                  BEGIN UPDATE accounts SET daily_charged = 2 WHERE id = NEW.id; END";
    world.edge.sql(forget, &[]).await;
    let steps = history(1, 60);
    assert!(fault(&world, &steps).await.is_some());
    let (short, fault) = shortest(&world, steps).await;
    println!("{short:?}: {fault}");
    // Three charges on one day are needed, and one step can be all of them.
    assert!(short.len() <= 3, "{short:?}");
    assert!(fault.contains("(3, 5) 2 charged for 3"), "{fault}");
}
