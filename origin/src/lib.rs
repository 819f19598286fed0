//! The SMTP probe service: asks mail servers about one recipient.
//!
//! `POST /v1/probe` takes an address from the edge and gives a verdict: DNS finds the mail servers
//! ([`mx`]), [`dial`] connects, [`smtp`] holds the dialogue, [`verdict`] says what its replies mean, and
//! [`probe`] does all of it within one budget.
#![warn(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unreachable,
    clippy::unwrap_used
)]

pub mod cli;
pub mod clock;
pub mod config;
pub mod dial;
pub mod dns;
pub mod doctor;
pub mod hosts;
pub mod identity;
pub mod log;
pub mod metrics;
pub mod mx;
pub mod pace;
pub mod port_check;
pub mod probe;
pub mod routes;
pub mod serve;
pub mod smtp;
pub mod state;
pub mod traits;
pub mod verdict;

pub use config::Config;
pub use routes::build;
pub use state::State;
