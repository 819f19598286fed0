//! The world: a simulation of origin in virtual time, with customers of every kind, and hundreds of mail servers that
//! behave like real servers. Connections, nameservers, the clock and randomness are simulated; the rest of origin is
//! the shipped code.
//!
//! A seed determines the run: it always has the same trace for one binary on one machine.

pub mod clock;
pub mod corpus;
pub mod customers;
pub mod desk;
pub mod experiments;
pub mod figures;
pub mod inhabitants;
pub mod internet;
pub mod journal;
pub mod memory;
pub mod names;
pub mod plan;
pub mod results;
pub mod run;
pub mod server;
pub mod svg;
pub mod town;
pub mod trace;
pub mod truth;

#[cfg(test)]
mod tests;
