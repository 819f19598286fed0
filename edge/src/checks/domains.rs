//! The kind of a domain, for callers who don't want to send an address. A report is charged as a check.

use axum::response::{IntoResponse, Response};
use rcpt_shared::{DomainKind, DomainReport, Tenant, read_domain};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    call::{CheckBody, CheckCall, mistake},
    domain_facts::{DomainDetails, Evidence, kind_schema, suspected_schema},
    result::{left_of, respond},
    units::{admit, lease, open, permit, settle},
};
use crate::{
    cf::clock,
    credentials::keyed_names,
    error::{Error, LimitError, PlainError, ValidationError, rate_limit::RateLimit},
    ledger::charge::Charged,
};

/// Body of `POST /domains`.
#[derive(ToSchema)]
#[expect(dead_code, reason = "its members are read by name, with a text for each mistake")]
pub struct DomainQuestion {
    /// The domain: the part of an address after the @.
    pub domain: String,
}

/// The kind of one domain.
#[derive(Debug, Serialize, ToSchema)]
pub struct DomainAnswer {
    /// The domain, in lower case and in ASCII.
    pub name: String,
    #[schema(schema_with = kind_schema)]
    pub kind: DomainKind,
    /// True if DNS names a server for the domain's mail. Null when this couldn't be determined.
    pub accepts_mail: Option<bool>,
    /// Operator of the forwarding service or the mail server, such as `duckduckgo` or `google`. Null when it isn't a
    /// known operator.
    pub operator: Option<String>,
    #[schema(schema_with = suspected_schema)]
    pub suspected: Option<DomainKind>,
    /// The evidence for `kind`, `accepts_mail` and `suspected`.
    pub evidence: Vec<Evidence>,
    /// The domain that was probably meant, when this one looks misspelled and accepts no mail.
    pub suggestion: Option<String>,
    #[serde(skip)]
    #[schema(ignore)]
    pub rate_limit: Option<RateLimit>,
}

impl IntoResponse for DomainAnswer {
    fn into_response(self) -> Response {
        respond(&self, self.rate_limit.clone(), false, "domain")
    }
}

impl DomainAnswer {
    fn new(name: &str, report: DomainReport, left_over: &str) -> Self {
        let DomainDetails { name, kind, accepts_mail, operator, suspected, evidence } =
            DomainDetails::new(name, report.facts);
        Self {
            name,
            kind,
            accepts_mail,
            operator,
            suspected,
            evidence,
            suggestion: report.suggested_domain,
            rate_limit: left_of(left_over),
        }
    }
}

fn domain_of(body: &CheckBody) -> Result<String, Error> {
    let domain = body.text("domain")?;
    if domain.contains('@') {
        return Err(mistake(
            "The 'domain' field must be a domain: send the part behind the @ alone.",
        ));
    }
    let name = "The 'domain' field must be a domain name, such as example.org.";
    read_domain(domain).ok_or_else(|| mistake(name))
}

/// Find the kind of a domain
///
/// Says whether a domain is a mailbox provider's, a forwarding service's, a throw-away service's, parked or an organization's, with the
/// evidence. No address is sent and no mail server is asked. Counts as a check.
#[utoipa::path(
    post, path = "/v1/domains", tag = "Validation", operation_id = "checkDomain",
    request_body = DomainQuestion,
    params(("Idempotency-Key" = Option<String>, Header, description = "Your own id for this request, 16 to 255 printable characters. If no answer comes, repeat the request with the same id: it counts once, and is answered for 24 hours")),
    responses(
        (status = 200, description = "The kind of the domain, also when it doesn't exist", body = DomainAnswer),
        (status = 400, description = "`domain` is missing or not a domain, or the body is malformed", body = ValidationError),
        (status = 401, description = "The API key or session is missing or no longer valid", body = ValidationError),
        (status = 409, description = "`idempotency_key_in_use`: the first request with this key isn't answered yet", body = PlainError),
        (status = 422, description = "`idempotency_key_reused`: the key was sent with another request", body = PlainError),
        (status = 429, description = "No checks are left, too many are running (`code: too_many_in_flight`), or too many were sent in a short time (`code: throttled`)", body = LimitError),
        (status = 502, description = "There is no answer, and nothing was counted", body = PlainError),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn check(call: CheckCall) -> Result<DomainAnswer, Error> {
    let domain = domain_of(&call.body)?;
    let once = call.once(&["domain\0", &domain].concat())?;
    let CheckCall { app, context, caller, .. } = call;
    admit(&app, caller, once.as_ref(), 1).await?;
    permit(caller, [domain.as_str()])?;
    let lease = match lease(&app, caller, 1, once.as_ref()).await? {
        Charged::Now(lease) => lease,
        Charged::Before(stored) => {
            let report = open(&app, once.as_ref(), &stored)?;
            return Ok(DomainAnswer::new(&domain, report, &stored.left_over));
        }
    };
    let deferred = context.deferred.clone();
    let work = async move {
        let left_over = lease.left_over.clone();
        let tenant = keyed_names::of_account(&app.config.address_secrets, caller.account);
        let tenant = Tenant { name: &tenant, paying: lease.is_paying };
        let deadline = clock::now_ms().saturating_add(app.config.upstream_budget_ms);
        let report = app.origins.domain_report(&domain, &context.id, tenant, deadline).await;
        // Every report is charged: an origin without a result returns no report.
        let found = report.map(|report| (1, report));
        let report = settle((&app, &context.deferred), lease, once.as_ref(), found).await?;
        Ok(DomainAnswer::new(&domain, report, &left_over))
    };
    deferred.outliving(work).await.unwrap_or_else(|| Err(Error::internal("a question was cut off")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{CheckBody, domain_of};

    fn read(body: Value) -> Result<String, String> {
        let Value::Object(body) = body else { panic!("{body}") };
        domain_of(&CheckBody(body)).map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn a_domain_is_reduced_to_lower_case_ascii() {
        for (typed, name) in [
            ("Duck.COM", "duck.com"),
            (" duck.com. ", "duck.com"),
            ("\u{200e}duck.com。\u{a0}", "duck.com"),
            ("b\u{fc}cher.example", "xn--bcher-kva.example"),
        ] {
            assert_eq!(read(json!({ "domain": typed })), Ok(name.to_owned()));
        }
    }

    #[test]
    fn each_mistake_has_a_text_of_its_own() {
        for (body, text) in [
            (json!({}), "Missing 'domain'"),
            (json!({ "domain": 1 }), "must be a string"),
            (json!({ "domain": "ann@duck.com" }), "behind the @"),
            (json!({ "domain": "" }), "a domain name"),
            (json!({ "domain": "duck" }), "a domain name"),
            (json!({ "domain": "a b.example" }), "a domain name"),
            (json!({ "domain": "https://duck.com/" }), "a domain name"),
            (json!({ "domain": "[192.0.2.1]" }), "a domain name"),
            (json!({ "domain": "192.0.2.1" }), "a domain name"),
            (json!({ "domain": format!("{}.example", "a".repeat(64)) }), "a domain name"),
        ] {
            let error = read(body.clone()).unwrap_err();
            assert!(error.contains(text), "{body}: {error}");
        }
    }
}
