//! Numbers of the pool's manners that no setting changes. A simulation varies them (docs/decisions/0009-simulated-manners.md).

use std::time::Duration;

/// Numbers of the pool's manners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// From one session to the next at a gate.
    pub gate_interval: Duration,
    /// While both classes wait, each session of this number goes to a batch.
    pub batch_turn: usize,
    /// Recipients that a machine of no known operator refuses in ten minutes, after which batches stay away. Shared hosts
    /// ban after twenty; single checks have up to three more, and two may be under way.
    pub machine_refused_lately: usize,
}

impl Pace {
    pub const USUAL: Self =
        Self { gate_interval: Duration::from_secs(10), batch_turn: 10, machine_refused_lately: 15 };
}

impl Default for Pace {
    fn default() -> Self {
        Self::USUAL
    }
}
