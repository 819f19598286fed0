//! Limits of a server: the counters of a meter, gates, and bans.

pub(crate) mod bans;
mod bucket;
pub(crate) mod gates;
mod hour;
pub(crate) mod meter;
pub(crate) mod rate;
pub(crate) mod refused;
