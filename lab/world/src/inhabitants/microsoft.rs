//! An operator with a host name per customer, like Microsoft.
//!
//! Documented:
//! <https://learn.microsoft.com/en-us/exchange/mail-flow-best-practices/non-delivery-reports-in-exchange-online/non-delivery-reports-in-exchange-online>
//! has 4.7.500 to 4.7.699 (server busy, for a source with a change in its traffic) and 5.7.606 to 5.7.649 (banned
//! source). The limits against harvesting aren't published, so ours are guesses, and are varied. Refusals of unknown
//! recipients are delayed by five seconds, as by Exchange's connectors (`TarpitInterval`).

use std::time::Duration;

use crate::{
    clock::{DAY, HOUR},
    corpus,
    inhabitants::window::{Bans, Window},
    server::{Behaviour, Caller, Say},
    truth::{self, Mailbox},
};

/// Limits of the operator per source address.
pub struct Microsoft {
    /// Unknown recipients in an hour after which each further one defers all recipients for ten minutes.
    pub busy_after: usize,
    /// Unknown recipients in an hour after which the source is banned for a day.
    pub ban_after: usize,
    pub tarpit: Duration,
    unknown: Window,
    bans: Bans,
    deferred: Bans,
}

impl Microsoft {
    pub const KIND: &'static str = "microsoft";

    /// Creates the operator with its limits multiplied by `factor`.
    pub fn new(factor: f64) -> Self {
        Self {
            busy_after: (1_000.0 * factor) as usize,
            ban_after: (1_400.0 * factor) as usize,
            tarpit: Duration::from_secs(5),
            unknown: Window::new(HOUR),
            bans: Bans::default(),
            deferred: Bans::default(),
        }
    }
}

impl Behaviour for Microsoft {
    fn banner(&mut self, _: &Caller<'_>) -> Say {
        Say::now("220 AM0EUR02FT014.mail.protection.outlook.com Microsoft ESMTP MAIL Service ready")
    }

    fn rcpt(&mut self, caller: &Caller<'_>, recipient: &str) -> Say {
        let Caller { source, now, .. } = *caller;
        if self.bans.holds(source, now) {
            return Say::now(corpus::reply("Exchange Online: banned IP", recipient));
        }
        let mailbox = truth::mailbox(recipient);
        if mailbox == Mailbox::Dead {
            let count = self.unknown.count(source, now);
            if count > self.ban_after {
                self.bans.ban(source, now + DAY);
                caller.journal.record_ban(Self::KIND, source, now, now + DAY);
            } else if count > self.busy_after {
                self.deferred.ban(source, now + Duration::from_secs(600));
            }
        }
        if self.deferred.holds(source, now) {
            return Say::now(corpus::reply("Hotmail: busy for us", recipient));
        }
        match mailbox {
            Mailbox::Live => Say::accepted(),
            Mailbox::Full => Say::now("452 4.2.2 Mailbox full"),
            Mailbox::Dead => {
                let text = corpus::reply("Exchange Online: unknown", recipient);
                Say::after(self.tarpit, text)
            }
        }
    }
}
