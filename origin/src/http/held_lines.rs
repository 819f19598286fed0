//! The lines of each domain in a batch. A refusal that the rules can't decide is held until the domain's other lines
//! are answered, and where nobody waits, an accepted line without evidence: the invention comes last.

use std::collections::HashMap;

use parking_lot::Mutex;
use rcpt_pool::Question;
use rcpt_shared::{Address, Verdict};
use rcpt_verdict::Wording;
use tokio::time::Instant;

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
