//! The session that a check requests from a site.

use std::{net::IpAddr, sync::Arc};

use super::{
    Class, Question, Settings, Target,
    histories::History,
    party::Party,
    refusals::part_of,
    site_key::{MeterKey, SiteKey},
};

/// A request for a session: made when the check is admitted, it waits in the queue, and belongs to
/// the permit until the session ends.
pub(super) struct Want {
    pub party: Party,
    pub history: History,
    pub site: SiteKey,
    pub meter: MeterKey,
    pub host: Arc<str>,
    /// Index of the identity under which the session is opened.
    pub identity: usize,
    /// Address to which the connection is or will be opened.
    pub address: Option<IpAddr>,
    pub class: Class,
    /// Share of refused recipients and of waiting requests that the party's group may have; `None`
    /// if it isn't limited.
    pub share: Option<f64>,
    /// True if the session must be new.
    pub afresh: bool,
    /// True if the check must wait while its account is in debt.
    pub is_indebted: bool,
}

impl Want {
    pub(super) fn of(
        question: &Question,
        target: &Target<'_>,
        party: Party,
        history: History,
        site: SiteKey,
        settings: &Settings,
    ) -> Self {
        let identity = match site {
            SiteKey::Operator(_, identity) => identity,
            SiteKey::Network(_) | SiteKey::Route(_) => target.identity,
        };
        Self {
            party,
            history,
            site,
            meter: None,
            host: Arc::from(target.host),
            identity,
            address: None,
            class: question.wait.class(),
            share: question.asker.fairness_group.as_ref().map(|_| settings.tenant_share),
            afresh: target.afresh,
            is_indebted: false,
        }
    }

    /// The share is at least one.
    pub(super) fn share_of(&self, all: usize) -> usize {
        self.share.map_or(all, |share| part_of(all, share))
    }
}
