//! Starts `wrangler dev` with migrated databases and waits until it serves.

use std::{fs, path::Path, process::Command, time::Duration};

use anyhow::{Context as _, Result, ensure};
use rcpt_tests::process::{Process, folder, port};
use reqwest::Client;

use super::{Settings, say};

/// Time limit of a start: `wrangler dev` first tries to reach the network, and continues without it.
const START_TIMEOUT: Duration = Duration::from_secs(120);
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(120);

pub(super) async fn start(settings: &Settings) -> Result<Process> {
    // Folder of emails and other files of workerd while it runs.
    let temporary = settings.folder.join("tmp");
    fs::create_dir_all(&temporary)?;

    say("migrating the local databases");
    let mut migrate = node("devtools/operator/migrate.mjs", &temporary);
    // Resets the throttles, because this is the developer's own machine.
    migrate.args(["--forget-throttles", "--persist-to"]).arg(&settings.state);
    let mut migrating = Process::spawn("migrations", &migrate, &settings.folder)?;
    let status = migrating.wait_for_end(MIGRATION_TIMEOUT).await?;
    let log = migrating.log();
    ensure!(
        !log.contains("accounts_of_before_cannot_be_carried_over"),
        "{} has accounts of an older version, which cannot be carried over: remove that folder",
        settings.state.display()
    );
    ensure!(status.success(), "{}", migrating.last_lines());

    say("starting wrangler dev");
    let edge_url = settings.edge_url();
    let mut command = wrangler(&temporary);
    command.args(["dev", "--ip", "127.0.0.1", "--port", &settings.edge_port.to_string()]);
    command.args(["--inspector-port", &port::free().to_string(), "--persist-to"]);
    command.arg(&settings.state);
    command.args(["--show-interactive-dev-session=false"]);
    command.arg(format!("--var=ORIGINS:http://127.0.0.1:{}", settings.origin_port));
    command.arg(format!("--var=PORTAL_URL:{edge_url}"));
    // Fictitious domains may register, because no email leaves this machine.
    command.arg("--var=DNS_URL:off");
    let mut process = Process::spawn("edge", &command, &settings.folder)?;
    let (client, health) = (Client::new(), format!("{edge_url}/v1/health"));
    process
        .wait_until("answer of /v1/health", START_TIMEOUT, async || {
            client.get(&health).send().await.ok()?.error_for_status().ok()
        })
        .await
        .context("wrangler dev did not start")?;
    Ok(process)
}

fn wrangler(temporary: &Path) -> Command {
    node("node_modules/wrangler/bin/wrangler.js", temporary)
}

/// `program` is wrangler, or a program of the repository that uses its modules.
fn node(program: &str, temporary: &Path) -> Command {
    let root = folder::repository();
    let mut command = Command::new("node");
    command.arg(root.join(program)).current_dir(root);
    command.env("TMPDIR", temporary).env("NO_COLOR", "1").env("FORCE_COLOR", "0");
    // Suppresses questions, telemetry and version checks.
    command.env("CI", "1").env("WRANGLER_SEND_METRICS", "false");
    command
}
