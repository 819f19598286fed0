//! The outcome of asking one host, or one of its addresses.

use std::time::Duration;

use rcpt_shared::Verdict;

/// The outcome of asking a host.
pub(super) enum Outcome {
    /// The verdict is final; no other host is asked.
    Settled(Verdict),
    /// A failure that may be this host's alone: the next one is asked.
    NextHost(Verdict),
}

/// The outcome of asking one of its addresses.
pub(super) enum Attempt {
    /// The verdict is final; no other host is asked.
    Settled(Verdict),
    /// A failure that may be this host's alone: the next one is asked.
    NextHost(Verdict),
    /// A host of equal preference may have another answer; else the verdict stands.
    AskEqual(Verdict),
    /// The same host may have another answer after a moment; else the verdict stands.
    AskAgain(Verdict, Retry),
}

/// When and where to ask a host again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Retry {
    pub after: Duration,
    /// In a new session: this one's answer will stay the same.
    pub afresh: bool,
}
