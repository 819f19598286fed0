//! The results of a scan by position: as JSON, as CSV, or as lines of JSON.

use std::{fmt::Write as _, sync::Arc};

use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use rcpt_shared::{CatchAll, Confidence, Deliverability, Reason, Stage, Status};
use serde::Serialize;
use utoipa::ToSchema;

use super::scans::found;
use crate::{
    app::App,
    background::scans::{
        PART,
        results::{COLUMNS, Cell, Kept, latest},
    },
    error::{Error, PlainError},
    extract::scan_call::ScanCall,
    store::scans::{self, Row, Scan},
};

/// The result of one position. Beyond the status it has what the scan was made with `details` for; a member is null
/// when there is nothing to tell.
#[derive(Serialize, ToSchema)]
pub struct ScanResult {
    /// Position in the list, from 0.
    pub position: u32,
    /// As in the answer of a single check.
    #[schema(schema_with = super::validate_email::status_schema)]
    pub status: Status,
    /// `deliverable`, `undeliverable`, `risky` or `unknown`.
    #[schema(value_type = Option<String>, example = "undeliverable")]
    pub verdict: Option<Deliverability>,
    /// How much the evidence says about this mailbox: `high`, `medium`, `low` or `none`.
    #[schema(value_type = Option<String>, example = "high")]
    pub confidence: Option<Confidence>,
    /// Why the verdict is what it is.
    #[schema(value_type = Option<String>, example = "no_such_mailbox")]
    pub reason: Option<Reason>,
    /// Who runs the mail server, such as `google` or `microsoft`; null when it isn't a known operator.
    pub operator: Option<String>,
    /// The server's reply code.
    pub smtp_code: Option<u16>,
    /// Its enhanced status code (RFC 3463).
    pub enhanced_code: Option<String>,
    /// Where in the conversation the verdict was reached.
    #[schema(value_type = Option<String>, example = "rcpt")]
    pub stage: Option<Stage>,
    /// Whether the domain takes mail for every recipient: `yes`, `no` or `unknown`.
    #[schema(value_type = Option<String>, example = "no")]
    pub catch_all: Option<CatchAll>,
    /// Whether the domain hands out throw-away addresses.
    pub disposable: Option<bool>,
    /// Whether the local part names a function and not a person.
    pub role_account: Option<bool>,
    /// Whether everyone can get an address at the domain for free.
    pub free_provider: Option<bool>,
    /// Seconds after which asking again may give another answer.
    pub retry_after: Option<u32>,
    /// Whether the conversation was encrypted; null when there was none.
    pub tls: Option<bool>,
}

/// A page of results.
#[derive(Serialize, ToSchema)]
pub struct ScanResults {
    /// By position. Positions without a final verdict are left out while the scan is under way.
    pub results: Vec<ScanResult>,
    /// What `after` is for the next page; null when this is the last.
    pub next: Option<u32>,
}

/// What is told of one position.
struct Told {
    position: u32,
    status: Status,
    evidence: String,
}

impl Told {
    /// An object of JSON. Written by hand, since it is made of cells and of the names of their columns.
    fn write(&self, to: &mut String) {
        let quoted =
            if matches!(self.status, Status::Accepted | Status::Refused) { "" } else { "\"" };
        let (position, status) = (self.position, self.status.as_str());
        // Writing into a text does not fail.
        let _ = write!(to, "{{\"position\":{position},\"status\":{quoted}{status}{quoted}");
        let cells = self.evidence.split(',').filter(|_| !self.evidence.is_empty());
        for ((name, kind), cell) in COLUMNS.iter().zip(cells) {
            let _ = match kind {
                _ if cell.is_empty() => write!(to, ",\"{name}\":null"),
                Cell::Text => write!(to, ",\"{name}\":\"{cell}\""),
                Cell::Bare => write!(to, ",\"{name}\":{cell}"),
            };
        }
        to.push('}');
    }
}

/// What is answered: the results, and from where the next page goes on.
struct Page {
    results: Vec<Told>,
    next: Option<u32>,
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
    fn read(call: &ScanCall) -> Result<Self, Error> {
        let after = call.query("after").map(str::parse::<u32>).transpose();
        let after = after.map_err(|_| Error::invalid_query("after is a position of the list."))?;
        let limit = call.limit(PAGE, MOST_PER_PAGE);
        let limit =
            limit.ok_or_else(|| Error::invalid_query("limit is a number from 1 to 10000."))?;
        let named = |name: &str| Status::ALL.into_iter().find(|status| status.as_str() == name);
        let status = match call.query("status") {
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
fn told(kept: Option<Kept>, state: &str) -> Option<(Status, String)> {
    let is_over = matches!(state, "completed" | "expired");
    match kept {
        Some(kept) if kept.due.is_none() || is_over => Some((kept.status, kept.evidence)),
        None if is_over => Some((Status::FatalException, String::new())),
        _ => None,
    }
}

/// One page of what is asked for, from the rows of the parts `first` to `last`.
fn page(scan: &Scan, rows: &[Row], asked: &Asked, last: u32) -> Page {
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
            results.push(Told { position, status, evidence });
            if results.len() == asked.limit {
                let next = (position + 1 < scan.total).then_some(position);
                return Page { results, next };
            }
        }
    }
    let end = (last + 1).saturating_mul(PART);
    Page { results, next: (end < scan.total).then(|| end - 1) }
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
        (status = 404, description = "`no_such_scan`", body = PlainError),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn read(State(app): State<Arc<App>>, call: ScanCall) -> Result<Response, Error> {
    let asked = Asked::read(&call)?;
    let first = asked.first / PART;
    // As many parts as may be needed, if all of their positions have a result that is wanted.
    let wanted = u32::try_from(asked.limit).unwrap_or(PART).div_ceil(PART).saturating_add(1);
    let parts = if asked.status.is_some() { MOST_PARTS } else { wanted.min(MOST_PARTS) };
    let last = first.saturating_add(parts - 1);
    let read = scans::results(
        app.databases.of(call.caller.account)?,
        call.caller,
        &call.id,
        (first, last),
    )
    .await?;
    let (scan, rows) = found(read, call.caller)?;
    let last = last.min(scan.total.div_ceil(PART).saturating_sub(1));
    let page = page(&scan, &rows, &asked, last);
    let (kind, text) = if call.accept.contains("text/csv") {
        ("text/csv; charset=utf-8", csv(&page.results, scan.details != 0))
    } else if call.accept.contains("application/x-ndjson") {
        ("application/x-ndjson", lines(&page.results, "\n") + "\n")
    } else {
        let next = page.next.map_or("null".to_owned(), |next| next.to_string());
        let results = lines(&page.results, ",");
        ("application/json", format!("{{\"results\":[{results}],\"next\":{next}}}"))
    };
    let mut response = ([(header::CONTENT_TYPE, kind)], text).into_response();
    if let Some(link) = page.next.and_then(|after| link(&call.id, &asked, after)) {
        response.headers_mut().insert(header::LINK, link);
    }
    Ok(response)
}

fn lines(results: &[Told], between: &str) -> String {
    let mut text = String::new();
    for (nth, told) in results.iter().enumerate() {
        if nth > 0 {
            text += between;
        }
        told.write(&mut text);
    }
    text
}

/// RFC 8288.
fn link(id: &str, asked: &Asked, after: u32) -> Option<HeaderValue> {
    let limit = asked.limit;
    let status = asked.status.map(|status| format!("&status={}", status.as_str()));
    let status = status.unwrap_or_default();
    let link =
        format!("</v1/scans/{id}/results?after={after}&limit={limit}{status}>; rel=\"next\"");
    HeaderValue::from_str(&link).ok()
}

/// RFC 4180; no value needs quotes.
fn csv(results: &[Told], details: bool) -> String {
    let mut text = "position,status".to_owned();
    for (name, _) in COLUMNS.iter().filter(|_| details) {
        text += ",";
        text += name;
    }
    text += "\r\n";
    let nothing = ",".repeat(COLUMNS.len() - 1);
    for told in results {
        // Writing into a text does not fail.
        let _ = write!(text, "{},{}", told.position, told.status.as_str());
        if details {
            text += ",";
            text += if told.evidence.is_empty() { &nothing } else { &told.evidence };
        }
        text += "\r\n";
    }
    text
}
