//! The wire types of `POST /v1/probe`, edge → origin.

use serde::{Deserialize, Serialize};

use crate::{Address, Reason, Status};

/// Body of `POST /v1/probe`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeRequest {
    pub address: Address,
}

/// Where in the conversation the verdict was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Dns,
    Connect,
    Banner,
    Ehlo,
    StartTls,
    Mail,
    Rcpt,
}

/// Answer of `POST /v1/probe`: the status with the evidence for it.
///
/// The server's own text is not here: it may quote the address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub status: Status,
    pub reason: Reason,
    pub stage: Stage,
    /// Name of the MX host that decided, if one was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mx_host: Option<String>,
    /// Basic reply code (RFC 5321 §4.2), 200–599.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smtp_code: Option<u16>,
    /// Enhanced status code (RFC 3463), for example `5.1.1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enhanced_code: Option<String>,
    /// Seconds after which asking again may give another answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
}

impl Verdict {
    /// A verdict reached at `stage` without a reply to show for it.
    #[must_use]
    pub const fn new(status: Status, reason: Reason, stage: Stage) -> Self {
        Self {
            status,
            reason,
            stage,
            mx_host: None,
            smtp_code: None,
            enhanced_code: None,
            retry_after: None,
        }
    }
}
