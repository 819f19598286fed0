//! Shared hosting: hundreds of domains at one address, strict with clients that guess.
//!
//! Documented: cPanel's Exim with `smtp_accept_max_per_host`, and its dictionary attack ACL (four unknown recipients in
//! a connection). csf/lfd and fail2ban's `postfix` and `exim` jails ban an address after some refusals within ten
//! minutes, for ten minutes to an hour. Hosters choose their own numbers; the simulated numbers are among the
//! strictest.

use std::time::Duration;

use crate::{
    clock::HOUR,
    inhabitants::window::{Bans, Window},
    server::{Behaviour, Caller, Say},
    truth::{self, Mailbox},
};

/// Limits of the machine per source address.
pub struct SharedHosting {
    pub connections_max: usize,
    /// Unknown recipients in ten minutes after which the source is banned.
    pub ban_after: usize,
    pub ban: Duration,
    unknown: Window,
    bans: Bans,
}

impl SharedHosting {
    pub const KIND: &'static str = "shared_hosting";

    /// Creates the machine with its limit of unknown recipients multiplied by `factor`.
    pub fn new(factor: f64) -> Self {
        Self {
            connections_max: 2,
            ban_after: (20.0 * factor) as usize,
            ban: HOUR,
            unknown: Window::new(Duration::from_secs(600)),
            bans: Bans::default(),
        }
    }
}

impl Behaviour for SharedHosting {
    fn banner(&mut self, caller: &Caller<'_>) -> Say {
        if self.bans.holds(caller.source, caller.now) {
            return Say::closing(
                "550 5.7.1 Your IP address is blocked: too many unknown recipients",
            );
        }
        if caller.open > self.connections_max {
            return Say::closing(
                "421 4.7.0 Too many concurrent SMTP connections from your host; please try again later",
            );
        }
        Say::now("220 web1.example.net ESMTP Exim 4.98")
    }

    fn rcpt(&mut self, caller: &Caller<'_>, recipient: &str) -> Say {
        let Caller { source, now, .. } = *caller;
        if self.bans.holds(source, now) {
            return Say::closing(
                "421 4.7.0 Your IP address is blocked: too many unknown recipients",
            );
        }
        match truth::mailbox(recipient) {
            Mailbox::Live => Say::accepted(),
            Mailbox::Full => Say::now("452 4.2.2 Mailbox full"),
            Mailbox::Dead => {
                if self.unknown.count(source, now) > self.ban_after {
                    self.unknown.clear(source);
                    self.bans.ban(source, now + self.ban);
                    caller.journal.record_ban(Self::KIND, source, now, now + self.ban);
                }
                Say::now("550 No such user here")
            }
        }
    }
}
