//! The session that a check requests from a site.

use std::sync::Arc;

use super::{
    Class, Question, Settings, Target, histories::History, party::Party, refusals::part_of,
    site_key::MeterKey,
};

/// A request for a session.
#[derive(Clone)]
pub(super) struct Want {
    pub party: Party,
    /// History of the party's account.
    pub history: History,
    pub host: Arc<str>,
    pub identity: usize,
    pub meter: MeterKey,
    pub class: Class,
    /// Share of the hour's refused recipients that the party's group may have.
    pub refused_share: f64,
    /// True if an idle session won't do.
    pub afresh: bool,
}

impl Want {
    pub(super) fn of(
        question: &Question,
        target: &Target<'_>,
        (party, history): (Party, History),
        (identity, meter): (usize, MeterKey),
        settings: &Settings,
    ) -> Self {
        let Target { host, afresh, .. } = *target;
        let class = question.wait.class();
        let is_grouped = question.asker.fairness_group.is_some();
        let refused_share = if is_grouped { settings.tenant_share } else { 1.0 };
        Self {
            party,
            history,
            host: Arc::from(host),
            identity,
            meter,
            class,
            refused_share,
            afresh,
        }
    }

    /// Returns the group's share of `per_hour`, at least one.
    pub(super) fn share_of(&self, per_hour: usize) -> usize {
        part_of(per_hour, self.refused_share)
    }
}
