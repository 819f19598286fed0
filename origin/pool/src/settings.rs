//! The rules of the pool, as configured.

use std::{sync::Arc, time::Duration};

use super::{
    Limits, Pace,
    operators::{OperatorId, Operators},
    refusals::part_of,
    site::SiteKey,
};

/// The rules of the pool.
#[derive(Debug, Clone)]
pub struct Settings {
    pub operators: Arc<Operators>,
    /// Limits of an operator without its own.
    pub operator: Limits,
    /// For one machine that is no operator's.
    pub machine: Limits,
    /// Concurrent sessions with the machines of one /24 or /64.
    pub network_sessions: usize,
    /// Longest idle time of a session.
    pub max_idle: Duration,
    /// Requests that may wait for one site.
    pub max_waiting: usize,
    /// The part of waiters and of refused recipients that one tenant may have.
    pub tenant_share: f64,
    /// Our source addresses. A number that was given to one stays its own: what was learnt is kept by it.
    pub sources: Vec<Source>,
    pub pace: Pace,
}

/// A source address, with that of the other family where both share a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// As it is shown.
    pub label: Arc<str>,
    /// Unix time since which mail servers see it; `None`: for long.
    pub since: Option<u64>,
    pub class: SourceClass,
    /// False once a reload has taken it out.
    pub is_in_use: bool,
}

/// The accounts that may use a source address. What one class does to the reputation of its addresses stays its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SourceClass {
    /// Paying accounts; all of them where no address is set apart for free ones.
    #[default]
    Known,
    /// Accounts without a plan.
    Free,
}

impl Settings {
    /// Returns the limits of a machine or operator, and of concurrent sessions with the whole site.
    pub(super) fn limits_of(
        &self,
        site: &SiteKey,
        operator: Option<OperatorId>,
    ) -> (Limits, usize) {
        match site {
            SiteKey::Operator(..) => (self.operator_limits(operator), usize::MAX),
            SiteKey::Network(_) => {
                let refused_lately = self.pace.machine_refused_lately;
                (Limits { refused_lately, ..self.machine }, self.network_sessions)
            }
            SiteKey::Route(_) => (Limits::NONE, usize::MAX),
        }
    }

    /// The limits of an operator: those of its row, else the configured ones.
    fn operator_limits(&self, operator: Option<OperatorId>) -> Limits {
        let default = self.operator;
        let Some(row) = operator.and_then(|id| self.operators.get(id)) else {
            return default;
        };
        Limits {
            sessions: row.sessions.unwrap_or(default.sessions),
            interval: row.session_interval.unwrap_or(default.interval),
            recipients_per_minute: row
                .recipients_per_minute
                .unwrap_or(default.recipients_per_minute),
            refused_per_hour: row.refused_per_hour.unwrap_or(default.refused_per_hour),
            refused_lately: default.refused_lately,
        }
    }

    /// Returns one tenant's part of `all`, at least one.
    pub(super) fn share(&self, all: usize) -> usize {
        part_of(all, self.tenant_share)
    }
}
