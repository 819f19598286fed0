//! The lines of each domain in a batch. An accepted line without evidence is held until the domain's other lines are
//! answered: the list's own addresses come first, and the invention last.

use std::collections::HashMap;

use parking_lot::Mutex;
use rcpt_pool::Question;
use rcpt_shared::{Address, Verdict};

pub(super) struct HeldLine {
    pub index: usize,
    pub question: Question,
    pub verdict: Verdict,
    /// True if the line was asked about with leave for an invention.
    pub invents: bool,
}

#[derive(Default)]
struct Lines {
    /// Number of lines that aren't answered yet.
    open: usize,
    held: Vec<HeldLine>,
}

/// Domains by name; a domain is dropped with its last line.
pub(super) struct HeldLines(Mutex<HashMap<String, Lines>>);

impl HeldLines {
    pub(super) fn of(addresses: &[Address]) -> Self {
        let mut domains: HashMap<String, Lines> = HashMap::new();
        for address in addresses {
            domains.entry(address.domain().to_owned()).or_default().open += 1;
        }
        Self(Mutex::new(domains))
    }

    /// True if the domain's other lines are answered.
    pub(super) fn is_last(&self, domain: &str) -> bool {
        self.0.lock().get(domain).is_none_or(|lines| lines.open <= 1)
    }

    pub(super) fn hold(&self, line: HeldLine) {
        if let Some(lines) = self.0.lock().get_mut(line.question.address.domain()) {
            lines.held.push(line);
        }
    }

    /// Counts a line of the domain as answered. With the last one, all held lines come back.
    pub(super) fn answered(&self, domain: &str) -> Vec<HeldLine> {
        let mut domains = self.0.lock();
        let Some(lines) = domains.get_mut(domain) else { return Vec::new() };
        lines.open = lines.open.saturating_sub(1);
        if lines.open > 0 {
            return Vec::new();
        }
        domains.remove(domain).map(|lines| lines.held).unwrap_or_default()
    }
}
