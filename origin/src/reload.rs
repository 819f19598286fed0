//! SIGHUP: the configuration is read again, and what can change while we serve is changed.

use std::{io, path::PathBuf, sync::Arc};

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::Semaphore,
};

use crate::{Config, State, state::probes_of_one_tenant, telemetry::log::Level};

/// Settings that are changed by a reload; any other needs a restart.
const RELOADED: [&str; 2] = ["log_level", "max_probes"];

/// Reads the configuration again on each SIGHUP, from where it came from. A mistake changes nothing.
///
/// # Errors
/// [`io::Error`] when the handler cannot be installed.
pub fn on_hangup(
    path: Option<PathBuf>,
    state: Arc<State>,
    level: Level,
) -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut hangups = signal(SignalKind::hangup())?;
    let mut running = state.prober.config().clone();
    Ok(async move {
        while hangups.recv().await.is_some() {
            match Config::read(path.as_deref(), &|name| std::env::var(name).ok()) {
                Ok(config) => {
                    apply(&running, &config, &state, &level);
                    running = config;
                }
                Err(mistakes) => {
                    for mistake in &mistakes.0 {
                        tracing::error!("configuration not reloaded: {mistake}");
                    }
                }
            }
        }
    })
}

fn apply(running: &Config, config: &Config, state: &Arc<State>, level: &Level) {
    level.set(config.log_level);
    let (before, after) = (running.max_probes, config.max_probes);
    resize(state, |state| &state.permits, before, after);
    resize(state, |state| &state.batch_permits, before.div_ceil(2), after.div_ceil(2));
    state.tenants.set_share(probes_of_one_tenant(after, state.prober.config()));
    let differing = running.differing(config);
    let restart: Vec<_> = differing.iter().filter(|name| !RELOADED.contains(name)).collect();
    if restart.is_empty() {
        tracing::info!("configuration reloaded");
    } else {
        tracing::warn!("configuration reloaded; these values need a restart: {restart:?}");
    }
}

/// Permits that are taken away while in use go when they are given back.
fn resize(state: &Arc<State>, of: fn(&State) -> &Semaphore, before: usize, after: usize) {
    of(state).add_permits(after.saturating_sub(before));
    let surplus = u32::try_from(before.saturating_sub(after)).unwrap_or(u32::MAX);
    if surplus > 0 {
        let state = state.clone();
        tokio::spawn(async move {
            // Err: they are never closed.
            if let Ok(permits) = of(&state).acquire_many(surplus).await {
                permits.forget();
            }
        });
    }
}
