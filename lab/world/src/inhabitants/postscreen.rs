//! Postfix' postscreen: greets an unknown source after six seconds, and answers its first recipient
//! with 450.
//!
//! Documented: <https://www.postfix.org/POSTSCREEN_README.html>, `postscreen_greet_wait` (6 s) and the tests after the
//! greeting, which end in 450 4.3.2 and pass the client for a day.

use std::{collections::HashMap, net::IpAddr, time::Duration};

use crate::{
    clock::DAY,
    corpus,
    server::{Behaviour, Caller, Say},
    truth::{self, Mailbox},
};

pub struct Postscreen {
    pub greet_wait: Duration,
    /// Time until which each source passes without tests.
    passed: HashMap<IpAddr, Duration>,
}

impl Default for Postscreen {
    fn default() -> Self {
        Self { greet_wait: Duration::from_secs(6), passed: HashMap::new() }
    }
}

impl Postscreen {
    fn has_passed(&self, caller: &Caller<'_>) -> bool {
        self.passed.get(&caller.source).is_some_and(|until| *until > caller.now)
    }
}

impl Behaviour for Postscreen {
    fn banner(&mut self, caller: &Caller<'_>) -> Say {
        let text = "220 mx.example.net ESMTP Postfix";
        if self.has_passed(caller) {
            Say::now(text)
        } else {
            // The simulation sends a reply in one piece; the first line alone wouldn't tell the
            // client anything.
            Say::after(self.greet_wait, format!("220-wait\r\n{text}"))
        }
    }

    fn rcpt(&mut self, caller: &Caller<'_>, recipient: &str) -> Say {
        if !self.has_passed(caller) {
            self.passed.insert(caller.source, caller.now + DAY);
            return Say::now(corpus::reply("Postfix: postscreen", recipient));
        }
        match truth::mailbox(recipient) {
            Mailbox::Live => Say::accepted(),
            Mailbox::Full => Say::now("452 4.2.2 Mailbox full"),
            Mailbox::Dead => Say::now(format!(
                "550 5.1.1 <{recipient}>: Recipient address rejected: User unknown in virtual mailbox table"
            )),
        }
    }
}
