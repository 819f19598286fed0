//! The local environment of `make dev`: sandbox, origin and `wrangler dev`, one account, and all emails as files.

mod account;
mod mails;
mod rebuild;
mod secrets;
mod settings;
mod wrangler;

use std::{fs, time::Duration};

use anyhow::{Context as _, Result, bail};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};

use self::{mails::Mails, rebuild::Rebuild, settings::Settings};
use rcpt_shared::sandbox;
use rcpt_tests::{Account, Mailbox, Origin, Process, Sandbox, process::folder};

const WATCH_INTERVAL: Duration = Duration::from_millis(250);

/// Starts everything, prints usage hints, and runs until a signal arrives or a component ends.
pub async fn run() -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        never = live() => never,
        _ = interrupt.recv() => { println!(); say("stopping"); Ok(()) }
        _ = terminate.recv() => { say("stopping"); Ok(()) }
    }
}

/// Dropping this future, as on a signal, drops the processes, which ends them.
async fn live() -> Result<()> {
    let settings = Settings::from_environment()?;
    settings.require_free_ports()?;
    fs::create_dir_all(&settings.folder)
        .with_context(|| format!("creating {}", settings.folder.display()))?;

    let sandbox = Sandbox::start()?;
    say(&format!("the sandbox mail server listens on {}", sandbox.server().address()));
    let secrets = secrets::ensure(&folder::repository().join(".dev.vars"))?;
    let mut origin = start_origin(&settings, &sandbox, &secrets.tickets).await?;
    say(&format!("origin answers on {}", origin.url));
    let mut edge = wrangler::start(&settings).await?;
    let mut mails = Mails::new(Mailbox::of_log(edge.log_path()), &settings.folder.join("mail"))?;
    let account = account::ensure(&settings.edge_url(), &mut mails).await?;

    introduce(&settings, &account, &origin, &edge);
    let mut rebuild = Rebuild::new();
    loop {
        mails.deliver()?;
        rebuild.poll(&settings.folder)?;
        for part in [&mut origin.process, &mut edge] {
            if let Some(status) = part.exited() {
                bail!("ended by itself ({status}): {}", part.last_lines());
            }
        }
        sleep(WATCH_INTERVAL).await;
    }
}

async fn start_origin(settings: &Settings, sandbox: &Sandbox, tickets: &str) -> Result<Origin> {
    say("starting origin");
    let origin = Origin::system_dns().port(settings.origin_port).ticket_secrets(tickets);
    origin.routes(&sandbox.routes()).start_in(&settings.folder).await
}

fn introduce(settings: &Settings, account: &Account, origin: &Origin, edge: &Process) {
    let url = settings.edge_url();
    println!("\nSandbox addresses, each with the verdict it always gets:\n");
    for case in &sandbox::CASES {
        println!("  {:<42} {:<20} {}", case.address, case.status.as_str(), case.does);
    }
    println!("\nready\n");
    println!("  edge     {url}");
    println!("  account  {} (password {})", account.email, account.password);
    println!("  API key  {}", account.api_key);
    println!("  mails    {}", settings.folder.join("mail").display());
    println!("  logs     {}", edge.log_path().display());
    println!("           {}", origin.process.log_path().display());
    println!("\nTry it:\n\n  {}\n", curl(&url, &account.api_key));
    println!("A change in edge/src or shared/src runs within seconds. Ctrl-C stops everything.");
}

fn curl(url: &str, api_key: &str) -> String {
    format!(
        "curl -s {url}/v1/validate_email -H 'X-API-Key: {api_key}' \
         -H 'Content-Type: application/json' -d '{{\"email\":\"accepts@sandbox.test\"}}'"
    )
}

fn say(line: &str) {
    println!("[dev] {line}");
}
