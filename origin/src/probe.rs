//! A probe: from an address to a verdict, within one time budget.

mod attempt;
mod batches;
mod client;
mod contrast;
mod control;
mod conversation;
mod facts;
mod host;
mod host_memory;
mod host_probe;
mod identities;
mod mail_hosts;
mod new_session;
mod own_addresses;
mod plans;
mod prober;
mod progress;
mod redact;
mod resolver;
mod sandbox;
mod signal;
mod stops;
pub mod verdict_memory;

pub use contrast::{Evidence, Invented, people};
pub use host_probe::Manner;
pub use prober::{Prober, Told};
