//! From what a mail server did to a status and a reason: the policy of `verdicts.md`.
//!
//! The one rule: a refusal of *us* is never a statement about the mailbox. `false` is said only where
//! the server spoke about the recipient, at RCPT. The order of evidence is the stage, the enhanced
//! code, the basic code, the text; except that text which is unmistakably about us is believed over
//! any code, because servers that reuse `5.1.1` for a blocklist hit exist. Where no code and no word
//! speaks of the recipient, a word of sending (`your message`, `from`) is enough to say nothing.

mod early;
mod evidence;
mod phrases;
mod rcpt;
mod retry;

use std::time::Duration;

use rcpt_shared::{Reason, Stage, Status, Verdict};

use crate::{
    pool::Signal,
    smtp::{Broken, Reply},
};
use evidence::Evidence;

/// What a server's behaviour means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    pub status: Status,
    pub reason: Reason,
    /// Seconds; only for greylisting.
    pub retry_after: Option<u32>,
    /// Enough to withhold a `false`, and too little to tell how we are received.
    is_guess: bool,
}

impl Finding {
    const fn new(status: Status, reason: Reason) -> Self {
        Self { status, reason, retry_after: None, is_guess: false }
    }

    const fn refused(reason: Reason) -> Self {
        Self::new(Status::Refused, reason)
    }

    const fn blocked(reason: Reason) -> Self {
        Self::new(Status::BlockedByProvider, reason)
    }

    const fn perhaps_blocked() -> Self {
        Self { is_guess: true, ..Self::blocked(Reason::Blocked) }
    }

    const fn unanswered(reason: Reason) -> Self {
        Self::new(Status::SmtpConnectError, reason)
    }

    fn greylisted(reply: &Reply) -> Self {
        Self {
            retry_after: Some(retry::seconds(reply.text())),
            ..Self::blocked(Reason::Greylisted)
        }
    }

    /// What the operator of the host told about how we are received. Greylisting and relaying are
    /// rules for one recipient or domain, and say nothing of the next.
    #[must_use]
    pub fn signal(self, stage: Stage, reply: &Reply) -> Option<Signal> {
        let blocked = self.status == Status::BlockedByProvider;
        let after = || retry::hint(reply.text()).map(|seconds| Duration::from_secs(seconds.into()));
        match self.reason {
            _ if reply.code == 421 => Some(Signal::Refused { blocked, after: after() }),
            Reason::Greylisted | Reason::RelayDenied => None,
            _ if self.is_guess => None,
            _ if blocked && stage < Stage::Rcpt => {
                Some(Signal::Refused { blocked, after: after() })
            }
            _ if blocked => Some(Signal::Doubtful { after: after() }),
            _ if matches!(self.status, Status::Accepted | Status::Refused) => {
                Some(Signal::Answered)
            }
            _ => None,
        }
    }

    /// The verdict at `stage`, with the reply as its evidence.
    #[must_use]
    pub fn at(self, stage: Stage, reply: Option<&Reply>) -> Verdict {
        Verdict {
            smtp_code: reply.map(|reply| reply.code),
            enhanced_code: reply.and_then(|reply| reply.enhanced).map(|code| code.to_string()),
            retry_after: self.retry_after,
            ..Verdict::new(self.status, self.reason, stage)
        }
    }
}

/// What `reply`, given at `stage`, means.
#[must_use]
pub fn judge(stage: Stage, reply: &Reply) -> Finding {
    match stage {
        Stage::Rcpt => rcpt::judge(reply),
        Stage::StartTls => Finding::unanswered(Reason::TlsFailed),
        Stage::Dns | Stage::Connect | Stage::Banner | Stage::Ehlo | Stage::Mail => {
            early::judge(stage, reply)
        }
    }
}

/// What a dialogue that broke means, wherever it broke.
#[must_use]
pub const fn judge_broken(broken: Broken) -> Finding {
    match broken {
        Broken::Closed => Finding::unanswered(Reason::ConnectionFailed),
        Broken::Garbage => Finding::unanswered(Reason::ProtocolError),
        Broken::Tls => Finding::unanswered(Reason::TlsFailed),
        // Ours, and never the recipient's.
        Broken::Unencodable => Finding::new(Status::FatalException, Reason::OurLimit),
    }
}

/// The recipient needs SMTPUTF8 and the server does not offer it (RFC 6531 §3.2).
#[must_use]
pub const fn smtputf8_unsupported() -> Finding {
    Finding::unanswered(Reason::Smtputf8Unsupported)
}

#[cfg(test)]
mod tests;
