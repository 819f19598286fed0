//! Values that are fine each by itself and make no sense together.

use super::{Config, Mistake};

impl Config {
    /// Every pair of values that contradict each other. A part of the budget is a mistake only where it
    /// is `given`: a default that is longer than a short budget ends with it.
    pub(super) fn contradictions(&self, given: impl Fn(&str) -> bool) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        for (name, part) in
            [("connect_timeout_ms", self.connect_timeout), ("dns_timeout_ms", self.dns_timeout)]
        {
            if part > self.budget && given(name) {
                let (part, whole) = (part.as_millis(), self.budget.as_millis());
                let problem = format!("{part} is longer than budget_ms, which is {whole}");
                mistakes.push(Mistake::new(name, &problem));
            }
        }
        for source in &self.source_addresses {
            if !self.dialled().include(source.ip) {
                let problem = format!("leaves out {} of source_addresses", source.ip);
                mistakes.push(Mistake::new("families", &problem));
            }
        }
        mistakes
    }
}
