//! A question to one host.

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use rcpt_pool::{Pool, Question, Wait};
use tokio::time::Instant;

use super::{
    client::{Client, HostSession},
    resolver::{AddressSource, Resolver},
};

use crate::config::Config;

/// Longest wait for the control recipient's result behind an acceptance.
pub(super) const EVIDENCE_WAIT_MAX: Duration = Duration::from_secs(3);

/// `host.rs` finds addresses and sessions for the question, `conversation.rs` asks it in a session.
pub(super) struct HostProbe<'a> {
    pub resolver: &'a Resolver,
    pub client: &'a Arc<Client>,
    pub pool: &'a Arc<Pool<HostSession>>,
    pub config: &'a ArcSwap<Config>,
    pub question: &'a Question,
    pub host: &'a str,
    pub address_source: AddressSource<'a>,
    pub manner: Manner,
    /// Number of hosts left to ask that know as much as this one.
    pub more_hosts: usize,
    /// True if other hosts have a better preference: this host may accept everything because it knows less.
    pub is_backup: bool,
}

/// A list has more patience than a person, and may leave the invention to its domain's last address.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// Time for one address, DNS included and waits for a session not.
    pub budget: Duration,
    /// True if an acceptance is followed by the control recipient, should the evidence be missing.
    pub invents: bool,
    /// When somebody takes what is known; `None` if they wait for all of it. The probe goes on behind that moment.
    pub awaited_until: Option<Instant>,
    /// When nobody hears the answer any more.
    pub ends: Instant,
}

impl Manner {
    /// When an accepted address is answered without its evidence: when somebody takes what is known, unless that moment
    /// has passed.
    pub(super) fn evidence_until(self, now: Instant) -> Instant {
        let last = self.ends.min(now + EVIDENCE_WAIT_MAX);
        self.awaited_until.filter(|until| *until > now).map_or(last, |until| last.min(until))
    }
}

impl HostProbe<'_> {
    pub(super) const fn is_list(&self) -> bool {
        matches!(self.question.wait, Wait::InBatch(_))
    }

    pub(super) const fn by_route(&self) -> bool {
        matches!(self.address_source, AddressSource::ByRoute(_))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{EVIDENCE_WAIT_MAX, Manner};

    #[tokio::test(start_paused = true)]
    async fn evidence_is_waited_for_until_what_is_known_is_taken_and_never_beyond_the_end() {
        let now = Instant::now();
        let after = |awaited_ms: Option<u64>, ends_ms| {
            let at = |ms| now + Duration::from_millis(ms);
            let awaited_until = awaited_ms.map(at);
            let manner =
                Manner { budget: Duration::ZERO, invents: true, awaited_until, ends: at(ends_ms) };
            manner.evidence_until(now) - now
        };
        let ms = Duration::from_millis;
        assert_eq!(after(None, 60_000), EVIDENCE_WAIT_MAX);
        assert_eq!(after(Some(1_500), 60_000), ms(1_500));
        assert_eq!(after(Some(1), 60_000), ms(1));
        assert_eq!(after(Some(0), 60_000), EVIDENCE_WAIT_MAX, "the caller has what was known");
        assert_eq!(after(Some(9_000), 60_000), EVIDENCE_WAIT_MAX);
        assert_eq!(
            [after(None, 500), after(Some(1_500), 500), after(None, 0)],
            [ms(500), ms(500), ms(0)]
        );
    }
}
