//! `rcpt`: tells on the command line whether email addresses can receive mail.

mod args;
mod check;
mod credentials;
mod failure;
mod input;
mod output;
mod papers;
mod quota;
mod sign_in;

use std::process::ExitCode;

use args::{Args, Command};
use clap::Parser as _;

fn main() -> ExitCode {
    let args = Args::parse();
    let ended = match args.command {
        Command::Check(check) => check::run(&args.service, &check),
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
