//! A probe: from an address to a verdict, within one time budget.

mod address_traits;
mod attempt;
mod batch_budget;
mod best_failure;
mod client;
mod contrast;
mod control;
mod conversation;
mod dns_route;
mod domain;
mod host;
mod host_memory;
mod host_probe;
mod identities;
mod limits;
mod listed;
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
mod unasked;
pub mod verdict_memory;

pub use contrast::{Evidence, Invented, people};
pub use host_probe::Manner;
pub use prober::{CONTROL_WAIT_MAX, Prober, Told};
