//! Records of a run, for the figures: bans, exceeded limits and wrong verdicts.

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use rcpt_shared::{Stage, Status, Verdict};

use crate::truth::{self, Mailbox};

/// A ban of one of our source addresses, by a kind of operator.
#[derive(Debug, Clone)]
pub struct Ban {
    pub kind: &'static str,
    pub source: IpAddr,
    pub from: Duration,
    pub until: Duration,
}

/// Numbers of verdicts, compared with the truth.
#[derive(Debug, Clone, Default)]
pub struct Credit {
    pub verdicts: u64,
    /// A "no" about a mailbox that exists.
    pub false_no: u64,
    /// A "yes" about a mailbox that doesn't exist.
    pub false_yes: u64,
    /// Verdicts whose reply was compared with the replies about the recipient.
    pub compared: u64,
    /// Verdicts whose reply was about another recipient.
    pub misplaced: u64,
    pub examples: Vec<String>,
}

#[derive(Default)]
struct Pages {
    bans: Vec<Ban>,
    broken: Vec<String>,
    broken_count: u64,
    /// Reply codes about each recipient since its last verdict.
    replies: HashMap<String, Vec<u16>>,
    credit: Credit,
    by_reason: BTreeMap<String, u64>,
}

#[derive(Default)]
pub struct Journal(Mutex<Pages>);

impl Journal {
    /// Records a ban, or extends a ban that is in force.
    pub fn record_ban(&self, kind: &'static str, source: IpAddr, from: Duration, until: Duration) {
        let mut pages = self.pages();
        let bans = pages.bans.iter_mut().rev();
        let mut running =
            bans.filter(|ban| ban.kind == kind && ban.source == source && ban.until >= from);
        match running.next() {
            Some(ban) => ban.until = ban.until.max(until),
            None => pages.bans.push(Ban { kind, source, from, until }),
        }
    }

    pub fn bans(&self) -> Vec<Ban> {
        self.pages().bans.clone()
    }

    /// Records that a limit was exceeded.
    pub fn broken(&self, text: impl FnOnce() -> String) {
        let mut pages = self.pages();
        pages.broken_count += 1;
        if pages.broken.len() < 5 {
            pages.broken.push(text());
        }
    }

    pub fn broken_limits(&self) -> (u64, Vec<String>) {
        let pages = self.pages();
        (pages.broken_count, pages.broken.clone())
    }

    pub fn replied(&self, recipient: &str, reply: &str) {
        let code = reply.get(..3).and_then(|code| code.parse().ok()).unwrap_or_default();
        let mut pages = self.pages();
        pages.replies.entry(recipient.to_lowercase()).or_default().push(code);
    }

    /// Compares a verdict with the truth, and with the replies about its recipient.
    pub fn judge(&self, recipient: &str, verdict: &Verdict) {
        let mut pages = self.pages();
        let replies = pages.replies.remove(&recipient.to_lowercase()).unwrap_or_default();
        let host = verdict.mx_host.as_deref().unwrap_or("none");
        let place = if truth::domain(recipient).starts_with("town-") {
            truth::domain(recipient).chars().take(6).collect()
        } else {
            host.to_owned()
        };
        *pages.by_reason.entry(format!("{} {place}", verdict.reason.as_str())).or_default() += 1;
        let credit = &mut pages.credit;
        credit.verdicts += 1;
        let mailbox = truth::mailbox(recipient);
        let mut example = |what: &str| {
            if credit.examples.len() < 8 {
                credit.examples.push(format!("{what}: {recipient} {verdict:?}"));
            }
        };
        let is_false_no = verdict.status == Status::Refused && mailbox == Mailbox::Live;
        if is_false_no {
            example("false no");
        }
        let at_rcpt = verdict.stage == Stage::Rcpt && verdict.seen_before.is_none();
        let mut is_misplaced = false;
        let code = verdict.smtp_code.filter(|_| at_rcpt);
        if let Some(code) = code {
            let text = verdict.details.as_ref().and_then(|details| details.smtp_text.as_deref());
            let tag = text.and_then(truth::tag_in);
            is_misplaced =
                tag.is_some_and(|tag| tag != truth::tag(recipient)) || !replies.contains(&code);
            if is_misplaced {
                example("misplaced");
            }
        }
        credit.false_no += u64::from(is_false_no);
        credit.false_yes +=
            u64::from(verdict.status == Status::Accepted && mailbox == Mailbox::Dead);
        credit.compared += u64::from(code.is_some());
        credit.misplaced += u64::from(is_misplaced);
    }

    pub fn credit(&self) -> Credit {
        self.pages().credit.clone()
    }

    pub fn by_reason(&self) -> BTreeMap<String, u64> {
        self.pages().by_reason.clone()
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock()
    }
}
