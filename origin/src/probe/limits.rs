//! The pool's limits, from the configuration.

use std::time::Duration;

use rcpt_pool::{Limits, Settings};

use super::client::Client;

use crate::config::Config;

/// Longest idle time of a session: enough for a batch's next address, and a tenth of what servers should wait (RFC 5321
/// §4.5.3.2.7).
const MAX_IDLE: Duration = Duration::from_secs(30);

pub(super) fn pool_settings(config: &Config, client: &Client) -> Settings {
    let limits = |sessions| Limits {
        sessions,
        interval: config.session_interval,
        recipients_per_minute: config.recipients_per_minute,
        refused_per_hour: config.refused_per_hour,
        refused_lately: usize::MAX,
    };
    Settings {
        operators: config.operators.clone(),
        operator: limits(config.operator_sessions),
        machine: limits(config.machine_sessions),
        network_sessions: config.network_sessions,
        max_idle: MAX_IDLE,
        max_waiting: config.max_probes.div_ceil(2),
        tenant_share: config.tenant_share,
        sources: (&*client.identities()).into(),
        pace: config.pace,
    }
}
