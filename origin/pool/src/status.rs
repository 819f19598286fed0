//! The pool's status report: the rate at each operator from each source address, and if it was
//! lowered, since when and by which words.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{
    Pool,
    meter::Totals,
    moves::MOVE_LIFETIME,
    operators::{OTHER, OperatorId},
    rate::Change,
    site_key::SiteKey,
    warm_up::is_new,
};

/// The complete state, as in `GET /operators`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub operators: Vec<SiteStatus>,
    #[serde(default)]
    pub entries: Entries,
}

/// Numbers of entries in the pool's memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entries {
    /// Operators by source address, networks and routes.
    pub sites: usize,
    /// Operators by source address, and machines.
    pub meters: usize,
    /// Domains and addresses that have refused us recently.
    pub gates: usize,
    /// Answers and refusals of the last ten minutes, by group and domain.
    pub trials: usize,
    /// Groups and accounts with refused recipients in the last hour.
    pub refusals: usize,
    /// Accounts with sessions that were closed on us or held for long.
    pub debts: usize,
    /// Groups, accounts and domains that were quick or slow recently.
    pub standings: usize,
    /// Accounts with a history.
    #[serde(default)]
    pub histories: usize,
    /// Machines that have banned us after refused recipients.
    #[serde(default)]
    pub bans: usize,
}

/// The state of one operator seen from one source address; `other` combines all machines without a known operator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteStatus {
    pub operator: String,
    pub source: String,
    /// Sessions in use, and idle sessions.
    pub sessions: usize,
    pub idle: usize,
    pub waiting: usize,
    /// Sessions in use for longer than two seconds.
    #[serde(default)]
    pub held: usize,
    /// Milliseconds between two new sessions.
    pub interval_ms: u64,
    /// Unix time since which the rate is lowered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lowered_since: Option<u64>,
    /// Words of the reply that last lowered the rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// Unix time since which the rate has been at its minimum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor_since: Option<u64>,
    /// Unix time at which the operator's domains return to the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rests_until: Option<u64>,
    /// Source address that serves the operator's domains until `rests_until`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stand_in: Option<String>,
    /// Unix time since which batches use the address gradually more at this operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warms_up_since: Option<u64>,
    /// Recipients refused in the last hour, and the limit.
    pub refused_last_hour: usize,
    pub refused_per_hour: usize,
    /// Totals since the start.
    pub sessions_total: u64,
    pub recipients_total: u64,
    pub refused_total: u64,
    pub refusals_of_us_total: u64,
    /// Sessions that were ended because they were held for long while others waited.
    #[serde(default)]
    pub cut_total: u64,
}

impl<S: Send + 'static> Pool<S> {
    /// The pool's state, ordered by name.
    pub fn status(&self) -> Status {
        let (now, unix_now) = (Instant::now(), (self.unix_now)());
        let ago =
            |at: Instant| unix_now.saturating_sub(now.saturating_duration_since(at).as_secs());
        let state = self.lock();
        let mut operators = Vec::new();
        let mut other = SiteStatus {
            operator: OTHER.to_owned(),
            source: "all".to_owned(),
            interval_ms: self.settings().machine.interval.as_millis() as u64,
            refused_per_hour: self.settings().machine.refused_per_hour,
            ..SiteStatus::default()
        };
        let gates = state.domains.len() + state.addresses.len();
        let histories = state.histories.len();
        let bans = state.bans.len();
        let mut entries = Entries { gates, histories, bans, ..Entries::default() };
        for (key, site) in state.sites.iter() {
            site.sessions.count_entries(&mut entries);
            match key {
                SiteKey::Operator(operator, identity) => {
                    let waiting = site.waiting.len();
                    let Some(meter) = site.sessions.known_meter(None) else { continue };
                    let Totals { sessions, recipients, refused, refusals_of_us, cut } =
                        meter.totals;
                    let rest = state.moves.get(&(*operator, *identity));
                    let rest = rest.filter(|rest| rest.is_kept(now));
                    let warms_up = self.warms_up_since(&state, *operator, *identity);
                    operators.push(SiteStatus {
                        operator: self.operator_name(*operator).to_string(),
                        source: self.source(*identity).to_string(),
                        sessions: meter.in_use,
                        idle: meter.idle,
                        waiting,
                        held: site.sessions.slow_sessions(None, now),
                        interval_ms: meter.rate.interval().as_millis() as u64,
                        lowered_since: meter.rate.lowered().map(|lowered| ago(lowered.since)),
                        words: meter.rate.lowered().map(|lowered| lowered.words.clone()),
                        floor_since: meter.rate.floor_since().map(ago),
                        rests_until: rest.map(|rest| ago(rest.at) + MOVE_LIFETIME.as_secs()),
                        stand_in: rest.map(|rest| self.source(rest.to).to_string()),
                        warms_up_since: warms_up.filter(|since| is_new(*since, unix_now)),
                        refused_last_hour: meter.refusals.total(now),
                        refused_per_hour: meter.refusals.per_hour(),
                        sessions_total: sessions,
                        recipients_total: recipients,
                        refused_total: refused,
                        refusals_of_us_total: refusals_of_us,
                        cut_total: cut,
                    });
                }
                SiteKey::Network(_) => {
                    other.waiting += site.waiting.len();
                    for (key, meter) in site.sessions.meters() {
                        other.held += site.sessions.slow_sessions(*key, now);
                        other.sessions += meter.in_use;
                        other.idle += meter.idle;
                        other.refused_last_hour += meter.refusals.total(now);
                    }
                }
                SiteKey::Route(_) => {}
            }
        }
        drop(state);
        operators.sort_by(|a, b| (&a.operator, &a.source).cmp(&(&b.operator, &b.source)));
        let total = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        other.sessions_total = total(&self.others.sessions);
        other.recipients_total = total(&self.others.recipients);
        other.refused_total = total(&self.others.refused);
        other.refusals_of_us_total = total(&self.others.refusals_of_us);
        other.cut_total = total(&self.others.cut);
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
        let operator = settings.operators.of_host(host);
        let moved = operator.map(|operator| self.lock().source_of(operator, identity, &settings));
        self.source(moved.unwrap_or(identity))
    }

    pub(super) fn log_change(
        &self,
        change: Change,
        operator: OperatorId,
        identity: usize,
        interval: Duration,
        words: Option<&str>,
    ) {
        let (operator, source) = (self.operator_name(operator), self.source(identity));
        let (operator, source) = (&*operator, &*source);
        let interval_ms = interval.as_millis() as u64;
        match change {
            Change::Lowered => {
                let words = words.unwrap_or_default();
                tracing::warn!(operator, source, interval_ms, words, "rate lowered");
            }
            Change::Raised => tracing::info!(operator, source, interval_ms, "rate raised"),
        }
    }
}
