//! A client of the API that checks whether an email address can receive mail.
//!
//! The three programs below are in `examples`, and compile with the tests.
//! ```rust
#![doc = include_str!("../examples/check.rs")]
//! ```
//! ```rust
#![doc = include_str!("../examples/scan.rs")]
//! ```
//! ```rust
#![doc = include_str!("../examples/guard.rs")]
//! ```
//!
//! [`verify_webhook`] verifies the events that a webhook receives.
//!
//! Calls block. A call that fails temporarily (429, 502, 503, 504, no connection) is retried for as long
//! as [`Builder::timeout`] allows.

mod answers;
mod builder;
mod client;
mod error;
mod rate_limit;
mod retry;
mod scans;
mod webhook;

pub use answers::{
    Allowance, Choice, Decision, Details, Domain, DomainEvidence, DomainFacts, ListValidation,
    Quota, ScanAllowance, SignIn, Validation,
};
pub use builder::Builder;
pub use client::{Client, idempotency_key};
pub use error::{Error, ErrorDetails};
pub use rate_limit::RateLimit;
pub use rcpt_shared::{
    Address, CatchAll, Confidence, Deliverability, DomainKind, Malformed, Status, read,
};
pub use retry::Wait;
pub use scans::{Event, EventPage, Joined, PART, Scan, ScanPage, ScanResult, ScanResults};
pub use webhook::{WebhookError, WebhookEvent, WebhookHeaders, sign_webhook, verify_webhook};
