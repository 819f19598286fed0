//! Results of asking a host, or one of its addresses.

use std::time::Duration;

use rcpt_shared::{Reason, Stage, Status, Verdict};

/// Time after which to repeat a question whose session was cut, or for which too little time was left. No session of the
/// domain is cut for ten minutes.
pub(super) const RETRY_DELAY: Duration = Duration::from_secs(10);

pub(super) enum Outcome {
    /// The verdict is final; no other host is tried.
    Settled(Verdict),
    /// A failure that may affect only this host: the next host is tried.
    NextHost(Verdict),
    /// A host of equal preference may reply differently. A backup host isn't tried: it may accept everything because it
    /// knows less, and what kept us from this host isn't this host's doing, or was its reply about the recipient.
    EqualHost(Verdict),
}

pub(super) enum Attempt {
    /// The verdict is final; no other host is tried.
    Settled(Verdict),
    /// A failure that may affect only this host: the next host is tried.
    NextHost(Verdict),
    /// See [`Outcome::EqualHost`].
    AskEqual(Verdict),
    /// The same host may reply differently after a delay. If it isn't asked again, the attempt counts as
    /// [`Self::AskEqual`].
    AskAgain(Verdict, Retry),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Retry {
    pub after: Duration,
    /// True if a new session is needed, because the current one would get the same reply.
    pub afresh: bool,
}

/// Returns the verdict for our own limit, which is never the recipient's fault. The question may be repeated `after`
/// this time.
pub(super) fn our_limit(after: Duration) -> Verdict {
    let seconds = u32::try_from(after.as_secs()).unwrap_or(u32::MAX).max(1);
    Verdict {
        retry_after: Some(seconds),
        ..Verdict::new(Status::FatalException, Reason::OurLimit, Stage::Connect)
    }
}
