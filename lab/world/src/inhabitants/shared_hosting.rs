//! Shared hosting: hundreds of domains at one address, strict with clients that guess.
//!
//! Documented: cPanel's Exim with `smtp_accept_max_per_host`, and its dictionary attack ACL (four unknown recipients in
//! a connection). csf/lfd and fail2ban's `postfix` and `exim` jails ban an address after some refusals within ten
//! minutes, for ten minutes to an hour, by a packet filter. Exim allows ten commands that aren't about mail in a
//! connection (`smtp_accept_max_nonmail`), RSET among them. Sendmail's and Exim's greeting may be delayed. Hosters choose
//! their own numbers; the simulated numbers are among the strictest.

use std::time::Duration;

use crate::{
    clock::HOUR,
    inhabitants::window::{Bans, Window},
    server::{Behaviour, Caller, Ending, Say},
    truth::{self, Mailbox},
};

const GREETING_DELAY: Duration = Duration::from_secs(5);
const NONMAIL_MAX: usize = 10;

/// Limits of the machine per source address.
pub struct SharedHosting {
    pub connections_max: usize,
    /// Unknown recipients in ten minutes after which the source is banned.
    pub ban_after: usize,
    pub ban: Duration,
    /// True if a ban closes the connection instead of saying so, RSET is limited, and the greeting is delayed.
    pub is_strict: bool,
    unknown: Window,
    bans: Bans,
}

impl SharedHosting {
    pub const KIND: &'static str = "shared_hosting";
    /// Name of a strict machine's bans.
    pub const STRICT: &'static str = "strict_hosting";

    /// Creates the machine with its limit of unknown recipients multiplied by `factor`.
    pub fn new(factor: f64) -> Self {
        Self {
            connections_max: 2,
            ban_after: (20.0 * factor) as usize,
            ban: HOUR,
            is_strict: false,
            unknown: Window::new(Duration::from_secs(600)),
            bans: Bans::default(),
        }
    }

    /// A machine that bans after half as many, for ten minutes.
    pub fn strict(factor: f64) -> Self {
        let ban = Duration::from_secs(600);
        Self { ban, is_strict: true, ..Self::new(factor / 2.0) }
    }
}

impl Behaviour for SharedHosting {
    fn banner(&mut self, caller: &Caller<'_>) -> Say {
        if self.is_strict && self.bans.holds(caller.source, caller.now) {
            return Say::ending(Ending::Resets);
        }
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
        let greeting = "220 web1.example.net ESMTP Exim 4.98";
        if self.is_strict { Say::after(GREETING_DELAY, greeting) } else { Say::now(greeting) }
    }

    fn rcpt(&mut self, caller: &Caller<'_>, recipient: &str) -> Say {
        let Caller { source, now, .. } = *caller;
        if self.is_strict && self.bans.holds(source, now) {
            return Say::ending(Ending::Resets);
        }
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
                    let kind = if self.is_strict { Self::STRICT } else { Self::KIND };
                    caller.journal.record_ban(kind, source, now, now + self.ban);
                }
                Say::now("550 No such user here")
            }
        }
    }

    fn rset(&mut self, caller: &Caller<'_>) -> Say {
        // The first RSET is free.
        if self.is_strict && caller.asked > 1 + NONMAIL_MAX {
            return Say::closing("554 Too many nonmail commands");
        }
        Say::now("250 Reset OK")
    }
}
