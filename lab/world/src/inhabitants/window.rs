//! Counts of a client's actions within a time span, as servers keep them.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    time::Duration,
};

/// Recent events by source address.
pub struct Window {
    span: Duration,
    events: HashMap<IpAddr, VecDeque<Duration>>,
}

impl Window {
    pub fn new(span: Duration) -> Self {
        Self { span, events: HashMap::new() }
    }

    /// Counts an event, and returns the number within the span.
    pub fn count(&mut self, source: IpAddr, now: Duration) -> usize {
        let events = self.events.entry(source).or_default();
        events.push_back(now);
        while events.front().is_some_and(|at| *at + self.span <= now) {
            events.pop_front();
        }
        events.len()
    }

    pub fn clear(&mut self, source: IpAddr) {
        self.events.remove(&source);
    }
}

/// Current bans by source address.
#[derive(Default)]
pub struct Bans(HashMap<IpAddr, Duration>);

impl Bans {
    pub fn ban(&mut self, source: IpAddr, until: Duration) {
        self.0.insert(source, until);
    }

    pub fn holds(&self, source: IpAddr, now: Duration) -> bool {
        self.0.get(&source).is_some_and(|until| *until > now)
    }
}
