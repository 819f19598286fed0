//! From what a mail server did to a status and a reason: the policy of `docs/verdicts.md`, as tables.
//!
//! The one rule: a refusal of *us* is never a statement about the mailbox. `false` is said only where
//! the server spoke about the recipient, at RCPT. The order of evidence is the stage, the enhanced
//! code, the basic code, the text; except that text which is unmistakably about us is believed over
//! any code, because servers that reuse `5.1.1` for a blocklist hit exist.

mod assessment;
mod blocklists;
mod encryption;
mod languages;
mod matcher;
mod phrases;
mod reading;
mod reception;
mod retry;
mod rules;
mod text;

use rcpt_shared::{Reason, Stage, Status, Verdict};

use crate::smtp::{Broken, Reply};
pub use assessment::{Assessment, assess};
pub use encryption::demands_tls;
use reading::Reading;
pub use reception::{Reception, Scope};
use rules::Rule;

/// What a server's behaviour means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    pub status: Status,
    pub reason: Reason,
    /// Seconds; only for greylisting.
    pub retry_after: Option<u32>,
    /// What it tells of how we are received.
    pub reception: Reception,
    /// The rule of `docs/verdicts.md` that decided; none where no reply stands behind the finding.
    pub rule: Option<&'static str>,
}

impl Finding {
    const fn unanswered(reason: Reason) -> Self {
        Self::of_ours(Status::SmtpConnectError, reason)
    }

    /// A finding that no reply of the server stands behind.
    const fn of_ours(status: Status, reason: Reason) -> Self {
        Self { status, reason, retry_after: None, reception: Reception::NONE, rule: None }
    }

    fn by(rule: &Rule, reply: &Reply) -> Self {
        let Rule { name, status, reason, .. } = *rule;
        let greylisted = reason == Reason::Greylisted;
        Self {
            status,
            reason,
            retry_after: greylisted.then(|| retry::seconds(reply.text())),
            reception: Reception::of(rule, reply),
            rule: Some(name),
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

/// What `reply`, given at `stage`, means: the conclusion of the first rule that fits it.
#[must_use]
pub fn judge(stage: Stage, reply: &Reply) -> Finding {
    let reading = Reading::of(reply);
    let mut rules = rules::of(stage, reply.code).iter();
    let rule = rules.find(|rule| rule.fits(stage, reply.code, &reading));
    // The last rule of each table fits everything.
    rule.map_or(Finding::unanswered(Reason::ProtocolError), |rule| Finding::by(rule, reply))
}

/// What a dialogue that broke means, wherever it broke.
#[must_use]
pub const fn judge_broken(broken: Broken) -> Finding {
    match broken {
        Broken::Closed => Finding::unanswered(Reason::ConnectionFailed),
        Broken::Garbage => Finding::unanswered(Reason::ProtocolError),
        Broken::Tls => Finding::unanswered(Reason::TlsFailed),
        // Ours, and never the recipient's.
        Broken::Unencodable => Finding::of_ours(Status::FatalException, Reason::OurLimit),
    }
}

/// The recipient needs SMTPUTF8 and the server does not offer it (RFC 6531 §3.2).
#[must_use]
pub const fn smtputf8_unsupported() -> Finding {
    Finding::unanswered(Reason::Smtputf8Unsupported)
}

#[cfg(test)]
mod tests;
