//! A question to one host.

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use rcpt_pool::{Pool, Question, Wait};
use tokio::time::Instant;

use super::{
    client::{Client, HostSession},
    resolver::{AddressSource, Resolver},
};

use crate::config::Config;

/// `host.rs` finds addresses and sessions for the question, `conversation.rs` asks it in a session.
pub(super) struct HostProbe<'a> {
    pub resolver: &'a Resolver,
    pub client: &'a Arc<Client>,
    pub pool: &'a Arc<Pool<HostSession>>,
    pub config: &'a ArcSwap<Config>,
    pub question: &'a Question,
    pub host: &'a str,
    pub address_source: AddressSource<'a>,
    pub manner: Manner,
    /// Number of hosts left to ask that know as much as this one.
    pub more_hosts: usize,
    /// True if other hosts have a better preference: this host may accept everything because it knows less.
    pub is_backup: bool,
}

/// A list has more patience than a person, and may leave the invention to its domain's last address.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// Time for one address, DNS included and waits for a session not.
    pub budget: Duration,
    /// True if an acceptance is followed by the control recipient, should the evidence be missing.
    pub invents: bool,
    /// When somebody takes what is known; `None` if they wait for all of it. The probe goes on behind that moment.
    pub awaited_until: Option<Instant>,
    /// When nobody hears the answer any more.
    pub ends: Instant,
}

impl HostProbe<'_> {
    pub(super) const fn is_list(&self) -> bool {
        matches!(self.question.wait, Wait::InBatch(_))
    }

    pub(super) const fn by_route(&self) -> bool {
        matches!(self.address_source, AddressSource::ByRoute(_))
    }
}
