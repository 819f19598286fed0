//! A client of the API that tells whether an email address can receive mail.
//!
//! ```no_run
//! let client = rcpt_client::Client::new("https://rcpt.example.net", "rcpt_live_…")?;
//! let answer = client.check("ann@example.org")?;
//! println!("{} {:?}", answer.email, answer.status);
//! # Ok::<(), rcpt_client::Error>(())
//! ```
//!
//! Calls block. A call that fails for the moment (502, 503, 429, no connection) is made again by itself
//! for as long as [`Builder::patience`] allows.

mod answers;
mod builder;
mod client;
mod error;
mod rate_limit;
mod retry;
mod scans;

pub use answers::{Allowance, Details, Quota, ScanAllowance, SignIn, Validation};
pub use builder::Builder;
pub use client::{Client, idempotency_key};
pub use error::Error;
pub use rate_limit::RateLimit;
pub use rcpt_shared::{Address, Confidence, Deliverability, Status, reduce};
pub use retry::Wait;
pub use scans::{PART, Scan, ScanPage, ScanResult, ScanResults};
