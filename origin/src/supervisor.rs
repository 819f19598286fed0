//! What the service manager is told (sd_notify(3)): that we serve, reload, end, and are alive. Without a
//! service manager it is told to nobody.

use std::time::Duration;

use sd_notify::NotifyState;
use tokio::time::interval;

/// Requests are taken.
pub fn ready() {
    tell(&[NotifyState::Ready]);
}

/// No new requests are taken.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Tells the watchdog that the runtime still runs, twice in each of its periods; for ever, or not at all
/// if there is none.
pub async fn keep_alive() {
    let Some(period) = watchdog() else { return };
    let mut ticks = interval(period / 2);
    loop {
        ticks.tick().await;
        tell(&[NotifyState::Watchdog]);
    }
}

fn tell(states: &[NotifyState<'_>]) {
    // Err: there is a service manager, and it does not listen. Nothing depends on it.
    let _ = sd_notify::notify(states);
}

fn watchdog() -> Option<Duration> {
    sd_notify::watchdog_enabled().filter(|period| !period.is_zero())
}
