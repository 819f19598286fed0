//! `rcpt`: checks on the command line whether email addresses can receive mail.

mod args;
mod check;
mod credentials;
mod deliveries;
mod domain;
mod failure;
mod guard;
mod input;
mod interrupt;
mod listen;
mod output;
mod papers;
mod quota;
mod scan;
mod scans;
mod sign_in;

use std::process::ExitCode;

use args::{Args, Command};
use clap::Parser as _;
use failure::Failure;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return not_parsed(&error),
    };
    let outcome = match args.command {
        Command::Check(check) => check::run(&args.service, &check),
        Command::Domain(domain) => domain::run(&args.service, &domain),
        Command::Guard(guard) => guard::run(&args.service, &guard),
        Command::Scan(scan) => scan::run(&args.service, &scan),
        Command::Scans { action: None } => scans::list(&args.service),
        Command::Scans { action: Some(action) } => scans::act(&args.service, &action),
        Command::Results(results) => scans::results(&args.service, &results),
        Command::Listen(listen) => listen::run(&args.service, &listen),
        Command::Trigger(trigger) => listen::trigger(&trigger),
        Command::Quota(quota) => quota::run(&args.service, &quota),
        Command::SignIn(sign_in) => sign_in::run(&args.service, &sign_in),
        Command::SignOut(sign_out) => sign_in::forget(&args.service, &sign_out),
        Command::Completions { shell } => papers::completions(shell),
        Command::Manual { folder } => papers::manual(&folder),
    };
    match outcome {
        Ok(code) => code.into(),
        Err(failure) => failure.report(),
    }
}

fn not_parsed(error: &clap::Error) -> ExitCode {
    match error.print() {
        Ok(()) => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2)),
        Err(error) => Failure::of_output("The output", &error).report(),
    }
}
