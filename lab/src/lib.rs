//! Instruments for the whole service: benchmarks, load, and the drill of failing origins.

pub mod bench;
pub mod drill;
pub(crate) mod drive;
pub mod load;
