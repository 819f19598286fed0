//! Wires the service: command line → configuration → state → listener.

use std::{env, path::PathBuf, process::ExitCode};

use rcpt_origin::{Config, State, build, cli::Cli, log, serve};
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
    match run(config) {
        Ok(()) => ExitCode::SUCCESS,
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
