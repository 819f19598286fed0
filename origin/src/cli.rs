//! The command line.

pub mod ask;
pub mod explain;

use std::path::PathBuf;

use clap::{Command as Program, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::config;

/// The SMTP probe service of rcpt: asks mail servers whether they take mail for an address.
#[derive(Debug, Parser)]
#[command(name = "origin", version)]
pub struct Cli {
    /// TOML file with the configuration; else the file named by RCPT_CONFIG, else none
    #[arg(long, value_name = "PATH")]
    pub config: Option<PathBuf>,
    /// Check the configuration, name every mistake, and exit
    #[arg(long)]
    pub check_config: bool,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Command to run instead of the service.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Examine this machine: network, port 25, names, sender, blocklists, clock. Exits with 0 when it is
    /// fit, 1 when something is wrong, 3 when there are warnings only
    Doctor {
        /// Print the findings as JSON
        #[arg(long)]
        json: bool,
    },
    /// Ask whether these addresses can receive mail, and print each verdict with its evidence. Needs `helo_name` and
    /// `mail_from` alone. Exits with 0 when each has a verdict, 3 when a question stays open: then it says what is
    /// wrong with this machine
    Ask {
        /// Print one line of JSON an address
        #[arg(long)]
        json: bool,
        #[arg(required = true, value_name = "ADDRESS")]
        addresses: Vec<String>,
    },
    /// Print what a mail server's reply to RCPT means, and the rule that decides. Needs no configuration
    Explain {
        /// The reply, such as `550 5.1.1 no such user`; `\n` between its lines
        #[arg(required = true, value_name = "REPLY")]
        reply: Vec<String>,
    },
    /// Lists of domains that say their kind
    Lists {
        #[command(subcommand)]
        action: ListsAction,
    },
    /// Print the rates at each operator of mail hosts, and how it receives the running service
    Status,
}

/// Action on the lists. None of them reads the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ListsAction {
    /// Print the lists of the package, or those of a file where they are in force
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
