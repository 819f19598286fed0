//! Facts about a domain that are known without contacting a mail server: its kind, with the
//! evidence.

use serde::{Deserialize, Serialize};

use crate::names::names;

/// Kind of a domain.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum DomainKind {
    /// Anybody, or any customer of a network provider, can have a mailbox at the domain.
    Provider,
    Relay,
    Disposable,
    Parked,
    /// Receives mail at its own servers, or at those of an operator for businesses.
    Organization,
    #[default]
    #[serde(other)]
    Unknown,
}

names! { DomainKind:
    Provider = "provider",
    Relay = "relay",
    Disposable = "disposable",
    Parked = "parked",
    Organization = "organization",
    Unknown = "unknown",
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceSource {
    /// One of our lists contains the domain or a parent domain.
    List,
    Mx,
    /// The domain doesn't exist in DNS, or declares that it accepts no mail.
    Dns,
    Sandbox,
    /// A source that only newer origins know.
    #[serde(other)]
    Other,
}

names! { EvidenceSource:
    List = "list",
    Mx = "mx",
    Dns = "dns",
    Sandbox = "sandbox",
    Other = "other",
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainEvidence {
    pub source: EvidenceSource,
    /// Name of the list that has the domain or its mail servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// Day of that list, `YYYY-MM-DD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainFacts {
    pub kind: DomainKind,
    /// True if DNS names a host for the domain's mail; absent when this couldn't be determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepts_mail: Option<bool>,
    /// Operator of the forwarding service or, if known, of the mail server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    /// Kind that the evidence suggests but doesn't prove.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspected: Option<DomainKind>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<DomainEvidence>,
}

/// Body of `POST /v1/domain`, from edge to origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DomainRequest {
    pub domain: String,
}

/// Response of `POST /v1/domain`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainReport {
    #[serde(flatten)]
    pub facts: DomainFacts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_domain: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::{DomainFacts, DomainKind, DomainReport, EvidenceSource};

    #[test]
    fn the_names_are_the_wire_forms() {
        for kind in DomainKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        for source in EvidenceSource::ALL {
            assert_eq!(serde_json::to_value(source).unwrap(), source.as_str());
        }
    }

    #[test]
    fn a_newer_origin_may_have_more_kinds_and_sources() {
        let wire = r#"{"kind":"museum","evidence":[{"source":"oracle","by":"x"}],"more":1}"#;
        let facts: DomainFacts = serde_json::from_str(wire).unwrap();
        assert_eq!(facts.kind, DomainKind::Unknown);
        assert_eq!(facts.evidence[0].source, EvidenceSource::Other);
        let report: DomainReport = serde_json::from_str(wire).unwrap();
        assert_eq!(report, DomainReport { facts, suggested_domain: None });
    }

    #[test]
    fn what_is_not_known_is_not_sent() {
        assert_eq!(
            serde_json::to_string(&DomainFacts::default()).unwrap(),
            r#"{"kind":"unknown"}"#
        );
    }
}
