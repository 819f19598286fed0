//! What came of asking one host.

use rcpt_shared::Verdict;

pub(super) enum Attempt {
    /// The verdict stands, whatever another host would say.
    Settled(Verdict),
    /// A failure that may be this host's alone: the next one is asked.
    NextHost(Verdict),
}

impl Attempt {
    pub(super) fn map(self, change: impl FnOnce(Verdict) -> Verdict) -> Self {
        match self {
            Self::Settled(verdict) => Self::Settled(change(verdict)),
            Self::NextHost(failure) => Self::NextHost(change(failure)),
        }
    }

    /// For a domain with one host there is no next one.
    pub(super) fn into_verdict(self) -> Verdict {
        match self {
            Self::Settled(verdict) | Self::NextHost(verdict) => verdict,
        }
    }
}
