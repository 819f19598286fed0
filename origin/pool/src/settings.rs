//! The pool's settings.

use std::{sync::Arc, time::Duration};

use super::{
    Limits, Pace,
    operators::{OperatorId, Operators},
    site_key::SiteKey,
};

/// The pool's operators, limits and source addresses.
#[derive(Debug, Clone)]
pub struct Settings {
    pub operators: Arc<Operators>,
    /// Default limits of an operator.
    pub operator: Limits,
    /// Limits of a machine without a known operator.
    pub machine: Limits,
    /// Maximum number of concurrent sessions with the machines of one /24 or /64.
    pub network_sessions: usize,
    /// Longest idle time of a session.
    pub max_idle: Duration,
    /// Maximum number of requests waiting for one site.
    pub max_waiting: usize,
    /// Share of waiting requests and of refused recipients that one tenant may have.
    pub tenant_share: f64,
    /// Our source addresses. An address keeps its number, because records are stored under that
    /// number.
    pub sources: Vec<Source>,
    pub pace: Pace,
}

/// A source address, or an IPv4 and an IPv6 address that share a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Label of the source in the status and the log.
    pub label: Arc<str>,
    /// Unix time since which mail servers have seen the source; `None` for an established source.
    pub since: Option<u64>,
    pub class: SourceClass,
    /// False after a reload has removed the source.
    pub is_in_use: bool,
}

/// Accounts that may use a source address. The reputation of one class's addresses doesn't depend
/// on other classes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SourceClass {
    /// Paying accounts; all accounts if no address is reserved for free accounts.
    #[default]
    Known,
    /// Accounts without a plan.
    Free,
}

impl Settings {
    /// The number is the maximum of concurrent sessions with the whole site.
    pub(super) fn limits_of(&self, site: &SiteKey) -> (Limits, usize) {
        match site {
            SiteKey::Operator(operator, _) => (self.operator_limits(*operator), usize::MAX),
            SiteKey::Network(_) => {
                let refused_lately = self.pace.machine_refused_lately;
                (Limits { refused_lately, ..self.machine }, self.network_sessions)
            }
            SiteKey::Route(_) => (Limits::NONE, usize::MAX),
        }
    }

    fn operator_limits(&self, operator: OperatorId) -> Limits {
        let default = self.operator;
        let Some(row) = self.operators.get(operator) else { return default };
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
}
