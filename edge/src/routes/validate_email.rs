//! Checking an address. docs/architecture.md describes the path of one check.

pub(super) mod deadline;
pub(super) mod details;
mod result;
pub(super) mod sandbox;
pub(super) mod units;

use std::sync::Arc;

use axum::extract::State;
use rcpt_shared::{Address, Malformed, Tenant, read};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{
    app::App,
    cf::{clock, deferred::Deferred, verdict_cache::CachedVerdict},
    credentials::{address_hash, idempotency::Idempotent, proof::Caller, tenant},
    error::{Error, LimitError, PlainError, ValidationError},
    extract::{json_body::JsonBody, request::RequestContext},
    ledger::charge::{self, Charged, Lease, StoredAnswer},
};
pub(super) use result::ValidationResult;
use units::{admit, charge, lease, settle};

/// Body of `POST /validate_email`.
#[derive(ToSchema)]
pub struct CheckRequest {
    /// The address to check, bare or as `Name <address>`.
    #[schema(value_type = String)]
    pub email: Result<Address, Malformed>,
    /// Include the evidence behind the verdict.
    #[schema(required = false)]
    pub details: bool,
    /// Milliseconds after which the response is sent, with the verdict or, `pending`, without it.
    #[schema(minimum = 300, maximum = 10_000, nullable = false)]
    pub deadline_ms: Option<u64>,
}

impl CheckRequest {
    /// A text that can't be reduced to one address is a mistake of the body, unlike in a list.
    fn from_json(body: &Map<String, Value>) -> Result<Self, Error> {
        let Some(email) = body.get("email") else {
            return Err(Error::invalid_body("Missing 'email' field in request body."));
        };
        let Some(email) = email.as_str() else {
            return Err(Error::invalid_body("The 'email' field must be a string."));
        };
        let Some(details) = body.get("details").map_or(Some(false), Value::as_bool) else {
            return Err(Error::invalid_body("The 'details' field must be a boolean."));
        };
        let deadline_ms = deadline::of(body)?;
        let email = read(email);
        match &email {
            Err(malformed) if malformed.is_unreadable() => {
                let mut text =
                    format!("The 'email' field must hold one address. {}", malformed.problem());
                if let Some(suggestion) = malformed.suggestion() {
                    text += &format!(" Did you mean {suggestion}?");
                }
                Err(Error::invalid_body(text))
            }
            _ => Ok(Self { email, details, deadline_ms }),
        }
    }

    fn text(&self) -> &str {
        match &self.email {
            Ok(address) => address.as_given(),
            Err(malformed) => malformed.text(),
        }
    }
}

/// Check an address
///
/// Asks the domain's mail server whether it accepts the address. No email is sent. Takes up to about 10 seconds if the
/// mail server is slow, or `deadline_ms`.
#[utoipa::path(
    post, path = "/v1/validate_email", tag = "Validation", operation_id = "validateEmail",
    request_body = CheckRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "Your own id for this check, 16 to 255 printable characters. If no answer comes, repeat the check with the same id: it counts once, and is answered for 24 hours")),
    responses(
        (status = 200, description = "The verdict, also when the address can't receive mail; or `pending` at the deadline", body = ValidationResult, headers(("Retry-After" = Option<u64>, description = "With `pending`: seconds after which the verdict may be there"))),
        (status = 400, description = "`email` is missing, empty or not a single address, `deadline_ms` is out of its range, or the body is malformed", body = ValidationError),
        (status = 401, description = "The API key or session is missing or no longer valid", body = ValidationError),
        (status = 409, description = "`idempotency_key_in_use`: the first check with this key isn't answered yet", body = PlainError),
        (status = 422, description = "`idempotency_key_reused`: the key was sent with another request", body = PlainError),
        (status = 429, description = "No checks are left, too many are running (`code: too_many_in_flight`), or too many were sent in a short time (`code: throttled`)", body = LimitError),
        (status = 502, description = "The check couldn't be completed and wasn't counted", body = PlainError),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn check(
    State(app): State<Arc<App>>,
    context: RequestContext,
    caller: Result<Caller, Error>,
    body: Result<JsonBody<Map<String, Value>>, Error>,
) -> Result<ValidationResult, Error> {
    let caller = caller.map_err(Error::of_validation)?;
    let JsonBody(body) = body.map_err(Error::of_validation)?;
    let request = CheckRequest::from_json(&body).map_err(Error::of_validation)?;
    let identity = format!("check\0{}\0{}", request.details, request.text());
    let once = context.idempotent(&app.config.address_secrets, caller, &identity);
    let once = once.map_err(Error::of_validation)?;
    admit(&app, caller, once.as_ref(), 1).await?;
    admitted(app, context, caller, request, once).await
}

/// The shield has admitted the caller.
pub(super) async fn admitted(
    app: Arc<App>,
    context: RequestContext,
    caller: Caller,
    request: CheckRequest,
    once: Option<Idempotent>,
) -> Result<ValidationResult, Error> {
    let address = match request.email {
        Ok(address) => address,
        Err(malformed) => {
            let charged = charge(&app, caller, once.as_ref(), &()).await?;
            let left_over = match charged {
                Charged::Now(left_over) => left_over,
                Charged::Before(stored) => stored.left_over,
            };
            let result = ValidationResult::of_no_address(&malformed, request.details);
            return Ok(result.leaving(&left_over));
        }
    };
    sandbox::permit(caller, [address.domain()])?;
    let check = Check {
        is_test: caller.proof.is_test(),
        once,
        key: address_hash::of_checked(&app.config.address_secrets, &address),
        address,
        details: request.details,
        deadline_ms: request.deadline_ms,
        awaited_until: None,
    };
    match check.cached(&app, caller).await? {
        Some(result) => Ok(result),
        None => check.fresh(app, caller, context).await,
    }
}

struct Check {
    address: Address,
    details: bool,
    deadline_ms: Option<u64>,
    /// When the caller takes what is known, in milliseconds of the Worker's clock.
    awaited_until: Option<u64>,
    /// Cache key of the verdict.
    key: String,
    /// A test key's check leaves nothing in the caches, and finds nothing there.
    is_test: bool,
    /// Present if the request has an `Idempotency-Key`.
    once: Option<Idempotent>,
}

impl Check {
    /// Charges only if a recent verdict is cached.
    async fn cached(&self, app: &App, caller: Caller) -> Result<Option<ValidationResult>, Error> {
        if self.is_test {
            return Ok(None);
        }
        let Some(cached_verdict) = app.verdicts.get(&self.key, clock::now()).await else {
            return Ok(None);
        };
        match charge(app, caller, self.once.as_ref(), &cached_verdict).await {
            Ok(Charged::Now(left_over)) => Ok(Some(
                ValidationResult::again(&self.address, self.details, cached_verdict)
                    .leaving(&left_over),
            )),
            Ok(Charged::Before(stored)) => self.repeat_answer(app, &stored).map(Some),
            // The first request with this `Idempotency-Key` is still in flight: wait for its response.
            Err(error) if self.deadline_ms.is_some() && error.is_key_in_use() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn repeat_answer(&self, app: &App, stored: &StoredAnswer) -> Result<ValidationResult, Error> {
        let answer = units::open(app, self.once.as_ref(), stored)?;
        Ok(ValidationResult::again(&self.address, self.details, answer).leaving(&stored.left_over))
    }

    /// The request, the settlement and the caching continue if the client disconnects: a check that reached a mail
    /// server is charged.
    async fn fresh(
        self,
        app: Arc<App>,
        caller: Caller,
        context: RequestContext,
    ) -> Result<ValidationResult, Error> {
        if let Some(deadline_ms) = self.deadline_ms {
            return self.by_deadline(deadline_ms, app, caller, context).await;
        }
        match lease(&app, caller, 1, self.once.as_ref()).await? {
            Charged::Now(lease) => self.leased(app, lease, caller, context).await,
            Charged::Before(stored) => self.repeat_answer(&app, &stored),
        }
    }

    async fn leased(
        self,
        app: Arc<App>,
        lease: Lease,
        caller: Caller,
        context: RequestContext,
    ) -> Result<ValidationResult, Error> {
        let deferred = context.deferred.clone();
        let tenant = tenant::name(&app.config.address_secrets, caller.account);
        let work = async move { self.ask_and_settle(&app, lease, &tenant, &context).await };
        deferred
            .outliving(work)
            .await
            .unwrap_or_else(|| Err(Error::internal("a check was cut off")))
    }

    /// Concurrent identical checks share one request to an origin.
    async fn ask_and_settle(
        self,
        app: &Arc<App>,
        lease: Lease,
        tenant: &str,
        context: &RequestContext,
    ) -> Result<ValidationResult, Error> {
        let tenant = Tenant { name: tenant, paying: lease.is_paying };
        let (address, id, awaited_until) = (&self.address, &context.id, self.awaited_until);
        let ask =
            async |deadline| app.origins.probe(address, id, tenant, deadline, awaited_until).await;
        // Who takes what is known doesn't wait with those who wait for all of it.
        let kind = if awaited_until.is_some() { "awaited " } else { "" };
        let origin_answer = match sandbox::error_of(&self.address, clock::now()) {
            Some(error) => Err(error),
            None => app.in_flight.join(&[kind, &self.key].concat(), ask).await,
        };
        let verdict = match origin_answer {
            Ok(verdict) => verdict,
            Err(error) => {
                charge::release(app.databases.of(lease.account())?, lease).await?;
                return Err(error);
            }
        };
        let status = verdict.status;
        let seen_before = verdict.seen_before.filter(|_| !self.is_test);
        let ttl = app.config.cache.of_verdict(status, Some(verdict.reason)).unwrap_or_default();
        let domain = self.address.domain();
        let cache_entry = |expires_at| CachedVerdict::new(&verdict, expires_at, domain);
        let left_over = lease.left_over.clone();
        let charged = u32::from(status.counts());
        settle(app, lease, charged, self.once.as_ref(), &cache_entry(0)).await?;
        if !self.is_test {
            remember(app, &context.deferred, self.key.clone(), ttl, seen_before, cache_entry).await;
        }
        Ok(ValidationResult::of(&self.address, verdict, self.details, seen_before.is_some())
            .leaving(&left_over))
    }
}

/// Caches a verdict in the request's data centre. If the address was checked before, perhaps from elsewhere, the
/// verdict is also cached globally, which costs money. Both entries expire together.
pub(super) async fn remember(
    app: &Arc<App>,
    deferred: &Deferred,
    key: String,
    ttl: u64,
    seen_before: Option<u64>,
    cached_verdict: impl FnOnce(u64) -> CachedVerdict,
) {
    let now = clock::now();
    let ttl = ttl.saturating_sub(seen_before.unwrap_or_default());
    if ttl == 0 {
        return;
    }
    let verdict = cached_verdict(now.saturating_add(ttl));
    app.verdicts.put_here(&key, &verdict, now).await;
    if seen_before.is_none() {
        return;
    }
    let app = Arc::clone(app);
    deferred.after_response(async move { app.verdicts.put_everywhere(&key, &verdict, now).await });
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::CheckRequest;

    fn read(body: Value) -> Result<(String, bool), String> {
        let Value::Object(body) = body else { panic!("{body}") };
        let request = CheckRequest::from_json(&body).map_err(|error| format!("{error:?}"))?;
        Ok((request.text().to_owned(), request.details))
    }

    #[test]
    fn the_address_is_reduced_and_details_are_off_unless_asked_for() {
        let with_name = json!({"email": "Ann <ann@example.org>"});
        assert_eq!(read(with_name), Ok(("ann@example.org".into(), false)));
        let detailed = json!({"email": "ann@example.org", "details": true});
        assert_eq!(read(detailed), Ok(("ann@example.org".into(), true)));
    }

    #[test]
    fn each_mistake_has_a_text_of_its_own() {
        for (body, text) in [
            (json!({}), "Missing 'email'"),
            (json!({"email": 1}), "must be a string"),
            (json!({"email": ""}), "must hold one address. There is nothing in it.\""),
            (json!({"email": "\u{200e} "}), "There is nothing in it."),
            (json!({"email": "<a@b> <c@d>"}), "This looks like several addresses."),
            (json!({"email": "a@b.example>"}), "don't match. Did you mean a@b.example?"),
            (json!({"email": "a@b.example", "details": "yes"}), "'details'"),
        ] {
            let error = read(body.clone()).unwrap_err();
            assert!(error.contains(text), "{body}: {error}");
        }
    }
}
