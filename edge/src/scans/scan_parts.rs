//! Receives the addresses of a scan, seals them and puts them into the queue.

use std::{collections::BTreeSet, sync::Arc};

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    LIFETIME_S, PART_POSITIONS,
    message::{MessagePosition, ScanMessage},
    results::{StoredResult, to_text},
    scan::{NewScanRequest, Scan, found},
    scan_call::ScanCall,
    scans_sql::{self, Comparison, PartState, ScanPart},
    slots::{self, Slots},
};
use crate::{
    app::App,
    cf::clock,
    credentials::{proof::Caller, random, sealed::part_macs},
    error::{Error, PlainError},
    extract::json_body::JsonBody,
};

/// Body of `PUT /scans/{id}/parts/{n}`.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the body")]
pub struct PartRequest {
    /// Positions `1000 n` to `1000 n + 999` of the list; the last part has the rest.
    addresses: Vec<String>,
}

/// Send a part of a scan
///
/// Part `n` has positions `1000 n` to `1000 n + 999`, the last part has the rest. Parts may arrive in any order.
/// Sending the same part again changes nothing.
#[utoipa::path(
    put, path = "/v1/scans/{id}/parts/{n}", tag = "Scans", operation_id = "putScanPart",
    params(
        ("id" = String, Path, description = "The scan"),
        ("n" = u32, Path, description = "The part, from 0"),
    ),
    request_body = PartRequest,
    responses(
        (status = 200, description = "The scan", body = Scan),
        (status = 400, description = "`invalid_body`, `no_such_part` or `part_size`", body = PlainError),
        (status = 404, description = "`no_such_scan`", body = PlainError),
        (status = 409, description = "`part_conflict`, `scan_ended` or `matches_used_up`", body = PlainError),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn put(
    State(app): State<Arc<App>>,
    call: ScanCall,
    JsonBody(request): JsonBody<NewScanRequest>,
) -> Result<Json<Scan>, Error> {
    let addresses = addresses_of(&request)?;
    // A number that can't be parsed is treated as that of a part beyond the end of every scan.
    let number = call.part.parse().unwrap_or(u32::MAX);
    let sending = Sending { scan: &call.id, number, addresses };
    let scan = receive(&app, call.caller, sending).await?;
    Ok(Json(Scan::new(scan, call.now)))
}

fn addresses_of(request: &NewScanRequest) -> Result<&[String], Error> {
    let missing = || Error::invalid_body("Missing 'addresses' field in request body.");
    request.addresses.as_deref().ok_or_else(missing)
}

/// A part as the client sent it.
pub struct Sending<'a> {
    pub scan: &'a str,
    pub number: u32,
    pub addresses: &'a [String],
}

/// Receives a part:
///
/// 1. The part is recorded with a MAC, unless it exists.
/// 2. The part's sealed addresses are put into the queue.
/// 3. The part is counted once, with the results of malformed addresses.
///
/// If a request is interrupted before step 3, the client sends it again. The repeated part's messages are the same, and
/// each has one row of results even if delivered repeatedly.
pub async fn receive(
    app: &App,
    caller: Caller,
    sending: Sending<'_>,
) -> Result<scans_sql::StoredScan, Error> {
    let now = clock::now();
    let Sending { scan, number, addresses } = sending;
    let positions = u32::try_from(addresses.len()).unwrap_or(u32::MAX);
    let slots = slots::split(addresses);
    let macs = macs_of(app, &sending, &slots);
    // 1
    let part = ScanPart { scan, number, positions, macs: &macs };
    let since = now.saturating_sub(LIFETIME_S);
    let state =
        scans_sql::begin_part(app.databases.of(caller.account)?, caller, &part, since).await?;
    let PartState { scan: known, part: written } = found(state, caller)?;
    fits(known.total, number, positions)?;
    let written = written.ok_or_else(Error::scan_ended)?;
    if !written.mac.is_empty() {
        if written.is_used_up() {
            return Err(Error::matches_used_up());
        }
        if !macs.contains(&written.mac) {
            return Err(Error::part_conflict());
        }
    }
    if written.sent != 0 {
        return Ok(known);
    }
    if known.state != "open" {
        return Err(Error::scan_ended());
    }
    // 2
    let mut messages = Vec::new();
    for (slot, waiting) in (0_u32..).zip(&slots.slots) {
        let position = MessagePosition {
            account: caller.account,
            scan: scan.to_owned(),
            part: number,
            slot,
            round: 0,
            since: known.created_at,
        };
        let message = ScanMessage::seal(&app.config.scan_secrets, position, 0, waiting)?;
        messages.push(message.outgoing(0)?);
    }
    app.scan_queue.send(messages).await?;
    // 3
    let malformed = u32::try_from(slots.malformed.len()).unwrap_or(u32::MAX);
    let results = slots.malformed.iter().map(|(position, malformed)| {
        StoredResult::of_no_address(*position, malformed, known.details != 0)
    });
    let results = to_text(&results.collect::<Vec<_>>());
    let (ending, now) = (random::identifier()?, clock::now());
    let counted = scans_sql::finish_part(
        app.databases.of(caller.account)?,
        scan,
        number,
        positions,
        (&results, malformed),
        &ending,
        now,
    );
    counted.await?.ok_or_else(Error::no_such_scan)
}

/// No MACs for fewer than two different addresses, because the MAC of one address would be a hash of it. Addresses that
/// differ only in the case of letters count as one, because most servers ignore case.
fn macs_of(app: &App, part: &Sending<'_>, slots: &Slots) -> Vec<String> {
    let Sending { scan, number, addresses } = *part;
    let all = slots.slots.iter().flatten();
    let different: BTreeSet<_> =
        all.map(|waiting| waiting.address.normal().to_lowercase()).collect();
    if different.len() < 2 {
        return Vec::new();
    }
    part_macs(&app.config.scan_secrets, scan, number, addresses)
}

/// Answer of `POST /scans/{id}/parts/{n}/match`.
#[derive(Serialize, ToSchema)]
pub struct PartMatch {
    /// True if the part was sent with exactly these addresses, in this order.
    pub matches: bool,
}

/// Compare a part of a scan
///
/// Says whether part `n` was sent with exactly these addresses in this order, so that a list is joined with its own
/// results. At most twenty times for each part; a part with fewer than two different addresses can't be compared.
#[utoipa::path(
    post, path = "/v1/scans/{id}/parts/{n}/match", tag = "Scans", operation_id = "matchScanPart",
    params(
        ("id" = String, Path, description = "The scan"),
        ("n" = u32, Path, description = "The part, from 0"),
    ),
    request_body = PartRequest,
    responses(
        (status = 200, description = "Whether the part has exactly these addresses", body = PartMatch),
        (status = 400, description = "`invalid_body`, `no_such_part` or `part_size`", body = PlainError),
        (status = 404, description = "`no_such_scan`", body = PlainError),
        (status = 409, description = "`nothing_to_match` or `matches_used_up`", body = PlainError),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn compare(
    State(app): State<Arc<App>>,
    call: ScanCall,
    JsonBody(request): JsonBody<NewScanRequest>,
) -> Result<Json<PartMatch>, Error> {
    let addresses = addresses_of(&request)?;
    let positions = u32::try_from(addresses.len()).unwrap_or(u32::MAX);
    let number = call.part.parse().unwrap_or(u32::MAX);
    let part = ScanPart { scan: &call.id, number, positions, macs: &[] };
    let database = app.databases.of(call.caller.account)?;
    let compared = scans_sql::compare_part(database, call.caller, &part).await?;
    let (scan, comparison) = found(compared, call.caller)?;
    fits(scan.total, number, positions)?;
    let mac = match comparison {
        Comparison::With(mac) => mac,
        Comparison::UsedUp => return Err(Error::matches_used_up()),
        Comparison::Nothing => return Err(Error::nothing_to_match()),
    };
    // Not `macs_of`: a part with a stored MAC is compared even if few addresses were sent.
    let macs = part_macs(&app.config.scan_secrets, &call.id, number, addresses);
    let id = |mac: &str| mac.split_once('.').map(|(id, _)| id.to_owned());
    if !macs.iter().any(|own| id(own) == id(&mac)) {
        // The MAC's secret has been removed since.
        return Err(Error::nothing_to_match());
    }
    Ok(Json(PartMatch { matches: macs.contains(&mac) }))
}

fn fits(total: u32, number: u32, positions: u32) -> Result<(), Error> {
    let parts = total.div_ceil(PART_POSITIONS);
    if number >= parts {
        return Err(Error::no_such_part(parts));
    }
    let expected = total.saturating_sub(number * PART_POSITIONS).min(PART_POSITIONS);
    if positions == expected { Ok(()) } else { Err(Error::part_size(expected)) }
}
