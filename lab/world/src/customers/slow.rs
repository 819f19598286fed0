//! Owners of slow domains: each checks a domain whose server replies late or never.

use std::{sync::Arc, time::Duration};

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use tokio::{task::JoinSet, time::sleep};

use super::free;
use crate::{desk::Desk, town::address_at};

const PAUSE: Duration = Duration::from_secs(4);
/// Domains with a tarpit, or behind a gateway to a server that never replies.
const DOMAINS: [&str; 5] =
    ["town-mc3.net", "town-mc17.net", "town-pp5.net", "town-b0.net", "town-b5.net"];

/// Runs an owner until the task is aborted.
pub async fn own(desk: Arc<Desk>, number: usize, seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let asker = free(&format!("slow{number}"));
    let domain = DOMAINS[number % DOMAINS.len()];
    let mut running = JoinSet::new();
    loop {
        sleep(PAUSE.mul_f64(random.random_range(0.5..1.5))).await;
        let Some(address) = address_at(domain, 0.0, &mut random) else { continue };
        let (desk, asker) = (desk.clone(), asker.clone());
        running.spawn(async move {
            desk.single(&asker, &address).await;
        });
        while running.try_join_next().is_some() {}
    }
}
