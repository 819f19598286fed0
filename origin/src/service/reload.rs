//! Rereads the configuration on SIGHUP, and applies the reloadable settings. Changed certificate or
//! lists files have the same effect.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};

use crate::{
    Config, State,
    config::{Files, SourceAddress, is_reloaded},
    service::state::{probes_of_one_tenant, prove},
    surroundings::unix_now,
    telemetry::log::Level,
};

const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Rereads on each SIGHUP and when the files of certificate or lists have changed. After a mistake, nothing changes.
pub fn on_hangup(
    path: Option<PathBuf>,
    state: Arc<State>,
    level: Level,
) -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut hangups = signal(SignalKind::hangup())?;
    Ok(async move {
        let mut files = files_of(&state.prober.config());
        loop {
            tokio::select! {
                signalled = hangups.recv() => if signalled.is_none() { return },
                () = change(&files) => tracing::info!("a file has changed that is read again"),
            }
            // Marks are taken before reading the files, so that later changes are noticed. After a
            // mistake, the files are read again on SIGHUP or when they have changed.
            files = files.now();
            match Config::read(path.as_deref(), &|name| std::env::var(name).ok()) {
                Ok(config) => match apply(&config, &state, &level) {
                    Ok(()) => {
                        tokio::spawn(state.prober.clone().learn_own_addresses());
                        files = files_of(&config);
                    }
                    Err(mistake) => tracing::error!("configuration not reloaded: {mistake}"),
                },
                Err(mistakes) => {
                    for mistake in &mistakes.0 {
                        tracing::error!("configuration not reloaded: {mistake}");
                    }
                }
            }
        }
    })
}

fn files_of(config: &Config) -> Files {
    let files = config.certificate.as_ref().map(|certificate| certificate.files.clone());
    files.unwrap_or_default().and(config.lists_files.clone())
}

fn apply(read: &Config, state: &Arc<State>, level: &Level) -> Result<(), String> {
    let in_force = state.prober.config();
    if in_force.certificate.is_some() != read.certificate.is_some() {
        return Err("tls_cert: TLS is begun or ended by a restart alone".to_owned());
    }
    if in_force.dialled_families() != read.dialled_families() {
        return Err("source_addresses: a family of addresses is begun or ended by a restart alone"
            .to_owned());
    }
    let is_new =
        |source: &&SourceAddress| !in_force.source_addresses.iter().any(|it| it.ip == source.ip);
    prove(read.source_addresses.iter().filter(is_new)).map_err(|error| error.to_string())?;
    level.set(read.log_level);
    let (before, after) = (in_force.max_probes, read.max_probes);
    resize(state, before, after);
    let half = after.div_ceil(2);
    state.batch_places.set_most(half);
    state.batch_places.set_share(probes_of_one_tenant(half, read));
    state.probes.set_share(probes_of_one_tenant(after, read));
    state.certificate.store(read.certificate.clone().map(Arc::new));
    if let Some(warning) = read.certificate_warning(unix_now()) {
        tracing::warn!("{warning}");
    }
    if let Some(note) = &read.lists_note {
        tracing::warn!("the package's lists are in force: {note}");
    }
    state.prober.reload(in_force.reloaded(read));
    if let Some(first) = state.prober.identities().into_iter().next() {
        state.port_check.dial_as(first);
    }
    let differing = in_force.differing(read);
    let restart: Vec<_> = differing.iter().filter(|name| !is_reloaded(name)).collect();
    if restart.is_empty() {
        tracing::info!("configuration reloaded");
    } else {
        tracing::warn!("configuration reloaded; these values need a restart: {restart:?}");
    }
    Ok(())
}

/// Waits until all files are stable: a certificate and its key are written one after the other.
async fn change(before: &Files) {
    let mut last = before.clone();
    loop {
        sleep(CHECK_INTERVAL).await;
        let now = last.now();
        if now == last && now != *before {
            return;
        }
        last = now;
    }
}

/// Removed permits that are in use disappear when they are returned.
fn resize(state: &Arc<State>, before: usize, after: usize) {
    state.permits.add_permits(after.saturating_sub(before));
    let surplus = u32::try_from(before.saturating_sub(after)).unwrap_or(u32::MAX);
    if surplus > 0 {
        let state = state.clone();
        tokio::spawn(async move {
            // The semaphore is never closed.
            if let Ok(permits) = state.permits.acquire_many(surplus).await {
                permits.forget();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{Config, is_reloaded};

    const REQUIRED: [(&str, &str); 3] = [
        ("RCPT_HELO_NAME", "probe.example.com"),
        ("RCPT_MAIL_FROM", "<>"),
        ("RCPT_NAMESERVERS", "192.0.2.53"),
    ];
    const SECRET: &str = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE";

    fn config(secret: &str, text: &str) -> Config {
        let text = format!("ticket_secrets = '{secret}'\n{text}");
        let given = |name: &str| REQUIRED.iter().find(|(key, _)| *key == name);
        Config::parse(&text, &|name| given(name).map(|(_, value)| (*value).to_owned())).unwrap()
    }

    #[test]
    fn a_reload_changes_what_it_says_it_changes_and_nothing_else() {
        let other = r#"
            listen = "127.0.0.1:1"
            admin_listen = "127.0.0.1:2"
            smtp_port = 26
            budget_ms = 9000
            connect_timeout_ms = 3000
            dns_timeout_ms = 1000
            max_probes = 7
            starttls = "always"
            opt_outs = ["example.org"]
            operator_sessions = 3
            machine_sessions = 3
            network_sessions = 9
            session_interval_ms = 7
            recipients_per_minute = 7
            refused_per_hour = 7
            tenant_share_percent = 7
            source_addresses = ["192.0.2.1"]
            session_recipients = 7
            log_level = "warn"
            [routes]
            "a.test" = "no-mx"
        "#;
        let (before, read) = (config(SECRET, ""), config(&SECRET.replace('Q', "R"), other));
        let after = before.reloaded(&read);
        let still_differing = after.differing(&read);
        let was_changed = before.differing(&after);
        assert_eq!(was_changed.len() + still_differing.len(), before.differing(&read).len());
        assert!(was_changed.iter().all(|name| is_reloaded(name)), "{was_changed:?}");
        assert!(!still_differing.iter().any(|name| is_reloaded(name)), "{still_differing:?}");
        // Besides the four files.
        assert_eq!(was_changed.len(), 14, "{was_changed:?}");
    }
}
