//! Cache lifetimes of verdicts: a setting that the edge sends to origins.

use std::fmt;

use crate::{Reason, Status};

/// Header of `POST /v1/probe` with [`CacheTimes`]. Without it, the origin neither stores a verdict nor returns a stored
/// one.
pub const REMEMBER_HEADER: &str = "x-remember";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheTimes {
    /// Lifetime of `true` and `false`.
    pub decided: u64,
    /// Lifetime of `domain_not_found` and `no_mx_records`.
    pub no_mail: u64,
    /// Lifetime of all other statuses.
    pub undecided: u64,
}

const CACHE_TIME_MAX_S: u64 = 7 * 24 * 60 * 60;

/// Greatest lifetime of the verdict about a full mailbox, in seconds.
const FULL_MAILBOX_MAX_S: u64 = 24 * 60 * 60;

impl fmt::Display for CacheTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.decided, self.no_mail, self.undecided)
    }
}

impl CacheTimes {
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut times = text.split('/').map(|time| time.parse().ok());
        let mut time = || times.next()?.filter(|time| *time <= CACHE_TIME_MAX_S);
        let times_read = Self { decided: time()?, no_mail: time()?, undecided: time()? };
        times.next().is_none().then_some(times_read)
    }

    /// Cache lifetime of a verdict in seconds: by its status; at most a day for a full mailbox, which may be emptied.
    #[must_use]
    pub fn of_verdict(&self, status: Status, reason: Option<Reason>) -> Option<u64> {
        let seconds = self.of(status)?;
        Some(if reason == Some(Reason::MailboxFull) {
            seconds.min(FULL_MAILBOX_MAX_S)
        } else {
            seconds
        })
    }

    /// Cache lifetime for this status in seconds; `None` if it isn't cached.
    #[must_use]
    pub const fn of(&self, status: Status) -> Option<u64> {
        match status {
            Status::Accepted | Status::Refused => Some(self.decided),
            Status::DomainNotFound | Status::NoMxRecords => Some(self.no_mail),
            Status::SmtpConnectError | Status::SmtpTimeout | Status::BlockedByProvider => {
                Some(self.undecided)
            }
            // Our own failures aren't cached, and malformed addresses never reach a cache.
            Status::FatalException | Status::InvalidFormat => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CacheTimes, Reason, Status};

    #[test]
    fn a_full_mailbox_is_called_so_for_a_day_at_most() {
        let times = CacheTimes { decided: 604_800, no_mail: 900, undecided: 0 };
        let of = |reason| times.of_verdict(Status::Refused, Some(reason));
        assert_eq!(of(Reason::MailboxFull), Some(86_400));
        assert_eq!(of(Reason::NoSuchMailbox), Some(604_800));
        assert_eq!(times.of_verdict(Status::Refused, None), Some(604_800));
    }

    #[test]
    fn cache_times_read_back_as_written_and_nothing_else_does() {
        let times = CacheTimes { decided: 604_800, no_mail: 900, undecided: 0 };
        assert_eq!(times.to_string(), "604800/900/0");
        assert_eq!(CacheTimes::parse("604800/900/0"), Some(times));
        for wrong in ["", "1/2", "1/2/3/4", "1/2/-3", "1/2/x", "604801/0/0"] {
            assert_eq!(CacheTimes::parse(wrong), None, "{wrong}");
        }
    }
}
