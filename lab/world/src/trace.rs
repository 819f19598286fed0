//! The trace of a run: each reply about a recipient and each verdict, with its time. Two runs with equal hashes were
//! equal.

use std::{net::IpAddr, time::Duration};

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

/// A server's reply about a recipient.
pub struct ReplyEvent<'a> {
    pub at: Duration,
    pub source: IpAddr,
    pub server: IpAddr,
    pub recipient: &'a str,
    pub reply: &'a str,
}

/// Running hash of the sequence of events.
#[derive(Default)]
pub struct Trace(Mutex<(Sha256, u64)>);

impl Trace {
    pub fn reply(&self, event: &ReplyEvent<'_>) {
        let ReplyEvent { at, source, server, recipient, reply } = event;
        self.add(&format!("{} {source} {server} {recipient} {reply}\n", at.as_micros()));
    }

    pub fn verdict(&self, at: Duration, recipient: &str, verdict: &str) {
        self.add(&format!("{} {recipient} = {verdict}\n", at.as_micros()));
    }

    /// The hash and the number of events.
    pub fn finish(&self) -> (String, u64) {
        let trace = self.0.lock();
        (hex::encode(trace.0.clone().finalize()), trace.1)
    }

    fn add(&self, line: &str) {
        let mut trace = self.0.lock();
        trace.0.update(line);
        trace.1 += 1;
    }
}
