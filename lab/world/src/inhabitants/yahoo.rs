//! An operator that reveals nothing, like Yahoo: every recipient is accepted, or deferred because
//! of the source.
//!
//! Documented: <https://senders.yahooinc.com/smtp-error-codes/> has 421 4.7.0 [TSS04] for unexpected volume. The volume is
//! not published.

use std::time::Duration;

use crate::{
    corpus,
    inhabitants::window::{Bans, Window},
    server::{Behaviour, Caller, Say},
};

/// Limits of the operator per source address.
pub struct Yahoo {
    /// Recipients in ten minutes above which the source is deferred for half an hour.
    pub recipients_max: usize,
    recipients: Window,
    deferred: Bans,
}

impl Yahoo {
    pub const KIND: &'static str = "yahoo";
    const DEFERRAL: Duration = Duration::from_secs(1_800);

    /// Creates the operator with its limits multiplied by `factor`.
    pub fn new(factor: f64) -> Self {
        Self {
            recipients_max: (8_000.0 * factor) as usize,
            recipients: Window::new(Duration::from_secs(600)),
            deferred: Bans::default(),
        }
    }
}

impl Behaviour for Yahoo {
    fn mail(&mut self, caller: &Caller<'_>) -> Say {
        let Caller { source, now, .. } = *caller;
        if self.deferred.holds(source, now) {
            return Say::closing(corpus::reply("Yahoo: deferred", ""));
        }
        Say::ok()
    }

    fn rcpt(&mut self, caller: &Caller<'_>, _: &str) -> Say {
        let Caller { source, now, .. } = *caller;
        if self.recipients.count(source, now) > self.recipients_max {
            self.deferred.ban(source, now + Self::DEFERRAL);
            caller.journal.record_ban(Self::KIND, source, now, now + Self::DEFERRAL);
        }
        Say::now("250 recipient <> ok")
    }
}
