//! A question to one host.

use std::sync::Arc;

use arc_swap::ArcSwap;
use rcpt_pool::{Pool, Question};

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
    /// Number of hosts left to ask.
    pub more_hosts: usize,
    /// True if another host has a better preference: this host may accept everything because it knows less.
    pub is_backup: bool,
}

impl HostProbe<'_> {
    pub(super) const fn by_route(&self) -> bool {
        matches!(self.address_source, AddressSource::ByRoute(_))
    }
}
