//! The SMTP probe service: asks mail servers about single recipients.
//!
//! `POST /v1/probe` receives an address from the edge and returns a verdict. DNS finds the mail servers ([`dns::mx`]),
//! `rcpt-pool` grants sessions, `rcpt-smtp` converses, `rcpt-verdict` interprets, and [`probe`] combines these within
//! one budget.
#![warn(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unreachable,
    clippy::unwrap_used
)]

pub mod cli;
pub mod config;
pub mod dns;
pub mod doctor;
pub mod http;
pub mod lists;
pub mod probe;
pub mod service;
pub mod surroundings;
pub mod telemetry;

pub use config::Config;
pub use http::build;
pub use service::state::State;
