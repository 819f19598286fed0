//! Wires the service: command line → configuration → state → listener.

use std::{env, path::PathBuf, process::ExitCode};

use rcpt_origin::{
    Config, State, build,
    cli::{Cli, Command},
    doctor,
    http::serve,
    telemetry::log,
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
    serve::serve(listener, build(state), serve::signals()?, grace).await?;
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
