//! The public evidence behind a verdict.

use std::borrow::Cow;

use rcpt_shared::{
    Address, CatchAll, Confidence, Deliverability, DomainKind, DomainReport, Malformed, Reason,
    Verdict, is_role,
};
use serde::Serialize;
use utoipa::{
    ToSchema,
    openapi::{Object, Schema, Type},
};

use super::domain_facts::DomainDetails;

/// The reason for a text that isn't an address.
pub const MALFORMED: &str = "malformed";

/// The evidence behind a verdict. A field is null when there is nothing to say.
#[derive(Debug, Serialize, ToSchema)]
pub struct Details {
    /// How much the evidence says about this mailbox.
    #[schema(schema_with = confidence_schema)]
    pub confidence: Confidence,
    /// Reason for the verdict.
    #[schema(schema_with = reason_schema)]
    pub reason: &'static str,
    /// Description of the mistake in the address, when the reason is `malformed`.
    pub problem: Option<Cow<'static, str>>,
    /// Operator of the mail server, such as `google` or `microsoft`. Null when it isn't a known operator.
    pub operator: Option<String>,
    /// The mail server that decided.
    pub mx_host: Option<String>,
    /// The SMTP reply code of the mail server.
    pub smtp_code: Option<u16>,
    /// The enhanced status code of the reply (RFC 3463), such as `5.1.1`.
    pub enhanced_code: Option<String>,
    /// The text of the reply, at most 512 characters, without addresses. Null in a cached result.
    pub smtp_text: Option<String>,
    /// `yes` if the domain accepts every recipient.
    #[schema(schema_with = catch_all_schema)]
    pub catch_all: CatchAll,
    /// The kind of the domain, with the evidence for it. Null when the input isn't an address.
    pub domain: Option<DomainDetails>,
    /// True if the domain offers disposable addresses: its `kind` is `disposable`.
    pub disposable: bool,
    /// True if the address names a function, such as `info`, and not a person.
    pub role_account: bool,
    /// True if the domain is an email provider: its `kind` is `provider`.
    pub free_provider: bool,
    /// The address that was probably meant, when this one looks misspelled.
    pub suggestion: Option<String>,
    /// Seconds after which another check may give a different result.
    pub retry_after: Option<u32>,
}

/// Schema of a string with one of these values.
pub fn one_of(names: &[&str], description: &str, example: &str) -> Schema {
    Object::builder()
        .schema_type(Type::String)
        .description(Some(description))
        .enum_values(Some(names.iter().copied()))
        .examples([example])
        .build()
        .into()
}

pub fn verdict_schema() -> Schema {
    one_of(
        &Deliverability::ALL.map(Deliverability::as_str),
        "The verdict in one word. `risky` means accepted, but the server may accept every address.",
        "undeliverable",
    )
}

fn confidence_schema() -> Schema {
    let names = Confidence::ALL.map(Confidence::as_str);
    one_of(&names, "How much the evidence says about this mailbox.", "high")
}

fn reason_schema() -> Schema {
    let names: Vec<_> = Reason::ALL.map(Reason::as_str).into_iter().chain([MALFORMED]).collect();
    one_of(&names, "Why the verdict is what it is. New reasons may be added.", "no_such_mailbox")
}

fn catch_all_schema() -> Schema {
    let names = CatchAll::ALL.map(CatchAll::as_str);
    one_of(&names, "Whether the domain accepts every recipient.", "no")
}

impl Details {
    pub(super) fn of_no_address(malformed: &Malformed) -> Self {
        Self {
            confidence: Confidence::High,
            reason: MALFORMED,
            problem: Some(malformed.problem().into()),
            operator: None,
            mx_host: None,
            smtp_code: None,
            enhanced_code: None,
            smtp_text: None,
            catch_all: CatchAll::Unknown,
            domain: None,
            disposable: false,
            role_account: false,
            free_provider: false,
            suggestion: malformed.suggestion(),
            retry_after: None,
        }
    }

    /// Details of `address` known while its probe continues. `report` holds the evidence of lists and DNS, if it
    /// arrived in time.
    pub fn pending(address: &Address, report: Option<DomainReport>, retry_after: u64) -> Self {
        let (facts, meant) = match report {
            Some(report) => (Some(report.facts), report.suggested_domain),
            None => (None, None),
        };
        let is = |kind| facts.as_ref().is_some_and(|facts| facts.kind == kind);
        Self {
            confidence: Confidence::None,
            reason: Reason::Timeout.as_str(),
            problem: None,
            operator: None,
            mx_host: None,
            smtp_code: None,
            enhanced_code: None,
            smtp_text: None,
            catch_all: CatchAll::Unknown,
            disposable: is(DomainKind::Disposable),
            role_account: is_role(address.local_part()),
            free_provider: is(DomainKind::Provider),
            domain: facts.map(|facts| DomainDetails::new(address.domain(), facts)),
            suggestion: address.suggestion(meant.as_deref()),
            retry_after: u32::try_from(retry_after).ok(),
        }
    }

    pub(super) fn new(address: &Address, verdict: Verdict) -> Self {
        let evidence = verdict.details.map(|evidence| *evidence);
        let traits = evidence.as_ref().map(|evidence| evidence.traits.clone()).unwrap_or_default();
        let facts = evidence.as_ref().and_then(|evidence| evidence.domain.clone());
        Self {
            confidence: evidence.as_ref().map_or(Confidence::None, |evidence| evidence.confidence),
            reason: verdict.reason.as_str(),
            problem: None,
            operator: evidence.as_ref().and_then(|evidence| evidence.operator.clone()),
            mx_host: verdict.mx_host,
            smtp_code: verdict.smtp_code,
            enhanced_code: verdict.enhanced_code,
            catch_all: evidence.as_ref().map_or(CatchAll::Unknown, |evidence| evidence.catch_all),
            domain: facts.map(|facts| DomainDetails::new(address.domain(), *facts)),
            disposable: traits.disposable,
            role_account: traits.role_account,
            free_provider: traits.free_provider,
            suggestion: address.suggestion(traits.suggested_domain.as_deref()),
            retry_after: verdict.retry_after,
            smtp_text: evidence.and_then(|evidence| evidence.smtp_text),
        }
    }
}

#[cfg(test)]
mod tests {
    use rcpt_shared::{Address, Reason, Stage, Status, Verdict, read};
    use serde_json::json;

    use super::Details;

    #[test]
    fn the_suggestion_is_an_address_and_the_rest_is_what_origin_told() {
        let verdict: Verdict = serde_json::from_value(json!({
            "status": false, "reason": "no_such_mailbox", "stage": "rcpt", "mx_host": "mx.gmial.com",
            "smtp_code": 550, "enhanced_code": "5.1.1",
            "details": {
                "smtp_text": "no", "catch_all": "no",
                "confidence": "high", "operator": "google", "verdict": "undeliverable",
                "disposable": false, "role_account": false, "free_provider": false,
                "suggested_domain": "gmail.com",
                "domain": { "kind": "parked", "accepts_mail": true, "evidence": [
                    { "source": "mx", "list": "parked_server", "as_of": "2026-11-20" } ] }
            }
        }))
        .unwrap();
        let address = Address::parse("Ann@gmial.com").unwrap();
        assert_eq!(
            serde_json::to_value(Details::new(&address, verdict)).unwrap(),
            json!({
                "confidence": "high", "operator": "google", "reason": "no_such_mailbox", "problem": null, "mx_host": "mx.gmial.com", "smtp_code": 550,
                "enhanced_code": "5.1.1", "smtp_text": "no", "catch_all": "no",
                "disposable": false, "role_account": false, "free_provider": false,
                "suggestion": "Ann@gmail.com", "retry_after": null,
                "domain": {
                    "name": "gmial.com", "kind": "parked", "accepts_mail": true, "operator": null,
                    "suspected": null, "evidence": [
                        { "source": "mx", "list": "parked_server", "as_of": "2026-11-20" }
                    ]
                }
            })
        );
    }

    #[test]
    fn what_is_not_an_address_is_told_why_and_what_was_meant() {
        let malformed = read("ann@@example.org").unwrap_err();
        let details = serde_json::to_value(Details::of_no_address(&malformed)).unwrap();
        for (field, value) in [
            ("reason", json!("malformed")),
            ("problem", json!("There are 2 @ signs in it, and an address has one.")),
            ("suggestion", json!("ann@example.org")),
        ] {
            assert_eq!(details[field], value, "{field}");
        }
    }

    #[test]
    fn a_verdict_without_evidence_leaves_it_unknown() {
        let address = Address::parse("ann@example.org").unwrap();
        let verdict = Verdict::new(Status::SmtpTimeout, Reason::Timeout, Stage::Banner);
        let details = serde_json::to_value(Details::new(&address, verdict)).unwrap();
        for (field, value) in [
            ("catch_all", json!("unknown")),
            ("confidence", json!("none")),
            ("operator", json!(null)),
            ("smtp_text", json!(null)),
            ("domain", json!(null)),
        ] {
            assert_eq!(details[field], value, "{field}");
        }
    }
}
