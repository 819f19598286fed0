//! What came of asking one host.

use std::time::Duration;

use rcpt_shared::Verdict;

pub(super) enum Attempt {
    /// The verdict stands, whatever another host would say.
    Settled(Verdict),
    /// A failure that may be this host's alone: the next one is asked.
    NextHost(Verdict),
    /// A host of equal preference may have another answer; else the verdict stands.
    AskEqual(Verdict),
    /// The same host may have another answer after a moment; else the verdict stands.
    AskAgain(Verdict, Duration),
}
