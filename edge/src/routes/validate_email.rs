//! `POST /v1/validate_email` (interface §4.1, architecture §5).

mod details;

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::State,
    response::{IntoResponse, Response},
};
use rcpt_shared::{Address, ReduceError, Status, Verdict, reduce};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    address_hash,
    answer::Outcome,
    app::App,
    body::JsonBody,
    caller::Caller,
    cf::{
        clock, origin,
        request::{Deferred, RequestId},
        verdict_cache::CachedVerdict,
    },
    error::Error,
    quota::{Day, seconds_to_reset},
    random,
    store::ledger::{self, Lease, Refusal},
};

pub use details::Details;

/// The verdict about one address (interface §2.1).
#[derive(Debug, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct ValidationResult {
    /// The address that was checked.
    pub email: String,
    /// `true`: the mail server accepts the address. `false`: it refuses it. A string: no verdict could
    /// be reached.
    #[cfg_attr(not(target_arch = "wasm32"), schema(schema_with = crate::openapi::status))]
    pub status: Status,
    /// Whether a recent identical check answered; absent when the format check failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(not(target_arch = "wasm32"), schema(nullable = false))]
    pub cached: Option<bool>,
    /// The evidence; present when the request asked for it and the format check passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(not(target_arch = "wasm32"), schema(nullable = false))]
    pub details: Option<Details>,
}

/// Body of `POST /validate_email`.
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct CheckRequest {
    /// The address to check, bare or as `Name <address>`.
    pub email: String,
    /// Whether the answer is to have the evidence behind the verdict.
    #[cfg_attr(not(target_arch = "wasm32"), schema(required = false))]
    pub details: bool,
}

impl IntoResponse for ValidationResult {
    fn into_response(self) -> Response {
        let outcome = Outcome(self.status.as_str());
        let mut response = Json(self).into_response();
        response.extensions_mut().insert(outcome);
        response
    }
}

impl CheckRequest {
    /// Reads a JSON body and reduces the address, with a text of its own for each mistake.
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
        match reduce(email) {
            Ok(address) => Ok(Self { email: address.to_owned(), details }),
            Err(ReduceError::Empty) => {
                Err(Error::invalid_body("The 'email' field must not be empty."))
            }
            Err(ReduceError::Brackets) => Err(Error::invalid_body(
                "The 'email' field must hold one address, as in Name <address>.",
            )),
        }
    }
}

/// Steps, as in architecture §5: 1 key, body and format; 2 cache; 3 charge a hit; 4 lease, ask (once
/// for identical checks at the same time) and settle a miss; 5 release when nobody could be asked.
pub async fn check(
    State(app): State<Arc<App>>,
    Extension(request_id): Extension<RequestId>,
    Extension(deferred): Extension<Deferred>,
    // 1
    caller: Result<Caller, Error>,
    body: Result<JsonBody<Map<String, Value>>, Error>,
) -> Result<ValidationResult, Error> {
    let caller = caller.map_err(Error::of_validation)?;
    let JsonBody(body) = body.map_err(Error::of_validation)?;
    let CheckRequest { email, details } =
        CheckRequest::from_json(&body).map_err(Error::of_validation)?;
    let Ok(address) = Address::parse(&email) else {
        charge(&app, caller).await?;
        return Ok(ValidationResult {
            email,
            status: Status::InvalidFormat,
            cached: None,
            details: None,
        });
    };
    // 2
    let key = address_hash::of_checked(&app.config.address_secret, &address);
    let known = app.verdicts.get(&key, clock::now()).await;
    if let Some(known) = known.filter(|known| !details || known.evidence.is_some()) {
        // 3
        charge(&app, caller).await?;
        let evidence = known.evidence.filter(|_| details);
        return Ok(result(address, known.status, evidence.map(|verdict| *verdict), true));
    }
    // 4
    let lease = lease(&app, caller).await?;
    let ask = origin::probe(&app.config, &address, details, &request_id.0);
    let budget = app.config.upstream_budget_ms.into();
    // Who asks for the evidence cannot be served by a check that did not.
    let joined = if details { format!("{key}+details") } else { key.clone() };
    let verdict = match app.in_flight.join(&joined, budget, ask).await {
        Ok(verdict) => verdict,
        // 5
        Err(error) => {
            ledger::release(&app.database, lease).await?;
            return Err(error);
        }
    };
    let status = verdict.status;
    settle(&app, lease, status).await?;
    let evidence = details.then_some(verdict);
    remember(&app, &deferred, key, status, evidence.as_ref()).await;
    Ok(result(address, status, evidence, false))
}

fn result(
    address: Address,
    status: Status,
    evidence: Option<Verdict>,
    cached: bool,
) -> ValidationResult {
    let details = evidence.map(|verdict| Details::new(&address, verdict));
    ValidationResult { email: address.as_given().to_owned(), status, cached: Some(cached), details }
}

async fn charge(app: &App, caller: Caller) -> Result<(), Error> {
    let now = clock::now();
    ledger::charge(&app.database, caller, now)
        .await?
        .map_err(|refusal| refused(refusal, caller, now))
}

async fn lease(app: &App, caller: Caller) -> Result<Lease, Error> {
    let now = clock::now();
    let id = random::identifier()?;
    ledger::lease(&app.database, caller, id, now, app.config.lease_ttl)
        .await?
        .map_err(|refusal| refused(refusal, caller, now))
}

fn refused(refusal: Refusal, caller: Caller, now: u64) -> Error {
    match refusal {
        Refusal::Unauthorised => caller.unauthorised().of_validation(),
        Refusal::UsedUp => {
            Error::email_checks_used_up(Day::of(now).resets_at(), seconds_to_reset(now))
        }
    }
}

/// Ends the lease before the answer leaves: an answer that was given is an answer that was charged.
async fn settle(app: &App, lease: Lease, status: Status) -> Result<(), Error> {
    if !status.counts() {
        return ledger::release(&app.database, lease).await;
    }
    if ledger::charge_lease(&app.database, lease, clock::now).await? {
        Ok(())
    } else {
        Err(Error::upstream("the lease expired before the verdict came"))
    }
}

async fn remember(
    app: &Arc<App>,
    deferred: &Deferred,
    key: String,
    status: Status,
    evidence: Option<&Verdict>,
) {
    let now = clock::now();
    let Some(ttl) = app.config.cache.of(status).filter(|ttl| *ttl > 0) else { return };
    let verdict = CachedVerdict::new(status, now.saturating_add(ttl), evidence);
    app.verdicts.put_here(&key, &verdict, now).await;
    let app = Arc::clone(app);
    deferred.after_response(async move { app.verdicts.put_everywhere(&key, &verdict, now).await });
}
