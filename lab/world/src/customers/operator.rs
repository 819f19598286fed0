//! The operator of the service, who restarts the origins in turn, one each night, and adds source addresses.

use std::sync::Arc;

use anyhow::Result;
use tokio::time::sleep;

use crate::{
    clock::{DAY, HOUR},
    desk::Desk,
    plan::Added,
};

/// Time in which the shipped rates of a new source address double.
const DOUBLING_S: f64 = 2.0 * 24.0 * 3_600.0;

/// Restarts one origin each night at three o'clock, until the task is aborted.
pub async fn restart_nightly(desk: Arc<Desk>, origins: usize) {
    sleep(3 * HOUR).await;
    for origin in (0..origins.max(1)).cycle() {
        if desk.restart(origin).await.is_err() {
            return;
        }
        sleep(DAY).await;
    }
}

/// Adds a source address to each origin, and updates its warm-up until the task is aborted. The shipped rates
/// apply; the date of first use is shifted to simulate another doubling time.
pub async fn add_source(desk: Arc<Desk>, origins: usize, added: Added) {
    sleep(added.at).await;
    let started = desk.observations.clock.now();
    let all: Result<Vec<()>> = (0..origins).map(|origin| desk.add_source(origin)).collect();
    if all.is_err() {
        return;
    }
    loop {
        let clock = desk.observations.clock;
        let age = (clock.now() - started).as_secs_f64();
        let shifted = age * DOUBLING_S / added.doubles_in.as_secs_f64();
        for origin in 0..origins {
            desk.set_new_since(origin, clock.unix_now().saturating_sub(shifted as u64));
        }
        sleep(HOUR / 4).await;
    }
}
