//! The session that a check wants from a site.

use std::{net::IpAddr, sync::Arc};

use super::{Class, Question, Target, party::Party};

/// The meter that counts a session: of a machine in a network; or, with `None`, of the whole site, and in a network of the
/// machines beyond the first ones.
pub(super) type MeterKey = Option<IpAddr>;

/// The session that is wanted, and for whom.
#[derive(Clone)]
pub(super) struct Want {
    pub party: Party,
    pub host: Arc<str>,
    pub identity: usize,
    pub meter: MeterKey,
    pub class: Class,
    /// No idle one.
    pub afresh: bool,
}

impl Want {
    pub(super) fn of(
        question: &Question,
        target: &Target<'_>,
        party: Party,
        identity: usize,
        meter: MeterKey,
    ) -> Self {
        let Target { host, afresh, .. } = *target;
        let class = question.wait.class();
        Self { party, host: Arc::from(host), identity, meter, class, afresh }
    }
}
