//! The session that a check requests from a site.

use std::{net::IpAddr, sync::Arc};

use tokio::time::Instant;

use crate::{
    keys::{MeterKey, SiteKey},
    question::{Class, Party, Past},
};

/// A request for a session: made once, it waits in the queue, and belongs to the permit until the session ends.
pub(crate) struct Want {
    pub party: Party,
    pub past: Past,
    pub class: Class,
    /// Share of refused recipients and of waiting requests that the party's group may have; `None` if the check has no
    /// group.
    pub share: Option<f64>,
    pub site: SiteKey,
    pub meter: MeterKey,
    pub host: Arc<str>,
    /// Index of the identity under which the session is opened.
    pub identity: usize,
    /// Address to which the connection is or will be opened.
    pub address: Option<IpAddr>,
    /// Latest time at which a conversation is worth starting.
    pub latest: Instant,
    /// True if the check passes the domain's gate: not at consumer domains, and only once.
    pub has_gate: bool,
    /// True if the check has already passed the limits of its domain and account.
    pub is_admitted: bool,
    /// True if the session must be new.
    pub afresh: bool,
    /// Recipients a minute of batches from a new source address; `None` for no limit.
    pub warm_up: Option<usize>,
}
