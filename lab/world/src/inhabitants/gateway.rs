//! Gateways in front of their customers' servers, like Mimecast and Proofpoint.
//!
//! Documented: Mimecast's SMTP error codes (`csi.mimecast.org Poor Reputation Sender` at the banner, few concurrent
//! connections), Proofpoint's `Too many concurrent connections`. Gateways ask the customer's own server about a
//! recipient (Mimecast: recipient validation by call-ahead); that server may never reply.

use std::{collections::HashSet, net::IpAddr, sync::Arc, time::Duration};

use crate::{
    corpus,
    server::{Behaviour, Caller, Ending, Say},
    truth::{self, Mailbox},
};

/// A blocklist of source addresses, each with the start and the end of its listing.
pub type Blocklist = Arc<Vec<(IpAddr, Duration, Duration)>>;

pub fn is_listed(blocklist: &Blocklist, source: IpAddr, now: Duration) -> bool {
    blocklist.iter().any(|(ip, from, until)| *ip == source && (*from..*until).contains(&now))
}

/// Limits of the gateway per source address.
pub struct Gateway {
    pub kind: &'static str,
    pub connections_max: usize,
    /// Domains whose own server never replies.
    pub mute_domains: HashSet<String>,
    /// Time after which a recipient of a mute domain is deferred; zero if the gateway never replies.
    pub gives_up: Duration,
    pub blocklist: Blocklist,
}

impl Gateway {
    fn reply(&self, mimecast: &str, proofpoint: &str, recipient: &str) -> String {
        corpus::reply(if self.kind == "mimecast" { mimecast } else { proofpoint }, recipient)
    }
}

impl Behaviour for Gateway {
    fn banner(&mut self, caller: &Caller<'_>) -> Say {
        if is_listed(&self.blocklist, caller.source, caller.now) {
            let text = self.reply("Mimecast: reputation", "Proofpoint: blocked", "");
            return Say::closing(text);
        }
        if caller.open > self.connections_max {
            return Say::closing(corpus::reply("Proofpoint: rate", ""));
        }
        Say::now("220 gateway.example.net ESMTP")
    }

    fn rcpt(&mut self, _: &Caller<'_>, recipient: &str) -> Say {
        if self.mute_domains.contains(truth::domain(recipient)) {
            return if self.gives_up.is_zero() {
                Say::ending(Ending::Hangs)
            } else {
                let text = corpus::reply("Mimecast: greylisting", recipient);
                Say::after(self.gives_up, text)
            };
        }
        let delay = Duration::from_millis(300);
        match truth::mailbox(recipient) {
            Mailbox::Live => Say { after: delay, ..Say::accepted() },
            Mailbox::Full => Say::after(delay, "452 4.2.2 Mailbox full"),
            Mailbox::Dead => {
                let text = self.reply("Mimecast: unknown", "Proofpoint: unknown", recipient);
                Say::after(delay, text)
            }
        }
    }
}
