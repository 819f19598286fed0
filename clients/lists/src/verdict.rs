//! The four verdicts, and which of several is the worst.

use std::fmt;

/// A verdict about an address, as the service names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Deliverable,
    Risky,
    Unknown,
    Undeliverable,
}

impl Verdict {
    /// Reads the service's word; a word that isn't known yet is `Unknown`.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "deliverable" => Self::Deliverable,
            "undeliverable" => Self::Undeliverable,
            "risky" => Self::Risky,
            _ => Self::Unknown,
        }
    }

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deliverable => "deliverable",
            Self::Risky => "risky",
            Self::Unknown => "unknown",
            Self::Undeliverable => "undeliverable",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns the worst of several verdicts: mail to a cell goes to all of its addresses.
pub fn worst(verdicts: impl IntoIterator<Item = Verdict>) -> Option<Verdict> {
    verdicts.into_iter().max()
}
