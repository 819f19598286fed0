//! The public evidence behind a verdict.

use rcpt_shared::{Address, CatchAll, Reason, Stage, Verdict};
use serde::Serialize;
use utoipa::ToSchema;

/// The evidence behind a verdict. A field is null when there is nothing to tell.
#[derive(Debug, Serialize, ToSchema)]
pub struct Details {
    /// Why the verdict is what it is.
    #[schema(value_type = String, example = "no_such_mailbox")]
    pub reason: Reason,
    /// The mail server that decided.
    pub mx_host: Option<String>,
    /// Its reply code.
    pub smtp_code: Option<u16>,
    /// Its enhanced status code (RFC 3463).
    pub enhanced_code: Option<String>,
    /// What it said, at most 512 characters, without addresses. Null in an answer from the cache.
    pub smtp_text: Option<String>,
    /// Where in the conversation the verdict was reached.
    #[schema(value_type = String, example = "rcpt")]
    pub stage: Stage,
    /// Whether the domain takes mail for every recipient: `yes`, `no` or `unknown`.
    #[schema(value_type = String, example = "no")]
    pub catch_all: CatchAll,
    /// Whether the domain hands out throw-away addresses.
    pub disposable: bool,
    /// Whether the local part names a function and not a person.
    pub role_account: bool,
    /// Whether everyone can get an address at the domain for free.
    pub free_provider: bool,
    /// The address that was probably meant, in place of one with a misspelt domain.
    pub suggestion: Option<String>,
    /// Seconds after which asking again may give another answer.
    pub retry_after: Option<u32>,
    /// Whether the conversation was encrypted; null when there was none.
    pub tls: Option<bool>,
    /// Milliseconds that the verdict took.
    pub duration_ms: u64,
}

impl Details {
    /// What `verdict` shows of `address`. An origin of an earlier version sends no evidence: what it
    /// would have told is then unknown.
    pub(super) fn new(address: &Address, verdict: Verdict) -> Self {
        let evidence = verdict.details.map(|evidence| *evidence);
        let traits = evidence.as_ref().map(|evidence| evidence.traits.clone()).unwrap_or_default();
        let meant = |domain| format!("{}@{domain}", address.local_part());
        Self {
            reason: verdict.reason,
            mx_host: verdict.mx_host,
            smtp_code: verdict.smtp_code,
            enhanced_code: verdict.enhanced_code,
            stage: verdict.stage,
            catch_all: evidence.as_ref().map_or(CatchAll::Unknown, |evidence| evidence.catch_all),
            disposable: traits.disposable,
            role_account: traits.role_account,
            free_provider: traits.free_provider,
            suggestion: traits.suggested_domain.map(meant),
            retry_after: verdict.retry_after,
            tls: evidence.as_ref().and_then(|evidence| evidence.tls),
            duration_ms: evidence.as_ref().map_or(0, |evidence| evidence.duration_ms),
            smtp_text: evidence.and_then(|evidence| evidence.smtp_text),
        }
    }
}

#[cfg(test)]
mod tests {
    use rcpt_shared::{Address, Reason, Stage, Status, Verdict};
    use serde_json::json;

    use super::Details;

    #[test]
    fn the_suggestion_is_an_address_and_the_rest_is_what_origin_told() {
        let verdict: Verdict = serde_json::from_value(json!({
            "status": false, "reason": "no_such_mailbox", "stage": "rcpt", "mx_host": "mx.gmial.com",
            "smtp_code": 550, "enhanced_code": "5.1.1",
            "details": {
                "smtp_text": "no", "catch_all": "no", "tls": true, "duration_ms": 12,
                "disposable": false, "role_account": false, "free_provider": false,
                "suggested_domain": "gmail.com"
            }
        }))
        .unwrap();
        let address = Address::parse("Ann@gmial.com").unwrap();
        assert_eq!(
            serde_json::to_value(Details::new(&address, verdict)).unwrap(),
            json!({
                "reason": "no_such_mailbox", "mx_host": "mx.gmial.com", "smtp_code": 550,
                "enhanced_code": "5.1.1", "smtp_text": "no", "stage": "rcpt", "catch_all": "no",
                "disposable": false, "role_account": false, "free_provider": false,
                "suggestion": "Ann@gmail.com", "retry_after": null, "tls": true, "duration_ms": 12
            })
        );
    }

    #[test]
    fn a_verdict_without_evidence_leaves_it_unknown() {
        let address = Address::parse("ann@example.org").unwrap();
        let verdict = Verdict::new(Status::SmtpTimeout, Reason::Timeout, Stage::Banner);
        let told = serde_json::to_value(Details::new(&address, verdict)).unwrap();
        assert_eq!((&told["catch_all"], &told["smtp_text"]), (&json!("unknown"), &json!(null)));
    }
}
