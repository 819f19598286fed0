//! Attackers: an account with a dictionary, a crowd of accounts that each stay under every limit, and attackers who
//! keep changing accounts.

use std::{sync::Arc, time::Duration};

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use rcpt_pool::Asker;
use tokio::{task::JoinSet, time::sleep};

use super::{free, paying};
use crate::{desk::Desk, town::address_at};

/// Share of guesses that are wrong.
const DEAD_SHARE: f64 = 0.98;
/// Pause between two guesses of the single account, and of each account in the crowd.
const DICTIONARY_PAUSE: Duration = Duration::from_secs(2);
const CROWD_PAUSE: Duration = Duration::from_secs(120);
/// Guesses per account of an attacker who keeps changing accounts.
const GUESSES_PER_ACCOUNT: u64 = 20;

/// Kinds of servers that the attacker guesses at.
const KINDS: [&str; 3] = ["google", "microsoft", "shared_hosting"];

/// Runs an account with a dictionary until the task is aborted.
pub async fn dictionary(desk: Arc<Desk>, seed: u64) {
    guess(desk, |_| paying("dictionary"), DICTIONARY_PAUSE, seed).await;
}

/// Runs one account of the crowd until the task is aborted.
pub async fn one_of_crowd(desk: Arc<Desk>, number: usize, seed: u64) {
    guess(desk, |_| free(&format!("crowd{number}")), CROWD_PAUSE, seed).await;
}

/// Runs an attacker who pays for another account after a few guesses, so that no account has a history, until the task
/// is aborted.
pub async fn newcomer(desk: Arc<Desk>, number: usize, seed: u64) {
    let account = |guesses| paying(&format!("newcomer{number}-{}", guesses / GUESSES_PER_ACCOUNT));
    guess(desk, account, CROWD_PAUSE, seed).await;
}

/// `account` chooses the account for each guess.
async fn guess(desk: Arc<Desk>, account: impl Fn(u64) -> Asker, pause: Duration, seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut running = JoinSet::new();
    for guesses in 0.. {
        sleep(pause.mul_f64(random.random_range(0.5..1.5))).await;
        let kind = KINDS[random.random_range(0..KINDS.len())];
        let domain = desk.town.domain_of(kind, &mut random).to_owned();
        let Some(address) = address_at(&domain, DEAD_SHARE, &mut random) else { continue };
        let (desk, asker) = (desk.clone(), account(guesses));
        running.spawn(async move {
            desk.single(&asker, &address).await;
        });
        while running.try_join_next().is_some() {}
    }
}
