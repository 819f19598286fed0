//! A short list of addresses in one call: one lease, one batch to each origin and one response.

mod list;

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures_util::future::join_all;
use rcpt_shared::{Address, Tenant};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::validate_email::{
    ValidationResult,
    deadline::{self, beside, lease_or_answer},
    remember, sandbox,
    units::{admit, lease, open, settle, settle_part},
};
use crate::{
    app::App,
    cf::{clock, log, verdict_cache::CachedVerdict},
    credentials::{idempotency::Idempotent, proof::Caller, tenant},
    error::{Error, LimitError, Outcome, PlainError, ValidationError, rate_limit::RateLimit},
    extract::{json_body::JsonBody, request::RequestContext},
    ledger::charge::{self, Charged, Lease},
    limits::quota::seconds_to_reset,
    outbound::origin_batch::{BatchCall, BatchItem},
};

use list::{Answers, List, ListAnswer};

const EMAILS_MAX: usize = 100;
/// An address without a verdict within this time isn't charged.
const BUDGET_MS: u64 = 20_000;
/// Milliseconds of the lease's lifetime reserved for settling it.
const SETTLING_MS: u64 = 5_000;

/// Body of `POST /validate_emails`.
#[derive(ToSchema)]
pub struct ListRequest {
    /// The addresses to check, each bare or as `Name <address>`.
    #[schema(min_items = 1, max_items = 100)]
    pub emails: Vec<String>,
    /// Include the evidence behind each verdict.
    #[schema(required = false)]
    pub details: bool,
    /// Milliseconds after which the response is sent: results that haven't arrived by then are `pending`.
    #[schema(minimum = 300, maximum = 10_000, nullable = false)]
    pub deadline_ms: Option<u64>,
}

/// The verdicts about a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct ListResult {
    /// A result for each address, in the order of the request.
    pub results: Vec<ValidationResult>,
    /// Number of counted results. Those with `fatal_exception` aren't counted. Absent while a result is pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub counted: Option<u32>,
    /// `true` if a result hadn't arrived by `deadline_ms`: the checks continue, and the same request with its
    /// `Idempotency-Key` returns all results later. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub pending: Option<bool>,
    #[serde(skip)]
    #[schema(ignore)]
    pub rate_limit: Option<RateLimit>,
}

impl IntoResponse for ListResult {
    fn into_response(self) -> Response {
        let (is_pending, rate_limit) = (self.pending.is_some(), self.rate_limit.clone());
        let mut response = Json(self).into_response();
        if let Some(rate_limit) = rate_limit {
            rate_limit.insert(response.headers_mut());
        }
        if is_pending {
            let seconds = HeaderValue::from(deadline::RETRY_AFTER_S);
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        let outcome = Outcome(if is_pending { "pending" } else { "list" });
        response.extensions_mut().insert(outcome);
        response
    }
}

impl ListRequest {
    fn from_json(body: &Map<String, Value>) -> Result<Self, Error> {
        let Some(emails) = body.get("emails") else {
            return Err(Error::invalid_body("Missing 'emails' field in request body."));
        };
        let Some(emails) = emails.as_array() else {
            return Err(Error::invalid_body("The 'emails' field must be a list."));
        };
        if emails.is_empty() || emails.len() > EMAILS_MAX {
            return Err(Error::invalid_body("The 'emails' field must have 1 to 100 addresses."));
        }
        let texts = emails.iter().enumerate().map(|(index, email)| {
            let text = email.as_str().map(str::to_owned);
            let mistake = || format!("The 'emails[{index}]' field must be a string.");
            text.ok_or_else(|| Error::invalid_body(mistake()))
        });
        let emails = texts.collect::<Result<_, _>>()?;
        let Some(details) = body.get("details").map_or(Some(false), Value::as_bool) else {
            return Err(Error::invalid_body("The 'details' field must be a boolean."));
        };
        Ok(Self { emails, details, deadline_ms: deadline::of(body)? })
    }

    fn identity(&self) -> String {
        let emails = serde_json::to_string(&self.emails).unwrap_or_default();
        format!("list\0{}\0{emails}", self.details)
    }
}

/// Check up to 100 addresses
///
/// Checks a short list in one call; the results have its order. Takes up to about 20 seconds, or `deadline_ms`. Each
/// address counts as a check, even if it is repeated. If fewer checks are left than the list has addresses, none of
/// them is checked. A result with `fatal_exception` isn't counted. For larger lists, start a scan.
#[utoipa::path(
    post, path = "/v1/validate_emails", tag = "Validation", operation_id = "validateEmails",
    request_body = ListRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "Your own id for this list, 16 to 255 printable characters. If no answer comes, repeat the list with the same id: it counts once, and is answered for 24 hours")),
    responses(
        (status = 200, description = "The results, or those that were there at the deadline", body = ListResult, headers(("Retry-After" = Option<u64>, description = "With `pending`: seconds after which all results may be there"))),
        (status = 400, description = "`emails` is missing, empty or longer than 100, `deadline_ms` is out of its range, or the body is malformed", body = ValidationError),
        (status = 401, description = "The API key or session is missing or no longer valid", body = ValidationError),
        (status = 409, description = "`idempotency_key_in_use`: the first list with this key isn't answered yet", body = PlainError),
        (status = 422, description = "`idempotency_key_reused`: the key was sent with another request", body = PlainError),
        (status = 429, description = "Fewer checks are left than the list has addresses, too many are running (`code: too_many_in_flight`), or too many were sent in a short time (`code: throttled`)", body = LimitError),
        (status = 502, description = "No address has a verdict, and nothing was counted", body = PlainError),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn check(
    State(app): State<Arc<App>>,
    context: RequestContext,
    caller: Result<Caller, Error>,
    body: Result<JsonBody<Map<String, Value>>, Error>,
) -> Result<ListResult, Error> {
    let caller = caller.map_err(Error::of_validation)?;
    let JsonBody(body) = body.map_err(Error::of_validation)?;
    let request = ListRequest::from_json(&body).map_err(Error::of_validation)?;
    let once = context.idempotent(&app.config.address_secrets, caller, &request.identity());
    let once = once.map_err(Error::of_validation)?;
    let list = List::of(&request.emails, request.details, &app.config.address_secrets);
    admit(&app, caller, once.as_ref(), list.units()).await?;
    sandbox::permit(caller, list.distinct().iter().map(|one| one.address.domain()))?;
    let is_test = caller.proof.is_test();
    let deadline_ms = request.deadline_ms;
    let (charged, end) = match deadline_ms {
        None => (Some(lease(&app, caller, list.units(), once.as_ref()).await?), u64::MAX),
        Some(deadline_ms) => {
            lease_or_answer(deadline_ms, &app, caller, list.units(), once.as_ref()).await?
        }
    };
    let lease = match charged {
        Some(Charged::Now(lease)) => lease,
        Some(Charged::Before(stored)) => {
            let answers = Answers::from_stored(open(&app, once.as_ref(), &stored)?);
            return Ok(list.result(&answers).leaving(&stored.left_over));
        }
        // The first request with this `Idempotency-Key` is still in flight.
        None => return Ok(list.unsettled_result()),
    };
    let left_over = lease.left_over.clone();
    let tenant = tenant::name(&app.config.address_secrets, caller.account);
    let answers = Answers::none_of(&list);
    let work = Arc::new(ListWork { app, context, list, answers, tenant, is_test });
    let answer = answer(Arc::clone(&work), lease, once, deadline_ms.map(|ms| (ms, end)));
    let answered = work.context.deferred.outliving(answer);
    let cut_off = || Err(Error::internal("a list was cut off"));
    if deadline_ms.is_none() {
        return answered.await.unwrap_or_else(cut_off).map(|result| result.leaving(&left_over));
    }
    let result = match clock::within(time_until(end), answered).await {
        Some(result) => result.unwrap_or_else(cut_off)?,
        // The charge for the results at the deadline takes too long, so none of them leaves.
        None => work.list.unsettled_result(),
    };
    Ok(result.leaving(&left_over))
}

/// `end` is in milliseconds of the Worker's clock.
fn time_until(end: u64) -> Duration {
    Duration::from_millis(end.saturating_sub(clock::now_ms()))
}

/// A list that holds a lease.
struct ListWork {
    app: Arc<App>,
    context: RequestContext,
    list: List,
    answers: Answers,
    tenant: String,
    /// A test key's list leaves nothing in the caches, finds nothing there, and is never counted.
    is_test: bool,
}

/// Milliseconds before the deadline at which the results that have arrived are charged, in one round trip to the
/// account's database; at most a quarter of the deadline.
const CHARGING_MS: u64 = 100;

/// `deadline` is in milliseconds of the request, and of the Worker's clock. No result leaves before its charge: at the
/// deadline the lease is charged for what is given out, and keeps the rest until the list ends.
async fn answer(
    work: Arc<ListWork>,
    lease: Lease,
    once: Option<Idempotent>,
    deadline: Option<(u64, u64)>,
) -> Result<ListResult, Error> {
    let is_paying = lease.is_paying;
    let mut finding = Box::pin({
        let work = Arc::clone(&work);
        let awaited_until = deadline.map(|(_, end)| end);
        async move { work.find_out(is_paying, awaited_until).await }
    });
    let Some((deadline_ms, end)) = deadline else {
        let found = finding.await;
        return work.settle(found, lease, once).await;
    };
    let charging = Duration::from_millis(CHARGING_MS.min(deadline_ms / 4));
    let time = time_until(end).saturating_sub(charging);
    if let Some(found) = clock::within(time, finding.as_mut()).await {
        return work.settle(found, lease, once).await;
    }
    let snapshot = work.answers.clone();
    let units = work.list.charged_positions(&snapshot);
    let charging = async {
        match units {
            0 => Ok(()),
            units => settle_part(&work.app, &lease, units, once.as_ref()).await,
        }
    };
    let (charged, found) = beside(charging, finding.as_mut()).await;
    let rest = Arc::clone(&work);
    work.context.deferred.after_response(async move {
        let found = match found {
            Some(found) => found,
            None => finding.await,
        };
        if let Err(error) = rest.settle(found, lease, once).await {
            log::failure("the rest of a list", &error);
        }
    });
    Ok(match charged {
        Ok(()) => work.list.pending_result(&snapshot),
        Err(error) => {
            log::failure("the results of a list at its deadline", &error);
            work.list.unsettled_result()
        }
    })
}

impl ListResult {
    fn leaving(mut self, left_over: &str) -> Self {
        self.rate_limit = RateLimit::of_checks(left_over, seconds_to_reset(clock::now()));
        self
    }
}

impl ListWork {
    async fn settle(
        &self,
        found: Result<(), Error>,
        lease: Lease,
        once: Option<Idempotent>,
    ) -> Result<ListResult, Error> {
        let Self { app, context, list, answers, is_test, .. } = self;
        if let Err(error) = found {
            charge::release(app.databases.of(lease.account())?, lease).await?;
            return Err(error);
        }
        let (units, stored) = (list.charged_positions(answers), answers.to_stored(list));
        settle(app, lease, units, once.as_ref(), &stored).await?;
        if *is_test {
            return Ok(ListResult { counted: Some(0), ..list.result(answers) });
        }
        remember_fresh(app, list, answers, context).await;
        Ok(list.result(answers))
    }

    /// # Errors
    /// The error assigned to a sandbox address, or [`Error::upstream`] if no result is charged and no address has a
    /// verdict.
    async fn find_out(&self, is_paying: bool, awaited_until: Option<u64>) -> Result<(), Error> {
        let Self { app, context, list, answers, tenant, is_test } = self;
        let life_ms = app.config.lease_ttl.saturating_mul(1_000);
        let budget_ms = BUDGET_MS.min(life_ms.saturating_sub(SETTLING_MS));
        let (now, deadline) = (clock::now(), clock::now_ms().saturating_add(budget_ms));
        let errors = list.distinct().iter().filter_map(|one| sandbox::error_of(&one.address, now));
        if let Some(error) = errors.into_iter().next() {
            return Err(error);
        }
        let known = if *is_test { &[] } else { list.distinct() };
        let cache_reads = known.iter().map(|one| app.verdicts.get(&one.key, now));
        for (index, cached_verdict) in join_all(cache_reads).await.into_iter().enumerate() {
            if let Some(cached_verdict) = cached_verdict {
                answers.set(index, ListAnswer::Before(cached_verdict));
            }
        }
        let unknown: Vec<(usize, Address)> = answers.missing_of(list);
        if !unknown.is_empty() {
            let (positions, addresses): (Vec<usize>, Vec<Address>) = unknown.into_iter().unzip();
            let heard = |index: usize, item: &BatchItem| {
                if let Some(position) = positions.get(index) {
                    answers.set(*position, ListAnswer::of(item));
                }
            };
            let request_id = context.id.as_str();
            let tenant = Tenant { name: tenant, paying: is_paying };
            let urgent = true;
            let call =
                BatchCall { request_id, tenant, urgent, deadline, awaited_until, heard: &heard };
            let items = app.origins.probe_batch(&addresses, call).await?;
            for (position, item) in positions.iter().zip(&items) {
                answers.set(*position, ListAnswer::of(item));
            }
        }
        let is_empty = list.charged_positions(answers) == 0 && answers.has_no_verdict();
        if is_empty { Err(Error::upstream("no address of a list was asked about")) } else { Ok(()) }
    }
}

async fn remember_fresh(app: &Arc<App>, list: &List, answers: &Answers, context: &RequestContext) {
    let fresh = answers.fresh_of(list);
    let cache_entries = fresh.iter().map(|(one, verdict)| {
        let (status, reason) = (verdict.status, verdict.reason);
        let ttl = app.config.cache.of_verdict(status, Some(reason)).unwrap_or_default();
        let cache_entry =
            move |expires_at| CachedVerdict::new(verdict, expires_at, one.address.domain());
        remember(app, &context.deferred, one.key.clone(), ttl, None, cache_entry)
    });
    join_all(cache_entries).await;
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::ListRequest;

    fn read(body: Value) -> Result<ListRequest, String> {
        let Value::Object(body) = body else { panic!("{body}") };
        ListRequest::from_json(&body).map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn each_mistake_has_a_text_of_its_own() {
        for (body, text) in [
            (json!({}), "Missing 'emails'"),
            (json!({ "emails": "a@b.example" }), "must be a list"),
            (json!({ "emails": [] }), "1 to 100 addresses"),
            (json!({ "emails": vec!["a@b.example"; 101] }), "1 to 100 addresses"),
            (json!({ "emails": ["a@b.example", 2] }), "'emails[1]' field must be a string"),
            (json!({ "emails": ["a"], "details": 1 }), "'details'"),
            (json!({ "emails": ["a"], "deadline_ms": 1 }), "'deadline_ms'"),
        ] {
            let error = read(body.clone()).err().unwrap_or_default();
            assert!(error.contains(text), "{body}: {error}");
        }
        assert_eq!(read(json!({ "emails": vec![""; 100] })).unwrap().emails.len(), 100);
    }

    #[test]
    fn another_order_split_or_evidence_is_another_request() {
        let identity = |body: Value| read(body).unwrap().identity();
        let first = identity(json!({ "emails": ["a\",\"b", "c"] }));
        assert_eq!(first, identity(json!({ "emails": ["a\",\"b", "c"], "deadline_ms": 300 })));
        for other in [
            json!({ "emails": ["c", "a\",\"b"] }),
            json!({ "emails": ["a", "b", "c"] }),
            json!({ "emails": ["a\",\"b", "c"], "details": true }),
        ] {
            assert_ne!(first, identity(other));
        }
    }
}
