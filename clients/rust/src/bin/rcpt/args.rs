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
  4    the API key is missing or wrong, or the sign-in was refused
  5    the allowance is used up, or there were too many requests
  6    the service can't be reached
  7    the service can't answer now, or another program answers at its URL
  8    the input can't be read
  9    the input of `rcpt check -` isn't UTF-8
  10   the output can't be written
  11   the scan can't continue: its file has changed, another run uses it, or the scan is gone
  12   the service refuses the request, or a text of a list, which has no verdict; or a receiver's answer isn't 2xx
  130  Ctrl-C during a scan, which continues at the service
  141  the program that read the output has closed it

Environment:
  RCPT_API_KEY  the API key, instead of the one that `rcpt sign-in` stores
  RCPT_URL      the address of the service
  RCPT_WEBHOOK_SECRET  the secret with which `rcpt listen` and `trigger` sign, instead of this machine's

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
    /// Time limit of a request with its retries and pauses [default: 30; scan: 600]
    #[arg(long, global = true, value_name = "SECONDS", value_parser = seconds)]
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
    /// Check addresses
    Check(Check),
    /// Show the kind of a domain: mailbox provider, forwarding service, throw-away, parked or an organization's
    Domain(Domain),
    /// Ask your sign-up guard whether addresses may sign up
    Guard(Guard),
    /// Check a list in the background, and write a copy with the verdicts
    Scan(Scan),
    /// List your scans, newest first; cancel or delete one
    Scans {
        #[command(subcommand)]
        action: Option<ScanAction>,
    },
    /// Print a scan's results, even while it runs
    Results(Results),
    /// Forward your account's events to a receiver on this machine, as a webhook would
    Listen(Listen),
    /// Send a sample event to a receiver on this machine
    Trigger(Trigger),
    /// Show your plan, and how much is left today
    Quota(Quota),
    /// Store your API key on this machine, in a file that only you can read
    SignIn(SignIn),
    /// Remove the API key from this machine
    SignOut(SignOut),
    /// Print completions for a shell
    Completions { shell: Shell },
    /// Write the manual pages into a folder
    Manual { folder: PathBuf },
}

#[derive(Debug, Arguments)]
pub struct Check {
    /// Addresses; - reads them from standard input, one per line
    #[arg(required = true, value_name = "ADDRESS")]
    pub addresses: Vec<String>,
    /// Output format [default: table on a terminal, otherwise ndjson]
    #[arg(long, value_enum, value_name = "FORM")]
    pub format: Option<Format>,
    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Leave out the reasons
    #[arg(long)]
    pub no_details: bool,
    /// Repeats with this key count once for 24 hours; one address only
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Print what is known after this time, if there's no verdict yet: 0.3 to 10
    #[arg(long, value_name = "SECONDS", value_parser = deadline)]
    pub deadline: Option<Duration>,
    /// Check all addresses, up to 100, in one call; if too few checks are left, none is checked
    #[arg(long, conflicts_with = "at_once")]
    pub together: bool,
    /// Number of checks at the same time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub at_once: u8,
}

#[derive(Debug, Arguments)]
pub struct Domain {
    /// Domains, such as example.org
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Print each answer as a line of JSON, the default unless the output is a terminal
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Arguments)]
pub struct Guard {
    /// Addresses; - reads them from standard input, one per line
    #[arg(required = true, value_name = "ADDRESS")]
    pub addresses: Vec<String>,
    /// Print each answer as a line of JSON, the default unless the output is a terminal
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A row for each address
    Table,
    /// An array of all answers
    Json,
    /// A line for each answer
    Ndjson,
}

#[derive(Debug, Subcommand)]
pub enum ScanAction {
    /// Cancel scans; verdicts found so far stay
    Cancel {
        /// Ids, such as scan_0193…
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Delete scans with their results; a running scan is cancelled
    Delete {
        /// Ids, such as scan_0193…
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
}

#[derive(Debug, Arguments)]
pub struct Results {
    /// The scan, such as scan_0193…
    pub id: String,
    /// Output format
    #[arg(long, value_enum, value_name = "FORM", default_value_t = ResultsFormat::Ndjson)]
    pub format: ResultsFormat,
    /// Include verdicts that a retry may change
    #[arg(long)]
    pub interim: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ResultsFormat {
    /// A line for each result
    Ndjson,
    /// Comma-separated, the position first
    Csv,
}

#[derive(Debug, Arguments)]
pub struct Scan {
    /// A CSV file, a workbook (xlsx, xls, ods), or a list with one address per line; - reads standard input
    pub file: PathBuf,
    /// Output file [default: FILE.verdicts.csv; .xlsx for an xlsx; standard output for standard input]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Name or number of the column with the addresses [default: detected]
    #[arg(long, value_name = "COLUMN")]
    pub column: Option<String>,
    /// Encoding of the file, such as windows-1251 [default: detected]
    #[arg(long, value_name = "NAME", value_parser = encoding)]
    pub encoding: Option<String>,
    /// Delimiter of the file: comma, semicolon, tab or bar [default: detected]
    #[arg(long, value_name = "NAME", value_parser = delimiter)]
    pub delimiter: Option<u8>,
    /// Sheet of a workbook, by its number [default: the first with an address]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    pub sheet: Option<u16>,
    /// Check repeated addresses again
    #[arg(long)]
    pub repeats: bool,
    /// Treat Ann@example.org and ann@example.org as different addresses
    #[arg(long)]
    pub case_matters: bool,
    /// Write only rows with these verdicts, such as deliverable,risky [default: all]
    #[arg(long, value_name = "VERDICTS", value_delimiter = ',', value_parser = verdict)]
    pub only: Vec<Deliverability>,
    /// Leave out throw-away addresses and role accounts, such as info@
    #[arg(long)]
    pub without_traits: bool,
    /// Write a row for each address in a cell
    #[arg(long)]
    pub split_cells: bool,
    /// Start no scan: add the verdicts of this one, sent from this machine, to a changed file
    #[arg(long, value_name = "ID", conflicts_with_all = ["repeats", "case_matters"])]
    pub join: Option<String>,
    /// Start again, and overwrite the output
    #[arg(long)]
    pub restart: bool,
}

#[derive(Debug, Arguments)]
pub struct Listen {
    /// The receiver, such as http://localhost:3000/hook
    #[arg(long, value_name = "URL")]
    pub forward_to: String,
    /// Start with the events of the last 24 hours
    #[arg(long)]
    pub replay: bool,
}

#[derive(Debug, Arguments)]
pub struct Trigger {
    /// Kind of event
    #[arg(value_enum, value_name = "EVENT")]
    pub event: EventKind,
    /// The receiver
    #[arg(long, value_name = "URL", default_value = "http://localhost:3000/hook")]
    pub forward_to: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EventKind {
    /// A scan has a verdict for every address
    #[value(name = "scan.completed")]
    ScanCompleted,
    /// A scan ended without any verdict
    #[value(name = "scan.expired")]
    ScanExpired,
    /// 80 % of the daily checks are used
    #[value(name = "allowance.nearly_used")]
    AllowanceNearlyUsed,
    /// All daily checks are used
    #[value(name = "allowance.used_up")]
    AllowanceUsedUp,
    /// A test event, as the portal sends it
    #[value(name = "webhook.test")]
    WebhookTest,
}

impl EventKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::ScanCompleted => "scan.completed",
            Self::ScanExpired => "scan.expired",
            Self::AllowanceNearlyUsed => "allowance.nearly_used",
            Self::AllowanceUsedUp => "allowance.used_up",
            Self::WebhookTest => "webhook.test",
        }
    }
}

#[derive(Debug, Arguments)]
pub struct Quota {
    /// Print JSON, the default unless the output is a terminal
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Arguments)]
pub struct SignIn {
    /// Your account's email address [default: asks for it]
    pub email: Option<String>,
    /// Read an API key from standard input instead of asking for email and password
    #[arg(long, conflicts_with = "email")]
    pub key: bool,
}

#[derive(Debug, Arguments)]
pub struct SignOut {
    /// Also end the key, so that it stops working everywhere
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
