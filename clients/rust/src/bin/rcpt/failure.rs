//! Exit codes for scripts, and error messages that suggest what to do.

use std::{fmt, io, process::ExitCode};

use rcpt_client::Error;

/// Exit code of a successful run. `rcpt --help` lists the codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunExit {
    Good = 0,
    Unknown = 3,
    Undeliverable = 1,
}

impl From<RunExit> for ExitCode {
    fn from(outcome: RunExit) -> Self {
        Self::from(outcome as u8)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    CommandLine = 2,
    Credentials = 4,
    UsedUp = 5,
    Network = 6,
    Service = 7,
    Input = 8,
    Encoding = 9,
    Output = 10,
    /// A scan can't continue from its journal.
    Journal = 11,
    Refused = 12,
    /// The program that reads the output has closed it, as `head` does: 128 plus SIGPIPE, without a
    /// message.
    Closed = 141,
}

#[derive(Debug)]
pub struct Failure {
    pub kind: Kind,
    message: String,
}

impl Failure {
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub fn of_output(what: impl fmt::Display, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Kind::Closed, ""),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::new(
                Kind::Output,
                format!(
                    "{what} can't be written: the disk is full. Make room, and run the command again."
                ),
            ),
            _ => Self::new(Kind::Output, format!("{what} can't be written: {error}.")),
        }
    }

    #[must_use]
    pub fn and(mut self, sentence: &str) -> Self {
        if self.kind != Kind::Closed {
            self.message = format!("{} {sentence}", self.message);
        }
        self
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    pub fn report(&self) -> ExitCode {
        if self.kind != Kind::Closed {
            anstream::eprintln!("rcpt: {}", self.message);
        }
        ExitCode::from(self.kind as u8)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let id = error.details().and_then(|details| details.request_id.as_deref());
        let id = id.map(|id| format!(" If you report it, quote the request {id}."));
        let (kind, message) = match &error {
            Error::Address(_) => {
                (Kind::CommandLine, format!("{error} Set it with --url or RCPT_URL."))
            }
            Error::Unauthorised { .. } => (
                Kind::Credentials,
                format!(
                    "{error} Sign in again with `rcpt sign-in`, or set RCPT_API_KEY to the key that the \
                     portal shows."
                ),
            ),
            Error::TooMany { code, .. } if code.as_deref() == Some("used_up") => {
                (Kind::UsedUp, format!("{error} `rcpt quota` shows what is left."))
            }
            Error::TooMany { .. } => (Kind::UsedUp, error.to_string()),
            Error::Refused { .. } => (Kind::Refused, error.to_string()),
            Error::Unavailable { .. } => {
                let id = id.unwrap_or_default();
                (Kind::Service, format!("{error} Nothing was counted. Try again in a minute.{id}"))
            }
            Error::Network { .. } => (
                Kind::Network,
                format!(
                    "The service can't be reached: {error}. Check your connection and try again."
                ),
            ),
            Error::Unintelligible(_) => (Kind::Service, error.to_string()),
        };
        Self::new(kind, message)
    }
}
