//! `rcpt`: tells on the command line whether email addresses can receive mail.

mod args;
mod check;
mod credentials;
mod failure;
mod input;
mod output;
mod papers;
mod quota;
mod scan;
mod scans;
mod sign_in;

use std::process::ExitCode;

use args::{Args, Command};
use clap::Parser as _;

fn main() -> ExitCode {
    let args = Args::parse();
    let ended = match args.command {
        Command::Check(check) => check::run(&args.service, &check),
        Command::Scan(scan) => scan::run(&args.service, &scan),
        Command::Scans => scans::list(&args.service),
        Command::Results { id } => scans::results(&args.service, &id),
        Command::Quota(quota) => quota::run(&args.service, &quota),
        Command::SignIn(sign_in) => sign_in::run(&args.service, &sign_in),
        Command::SignOut => sign_in::forget(),
        Command::Completions { shell } => papers::completions(shell),
        Command::Manual { folder } => papers::manual(&folder),
    };
    match ended {
        Ok(code) => code.into(),
        Err(failure) => failure.report(),
    }
}
