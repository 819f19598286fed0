//! The kind of a domain, for callers who don't want to send an address. A report is charged as a check.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use rcpt_shared::{DomainKind, DomainReport, Tenant, read_domain};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    domain_body::{DomainDetails, Evidence, kind_schema, suspected_schema},
    validate_email::{
        sandbox,
        units::{admit, lease, open, settle},
    },
};
use crate::{
    app::App,
    cf::clock,
    credentials::{idempotency::Idempotent, proof::Caller, tenant},
    error::{Error, LimitError, PlainError, ValidationError, rate_limit::RateLimit},
    extract::{json_body::JsonBody, request::RequestContext},
    ledger::charge::{self, Charged, Lease},
    limits::quota::seconds_to_reset,
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
        let rate_limit = self.rate_limit.clone();
        let mut response = Json(self).into_response();
        if let Some(rate_limit) = rate_limit {
            rate_limit.insert(response.headers_mut());
        }
        response
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
            rate_limit: RateLimit::of_checks(left_over, seconds_to_reset(clock::now())),
        }
    }
}

fn domain_of(body: &Map<String, Value>) -> Result<String, Error> {
    let Some(domain) = body.get("domain") else {
        return Err(Error::invalid_body("Missing 'domain' field in request body."));
    };
    let Some(domain) = domain.as_str() else {
        return Err(Error::invalid_body("The 'domain' field must be a string."));
    };
    if domain.contains('@') {
        return Err(Error::invalid_body(
            "The 'domain' field must be a domain: send the part behind the @ alone.",
        ));
    }
    read_domain(domain).ok_or_else(|| {
        Error::invalid_body("The 'domain' field must be a domain name, such as example.org.")
    })
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
pub async fn check(
    State(app): State<Arc<App>>,
    context: RequestContext,
    caller: Result<Caller, Error>,
    body: Result<JsonBody<Map<String, Value>>, Error>,
) -> Result<DomainAnswer, Error> {
    let caller = caller.map_err(Error::of_validation)?;
    let JsonBody(body) = body.map_err(Error::of_validation)?;
    let domain = domain_of(&body).map_err(Error::of_validation)?;
    let identity = ["domain\0", &domain].concat();
    let once = context.idempotent(&app.config.address_secrets, caller, &identity);
    let once = once.map_err(Error::of_validation)?;
    admit(&app, caller, once.as_ref(), 1).await?;
    sandbox::permit(caller, [domain.as_str()])?;
    let lease = match lease(&app, caller, 1, once.as_ref()).await? {
        Charged::Now(lease) => lease,
        Charged::Before(stored) => {
            let report = open(&app, once.as_ref(), &stored)?;
            return Ok(DomainAnswer::new(&domain, report, &stored.left_over));
        }
    };
    let deferred = context.deferred.clone();
    let tenant = tenant::name(&app.config.address_secrets, caller.account);
    let work =
        async move { ask_and_settle(&app, lease, &tenant, &context, &domain, once.as_ref()).await };
    deferred.outliving(work).await.unwrap_or_else(|| Err(Error::internal("a question was cut off")))
}

async fn ask_and_settle(
    app: &App,
    lease: Lease,
    tenant: &str,
    context: &RequestContext,
    domain: &str,
    once: Option<&Idempotent>,
) -> Result<DomainAnswer, Error> {
    let tenant = Tenant { name: tenant, paying: lease.is_paying };
    let deadline = clock::now_ms().saturating_add(app.config.upstream_budget_ms);
    let report = match app.origins.domain_report(domain, &context.id, tenant, deadline).await {
        Ok(report) => report,
        Err(error) => {
            charge::release(app.databases.of(lease.account())?, lease).await?;
            return Err(error);
        }
    };
    let left_over = lease.left_over.clone();
    // Every report is charged: an origin without a result returns no report.
    settle(app, lease, 1, once, &report).await?;
    Ok(DomainAnswer::new(domain, report, &left_over))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::domain_of;

    fn read(body: Value) -> Result<String, String> {
        let Value::Object(body) = body else { panic!("{body}") };
        domain_of(&body).map_err(|error| format!("{error:?}"))
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
