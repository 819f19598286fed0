//! The results of a scan by position: as JSON, as CSV, or as lines of JSON.

use std::{fmt::Write as _, sync::Arc};

use axum::{
    Json,
    extract::{Path, RawQuery, State},
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use rcpt_shared::Status;
use serde::Serialize;
use utoipa::ToSchema;

use super::scans::{found, query};
use crate::{
    app::App,
    background::scans::{
        PART,
        results::{Evidence, Kept, latest},
    },
    credentials::proof::Caller,
    error::{Error, PlainError},
    extract::caller::shield_scans,
    store::scans::{self, Row, Scan},
};

/// The result of one position.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScanResult {
    /// Position in the list, from 0.
    pub position: u32,
    /// As in the answer of a single check.
    #[schema(schema_with = super::validate_email::status_schema)]
    pub status: Status,
    #[serde(flatten)]
    pub evidence: Option<Box<Evidence>>,
}

/// A page of results.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScanResults {
    /// By position. Positions without a final verdict are left out while the scan is under way.
    pub results: Vec<ScanResult>,
    /// What `after` is for the next page; null when this is the last.
    pub next: Option<u32>,
}

/// Results of a page, unless told otherwise, and at most.
const PAGE: u32 = 1_000;
const MOST_PER_PAGE: u32 = 10_000;
/// Parts that are looked at for one page.
const MOST_PARTS: u32 = 10;

/// What is asked for.
struct Asked {
    first: u32,
    limit: usize,
    status: Option<Status>,
}

impl Asked {
    fn read(text: Option<&str>) -> Result<Self, Error> {
        let after = query(text, "after").map(str::parse::<u32>).transpose();
        let after = after.map_err(|_| Error::invalid_query("after is a position of the list."))?;
        let limit = query(text, "limit").map_or(Some(PAGE), |limit| limit.parse().ok());
        let limit = limit.filter(|limit| (1..=MOST_PER_PAGE).contains(limit));
        let limit =
            limit.ok_or_else(|| Error::invalid_query("limit is a number from 1 to 10000."))?;
        let named = |name: &str| Status::ALL.into_iter().find(|status| status.as_str() == name);
        let status = match query(text, "status") {
            None => None,
            Some(name) => Some(
                named(name)
                    .ok_or_else(|| Error::invalid_query("status is the name of a status."))?,
            ),
        };
        let first = after.map_or(0, |after| after.saturating_add(1));
        Ok(Self { first, limit: limit as usize, status })
    }
}

/// What is told of a position: a final verdict; when the scan's time is over, the last one; and that there is none.
fn told(kept: Option<Kept>, state: &str) -> Option<(Status, Option<Box<Evidence>>)> {
    let is_over = matches!(state, "completed" | "expired");
    match kept {
        Some(kept) if kept.due.is_none() || is_over => Some((kept.status, kept.evidence)),
        None if is_over => Some((Status::FatalException, None)),
        _ => None,
    }
}

/// One page of what is asked for, from the rows of the parts `first` to `last`.
fn page(scan: &Scan, rows: &[Row], asked: &Asked, last: u32) -> ScanResults {
    let mut results = Vec::new();
    for part in asked.first / PART..=last {
        let of_part = rows.iter().filter(|row| row.part == part);
        let start = part * PART;
        let places = scan.total.saturating_sub(start).min(PART) as usize;
        let kept = latest(of_part.map(|row| row.results.as_str()), places);
        for (position, kept) in (start..).zip(kept).skip_while(|(p, _)| *p < asked.first) {
            let Some((status, evidence)) = told(kept, &scan.state) else { continue };
            if asked.status.is_some_and(|wanted| wanted != status) {
                continue;
            }
            results.push(ScanResult { position, status, evidence });
            if results.len() == asked.limit {
                let next = (position + 1 < scan.total).then_some(position);
                return ScanResults { results, next };
            }
        }
    }
    let end = (last + 1).saturating_mul(PART);
    ScanResults { results, next: (end < scan.total).then(|| end - 1) }
}

/// Read the results of a scan
///
/// By position, also while the scan runs. `Accept: text/csv` and `application/x-ndjson` give these forms; `Link` then
/// leads to the next page.
#[utoipa::path(
    get, path = "/v1/scans/{id}/results", tag = "Scans", operation_id = "scanResults",
    params(
        ("id" = String, Path, description = "The scan"),
        ("after" = Option<u32>, Query, description = "Only positions after this one"),
        ("limit" = Option<u32>, Query, description = "At most so many, 1 to 10,000; 1,000 unless given"),
        ("status" = Option<String>, Query, description = "Only results with this status, such as `false`"),
    ),
    responses(
        (status = 200, description = "A page of results", content(
            (ScanResults = "application/json"),
            (String = "text/csv"),
            (String = "application/x-ndjson"),
        )),
        (status = 400, description = "`invalid_query`", body = PlainError),
        (status = 401, description = "No valid key or session", body = PlainError),
        (status = 404, description = "`no_such_scan`", body = PlainError),
        (status = 429, description = "Too many requests", body = PlainError),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn read(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    RawQuery(text): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    shield_scans(&app, caller.account).await?;
    let asked = Asked::read(text.as_deref())?;
    let first = asked.first / PART;
    // As many parts as may be needed, if all of their positions have a result that is wanted.
    let wanted = u32::try_from(asked.limit).unwrap_or(PART).div_ceil(PART).saturating_add(1);
    let parts = if asked.status.is_some() { MOST_PARTS } else { wanted.min(MOST_PARTS) };
    let last = first.saturating_add(parts - 1);
    let read = scans::results(&app.database, caller, &id, (first, last)).await?;
    let (scan, rows) = found(read, caller)?;
    let last = last.min(scan.total.div_ceil(PART).saturating_sub(1));
    let page = page(&scan, &rows, &asked, last);
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let accept = accept.unwrap_or_default();
    if accept.contains("text/csv") {
        let csv = csv(&page.results, scan.details != 0);
        Ok(as_text("text/csv; charset=utf-8", csv, &id, &asked, page.next))
    } else if accept.contains("application/x-ndjson") {
        let lines = page.results.iter().filter_map(|result| serde_json::to_string(result).ok());
        let text = lines.map(|line| line + "\n").collect();
        Ok(as_text("application/x-ndjson", text, &id, &asked, page.next))
    } else {
        Ok(Json(page).into_response())
    }
}

fn as_text(
    kind: &'static str,
    text: String,
    id: &str,
    asked: &Asked,
    next: Option<u32>,
) -> Response {
    let mut response = ([(header::CONTENT_TYPE, kind)], text).into_response();
    if let Some(after) = next {
        let limit = asked.limit;
        let status = asked.status.map(|status| format!("&status={}", status.as_str()));
        let status = status.unwrap_or_default();
        let link =
            format!("</v1/scans/{id}/results?after={after}&limit={limit}{status}>; rel=\"next\"");
        if let Ok(link) = HeaderValue::from_str(&link) {
            response.headers_mut().insert(header::LINK, link);
        }
    }
    response
}

const COLUMNS: &str = ",verdict,confidence,reason,operator,smtp_code,enhanced_code,stage,catch_all,\
                       disposable,role_account,free_provider,retry_after,tls";

/// RFC 4180, in the order of the columns; no value needs quotes.
fn csv(results: &[ScanResult], details: bool) -> String {
    let columns = if details { COLUMNS } else { "" };
    let mut text = format!("position,status{columns}\r\n");
    for result in results {
        // Writing into a text does not fail.
        let _ = write!(text, "{},{}", result.position, result.status.as_str());
        if details {
            text += &cells(result.evidence.as_deref());
        }
        text += "\r\n";
    }
    text
}

fn cells(evidence: Option<&Evidence>) -> String {
    let Some(e) = evidence else { return ",".repeat(COLUMNS.matches(',').count()) };
    let or_nothing = |value: Option<String>| value.unwrap_or_default();
    [
        word(&e.verdict),
        word(&e.confidence),
        word(&e.reason),
        e.operator.clone().unwrap_or_default(),
        or_nothing(e.smtp_code.map(|code| code.to_string())),
        or_nothing(e.enhanced_code.clone()),
        word(&e.stage),
        word(&e.catch_all),
        e.disposable.to_string(),
        e.role_account.to_string(),
        e.free_provider.to_string(),
        or_nothing(e.retry_after.map(|seconds| seconds.to_string())),
        or_nothing(e.tls.map(|tls| tls.to_string())),
    ]
    .iter()
    .fold(String::new(), |cells, cell| cells + "," + cell)
}

/// The name of an enumeration's value, as in JSON.
fn word(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    text.trim_matches('"').to_owned()
}
