//! Scans: lists that are checked in the background (docs/scans.md).

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    scan::{NewScanRequest, Scan, found},
    scan_call::ScanCall,
    scan_parts::{Sending, receive},
    scans_sql::{self, NewScan, ScanAction, ScanRefusal},
};
use crate::{
    app::App,
    cf::{clock, log},
    credentials::{proof::Caller, random},
    error::{Error, LimitError, PlainError, rate_limit::RateLimit},
    extract::{json_body::JsonBody, request::RequestContext},
    ledger::charge::Charged,
    limits::quota::{Day, seconds_to_reset},
};

async fn act(
    app: &App,
    caller: Caller,
    id: &str,
    action: ScanAction,
    now: u64,
) -> Result<scans_sql::StoredScan, Error> {
    let (database, ending) = (app.databases.of(caller.account)?, random::identifier()?);
    found(scans_sql::act(database, caller, id, action, &ending, now).await?, caller)
}

/// `scan_`, the time in milliseconds and 64 random bits, in hexadecimal, so that newer scans have greater ids.
fn new_id(now_ms: u64) -> Result<String, Error> {
    let random = u64::from_be_bytes(random::bytes()?);
    Ok(format!("scan_{now_ms:012x}{random:016x}"))
}

/// Start a scan
///
/// Takes one scan of the daily allowance, then of the credits. With `addresses`, the body has the whole list. With
/// `total` the list follows in parts of 1,000.
#[utoipa::path(
    post, path = "/v1/scans", tag = "Scans", operation_id = "createScan",
    request_body = NewScanRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "Your own id for this scan, 16 to 255 printable characters. If no answer comes, repeat the request with the same id: there is one scan")),
    responses(
        (status = 201, description = "The scan; `Location` has its path", body = Scan),
        (status = 400, description = "`invalid_body`, `invalid_scan`, `invalid_name` or `scan_too_large`", body = PlainError),
        (status = 409, description = "`too_many_scans`, running or stored", body = PlainError),
        (status = 422, description = "`idempotency_key_reused`: the key was sent with another request", body = PlainError),
        (status = 429, description = "The daily scans and the credits are used up, or too many requests", body = LimitError),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn create(
    State(app): State<Arc<App>>,
    context: RequestContext,
    ScanCall { caller, now, .. }: ScanCall,
    JsonBody(request): JsonBody<NewScanRequest>,
) -> Result<(StatusCode, HeaderMap, Json<Scan>), Error> {
    let total = request.total()?;
    let (name, details) = (request.name()?, request.details);
    let addresses = serde_json::to_string(&request.addresses).unwrap_or_default();
    let identity = format!("scan\0{total}\0{details}\0{name}\0{addresses}");
    let once = context.idempotent(&app.config.address_secrets, caller, &identity)?;
    let id = new_id(clock::now_ms())?;
    let scan = NewScan { id: &id, name, total, details };
    let database = app.databases.of(caller.account)?;
    let charged = scans_sql::create(database, caller, &scan, once.as_ref(), now).await?;
    let mut scan = match charged.map_err(|refusal| error_of(&refusal, caller, now))? {
        Charged::Now(scan) => scan,
        Charged::Before(stored) if once.as_ref().is_some_and(|once| once.is(&stored.request)) => {
            act(&app, caller, &stored.answer, ScanAction::Show, now).await?
        }
        Charged::Before(_) => return Err(Error::idempotency_key_reused()),
    };
    let id = scan.id.clone();
    let left_over = scan.left_over.take().unwrap_or_default();
    // A repeated request completes an interrupted one: a repeated part changes nothing.
    if let Some(addresses) = request.addresses.as_ref().filter(|_| scan.state == "open") {
        scan = fill(&app, caller, &id, addresses, once.is_some()).await?;
    }
    let mut headers = HeaderMap::new();
    if let Ok(location) = HeaderValue::try_from(format!("/v1/scans/{id}")) {
        headers.insert(header::LOCATION, location);
    }
    if let Some(rate_limit) = RateLimit::of_scans(&left_over, seconds_to_reset(now)) {
        rate_limit.insert(&mut headers);
    }
    Ok((StatusCode::CREATED, headers, Json(Scan::new(scan, now))))
}

/// After a failure the scan is removed, because the client doesn't know the id, and the scan mustn't count as running
/// or keep its unit. With `has_key`, the scan stays: another request with the `Idempotency-Key` may have succeeded or
/// may still succeed.
async fn fill(
    app: &App,
    caller: Caller,
    scan: &str,
    addresses: &[String],
    has_key: bool,
) -> Result<scans_sql::StoredScan, Error> {
    let filled = receive(app, caller, Sending { scan, number: 0, addresses }).await;
    if filled.is_err()
        && !has_key
        && let Err(error) = act(app, caller, scan, ScanAction::Withdraw, clock::now()).await
    {
        log::failure("removing a scan that could not start", &error);
    }
    filled
}

fn error_of(refusal: &ScanRefusal, caller: Caller, now: u64) -> Error {
    match *refusal {
        ScanRefusal::Unauthorised => caller.proof.to_error(),
        ScanRefusal::TooLarge { size } => Error::scan_too_large(size),
        ScanRefusal::TooMany { at_once } => Error::too_many_scans(at_once),
        ScanRefusal::TooManyKept { most } => Error::too_many_scans_kept(most),
        ScanRefusal::UsedUp { daily } => {
            Error::scans_used_up(daily, Day::of(now).resets_at(), seconds_to_reset(now))
        }
    }
}

/// A page of scans.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScanPage {
    /// Newest first.
    pub scans: Vec<Scan>,
    /// Value of `before` for the next page; null on the last page.
    pub next: Option<String>,
}

const PAGE_ROWS: u32 = 20;
const PAGE_ROWS_MAX: u32 = 100;

/// List scans
///
/// Newest first.
#[utoipa::path(
    get, path = "/v1/scans", tag = "Scans", operation_id = "listScans",
    params(
        ("before" = Option<String>, Query, description = "Only scans older than this one"),
        ("limit" = Option<u32>, Query, description = "Number of scans in a page, 1 to 100; by default 20"),
    ),
    responses(
        (status = 200, description = "A page of scans", body = ScanPage),
        (status = 400, description = "`invalid_query`", body = PlainError),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn list(State(app): State<Arc<App>>, call: ScanCall) -> Result<Json<ScanPage>, Error> {
    let limit = call.limit(PAGE_ROWS, PAGE_ROWS_MAX);
    let limit = limit.ok_or_else(|| {
        Error::invalid_query("The 'limit' parameter must be a whole number from 1 to 100.")
    })?;
    // A text greater than every id.
    let before = call.query("before");
    if before.is_some_and(|before| !before.starts_with("scan_")) {
        return Err(Error::invalid_query("The 'before' parameter must be the id of a scan."));
    }
    let before = before.unwrap_or("scan_~");
    let scans =
        scans_sql::list(app.databases.of(call.caller.account)?, call.caller, before, limit).await?;
    let scans = scans.ok_or_else(|| call.caller.proof.to_error())?;
    let is_full = u32::try_from(scans.len()).is_ok_and(|length| length == limit);
    let next = scans.last().filter(|_| is_full).map(|scan| scan.id.clone());
    let scans = scans.into_iter().map(|scan| Scan::new(scan, call.now)).collect();
    Ok(Json(ScanPage { scans, next }))
}

/// Show a scan
///
/// Its state, its progress, and the number of addresses with each verdict.
#[utoipa::path(
    get, path = "/v1/scans/{id}", tag = "Scans", operation_id = "showScan",
    params(("id" = String, Path, description = "The scan")),
    responses(
        (status = 200, description = "The scan", body = Scan),
        (status = 404, description = "`no_such_scan`", body = PlainError),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn show(
    State(app): State<Arc<App>>,
    ScanCall { caller, now, id, .. }: ScanCall,
) -> Result<Json<Scan>, Error> {
    let scan = act(&app, caller, &id, ScanAction::Show, now).await?;
    Ok(Json(Scan::new(scan, now)))
}

/// Cancel a scan
///
/// Verdicts found so far stay. The scan counts unless none of its addresses had been checked yet. A scan that has ended
/// doesn't change.
#[utoipa::path(
    post, path = "/v1/scans/{id}/cancel", tag = "Scans", operation_id = "cancelScan",
    params(("id" = String, Path, description = "The scan")),
    responses(
        (status = 200, description = "The scan", body = Scan),
        (status = 404, description = "`no_such_scan`", body = PlainError),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn cancel(
    State(app): State<Arc<App>>,
    ScanCall { caller, now, id, .. }: ScanCall,
) -> Result<Json<Scan>, Error> {
    let scan = act(&app, caller, &id, ScanAction::Cancel, now).await?;
    Ok(Json(Scan::new(scan, now)))
}

/// Delete a scan
///
/// Its results are deleted immediately. A running scan is cancelled.
#[utoipa::path(
    delete, path = "/v1/scans/{id}", tag = "Scans", operation_id = "deleteScan",
    params(("id" = String, Path, description = "The scan")),
    responses(
        (status = 204, description = "The scan is gone"),
        (status = 404, description = "`no_such_scan`", body = PlainError),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn delete(
    State(app): State<Arc<App>>,
    ScanCall { caller, now, id, .. }: ScanCall,
) -> Result<StatusCode, Error> {
    act(&app, caller, &id, ScanAction::Delete, now).await?;
    Ok(StatusCode::NO_CONTENT)
}
