//! Random histories of an account with the real Worker and D1, compared with a model. The invariants are checked after
//! every step (docs/security.md, Q2).
//!
//! The Worker's clock can't be changed, so time passes in the database instead. A lease's end is set to the past, and at
//! midnight all records of the account age by a day. Every statement behaves as if the clock had moved, because these
//! columns are compared only with the clock.
//!
//! - At least 10,000 steps in the long form, with pending answers, and lists of which some units are charged and the
//!   others returned.
//! - The invariants: charges and live leases never exceed the allowances; a lease ends once; an answer that counts has
//!   one charge, and nothing else has; the report equals the ledger; 502 and `fatal_exception` aren't counted.

mod compare;
mod keys;
mod lists;
mod model;
mod operations;
mod run;
mod step;
mod world;

use std::{env, ops::Range, sync::Arc};

use proptest::{
    collection::vec,
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use rcpt_tests::{process::turn, proof, service::clock};
use tokio::{sync::Semaphore, task::JoinSet, time::Instant};

use step::{Step, step};
use world::World;

/// Maximum number of steps of one account: enough for about twenty midnights and as many plans.
const LENGTH: usize = 200;
/// Number of concurrent accounts.
const AT_ONCE: usize = 12;
/// Maximum number of attempts to shorten a failing history.
const ATTEMPTS: usize = 200;

type History = dyn ValueTree<Value = Vec<Step>>;

/// The number in `LEDGER_STEPS`, if it is set.
fn steps_wanted() -> Option<usize> {
    let steps = env::var("LEDGER_STEPS").ok()?;
    Some(steps.parse().unwrap_or_else(|_| panic!("LEDGER_STEPS={steps}")))
}

/// A history of up to `length` steps, which depends on the seed alone.
fn history(seed: u64, length: usize) -> Box<History> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    Box::new(vec(step(), 0..=length).new_tree(&mut runner).expect("no step is ever rejected"))
}

/// Plays the history, and returns its error, if any, with the Worker's latest log lines.
async fn fault(world: &World, steps: &[Step]) -> Option<String> {
    loop {
        let day = clock::today().await;
        let error = world.play(steps).await.err()?;
        // An error during a real midnight isn't reported.
        if clock::today().await == day {
            return Some(format!("{error:#}\n{}", world.edge.process.last_lines()));
        }
    }
}

/// The shortest failing part found of a failing history, and its error.
async fn shortest(world: &World, mut history: Box<History>, first: String) -> (Vec<Step>, String) {
    let mut shortest = (history.current(), first);
    let mut can_go_on = history.simplify();
    for _ in 0..ATTEMPTS {
        if !can_go_on {
            break;
        }
        let steps = history.current();
        can_go_on = match fault(world, &steps).await {
            Some(fault) => {
                shortest = (steps, fault);
                history.simplify()
            }
            None => history.complicate(),
        };
    }
    shortest
}

/// Plays the histories of these seeds, and asserts that none fails.
async fn assert_none_fails(world: &Arc<World>, seeds: Range<u64>) {
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    let mut histories = JoinSet::new();
    for seed in seeds {
        let (world, permits) = (Arc::clone(world), Arc::clone(&permits));
        let steps = history(seed, LENGTH).current();
        histories.spawn(async move {
            let _permit = permits.acquire().await.unwrap();
            fault(&world, &steps).await.map(|fault| (seed, fault))
        });
    }
    while let Some(outcome) = histories.join_next().await {
        if let Some((seed, first)) = outcome.unwrap() {
            histories.shutdown().await;
            let (steps, fault) = shortest(world, history(seed, LENGTH), first.clone()).await;
            panic!("SEED={seed}: {first}\nshortest: {steps:?}\n{fault}");
        }
    }
}

/// The number of databases with accounts.
async fn inhabited(world: &World) -> usize {
    let lives = "SELECT DISTINCT substr(id, 1, 2) AS number FROM accounts";
    world.edge.sql(lives, &[]).await.len()
}

/// Runs histories of at least `total` steps together, and asserts that none fails.
async fn assert_whole(world: World, total: usize) {
    let first_seed = proof::seed();
    let world = Arc::new(world);
    let started = Instant::now();
    let (mut planned, mut end) = (0, first_seed);
    while planned < total {
        planned += history(end, LENGTH).current().len();
        end += 1;
    }
    assert_none_fails(&world, first_seed..end).await;
    // The database of each account is chosen at random, so a few accounts can all be in one database.
    while inhabited(&world).await < 2 {
        assert!(end < first_seed + 100, "the accounts are in one database");
        planned += history(end, LENGTH).current().len();
        assert_none_fails(&world, end..end + 1).await;
        end += 1;
    }
    let inhabited = inhabited(&world).await;
    println!("{planned} steps in {inhabited} databases, 0 violations, in {:?}", started.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn random_steps_leave_every_invariant_whole() {
    let _turn = turn().await;
    let total = steps_wanted().unwrap_or_else(|| proof::count(1_000, 10_000));
    assert_whole(World::start().await.unwrap(), total).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_steps_beside_a_failing_database_leave_every_invariant_whole() {
    let _turn = turn().await;
    let world = World::with_a_failing_database().await.unwrap();
    assert_whole(world, proof::count(300, 3_000)).await;
}

#[test]
fn a_seed_is_a_history() {
    assert_eq!(history(7, 100).current(), history(7, 100).current());
    assert_ne!(history(7, 100).current(), history(8, 100).current());
}

/// A proof must be able to fail: a database that occasionally loses writes is detected.
#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_that_loses_a_charge_is_found_and_its_history_made_short() {
    let _turn = turn().await;
    let world = World::start().await.unwrap();
    let forget = "CREATE TRIGGER forget AFTER UPDATE OF daily_charged ON accounts
                  WHEN NEW.daily_charged = 3 AND OLD.daily_charged = 2
                  BEGIN UPDATE accounts SET daily_charged = 2 WHERE id = NEW.id; END";
    world.edge.sql(forget, &[]).await;
    let mut first_hit = None;
    for seed in 1..=20 {
        let history = history(seed, 40);
        if let Some(fault) = fault(&world, &history.current()).await {
            first_hit = Some((history, fault));
            break;
        }
    }
    let (history, first) = first_hit.expect("one of twenty histories has three charges on one day");
    let (steps, fault) = shortest(&world, history, first).await;
    println!("{steps:?}: {fault}");
    // Three charges on one day are required, and one step can cause all three.
    assert!(steps.len() <= 3, "{steps:?}");
    assert!(fault.contains("(3, 5) 2 charged for 3"), "{fault}");
}
