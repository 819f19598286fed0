//! The program of `make dev`.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    match rcpt_devtools::dev::run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("[dev] error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
