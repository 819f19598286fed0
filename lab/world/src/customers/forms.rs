//! Sign-up forms: one check per visitor, more by day than at night; 5 % of the addresses are dead.

use std::{f64::consts::PI, sync::Arc, time::Duration};

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use tokio::{task::JoinSet, time::sleep};

use super::{free, paying};
use crate::{
    desk::Desk,
    results::{Results, SingleRecord},
    town::address_at,
};

const DEAD_SHARE: f64 = 0.05;

/// The time until the next visitor: a Poisson process whose rate at 3 a.m. is a ninth of that at 3 p.m.
pub fn pause(checks_a_day: f64, hour: f64, random: &mut StdRng) -> Duration {
    let part_of_day = 0.8f64.mul_add(-((hour - 3.0) / 24.0 * 2.0 * PI).cos(), 1.0);
    let rate = (checks_a_day / 86_400.0 * part_of_day).max(1e-9);
    let drawn: f64 = random.random_range(f64::EPSILON..1.0);
    Duration::from_secs_f64((-drawn.ln() / rate).min(6.0 * 3_600.0))
}

/// Runs a form until the task is aborted. Every second account pays.
pub async fn visit(
    desk: Arc<Desk>,
    results: Arc<Results>,
    number: usize,
    checks: usize,
    seed: u64,
) {
    let mut random = StdRng::seed_from_u64(seed);
    let name = format!("form{number}");
    let asker = if number.is_multiple_of(2) { paying(&name) } else { free(&name) };
    let mut running = JoinSet::new();
    loop {
        sleep(pause(checks as f64, desk.observations.clock.hour(), &mut random)).await;
        let domain = desk.town.domain(&mut random).to_owned();
        let Some(address) = address_at(&domain, DEAD_SHARE, &mut random) else { continue };
        let (desk, results, asker) = (desk.clone(), results.clone(), asker.clone());
        running.spawn(async move {
            let at = desk.observations.clock.now();
            let answer = desk.single(&asker, &address).await;
            let kind = desk.town.kind_of(&domain);
            results.single(SingleRecord {
                at,
                took: answer.took,
                is_answered: answer.is_answered(),
                is_decided: answer.is_decided(),
                kind,
            });
        });
        while running.try_join_next().is_some() {}
    }
}
