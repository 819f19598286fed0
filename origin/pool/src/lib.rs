//! The pool of sessions with mail servers, shared by all probes: their number, their rate, and the order of waiting
//! checks (docs/architecture.md, "Neighbours").
//!
//! Four rooms have the rules: where a check goes ([`places`]), the asker ([`asker`]), what a server allows
//! ([`limits`]), and who is next ([`queue`]). A room imports words and settings, never another room. A [`site`] asks
//! them; the door ([`pool`]) chooses the site. Each rule has three verbs: `may` changes nothing, `take` counts at the
//! grant, `hear` learns from the server.
//!
//! A state that a reply sets for a domain, a host, a machine or an operator needs evidence of two groups, or of a new
//! session that was refused before RCPT. Otherwise it holds for the account or group that provoked it, alone.
#![warn(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unreachable,
    clippy::unwrap_used
)]

mod asker;
mod bounded;
mod limits {
    pub(crate) mod gates;
    pub(crate) mod meter;
    pub(crate) mod rate;
    pub(crate) mod refused;
}
mod places {
    pub mod operators;
    pub(crate) mod sources;
}
mod pool;
mod question;
mod queue;
mod settings;
mod share;
mod site;

pub use places::{operators, sources::is_new};
pub use pool::{
    Pool,
    permit::{Acquired, Permit},
    status::{Entries, SiteStatus, Status, Totals},
};
pub use question::{
    Asker, Cause, Class, HashKey, Question, Refusal, Refused, Signal, Source, SourceClass, Target,
    Wait,
};
pub use settings::{Limits, Pace, Settings};
pub use share::Shared;

#[cfg(test)]
mod tests;
