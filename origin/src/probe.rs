//! One probe: from an address to a verdict, within one budget.

mod address_traits;
mod attempt;
mod best_failure;
mod client;
mod control;
mod conversation;
mod host;
mod host_memory;
mod limits;
mod listed;
mod prober;
mod progress;
mod redact;
mod resolver;
mod sandbox;

pub use prober::{Asking, Prober};
