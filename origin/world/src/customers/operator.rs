//! The operator of the service, who restarts an origin each night, one after the other.

use std::sync::Arc;

use tokio::time::sleep;

use crate::{
    clock::{DAY, HOUR},
    desk::Desk,
};

/// Restarts at three o'clock, until it is aborted.
pub async fn restart_nightly(desk: Arc<Desk>, origins: usize) {
    sleep(3 * HOUR).await;
    for origin in (0..origins.max(1)).cycle() {
        if desk.restart(origin).await.is_err() {
            return;
        }
        sleep(DAY).await;
    }
}
