//! The one table of numbers: what an operator of the service sets, and constants that only the lab replaces
//! (docs/decisions/0009-simulated-manners.md).

use std::{sync::Arc, time::Duration};

use crate::{
    places::operators::Operators,
    question::{OperatorId, SiteKey, Source},
};

#[derive(Debug, Clone)]
pub struct Settings {
    pub operators: Arc<Operators>,
    pub operator: Limits,
    pub machine: Limits,
    /// Maximum number of concurrent sessions with the machines of one /24 or /64.
    pub network_sessions: usize,
    pub max_idle: Duration,
    pub max_waiting: usize,
    /// Share of waiting requests and of refused recipients that one tenant may have.
    pub tenant_share: f64,
    /// Our source addresses. An address keeps its number, because records are stored under that
    /// number.
    pub sources: Vec<Source>,
    pub pace: Pace,
}

impl Settings {
    /// The number is the maximum of concurrent sessions with the whole site.
    pub(crate) fn limits_of(&self, site: &SiteKey) -> (Limits, usize) {
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of concurrent sessions, including idle ones.
    pub sessions: usize,
    /// Time between two new sessions, once the first `sessions` are open.
    pub interval: Duration,
    pub recipients_per_minute: usize,
    pub refused_per_hour: usize,
    /// Refused recipients in ten minutes, after which batches stay away.
    pub refused_lately: usize,
}

impl Limits {
    pub(crate) const NONE: Self = Self {
        sessions: usize::MAX,
        interval: Duration::ZERO,
        recipients_per_minute: usize::MAX,
        refused_per_hour: usize::MAX,
        refused_lately: usize::MAX,
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Time between two sessions through a narrow gate.
    pub gate_interval: Duration,
    /// While both classes wait, one session in every `batch_turn` goes to a batch.
    pub batch_turn: usize,
    /// Refused recipients in ten minutes at a machine of no known operator, after which batches
    /// stay away. Many machines ban at ten; single checks may cause up to three more refusals.
    pub machine_refused_lately: usize,
}

impl Pace {
    pub const USUAL: Self =
        Self { gate_interval: Duration::from_secs(10), batch_turn: 10, machine_refused_lately: 8 };
}

impl Default for Pace {
    fn default() -> Self {
        Self::USUAL
    }
}
