//! The evidence behind a verdict, sent on request.

use serde::{Deserialize, Serialize};

use super::DomainFacts;
use crate::names::names;

/// Catch-all state of a domain: whether it accepts every name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatchAll {
    Yes,
    No,
    #[default]
    Unknown,
}

names! { CatchAll:
    Yes = "yes",
    No = "no",
    Unknown = "unknown",
}

/// Quality of the evidence for a verdict (docs/verdicts.md).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The server refused the recipient by name or distinguishes real recipients from invented
    /// ones, or DNS declares that the domain accepts no mail.
    High,
    /// Accepted by an operator that is known to refuse unknown recipients; or refused temporarily,
    /// or with a code for mailboxes and unknown words.
    Medium,
    /// Accepted by a server that accepts every name, or may do so.
    Low,
    #[default]
    None,
}

names! { Confidence:
    High = "high",
    Medium = "medium",
    Low = "low",
    None = "none",
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deliverability {
    Deliverable,
    Undeliverable,
    /// Accepted, with low confidence.
    Risky,
    #[default]
    Unknown,
}

names! { Deliverability:
    Deliverable = "deliverable",
    Undeliverable = "undeliverable",
    Risky = "risky",
    Unknown = "unknown",
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traits {
    pub disposable: bool,
    /// The local part names a function (RFC 2142) instead of a person.
    pub role_account: bool,
    /// The domain belongs to a mailbox provider, whether it is free or not.
    pub free_provider: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_domain: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Details {
    /// At most 512 characters, without our address and the checked address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smtp_text: Option<String>,
    pub catch_all: CatchAll,
    /// True if the session was encrypted; `None` without a session. For the origin's log.
    #[serde(skip)]
    pub tls: Option<bool>,
    pub confidence: Confidence,
    /// Such as `google` or `microsoft`, if the operator is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    pub verdict: Deliverability,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<Box<DomainFacts>>,
    #[serde(flatten)]
    pub traits: Traits,
}

impl Details {
    #[must_use]
    pub const fn new(smtp_text: Option<String>, tls: Option<bool>) -> Self {
        Self {
            smtp_text,
            catch_all: CatchAll::Unknown,
            tls,
            confidence: Confidence::None,
            operator: None,
            verdict: Deliverability::Unknown,
            domain: None,
            traits: Traits {
                disposable: false,
                role_account: false,
                free_provider: false,
                suggested_domain: None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CatchAll, Confidence, Deliverability};

    #[test]
    fn the_names_are_the_wire_forms() {
        for catch_all in CatchAll::ALL {
            assert_eq!(serde_json::to_value(catch_all).unwrap(), catch_all.as_str());
        }
        for confidence in Confidence::ALL {
            assert_eq!(serde_json::to_value(confidence).unwrap(), confidence.as_str());
        }
        for verdict in Deliverability::ALL {
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.as_str());
        }
    }
}
