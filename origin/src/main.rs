//! Wires the service: command line → configuration → state → listener.

use std::{env, path::PathBuf, process::ExitCode};

use rcpt_origin::{
    Config, State, build,
    cli::{Cli, Command},
    config::unknown_variables,
    doctor,
    http::serve,
    telemetry::{log, status},
};
use tokio::net::TcpListener;

fn main() -> ExitCode {
    let cli = Cli::read();
    let path = cli.config.or_else(|| env::var_os("RCPT_CONFIG").map(PathBuf::from));
    let variables: Vec<_> =
        env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    let unknown = unknown_variables(variables.iter().map(String::as_str));
    let config = match Config::read(path.as_deref(), &|name| env::var(name).ok()) {
        Ok(config) if unknown.slips.0.is_empty() => config,
        read => {
            let mistakes = read.err().unwrap_or_default().0;
            mistakes.iter().chain(&unknown.slips.0).for_each(|mistake| eprintln!("{mistake}"));
            return ExitCode::FAILURE;
        }
    };
    if cli.check_config {
        unknown.strangers.0.iter().for_each(|stranger| println!("note: {stranger}"));
        println!("configuration is fine");
        return ExitCode::SUCCESS;
    }
    log::install(config.log_level);
    for stranger in &unknown.strangers.0 {
        tracing::warn!("{stranger}");
    }
    let done = match cli.command {
        Some(Command::Doctor { json }) => doctor(config, json),
        Some(Command::Status) => status(config.listen),
        None => run(config).map(|()| ExitCode::SUCCESS),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run(config: Config) -> Result<(), Box<dyn std::error::Error>> {
    let (address, grace) = (config.listen, config.shutdown_grace);
    let state = State::new(config)?;
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| format!("listen: cannot bind {address}: {error}"))?;
    // The port may have been 0.
    tracing::info!(address = %listener.local_addr()?, "listening");
    tokio::spawn(state.port_check.clone().watch());
    let (signals, stopping) = (serve::signals()?, state.clone());
    let shutdown = async move {
        signals.await;
        stopping.stopping.send_replace(true);
    };
    serve::serve(listener, build(state.clone()), shutdown, grace).await?;
    state.prober.close().await;
    tracing::info!("stopped");
    Ok(())
}

/// Prints the findings, and exits with what the worst of them says.
#[tokio::main]
async fn doctor(config: Config, json: bool) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let report = doctor::examine(&*State::unproved(config)?).await;
    if json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{report}");
    }
    Ok(ExitCode::from(report.exit_code()))
}

/// Prints what the running service says of the operators.
#[tokio::main]
async fn status(address: std::net::SocketAddr) -> Result<ExitCode, Box<dyn std::error::Error>> {
    print!("{}", status::fetch(address).await?);
    Ok(ExitCode::SUCCESS)
}
