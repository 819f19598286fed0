//! The SMTP probe service: asks mail servers about single recipients.
//!
//! `POST /v1/probe` receives an address from the edge and returns a verdict: DNS finds the mail
//! servers ([`mx`]), `rcpt-pool` grants sessions, `rcpt-smtp` runs the conversation, `rcpt-verdict`
//! interprets its replies, and [`probe`] combines these within one budget.
#![warn(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unreachable,
    clippy::unwrap_used
)]

pub mod addresses;
pub mod ask;
pub mod cli;
pub mod clock;
pub mod config;
pub mod dns;
pub mod doctor;
pub mod explain;
pub mod fair_shares;
pub mod http;
pub mod lists;
pub mod memory;
pub mod mx;
pub mod probe;
pub mod reload;
pub mod single_flight;
pub mod state;
pub mod supervisor;
pub mod surroundings;
pub mod telemetry;
pub mod verdict_memory;
pub mod watch;

pub use config::Config;
pub use http::build;
pub use state::State;
