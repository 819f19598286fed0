//! Broken and hostile servers.
//!
//! Documented: Postfix' `smtpd_error_sleep_time` and OpenBSD's spamd(8) for tarpits. RFC 5321 §4.5.3.1.10 has a limit
//! of recipients (answered with 421 here), and RFC 2920 §3.1 mentions servers that answer a flight in the wrong order.

use std::time::Duration;

use crate::{
    clock::HOUR,
    server::{Behaviour, Caller, Ending, Say},
    truth::{self, Mailbox},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Takes a minute for each reply to RCPT.
    Tarpit,
    /// Resets the connection at RCPT.
    Resets,
    /// Sends 421 at the sixth recipient of a session.
    FewRecipients,
    /// Fails for one hour a day, in which it sends no greeting.
    FailsForAnHour,
    /// Answers RSET twice, so that each later reply belongs to the previous command.
    OutOfStep,
}

pub struct Broken {
    pub fault: Fault,
    pub tarpit: Duration,
    /// Hour of the day in which [`Fault::FailsForAnHour`] fails.
    pub fails_at: u64,
    owes_reply: bool,
}

impl Broken {
    pub const KIND: &'static str = "broken";

    pub const fn new(fault: Fault, fails_at: u64) -> Self {
        Self { fault, tarpit: Duration::from_secs(60), fails_at, owes_reply: false }
    }
}

impl Behaviour for Broken {
    fn banner(&mut self, caller: &Caller<'_>) -> Say {
        let hour = caller.now.as_secs() / HOUR.as_secs() % 24;
        if self.fault == Fault::FailsForAnHour && hour == self.fails_at {
            return Say::ending(Ending::Hangs);
        }
        Say::now("220 mail.example.net ESMTP")
    }

    fn mail(&mut self, caller: &Caller<'_>) -> Say {
        // The surplus reply to RSET is sent here, before the reply to MAIL.
        self.owes_reply = self.fault == Fault::OutOfStep && caller.asked > 0;
        if self.owes_reply { Say::now("250 2.0.0 Reset\r\n250 2.1.0 OK") } else { Say::ok() }
    }

    fn rcpt(&mut self, caller: &Caller<'_>, recipient: &str) -> Say {
        match self.fault {
            Fault::Tarpit => return Say::after(self.tarpit, "250 2.1.5 OK"),
            Fault::Resets => return Say::ending(Ending::Resets),
            Fault::FewRecipients if caller.asked >= 5 => {
                return Say::closing("421 4.5.3 Too many recipients in this session");
            }
            Fault::FewRecipients | Fault::FailsForAnHour | Fault::OutOfStep => {}
        }
        match truth::mailbox(recipient) {
            Mailbox::Live => Say::accepted(),
            Mailbox::Full => Say::now("452 4.2.2 Mailbox full"),
            Mailbox::Dead => Say::now(format!(
                "550 5.1.1 <{recipient}>: Recipient address rejected: User unknown"
            )),
        }
    }
}
