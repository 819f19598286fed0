//! The results of a scan by position: as JSON, as CSV, or as lines of JSON.

mod csv;

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use rcpt_shared::{Deliverability, Status};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    PART_POSITIONS,
    results::{COLUMNS, StoredResult, latest},
    scan::found,
    scan_call::ScanCall,
    scans_sql::{self, ResultRow, StoredScan},
};
use crate::{
    app::App,
    error::{Error, PlainError},
    ledger::tally::{Class, status_schema},
};

/// The result of one position.
#[derive(Serialize, ToSchema)]
pub struct ScanResult {
    /// Position in the list, from 0.
    pub position: u32,
    /// The same as in the response of a single check.
    #[schema(schema_with = status_schema)]
    pub status: Status,
    /// `deliverable`, `undeliverable`, `risky` or `unknown`.
    #[schema(value_type = String, example = "undeliverable")]
    pub verdict: Deliverability,
    /// False if the address may be checked again and the verdict may change. Such results are only returned with
    /// `interim`.
    #[serde(rename = "final")]
    pub is_final: bool,
    /// Present if the scan was created with `details`.
    #[serde(flatten)]
    #[schema(value_type = ScanEvidence)]
    pub evidence: Option<ScanEvidence>,
}

/// The evidence behind the verdict of one position; present if the scan was created with `details`. Unknown members are
/// null.
#[derive(Serialize, ToSchema)]
pub struct ScanEvidence {
    /// How much the evidence says about this mailbox: `high`, `medium`, `low` or `none`.
    #[schema(example = "high")]
    pub confidence: Option<String>,
    /// Reason for the verdict.
    #[schema(example = "no_such_mailbox")]
    pub reason: Option<String>,
    /// Description of the mistake in the address, when the reason is `malformed`.
    pub problem: Option<String>,
    /// Operator of the mail server, such as `google` or `microsoft`; null when it isn't a known operator.
    pub operator: Option<String>,
    /// The server's reply code.
    pub smtp_code: Option<u16>,
    /// Its enhanced status code (RFC 3463).
    pub enhanced_code: Option<String>,
    /// `yes` if the domain accepts every recipient, else `no` or `unknown`.
    #[schema(example = "no")]
    pub catch_all: Option<String>,
    /// True if the domain hands out throw-away addresses.
    pub disposable: Option<bool>,
    /// True if the local part names a function and not a person.
    pub role_account: Option<bool>,
    /// True if everyone can get an address at the domain for free.
    pub free_provider: Option<bool>,
    /// Seconds after which asking again may give another answer.
    pub retry_after: Option<u32>,
}

impl ScanEvidence {
    fn of(stored: &StoredResult) -> Option<Self> {
        let cells = stored.cells()?;
        let cell = |name: &str| {
            let nth = COLUMNS.iter().position(|column| *column == name)?;
            cells.get(nth).filter(|cell| !cell.is_empty()).copied()
        };
        let text = |name| cell(name).map(str::to_owned);
        let truth = |name| cell(name).and_then(|cell| cell.parse().ok());
        Some(Self {
            confidence: text("confidence"),
            reason: text("reason"),
            problem: stored.problem.clone(),
            operator: text("operator"),
            smtp_code: cell("smtp_code").and_then(|cell| cell.parse().ok()),
            enhanced_code: text("enhanced_code"),
            catch_all: text("catch_all"),
            disposable: truth("disposable"),
            role_account: truth("role_account"),
            free_provider: truth("free_provider"),
            retry_after: cell("retry_after").and_then(|cell| cell.parse().ok()),
        })
    }
}

/// A page of results.
#[derive(Serialize, ToSchema)]
pub struct ScanResults {
    /// By position. Positions without a final verdict are left out, unless `interim` is set.
    pub results: Vec<ScanResult>,
    /// Value of `after` for the next page; null on the last page.
    pub next: Option<u32>,
}

/// Default and greatest number of results per page.
const PAGE_ROWS: u32 = 1_000;
const PAGE_ROWS_MAX: u32 = 10_000;
/// Per page.
const PARTS_MAX: u32 = 10;

struct Query {
    first: u32,
    limit: usize,
    status: Option<Status>,
    verdict: Option<Deliverability>,
    interim: bool,
}

impl Query {
    fn read(call: &ScanCall) -> Result<Self, Error> {
        let after = call.query("after").map(str::parse::<u32>).transpose();
        let after = after.map_err(|_| {
            Error::invalid_query("The 'after' parameter must be a position: a whole number from 0.")
        })?;
        let limit = call.limit(PAGE_ROWS, PAGE_ROWS_MAX);
        let limit = limit.ok_or_else(|| {
            Error::invalid_query("The 'limit' parameter must be a whole number from 1 to 10000.")
        })?;
        let interim = call.query("interim").map_or(Ok(false), str::parse);
        Ok(Self {
            first: after.map_or(0, |after| after.saturating_add(1)),
            limit: limit as usize,
            status: class(
                call,
                "status",
                "The 'status' parameter must be true, false or the name of a status, such as invalid_format.",
            )?,
            verdict: class(
                call,
                "verdict",
                "The 'verdict' parameter must be deliverable, undeliverable, risky or unknown.",
            )?,
            interim: interim.map_err(|_| {
                Error::invalid_query("The 'interim' parameter must be true or false.")
            })?,
        })
    }

    const fn is_filtered(&self) -> bool {
        self.status.is_some() || self.verdict.is_some()
    }

    fn admits(&self, result: &ScanResult) -> bool {
        self.status.is_none_or(|status| status == result.status)
            && self.verdict.is_none_or(|verdict| verdict == result.verdict)
            && (self.interim || result.is_final)
    }

    fn after(&self, position: u32) -> String {
        let mut text = format!("after={position}&limit={}", self.limit);
        for (name, value) in [
            ("status", self.status.map(Status::as_str)),
            ("verdict", self.verdict.map(Deliverability::as_str)),
            ("interim", self.interim.then_some("true")),
        ] {
            if let Some(value) = value {
                text += &format!("&{name}={value}");
            }
        }
        text
    }
}

fn class<C: Class>(call: &ScanCall, name: &str, mistake: &'static str) -> Result<Option<C>, Error> {
    let Some(value) = call.query(name) else { return Ok(None) };
    let class = C::ALL.iter().copied().find(|class| class.name() == value);
    class.map(Some).ok_or_else(|| Error::invalid_query(mistake))
}

/// `None` while the position has no result. Once the scan has completed or expired, the last verdict is final, and a
/// position without one gets [`Status::FatalException`].
fn result(position: u32, stored: Option<StoredResult>, state: &str) -> Option<ScanResult> {
    let is_over = matches!(state, "completed" | "expired");
    let result_to_show =
        stored.or_else(|| is_over.then(|| StoredResult::new(0, Status::FatalException, None)))?;
    Some(ScanResult {
        position,
        status: result_to_show.status,
        verdict: result_to_show.verdict(),
        is_final: result_to_show.due.is_none() || is_over,
        evidence: ScanEvidence::of(&result_to_show),
    })
}

fn page(scan: &StoredScan, rows: &[ResultRow], query: &Query, last: u32) -> ScanResults {
    let mut results = Vec::new();
    for part in query.first / PART_POSITIONS..=last {
        let of_part = rows.iter().filter(|row| row.part == part);
        let start = part * PART_POSITIONS;
        let positions = scan.total.saturating_sub(start).min(PART_POSITIONS) as usize;
        let stored_results = latest(of_part.map(|row| row.results.as_str()), positions);
        for (position, stored) in
            (start..).zip(stored_results).skip_while(|(p, _)| *p < query.first)
        {
            let Some(result) = result(position, stored, &scan.state) else { continue };
            if !query.admits(&result) {
                continue;
            }
            results.push(result);
            if results.len() == query.limit {
                let next = (position + 1 < scan.total).then_some(position);
                return ScanResults { results, next };
            }
        }
    }
    let end = (last + 1).saturating_mul(PART_POSITIONS);
    ScanResults { results, next: (end < scan.total).then(|| end - 1) }
}

/// Read the results of a scan
///
/// Results are ordered by position, and available while the scan runs. Send `Accept: text/csv` or
/// `application/x-ndjson` for those formats; the `Link` header then has the next page.
#[utoipa::path(
    get, path = "/v1/scans/{id}/results", tag = "Scans", operation_id = "scanResults",
    params(
        ("id" = String, Path, description = "The scan"),
        ("after" = Option<u32>, Query, description = "Only positions after this one"),
        ("limit" = Option<u32>, Query, description = "Number of results in a page, 1 to 10,000; by default 1,000"),
        ("status" = Option<String>, Query, description = "Only results with this status, such as `false`"),
        ("verdict" = Option<String>, Query, description = "Only results with this verdict: `deliverable`, `undeliverable`, `risky` or `unknown`"),
        ("interim" = Option<bool>, Query, description = "`true` includes verdicts that a retry may change, or that a cancelled scan left; they have `final: false`"),
    ),
    responses(
        (status = 200, description = "A page of results", content(
            (ScanResults = "application/json"),
            (String = "text/csv"),
            (String = "application/x-ndjson"),
        )),
        (status = 400, description = "`invalid_query`", body = PlainError),
        (status = 404, description = "`no_such_scan`", body = PlainError),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn read(State(app): State<Arc<App>>, call: ScanCall) -> Result<Response, Error> {
    let query = Query::read(&call)?;
    let first = query.first / PART_POSITIONS;
    // Reads as many parts as the page needs if every position in them has a matching result.
    let wanted = u32::try_from(query.limit)
        .unwrap_or(PART_POSITIONS)
        .div_ceil(PART_POSITIONS)
        .saturating_add(1);
    let parts = if query.is_filtered() { PARTS_MAX } else { wanted.min(PARTS_MAX) };
    let last = first.saturating_add(parts - 1);
    let read = scans_sql::results(
        app.databases.of(call.caller.account)?,
        call.caller,
        &call.id,
        (first, last),
    )
    .await?;
    let (scan, rows) = found(read, call.caller)?;
    let last = last.min(scan.total.div_ceil(PART_POSITIONS).saturating_sub(1));
    let page = page(&scan, &rows, &query, last);
    let link = page.next.and_then(|after| link(&call.id, &query.after(after)));
    let mut response = if call.accept.contains("text/csv") {
        let text = csv::text(&page.results, scan.details != 0);
        ([(header::CONTENT_TYPE, "text/csv; charset=utf-8")], text).into_response()
    } else if call.accept.contains("application/x-ndjson") {
        let text = lines(&page.results)?;
        ([(header::CONTENT_TYPE, "application/x-ndjson")], text).into_response()
    } else {
        Json(page).into_response()
    };
    if let Some(link) = link {
        response.headers_mut().insert(header::LINK, link);
    }
    Ok(response)
}

fn lines(results: &[ScanResult]) -> Result<String, Error> {
    let mut text = String::new();
    for result in results {
        text += &serde_json::to_string(result).map_err(|_| Error::internal("a result"))?;
        text.push('\n');
    }
    Ok(text)
}

/// RFC 8288.
fn link(id: &str, query: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("</v1/scans/{id}/results?{query}>; rel=\"next\"")).ok()
}
