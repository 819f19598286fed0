//! Small hosts with one domain each: greylisting, catch-all with denied names, slow banners, backup hosts, and
//! refusals in many languages.
//!
//! Documented: postgrey(8), `--delay=300` and a week of memory; Postfix' `virtual_alias_maps` with a catch-all; Sendmail's
//! `confTO_IDENT` and reverse look-ups, which delay banners; refusals as in the corpus of languages.

use std::{
    collections::{HashMap, HashSet},
    net::IpAddr,
    time::Duration,
};

use crate::{
    corpus,
    server::{Behaviour, Caller, Say},
    truth::{self, Mailbox},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habit {
    Plain,
    /// Defers a new pair of source and recipient for five minutes.
    Postgrey,
    /// The same, for recipients that exist: others are refused at once.
    GreylistsKnown,
    /// A backup host, which accepts everybody.
    Backup,
    /// Accepts every recipient except some names.
    CatchAll,
    SlowBanner,
}

pub struct Small {
    pub habit: Habit,
    /// Number of the language of its refusals.
    pub language: usize,
    pub delay: Duration,
    pub banner_delay: Duration,
    first_seen: HashMap<(IpAddr, String), Duration>,
    /// Number of passes by source. After five, a source is never deferred, as in postgrey's automatic list.
    passes: HashMap<IpAddr, usize>,
    denied: HashSet<&'static str>,
}

impl Small {
    pub fn new(habit: Habit, language: usize) -> Self {
        Self {
            habit,
            language,
            delay: Duration::from_secs(300),
            banner_delay: Duration::from_secs(3),
            first_seen: HashMap::new(),
            passes: HashMap::new(),
            denied: HashSet::from(["dead"]),
        }
    }

    fn is_greylisted(&mut self, caller: &Caller<'_>, recipient: &str) -> bool {
        let passes = self.passes.entry(caller.source).or_default();
        if *passes >= 5 {
            return false;
        }
        let key = (caller.source, recipient.to_owned());
        let first = *self.first_seen.entry(key).or_insert(caller.now);
        if caller.now.saturating_sub(first) < self.delay {
            return true;
        }
        *passes += 1;
        false
    }
}

impl Behaviour for Small {
    fn banner(&mut self, _: &Caller<'_>) -> Say {
        match self.habit {
            Habit::SlowBanner => Say::after(self.banner_delay, "220 mail.example.net ESMTP"),
            _ => Say::now("220 mail.example.net ESMTP"),
        }
    }

    fn rcpt(&mut self, caller: &Caller<'_>, recipient: &str) -> Say {
        let greylists = match self.habit {
            Habit::Postgrey => true,
            Habit::GreylistsKnown => truth::mailbox(recipient) != Mailbox::Dead,
            _ => false,
        };
        if greylists && self.is_greylisted(caller, recipient) {
            return Say::now(corpus::reply("Postgrey", recipient));
        }
        let name = recipient.split('.').next().unwrap_or_default();
        let accepts_all = self.habit == Habit::Backup
            || (self.habit == Habit::CatchAll && !self.denied.contains(name));
        match truth::mailbox(recipient) {
            Mailbox::Live => Say::accepted(),
            Mailbox::Full => Say::now("452 4.2.2 Mailbox full"),
            Mailbox::Dead if accepts_all => Say::accepted(),
            Mailbox::Dead => Say::now(corpus::dead_in_language(self.language)),
        }
    }
}
