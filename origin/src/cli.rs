//! The command line.

pub mod ask;
pub mod explain;

use std::path::PathBuf;

use clap::{Command as Program, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::config;

/// The SMTP probe service of rcpt: asks mail servers whether they accept mail for an address.
#[derive(Debug, Parser)]
#[command(name = "origin", version)]
pub struct Cli {
    /// TOML file with the configuration [default: the file in RCPT_CONFIG, or none]
    #[arg(long, global = true, value_name = "PATH")]
    pub config: Option<PathBuf>,
    /// Check the configuration, print every mistake, and exit
    #[arg(long)]
    pub check_config: bool,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Command to run instead of the service.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Examine this machine: network, port 25, names, sender, blocklists, clock. Exits with 0 if nothing is wrong, 1 if
    /// something is, 3 if there are only warnings
    Doctor {
        /// Print the findings as JSON
        #[arg(long)]
        json: bool,
    },
    /// Check addresses, and print each verdict with its evidence. Needs only `helo_name` and `mail_from`. Exits with 3
    /// if a verdict is unknown, and then prints the problems of this machine; otherwise with 0
    Ask {
        /// Print a line of JSON for each address
        #[arg(long)]
        json: bool,
        #[arg(required = true, value_name = "ADDRESS")]
        addresses: Vec<String>,
    },
    /// Print what a mail server's reply to RCPT means, and the rule that decides. Needs no configuration
    Explain {
        /// The reply, such as `550 5.1.1 no such user`, with `\n` between its lines
        #[arg(required = true, value_name = "REPLY")]
        reply: Vec<String>,
    },
    /// Lists of domains by kind
    Lists {
        #[command(subcommand)]
        action: ListsAction,
    },
    /// Print how each operator of mail servers treats the running service, and our rates there
    Status,
}

/// Action on the lists. None of them reads the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ListsAction {
    /// Print the built-in lists, or those in force with a file
    Show {
        /// The file that `lists_file` names
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

impl Cli {
    /// The command line with all settings, as shown by `--help` and the manual page.
    pub fn documented() -> Program {
        Self::command().after_help(config::reference())
    }

    /// Parses the process's arguments; prints and exits on `--help`, `--version` and mistakes.
    pub fn read() -> Self {
        let matches = Self::documented().get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}
