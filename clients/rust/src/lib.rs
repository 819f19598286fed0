//! A client of the API that checks whether an email address can receive mail.
//!
//! ```no_run
//! let client = rcpt_client::Client::new("https://rcpt.example.net", "rcpt_live_…")?;
//! let answer = client.check("ann@example.org")?;
//! println!("{} {:?}", answer.email, answer.verdict);
//! # Ok::<(), rcpt_client::Error>(())
//! ```
//!
//! A list is checked in the background. Results have positions, not addresses, so keep the list:
//!
//! ```no_run
//! # let client = rcpt_client::Client::new("https://rcpt.example.net", "rcpt_live_…")?;
//! let addresses = ["ann@example.org", "bob@example.com"];
//! let scan = client.start_scan(&addresses, "customers", &rcpt_client::idempotency_key())?;
//! client.wait_for_scan(&scan.id, |scan| println!("{} of {}", scan.answered, scan.total))?;
//! for row in client.join_scan(&scan.id, &addresses)? {
//!     println!("{} {:?}", row.address, row.result.map(|result| result.verdict));
//! }
//! # Ok::<(), rcpt_client::Error>(())
//! ```
//!
//! A sign-up form asks the guard, and lets the person sign up if there is no answer:
//!
//! ```no_run
//! # use std::time::Duration;
//! # let client = rcpt_client::Client::new("https://rcpt.example.net", "rcpt_live_…")?;
//! match client.within(Duration::from_secs(5)).decide("ann@example.org") {
//!     Ok(decision) if decision.decision == rcpt_client::Choice::Refuse => {
//!         println!("{}", decision.message.unwrap_or_default());
//!     }
//!     Ok(decision) => println!("store {}", decision.email),
//!     Err(_) => println!("store what was typed"),
//! }
//! # Ok::<(), rcpt_client::Error>(())
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
