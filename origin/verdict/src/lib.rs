//! Maps a mail server's behaviour to a status and a reason: the policy of `docs/verdicts.md`, as
//! tables.
//!
//! The main rule: a refusal of *us* is never a statement about the mailbox. `false` requires a
//! statement about the recipient at RCPT, or that no host of the domain accepts mail. Evidence is ranked by stage,
//! enhanced code, basic code, then text. But text that can only mean us outranks any code, because some
//! servers reuse `5.1.1` for a blocklist hit.
#![warn(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unreachable,
    clippy::unwrap_used
)]

mod assessment;
mod languages;
mod parties;
mod phrases;
mod reading;
mod rules;
mod text;
mod wording;

use rcpt_shared::{Reason, Stage, Status, Verdict};
use rcpt_smtp::{Broken, Reply};

pub use assessment::{Assessment, assess};
pub use parties::Parties;
use reading::Reading;
use rules::Rule;
pub use wording::Wording;

/// Codes for a failed lookup of the name: 5.1.1 (RFC 3463), and Exchange's 5.1.10 and 5.4.1. 5.1.3 (bad syntax) and
/// 5.1.6 (one mailbox has moved) aren't such codes.
const BY_NAME: [(u16, u16); 3] = [(1, 1), (1, 10), (4, 1)];

/// Postgrey's default delay, for texts without one.
const DEFAULT_DELAY_S: u32 = 300;
const MIN_DELAY_S: u32 = 60;
const MAX_DELAY_S: u32 = 24 * 3_600;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    pub status: Status,
    pub reason: Reason,
    /// Seconds to wait after greylisting; `None` otherwise.
    pub retry_after: Option<u32>,
    pub reception: Reception,
    pub rule: Option<&'static str>,
    /// The refusal demands TLS; meaningless unless STARTTLS was offered.
    pub demands_tls: bool,
    pub is_doubtful: bool,
    pub by_name: bool,
}

impl Finding {
    const fn unanswered(reason: Reason) -> Self {
        Self::of_ours(Status::SmtpConnectError, reason)
    }

    const fn of_ours(status: Status, reason: Reason) -> Self {
        Self {
            status,
            reason,
            retry_after: None,
            reception: Reception { scope: Scope::Nothing, hint: None },
            rule: None,
            demands_tls: false,
            is_doubtful: false,
            by_name: false,
        }
    }

    fn by(rule: &Rule, reply: &Reply, reading: &Reading<'_>) -> Self {
        let Rule { name, status, reason, .. } = *rule;
        let scope = match rule.scope {
            Scope::Nothing if reply.code == 421 => Scope::Rate,
            scope => scope,
        };
        let asked = if scope == Scope::Nothing { None } else { hint(reply.beginning()) };
        let greylisted = reason == Reason::Greylisted;
        Self {
            status,
            reason,
            retry_after: greylisted.then(|| hint(reply.beginning()).unwrap_or(DEFAULT_DELAY_S)),
            reception: Reception { scope, hint: asked },
            rule: Some(name),
            demands_tls: reading.demands_tls(reply),
            is_doubtful: status == Status::Refused
                // 556 has no other meaning (RFC 7504, RFC 7505).
                && (reply.is_transient() || !(reading.is_understood() || reply.code == 556)),
            by_name: reason == Reason::NoSuchMailbox
                && reading.enhanced.is_some_and(|code| BY_NAME.contains(&code)),
        }
    }

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

/// Extent of a refusal beyond the recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// No consequence for the next recipient.
    Nothing,
    /// Our address, its name or its reputation: every recipient there gets the same reply.
    OurAddress,
    /// A rule that may belong to the recipient or its domain: other domains there get other
    /// replies.
    DomainRule,
    Rate,
}

/// A reply's meaning for later connections: the pool decides by it when to connect again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reception {
    pub scope: Scope,
    /// Seconds for which the text asks us to stay away.
    pub hint: Option<u32>,
}

/// The delay in seconds that the text asks for (`try again in 5 minutes`, `Greylisted for 300 seconds`): at least a
/// minute, and at most a day.
fn hint(text: &str) -> Option<u32> {
    let mut number = None;
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        if let Some(count) = number {
            let word = word.to_ascii_lowercase();
            let unit = match word.as_str() {
                "s" | "sec" | "secs" | "second" | "seconds" => Some(1),
                "m" | "min" | "mins" | "minute" | "minutes" => Some(60),
                "h" | "hour" | "hours" => Some(3_600),
                _ => None,
            };
            if let Some(unit) = unit {
                return Some(u32::saturating_mul(count, unit).clamp(MIN_DELAY_S, MAX_DELAY_S));
            }
        }
        number = word.parse().ok();
    }
    None
}

/// The meaning of `reply` at `stage`: the conclusion of the first rule that matches. `parties` tell a refusal that
/// quotes us from one that quotes the recipient.
#[must_use]
pub fn judge(stage: Stage, reply: &Reply, parties: &Parties<'_>) -> Finding {
    let reading = Reading::of(reply, parties);
    let code = understood(reply.code);
    let mut rules = rules::of(stage, code).iter();
    let rule = rules.find(|rule| rule.fits(stage, code, &reading));
    // The last rule of each table matches everything.
    rule.map_or(Finding::unanswered(Reason::ProtocolError), |rule| {
        Finding::by(rule, reply, &reading)
    })
}

/// The reply in terms of our own tables, for the log: its codes, the rule that decided, and the phrase or word of the
/// tables that the rule asked for. A server's own words may contain the checked address in any spelling, and never get
/// into a log.
#[must_use]
pub fn in_our_words(stage: Stage, reply: &Reply, finding: &Finding) -> String {
    let mut shown = reply.code.to_string();
    if let Some(enhanced) = reply.enhanced {
        shown = format!("{shown} {enhanced}");
    }
    let mut rules = rules::of(stage, understood(reply.code)).iter();
    let Some(rule) = rules.find(|rule| Some(rule.name) == finding.rule) else { return shown };
    shown = format!("{shown}, rule {}", rule.name);
    match Reading::phrase(reply, |meaning| rule.asks_for(meaning)) {
        Some(phrase) => format!("{shown}: {}", phrase.trim()),
        None => shown,
    }
}

/// A code that no RFC defines for SMTP is read by its first digit (RFC 5321 §4.3.2), like the most common code of its
/// class.
const fn understood(code: u16) -> u16 {
    match code {
        211 | 214 | 220 | 221 | 235 | 250..=253 | 421 | 432 | 450..=455 | 458 | 459 => code,
        500..=504 | 521 | 523 | 524 | 525 | 530 | 534 | 535 | 538 | 550..=556 => code,
        200..=299 => 250,
        400..=499 => 450,
        500..=599 => 550,
        _ => code,
    }
}

/// Loads the word lists, so that startup finds mistakes in them and the first check needn't load them.
pub fn load() {
    // The reply contains a mailbox, a state and a host name, so that each list is used.
    if let Some(reply) = Reply::parse("550 user unknown at mx.example.org\r\n") {
        let _ = judge(Stage::Rcpt, &reply, &Parties::default());
    }
}

#[must_use]
pub const fn judge_broken(broken: Broken) -> Finding {
    match broken {
        Broken::Closed => Finding::unanswered(Reason::ConnectionFailed),
        Broken::Garbage | Broken::Tls => Finding::unanswered(Reason::ProtocolError),
        // Our own failure; it says nothing about the recipient.
        Broken::Unencodable => Finding::of_ours(Status::FatalException, Reason::OurLimit),
    }
}

#[must_use]
pub const fn smtputf8_unsupported() -> Finding {
    Finding::unanswered(Reason::Smtputf8Unsupported)
}

#[cfg(test)]
mod tests;
