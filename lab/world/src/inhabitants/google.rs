//! An operator with most of the domains, like Google.
//!
//! Documented: <https://support.google.com/a/answer/3726730> has the replies, 421 4.7.0 and 4.7.28 for a source with
//! too many requests, and 450 4.2.1 for a mailbox that gets too much mail. No page has the numbers: our numbers are
//! guesses, and figures that depend on them are varied. A new source address is limited for an hour if it exceeds
//! [`Volumes`].

use std::{
    collections::{HashMap, HashSet},
    net::IpAddr,
    time::Duration,
};

use crate::{
    clock::{HOUR, MINUTE},
    corpus,
    inhabitants::{
        volumes::Volumes,
        window::{Bans, Window},
    },
    server::{Behaviour, Caller, Say},
    truth::{self, Mailbox},
};

/// Limits of the operator, for one source address.
pub struct Google {
    /// Maximum number of concurrent connections; a further connection gets 421.
    pub connections_max: usize,
    /// Maximum number of recipients in a minute; a further recipient gets 421 and the connection is closed.
    pub recipients_per_minute_max: usize,
    /// Unknown recipients in an hour, after which the source is limited for an hour.
    pub unknown_per_hour_max: usize,
    /// Maximum number of questions about one mailbox in a minute; above it, the mailbox is busy.
    pub mailbox_per_minute_max: usize,
    recipients: Window,
    unknown: Window,
    limited: Bans,
    mailboxes: HashMap<String, (u64, usize)>,
    volumes: Volumes,
}

impl Google {
    pub const KIND: &'static str = "google";

    /// Creates the operator with its limits multiplied by `factor`; it doesn't know the `new`
    /// source addresses yet.
    pub fn new(factor: f64, new: HashSet<IpAddr>) -> Self {
        let times = |limit: f64| (limit * factor) as usize;
        Self {
            connections_max: times(20.0),
            recipients_per_minute_max: times(4_000.0),
            unknown_per_hour_max: times(1_500.0),
            mailbox_per_minute_max: times(60.0),
            recipients: Window::new(MINUTE),
            unknown: Window::new(HOUR),
            limited: Bans::default(),
            mailboxes: HashMap::new(),
            volumes: Volumes::new(new, times(200.0)),
        }
    }

    fn is_busy(&mut self, recipient: &str, now: Duration) -> bool {
        let minute = now.as_secs() / 60;
        if self.mailboxes.len() > 10_000 {
            self.mailboxes.clear();
        }
        let entry = self.mailboxes.entry(recipient.to_owned()).or_default();
        if entry.0 != minute {
            *entry = (minute, 0);
        }
        entry.1 += 1;
        entry.1 > self.mailbox_per_minute_max
    }

    fn limit(&mut self, caller: &Caller<'_>, span: Duration) -> Say {
        let until = caller.now + span;
        self.limited.ban(caller.source, until);
        caller.journal.record_ban(Self::KIND, caller.source, caller.now, until);
        Say::closing(corpus::reply("Gmail: rate of the address", ""))
    }
}

impl Behaviour for Google {
    fn banner(&mut self, caller: &Caller<'_>) -> Say {
        if caller.open > self.connections_max {
            return Say::closing("421 4.7.0 Try again later, closing connection.");
        }
        Say::now("220 mx.google.com ESMTP - gsmtp")
    }

    fn rcpt(&mut self, caller: &Caller<'_>, recipient: &str) -> Say {
        if self.limited.holds(caller.source, caller.now) {
            return Say::closing(corpus::reply("Gmail: rate of the address", recipient));
        }
        let recent = self.recipients.count(caller.source, caller.now);
        if recent > self.recipients_per_minute_max {
            return self.limit(caller, MINUTE);
        }
        if self.volumes.is_sudden(caller.source, caller.now) {
            return self.limit(caller, HOUR);
        }
        if self.is_busy(recipient, caller.now) {
            return Say::now(
                "450 4.2.1 The user you are trying to contact is receiving mail at a rate that prevents \
                 additional messages from being delivered. - gsmtp",
            );
        }
        // The domain has its own rule, whose words are about the sender and not about our address.
        if truth::domain(recipient).starts_with("rules") {
            return Say::now(
                "550 5.7.1 The sender is not allowed by a policy of the recipient's domain. - gsmtp",
            );
        }
        match truth::mailbox(recipient) {
            Mailbox::Live => Say::accepted(),
            Mailbox::Full => Say::now(corpus::reply("Gmail: full for now", recipient)),
            Mailbox::Dead => {
                if self.unknown.count(caller.source, caller.now) > self.unknown_per_hour_max {
                    self.unknown.clear(caller.source);
                    return self.limit(caller, HOUR);
                }
                Say::now(corpus::reply("Gmail: unknown", recipient))
            }
        }
    }
}
