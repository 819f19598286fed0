//! Constants of the pool that no setting changes. A simulation varies these constants
//! (docs/decisions/0009-simulated-manners.md).

use std::time::Duration;

/// Constants of the pool's rules.
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
