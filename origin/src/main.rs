//! Connects the service's parts: command line → configuration → state → listener.

use std::{
    env,
    future::pending,
    io,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use axum::Router;
use rcpt_origin::{
    Config, State, build,
    cli::{Cli, Command, ListsAction, ask, explain},
    config::unknown_variables,
    doctor::{self, watch::Watch},
    http::{self, serve},
    lists,
    service::{
        reload,
        supervisor::{self, PassedSockets},
    },
    surroundings::unix_now,
    telemetry::{
        log::{self, Level},
        status,
    },
};
use tokio::net::TcpListener;
use tracing::level_filters::LevelFilter;

/// Time for probes in progress to finish after SIGTERM or SIGINT: more than a single check's usual budget, less than the
/// unit's `TimeoutStopSec`. An address of a list may have more, and is cut off then.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(15);

/// Valid ticket secrets for a command that verifies no tickets.
const UNUSED_SECRETS: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

fn main() -> ExitCode {
    let cli = Cli::read();
    if let Some(Command::Explain { reply }) = &cli.command {
        return explain(&reply.join(" "));
    }
    if let Some(Command::Lists { action }) = &cli.command {
        return lists_command(action);
    }
    let path = cli.config.or_else(|| env::var_os("RCPT_CONFIG").map(PathBuf::from));
    let variables: Vec<_> =
        env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    let unknown = unknown_variables(variables.iter().map(String::as_str));
    let environment = |name: &str| env::var(name).ok();
    // `ask` needs no tickets, so it works without their secrets.
    let without_tickets = |name: &str| match name {
        "RCPT_TICKET_SECRETS" => Some(UNUSED_SECRETS.to_owned()),
        _ => environment(name),
    };
    let asks = matches!(cli.command, Some(Command::Ask { .. }));
    let variable: &dyn Fn(&str) -> Option<String> =
        if asks { &without_tickets } else { &environment };
    let config = match Config::read(path.as_deref(), variable) {
        Ok(config) if unknown.slips.0.is_empty() => config,
        read => {
            let mistakes = read.err().unwrap_or_default().0;
            mistakes.iter().chain(&unknown.slips.0).for_each(|mistake| eprintln!("{mistake}"));
            return ExitCode::FAILURE;
        }
    };
    if cli.check_config {
        unknown.strangers.0.iter().for_each(|stranger| println!("note: {stranger}"));
        if let Some(warning) = config.certificate_warning(unix_now()) {
            println!("warning: {warning}");
        }
        if let Some(note) = &config.lists_note {
            println!("warning: the package's lists are in force: {note}");
        }
        println!("configuration is fine");
        return ExitCode::SUCCESS;
    }
    // `ask` prints verdicts: a line of the log for each would only repeat them.
    let log_level = match config.log_level {
        LevelFilter::INFO if asks => LevelFilter::WARN,
        level => level,
    };
    // Writes the waiting log lines when it is dropped at the end of `main`.
    let (level, _written) = log::install(log_level);
    for stranger in &unknown.strangers.0 {
        tracing::warn!("{stranger}");
    }
    let done = match cli.command {
        Some(Command::Doctor { json }) => doctor(config, json),
        Some(Command::Ask { json, addresses }) => ask(config, &addresses, json),
        Some(Command::Status) => status(&config),
        // `explain` and `lists` were handled above, without a configuration.
        Some(Command::Explain { .. } | Command::Lists { .. }) | None => {
            run(config, path, level).map(|()| ExitCode::SUCCESS)
        }
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn lists_command(action: &ListsAction) -> ExitCode {
    match action {
        ListsAction::Show { file } => {
            let path = file.as_deref().and_then(Path::to_str).unwrap_or_default();
            let (lists, note) = lists::in_force(path);
            print!("{}", lists.table());
            let Some(note) = note else { return ExitCode::SUCCESS };
            eprintln!("the package's lists are in force: {note}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run(
    config: Config,
    path: Option<PathBuf>,
    level: Level,
) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(warning) = config.certificate_warning(unix_now()) {
        tracing::warn!("{warning}");
    }
    if let Some(note) = &config.lists_note {
        tracing::warn!("the package's lists are in force: {note}");
    }
    let (address, admin_address) = (config.listen, config.admin_listen);
    let neighbours = config.neighbour_listen;
    let page = http::build_neighbours(&config);
    let speaks_tls = config.certificate.is_some();
    let mut passed_sockets = PassedSockets::from_service_manager();
    let state = State::new(config)?;
    // The handler is installed before anything announces the process: an unhandled signal would end
    // it.
    let reloading = reload::on_hangup(path, state.clone(), level)?;
    let (signals, stopping) = (serve::signals()?, state.clone());
    let listener = passed_sockets.listener("listen", address).await?;
    tokio::spawn(state.prober.dns().root().watch());
    tokio::spawn(state.port_check.clone().watch());
    tokio::spawn(state.prober.clone().learn_own_addresses());
    tokio::spawn(Watch::keep(state.clone()));
    // The configured port may be 0.
    tracing::info!(address = %listener.local_addr()?, tls = speaks_tls, "listening");
    let router = match admin_address {
        None if address.ip().is_loopback() => build(state.clone()),
        None => {
            tracing::warn!("/metrics, /ready and /operators are not served: set admin_listen");
            http::build_public(state.clone())
        }
        Some(address) => {
            let listener = passed_sockets.listener("admin_listen", address).await?;
            serve_beside(&state, listener, http::build_admin(state.clone()), "our own network")?;
            http::build_public(state.clone())
        }
    };
    if let Some(address) = neighbours {
        let listener = passed_sockets.listener("neighbour_listen", address).await?;
        serve_beside(&state, listener, page, "neighbours")?;
    }
    for name in passed_sockets.unused_names() {
        tracing::warn!(
            "nobody answers on the service manager's socket for {name}, which is not set"
        );
    }
    tokio::spawn(reloading);
    tokio::spawn(supervisor::keep_alive());
    supervisor::ready();
    let shutdown = async move {
        signals.await;
        supervisor::stopping();
        stopping.stopping.send_replace(true);
    };
    serve::serve(listener, (state.clone(), speaks_tls), router, shutdown, SHUTDOWN_GRACE).await;
    state.prober.close().await;
    tracing::info!("stopped");
    Ok(())
}

/// The listener isn't for the edge, and is served for the life of the process.
fn serve_beside(
    state: &std::sync::Arc<State>,
    listener: TcpListener,
    router: Router,
    whom: &str,
) -> io::Result<()> {
    tracing::info!(address = %listener.local_addr()?, "listening for {whom}");
    tokio::spawn(serve::serve(listener, (state.clone(), false), router, pending(), Duration::ZERO));
    Ok(())
}

#[tokio::main]
async fn doctor(config: Config, json: bool) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let report = doctor::examine(&*State::untested(config)?).await;
    if json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{report}");
    }
    Ok(ExitCode::from(report.exit_code()))
}

#[tokio::main]
async fn ask(
    config: Config,
    addresses: &[String],
    json: bool,
) -> Result<ExitCode, Box<dyn std::error::Error>> {
    Ok(ExitCode::from(ask::ask(&State::new(config)?, addresses, json).await))
}

fn explain(reply: &str) -> ExitCode {
    match explain::explain(reply) {
        Some(explained) => {
            print!("{explained}");
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("not a reply: it begins with a code from 200 to 599 and a space");
            ExitCode::from(2)
        }
    }
}

#[tokio::main]
async fn status(config: &Config) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let address = match config.admin_listen {
        Some(admin_address) => admin_address,
        None if config.listen.ip().is_loopback() => config.listen,
        None => return Err("the status is not served: set admin_listen".into()),
    };
    let text = status::fetch(address).await;
    print!("{}", text.map_err(|error| format!("{address}: no status ({error})"))?);
    Ok(ExitCode::SUCCESS)
}
