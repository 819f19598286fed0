//! A probe: from an address to a verdict, within one time budget.

mod batches;
mod client;
mod contrast;
mod control;
mod conversation;
mod facts;
mod host;
mod host_probe;
mod mail_hosts;
mod memory;
mod new_session;
mod outcome;
mod prober;
mod redact;
mod resolver;
mod sandbox;
mod treatment;

pub use contrast::{Evidence, Invented, people};
pub use host_probe::Manner;
pub use memory::VerdictMemory;
pub use prober::{Prober, Told};
