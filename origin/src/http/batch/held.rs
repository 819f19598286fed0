//! The lines of each domain in a batch. A refusal that the rules can't decide is held until the domain's other lines
//! are answered, and then decided by contrast (docs/verdicts.md); where nobody waits, also an accepted line without
//! evidence: the invention comes last.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use parking_lot::Mutex;
use rcpt_pool::{Question, Wait};
use rcpt_shared::{Address, Status, Verdict, is_role};
use rcpt_verdict::Wording;
use tokio::time::Instant;

use super::Batch;
use crate::probe::{Evidence, people};

/// Longest wait for a session in which a neighbour is asked about again.
const AGAIN_WAIT_MAX: Duration = Duration::from_secs(3);

impl Batch {
    /// Indices of the lines to whose recipients their host says what it says to names that don't exist.
    pub(super) async fn nobodies(&self, lines: &DomainLines) -> HashSet<usize> {
        let undecided = lines.held.iter().filter(|line| line.undecided.is_some());
        let hosts: HashSet<_> =
            undecided.filter_map(|line| line.verdict.mx_host.as_deref()).collect();
        let mut nobodies = HashSet::new();
        for host in hosts {
            nobodies.extend(self.nobodies_at(host, lines).await);
        }
        nobodies
    }

    async fn nobodies_at(&self, host: &str, lines: &DomainLines) -> Vec<usize> {
        let held = lines.held.iter().filter(|line| line.verdict.mx_host.as_deref() == Some(host));
        let held = held.filter_map(|line| Some((line.index, line.undecided?)));
        let (indices, words): (Vec<_>, Vec<_>) = held.unzip();
        let accepted = lines.accepted.iter().filter(|(_, at)| at == host).map(|(it, _)| it);
        let neighbours: Vec<&Question> =
            accepted.filter(|it| !is_role(it.address.local_part())).collect();
        let Some(lead) = neighbours.last() else { return Vec::new() };
        let (invented, said_at) = self.state.prober.invented(lead.address.domain(), host);
        let accepted = people(neighbours.iter().map(|it| &it.address));
        let mut evidence = Evidence { invented, accepted, is_accepted_again: true };
        if !evidence.decide(&words).contains(&true) {
            return Vec::new();
        }
        // The invention that came behind all refusals has already been between two acceptances.
        let is_later = said_at > lines.refused_at;
        evidence.is_accepted_again = is_later || self.accepts_again(lead, host).await;
        let decided = indices.into_iter().zip(evidence.decide(&words));
        decided.filter_map(|(index, is_nobody)| is_nobody.then_some(index)).collect()
    }

    async fn accepts_again(&self, neighbour: &Question, host: &str) -> bool {
        let now = Instant::now();
        if now >= self.until {
            return false;
        }
        let wait = Wait::InBatch(self.until.min(now + AGAIN_WAIT_MAX));
        let question = Question { wait, ..neighbour.clone() };
        self.probe(&question, false, None).await.is_ok_and(|told| {
            let verdict = &told.verdict;
            verdict.status == Status::Accepted && verdict.mx_host.as_deref() == Some(host)
        })
    }
}

pub(super) struct HeldLine {
    pub index: usize,
    pub question: Question,
    pub verdict: Verdict,
    /// True if the line was asked about with leave for an invention.
    pub invents: bool,
    pub undecided: Option<Wording>,
}

#[derive(Default)]
pub(super) struct DomainLines {
    open: usize,
    pub held: Vec<HeldLine>,
    pub accepted: Vec<(Question, String)>,
    pub refused_at: Option<Instant>,
}

/// Domains by name; a domain is dropped with its last line.
pub(super) struct HeldLines(Mutex<HashMap<String, DomainLines>>);

impl HeldLines {
    pub(super) fn of(addresses: &[Address]) -> Self {
        let mut domains: HashMap<String, DomainLines> = HashMap::new();
        for address in addresses {
            domains.entry(address.domain().to_owned()).or_default().open += 1;
        }
        Self(Mutex::new(domains))
    }

    pub(super) fn is_last(&self, domain: &str) -> bool {
        self.0.lock().get(domain).is_none_or(|lines| lines.open <= 1)
    }

    pub(super) fn hold(&self, line: HeldLine) {
        if let Some(lines) = self.0.lock().get_mut(line.question.address.domain()) {
            if line.undecided.is_some() {
                lines.refused_at = Some(Instant::now());
            }
            lines.held.push(line);
        }
    }

    pub(super) fn accepted(&self, question: &Question, host: &str) {
        if let Some(lines) = self.0.lock().get_mut(question.address.domain()) {
            lines.accepted.push((question.clone(), host.to_owned()));
        }
    }

    /// Counts a line of the domain as answered. With the last one, all held lines come back.
    pub(super) fn answered(&self, domain: &str) -> DomainLines {
        let mut domains = self.0.lock();
        let Some(lines) = domains.get_mut(domain) else { return DomainLines::default() };
        lines.open = lines.open.saturating_sub(1);
        if lines.open > 0 {
            return DomainLines::default();
        }
        domains.remove(domain).unwrap_or_default()
    }
}
