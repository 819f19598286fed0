//! Messages of `POST /v1/probe`, between edge and origin.

mod batch;
mod cache_times;
mod details;
mod domain_facts;

use serde::{Deserialize, Serialize};

pub use self::{
    batch::{
        AWAITED_HEADER, BatchAnswer, BatchEnd, BatchLine, BatchRequest, MAX_BATCH, NotAsked,
        WITHIN_HEADER,
    },
    cache_times::{CacheTimes, REMEMBER_HEADER},
    details::{CatchAll, Confidence, Deliverability, Details, Traits},
    domain_facts::{
        DomainEvidence, DomainFacts, DomainKind, DomainReport, DomainRequest, EvidenceSource,
    },
};
use crate::{Address, Reason, Status, names::names};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeRequest {
    pub address: Address,
}

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

names! { Stage:
    Dns = "dns",
    Connect = "connect",
    Banner = "banner",
    Ehlo = "ehlo",
    StartTls = "start_tls",
    Mail = "mail",
    Rcpt = "rcpt",
}

/// Response of `POST /v1/probe`: the status with its evidence.
///
/// The server's own text is only in the [`Details`], because it may quote the address in
/// unrecognisable ways.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub status: Status,
    pub reason: Reason,
    pub stage: Stage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mx_host: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smtp_code: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enhanced_code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
    /// Age in seconds of a repeated verdict; absent on a new verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_before: Option<u64>,
    /// The evidence, which every verdict of an origin has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Details>>,
}

impl Verdict {
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
            seen_before: None,
            details: None,
        }
    }

    /// The evidence decides the word: without any, nothing is known.
    #[must_use]
    pub fn deliverability(&self) -> Deliverability {
        self.details.as_ref().map_or(Deliverability::Unknown, |details| details.verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Address, CatchAll, Confidence, Deliverability, Details, ProbeRequest, Traits, Verdict,
    };
    use crate::{Reason, Stage, Status};

    #[test]
    fn the_names_are_the_wire_forms() {
        for stage in Stage::ALL {
            assert_eq!(serde_json::to_value(stage).unwrap(), stage.as_str());
        }
    }

    #[test]
    fn what_is_not_known_is_not_on_the_wire() {
        let address = Address::parse("a@example.org").unwrap();
        let request = ProbeRequest { address };
        let wire = r#"{"address":"a@example.org"}"#;
        assert_eq!(serde_json::to_string(&request).unwrap(), wire);
        assert_eq!(serde_json::from_str::<ProbeRequest>(wire).unwrap(), request);

        let verdict = Verdict::new(Status::Accepted, Reason::Accepted, Stage::Rcpt);
        let wire = r#"{"status":true,"reason":"accepted","stage":"rcpt"}"#;
        assert_eq!(serde_json::to_string(&verdict).unwrap(), wire);
    }

    #[test]
    fn details_read_back_as_written() {
        let details = Details {
            catch_all: CatchAll::No,
            confidence: Confidence::High,
            operator: Some("google".to_owned()),
            verdict: Deliverability::Undeliverable,
            traits: Traits { suggested_domain: Some("gmail.com".to_owned()), ..Traits::default() },
            ..Details::new(Some("no such user".to_owned()), None)
        };
        let mut verdict = Verdict::new(Status::Refused, Reason::NoSuchMailbox, Stage::Rcpt);
        verdict.details = Some(Box::new(details));
        let wire = serde_json::to_string(&verdict).unwrap();
        assert_eq!(serde_json::from_str::<Verdict>(&wire).unwrap(), verdict, "{wire}");
    }

    #[test]
    fn what_a_newer_origin_adds_is_passed_over() {
        let wire = r#"{"status":"blocked_by_provider","reason":"of_next_year","stage":"rcpt","new":1,
            "details":{"catch_all":"no","disposable":false,"role_account":false,
            "free_provider":false,"confidence":"none","verdict":"unknown","new":[]}}"#;
        let verdict: Verdict = serde_json::from_str(wire).unwrap();
        assert_eq!(verdict.reason, Reason::Unclear);
    }
}
