//! The command line's arguments.

use std::{path::PathBuf, time::Duration};

use clap::{Args as Arguments, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use rcpt_lists::{DELIMITERS, Deliverability, ENCODINGS};

const EXIT_CODES: &str = "\
Exit codes:
  0    every address is deliverable or risky, every domain accepts mail, the guard allows every address, or the
       command has succeeded
  1    at least one address can't receive mail, one domain accepts none, or the guard refuses one address
  2    the command line is wrong
  3    at least one verdict is unknown, or one domain's mail servers are, and code 1 doesn't apply
  4    no API key, a wrong one, or a sign-in that was refused
  5    the allowance is used up, or there were too many requests
  6    the service can't be reached
  7    the service can't answer now, or what answers isn't the service
  8    the input can't be read
  9    the input of `rcpt check -` isn't UTF-8
  10   the output can't be written
  11   the scan can't continue: its file has changed, another run uses it, or it's gone
  12   the service refuses the request, or one address of a list: it has no verdict
  130  Ctrl-C; a scan continues at the service, and the command says how to stop it
  141  the program that read the output has closed it

Environment:
  RCPT_API_KEY  the API key, in place of the one that `rcpt sign-in` keeps
  RCPT_URL      the address of the service
  RCPT_WEBHOOK_SECRET  what `rcpt listen` and `trigger` sign with, in place of a secret of this machine

Examples:
  rcpt check ann@example.org
  rcpt check - < addresses.txt > verdicts.ndjson
  rcpt domain duck.com
  rcpt guard ann@example.org
  rcpt scan customers.csv
  rcpt scans cancel scan_0193…
  rcpt results scan_0193… --format csv
  rcpt check --json ann@example.org | jq -r '.[0].details.reason'";

/// Tells whether email addresses can receive mail.
#[derive(Debug, Parser)]
#[command(name = "rcpt", version, max_term_width = 100, after_long_help = EXIT_CODES)]
pub struct Args {
    #[command(flatten)]
    pub service: Service,
    #[command(subcommand)]
    pub command: Command,
}

/// Address of the service, and the time limit of a call.
#[derive(Debug, Arguments)]
pub struct Service {
    /// Address of the service [default: RCPT_URL, or where you've signed in]
    #[arg(long, global = true, value_name = "URL")]
    pub url: Option<String>,
    /// Time of one request in all, with its repetitions and pauses [default: 30; scan: 600]
    #[arg(long, global = true, value_name = "SECONDS", alias = "patience", value_parser = seconds)]
    pub timeout: Option<Duration>,
}

fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.filter(|seconds| !seconds.is_zero()).ok_or("give a number of seconds above 0")
}

fn deadline(text: &str) -> Result<Duration, &'static str> {
    let range = Duration::from_millis(300)..=Duration::from_secs(10);
    let deadline = seconds(text).ok().filter(|deadline| range.contains(deadline));
    deadline.ok_or("give 0.3 to 10 seconds")
}

fn encoding(text: &str) -> Result<String, String> {
    let known = ENCODINGS.iter().find(|name| name.eq_ignore_ascii_case(text));
    known
        .map(|name| (*name).to_owned())
        .ok_or_else(|| format!("give one of {}", ENCODINGS.join(", ")))
}

fn delimiter(text: &str) -> Result<u8, &'static str> {
    let known = DELIMITERS.iter().find(|delimiter| {
        delimiter.name.eq_ignore_ascii_case(text) || text.as_bytes() == [delimiter.byte]
    });
    known.map(|delimiter| delimiter.byte).ok_or("give comma, semicolon, tab or bar")
}

fn verdict(text: &str) -> Result<Deliverability, String> {
    let known = Deliverability::ALL.into_iter().find(|verdict| verdict.as_str() == text);
    let all = || Deliverability::ALL.map(Deliverability::as_str).join(", ");
    known.ok_or_else(|| format!("give some of {}", all()))
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check addresses, one by one
    Check(Check),
    /// Show the kind of domains: mailbox provider, forwarding service, throw-away, parked, an organization's
    Domain(Domain),
    /// Ask your sign-up guard whether addresses may sign up
    Guard(Guard),
    /// Check the addresses of a file in the background, and write it again with their verdicts
    Scan(Scan),
    /// List your scans, newest first; cancel or delete one
    Scans {
        #[command(subcommand)]
        action: Option<ScanAction>,
    },
    /// Print the results of a scan, also while it runs
    Results(Results),
    /// Forward your account's events to a receiver on this machine, as a webhook would
    Listen(Listen),
    /// Send a made-up event to a receiver on this machine
    Trigger(Trigger),
    /// Show your plan and what is left of it today
    Quota(Quota),
    /// Keep your API key on this machine, in a file that only you can read
    SignIn(SignIn),
    /// Remove the API key from this machine
    SignOut(SignOut),
    /// Print the completions of a shell
    Completions { shell: Shell },
    /// Write the manual pages into a folder
    Manual { folder: PathBuf },
}

#[derive(Debug, Arguments)]
pub struct Check {
    /// Addresses; - reads them from standard input, one on each line
    #[arg(required = true, value_name = "ADDRESS")]
    pub addresses: Vec<String>,
    /// How to write the verdicts [default: table on a terminal, ndjson elsewhere]
    #[arg(long, value_enum, value_name = "FORM")]
    pub format: Option<Format>,
    /// The same as --format json: one array
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Don't ask why: a little faster
    #[arg(long)]
    pub no_details: bool,
    /// Count the check once, however often it's sent with this key within 24 hours; for a single address
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Time after which to print what is known, where the verdict isn't there: 0.3 to 10 seconds
    #[arg(long, value_name = "SECONDS", value_parser = deadline)]
    pub deadline: Option<Duration>,
    /// Ask about all addresses in one call, up to 100: where fewer checks are left, none is asked about
    #[arg(long, conflicts_with = "at_once")]
    pub together: bool,
    /// How many checks to run at the same time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub at_once: u8,
}

#[derive(Debug, Arguments)]
pub struct Domain {
    /// Domains: what is behind the @ of an address
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Print one answer of the service on each line, as JSON; so it does where the output is no terminal
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Arguments)]
pub struct Guard {
    /// Addresses; - reads them from standard input, one on each line
    #[arg(required = true, value_name = "ADDRESS")]
    pub addresses: Vec<String>,
    /// Print one answer of the service on each line, as JSON; so it does where the output is no terminal
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One row for each address
    Table,
    /// One array of all answers
    Json,
    /// One answer on each line
    Ndjson,
}

#[derive(Debug, Subcommand)]
pub enum ScanAction {
    /// Stop scans; what is known by then stays
    Cancel {
        /// Scans, such as scan_0193…
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Remove scans with their results; one that is under way stops
    Delete {
        /// Scans, such as scan_0193…
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
}

#[derive(Debug, Arguments)]
pub struct Results {
    /// The scan, such as scan_0193…
    pub id: String,
    /// Form of the output
    #[arg(long, value_enum, value_name = "FORM", default_value_t = ResultsFormat::Ndjson)]
    pub format: ResultsFormat,
    /// Also verdicts that may still change: they aren't final
    #[arg(long)]
    pub interim: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ResultsFormat {
    /// One result on each line
    Ndjson,
    /// With the position in the first column
    Csv,
}

#[derive(Debug, Arguments)]
pub struct Scan {
    /// A CSV file, a workbook (xlsx, xls, ods), or a list with one address on each line; - reads standard input
    pub file: PathBuf,
    /// Where to write it with the verdicts [default: FILE.verdicts.csv, or .xlsx of an xlsx; of standard input, standard
    /// output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Name or number of the column with the addresses [default: found by itself]
    #[arg(long, value_name = "COLUMN")]
    pub column: Option<String>,
    /// Encoding of the file, such as windows-1251 [default: found by itself]
    #[arg(long, value_name = "NAME", value_parser = encoding)]
    pub encoding: Option<String>,
    /// Delimiter of the file: comma, semicolon, tab or bar [default: found by itself]
    #[arg(long, value_name = "NAME", value_parser = delimiter)]
    pub delimiter: Option<u8>,
    /// Sheet of a workbook, by its number [default: the first with an address]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    pub sheet: Option<u16>,
    /// Check repeated addresses each time
    #[arg(long)]
    pub repeats: bool,
    /// Take upper and lower case before the @ for different addresses
    #[arg(long)]
    pub case_matters: bool,
    /// Write only rows with these verdicts, such as deliverable,risky [default: every row]
    #[arg(long, value_name = "VERDICTS", value_delimiter = ',', value_parser = verdict)]
    pub only: Vec<Deliverability>,
    /// Leave out throw-away addresses and role accounts, such as info@
    #[arg(long)]
    pub without_traits: bool,
    /// Write a row for each address of a cell that has several
    #[arg(long)]
    pub split_cells: bool,
    /// Start no scan: find the verdicts of this one, which this machine has sent, for the rows as they stand now
    #[arg(long, value_name = "ID", conflicts_with_all = ["repeats", "case_matters"])]
    pub join: Option<String>,
    /// Forget an earlier start of this scan, and overwrite the output
    #[arg(long)]
    pub restart: bool,
}

#[derive(Debug, Arguments)]
pub struct Listen {
    /// The receiver, such as http://localhost:3000/hook
    #[arg(long, value_name = "URL")]
    pub forward_to: String,
    /// Begin with the events of the last 24 hours
    #[arg(long)]
    pub replay: bool,
}

#[derive(Debug, Arguments)]
pub struct Trigger {
    /// Kind of the event
    #[arg(value_enum, value_name = "EVENT")]
    pub event: EventKind,
    /// The receiver
    #[arg(long, value_name = "URL", default_value = "http://localhost:3000/hook")]
    pub forward_to: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EventKind {
    /// Every address of a scan has its verdict
    #[value(name = "scan.completed")]
    ScanCompleted,
    /// A scan was given up after 24 hours
    #[value(name = "scan.expired")]
    ScanExpired,
    /// A test event, as the portal sends it
    #[value(name = "webhook.test")]
    WebhookTest,
}

impl EventKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::ScanCompleted => "scan.completed",
            Self::ScanExpired => "scan.expired",
            Self::WebhookTest => "webhook.test",
        }
    }
}

#[derive(Debug, Arguments)]
pub struct Quota {
    /// Write the report as JSON, as it is elsewhere than on a terminal
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Arguments)]
pub struct SignIn {
    /// Your account's email address; asked for if it isn't given
    pub email: Option<String>,
    /// Read an API key from standard input, in place of email and password; a named key of the portal's API key page too
    #[arg(long, conflicts_with = "email")]
    pub key: bool,
}

#[derive(Debug, Arguments)]
pub struct SignOut {
    /// End the key itself too, so that it stops working everywhere
    #[arg(long)]
    pub end_key: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Args;

    #[test]
    fn the_command_line_is_consistent_and_every_option_is_explained() {
        let mut command = Args::command();
        command.build();
        command.clone().debug_assert();
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            assert!(sub.get_about().is_some(), "{}", sub.get_name());
            for argument in sub.get_arguments() {
                let explained = argument.get_help().is_some();
                let is_plain = ["shell", "folder"].contains(&argument.get_id().as_str());
                assert!(explained || is_plain, "{} {}", sub.get_name(), argument.get_id());
            }
        }
    }
}
