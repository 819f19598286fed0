//! Wires the service: command line → configuration → state → listener.

use std::{env, path::PathBuf, process::ExitCode};

use rcpt_origin::{
    Config, State, build,
    cli::{Cli, Command},
    doctor,
    http::serve,
    telemetry::{log, status},
};
use tokio::net::TcpListener;

fn main() -> ExitCode {
    let cli = Cli::read();
    let path = cli.config.or_else(|| env::var_os("RCPT_CONFIG").map(PathBuf::from));
    let config = match Config::read(path.as_deref(), &|name| env::var(name).ok()) {
        Ok(config) => config,
        Err(mistakes) => {
            eprintln!("{mistakes}");
            return ExitCode::FAILURE;
        }
    };
    if cli.check_config {
        println!("configuration is fine");
        return ExitCode::SUCCESS;
    }
    log::install(config.log_level);
    let done = match cli.command {
        Some(Command::Doctor) => doctor(config),
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

/// Prints the findings; fails when one of them is wrong.
#[tokio::main]
async fn doctor(config: Config) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let findings = doctor::examine(&*State::new(config)?).await;
    findings.iter().for_each(|finding| println!("{finding}"));
    let wrong = findings.iter().any(|finding| finding.health == doctor::Health::Wrong);
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Prints what the running service says of the operators.
#[tokio::main]
async fn status(address: std::net::SocketAddr) -> Result<ExitCode, Box<dyn std::error::Error>> {
    print!("{}", status::fetch(address).await?);
    Ok(ExitCode::SUCCESS)
}
