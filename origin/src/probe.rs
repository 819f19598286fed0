//! One probe: from an address to a verdict, within one budget.

mod address_traits;
mod attempt;
mod best_failure;
mod client;
mod conversation;
mod host;
mod host_memory;
mod prober;
mod redact;
mod resolver;

pub use prober::Prober;
