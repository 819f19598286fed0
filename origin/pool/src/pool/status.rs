//! The pool's status report: each operator's rate from each source address, and since when and by which words it was
//! lowered.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::Pool;
use crate::{
    places::{
        operators::OTHER,
        sources::{self, REST_LIFETIME, is_new},
    },
    question::{OperatorId, SiteKey},
};

/// The complete state, as in `GET /operators`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    pub operators: Vec<SiteStatus>,
    pub entries: Entries,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Entries {
    /// Operators by source address, networks and routes.
    pub sites: usize,
    /// Operators by source address, and machines.
    pub meters: usize,
    /// Domains and addresses that have refused us recently.
    pub gates: usize,
    pub parties: usize,
    pub pasts: usize,
    /// Machines that have banned us after refused recipients.
    pub bans: usize,
}

/// The state of one operator seen from one source address; `other` combines all machines without a known operator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SiteStatus {
    pub operator: String,
    pub source: String,
    pub sessions: usize,
    pub idle: usize,
    pub waiting: usize,
    pub interval_ms: u64,
    /// Unix time since which the rate is lowered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowered_since: Option<u64>,
    /// Words of the reply that last lowered the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// Unix time since which the rate has been at its minimum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_since: Option<u64>,
    /// Unix time at which the operator's domains return to the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rests_until: Option<u64>,
    /// Source address that serves the operator's domains until `rests_until`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stand_in: Option<String>,
    /// Unix time since which batches use the address gradually more at this operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warms_up_since: Option<u64>,
    /// Recipients refused in the last hour, and the limit.
    pub refused_last_hour: usize,
    pub refused_per_hour: usize,
    #[serde(flatten)]
    pub totals: Totals,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    #[serde(rename = "sessions_total")]
    pub sessions: u64,
    #[serde(rename = "recipients_total")]
    pub recipients: u64,
    #[serde(rename = "refused_total")]
    pub refused: u64,
    #[serde(rename = "refusals_of_us_total")]
    pub refusals_of_us: u64,
    /// Sessions that were ended because they were held for long while others waited.
    #[serde(rename = "cut_total")]
    pub cut: u64,
}

impl<S: Send + 'static> Pool<S> {
    pub fn status(&self) -> Status {
        let (now, unix_now) = (Instant::now(), (self.unix_now)());
        let ago =
            |at: Instant| unix_now.saturating_sub(now.saturating_duration_since(at).as_secs());
        let state = self.lock();
        let totals = |of| state.totals.get(&of).copied().unwrap_or_default();
        let mut operators = Vec::new();
        let mut other = SiteStatus {
            operator: OTHER.to_owned(),
            source: "all".to_owned(),
            interval_ms: self.settings().machine.interval.as_millis() as u64,
            refused_per_hour: self.settings().machine.refused_per_hour,
            ..SiteStatus::default()
        };
        let mut entries = Entries {
            sites: state.sites.all.len(),
            pasts: state.pasts.len(),
            bans: state.bans.len(),
            ..Entries::default()
        };
        for (key, site) in state.sites.all.iter() {
            entries.meters += site.here.meters.len();
            entries.gates += site.here.gates();
            entries.parties += site.here.parties();
            match key {
                SiteKey::Operator(operator, identity) => {
                    let Some(meter) = site.here.meters.get(&None) else { continue };
                    let rest = site.rest.filter(|rest| rest.is_kept(now));
                    let warms_up = self.warms_up_since(&state, *operator, *identity);
                    operators.push(SiteStatus {
                        operator: self.operator_name(*operator).to_string(),
                        source: self.source(*identity).to_string(),
                        sessions: meter.in_use,
                        idle: meter.idle,
                        waiting: site.waiting(),
                        interval_ms: meter.rate.interval().as_millis() as u64,
                        lowered_since: meter.rate.lowered().map(|lowered| ago(lowered.since)),
                        words: meter.rate.lowered().map(|lowered| lowered.words.clone()),
                        floor_since: meter.rate.floor_since().map(ago),
                        rests_until: rest.map(|rest| ago(rest.at) + REST_LIFETIME.as_secs()),
                        stand_in: rest.map(|rest| self.source(rest.to).to_string()),
                        warms_up_since: warms_up.filter(|since| is_new(*since, unix_now)),
                        refused_last_hour: meter.per_hour.total(now),
                        refused_per_hour: meter.per_hour.most(),
                        totals: totals(Some((*operator, *identity))),
                    });
                }
                SiteKey::Network(_) => {
                    other.waiting += site.waiting();
                    for meter in site.here.meters.values() {
                        other.sessions += meter.in_use;
                        other.idle += meter.idle;
                        other.refused_last_hour += meter.per_hour.total(now);
                    }
                }
                SiteKey::Route(_) => {}
            }
        }
        other.totals = totals(None);
        drop(state);
        operators.sort_by(|a, b| (&a.operator, &a.source).cmp(&(&b.operator, &b.source)));
        operators.push(other);
        Status { operators, entries }
    }

    pub(super) fn operator_name(&self, operator: OperatorId) -> Arc<str> {
        let settings = self.settings();
        let row = settings.operators.get(operator);
        row.map_or_else(|| Arc::from(OTHER), |row| row.name.clone())
    }

    pub(super) fn source(&self, identity: usize) -> Arc<str> {
        let settings = self.settings();
        let source = settings.sources.get(identity);
        source.map_or_else(Arc::default, |source| source.label.clone())
    }

    /// Label of the source address used for `host`, given the domain's own `identity`.
    pub fn source_of(&self, host: &str, identity: usize) -> Arc<str> {
        let settings = self.settings();
        let moved = settings.operators.of_host(host).map(|operator| {
            let state = self.lock();
            let at = |operator, identity| state.at_source(operator, identity);
            sources::source_of(operator, identity, &settings.sources, at, Instant::now())
        });
        self.source(moved.unwrap_or(identity))
    }
}
