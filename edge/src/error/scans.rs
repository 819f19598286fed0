//! What can be wrong with a scan.

use axum::http::StatusCode;

use super::Error;

impl Error {
    pub fn no_such_scan() -> Self {
        Self::account(StatusCode::NOT_FOUND, "no_such_scan", "There is no such scan.")
    }

    pub fn invalid_scan_name() -> Self {
        let detail = "The name of a scan has at most 100 characters and no control characters.";
        Self::account(StatusCode::BAD_REQUEST, "invalid_name", detail)
    }

    /// The body has neither addresses nor their number, or both, or too many addresses at once.
    pub fn invalid_scan(detail: &'static str) -> Self {
        Self::account(StatusCode::BAD_REQUEST, "invalid_scan", detail)
    }

    /// A member of the query string that is not what it should be.
    pub fn invalid_query(detail: &'static str) -> Self {
        Self::account(StatusCode::BAD_REQUEST, "invalid_query", detail)
    }

    pub fn scan_too_large(size: u32) -> Self {
        let detail = format!("A scan of this plan has at most {size} addresses.");
        Self::account(StatusCode::BAD_REQUEST, "scan_too_large", detail)
    }

    pub fn too_many_scans(at_once: u32) -> Self {
        let scans = if at_once == 1 { "scan" } else { "scans" };
        let detail = format!(
            "This plan runs {at_once} {scans} at a time. Wait for one to end, or cancel one."
        );
        Self::account(StatusCode::CONFLICT, "too_many_scans", detail)
    }

    pub fn too_many_scans_kept(most: u32) -> Self {
        let detail =
            format!("This account has {most} scans. Delete old ones, or wait until they are gone.");
        Self::account(StatusCode::CONFLICT, "too_many_scans", detail)
    }

    pub fn no_such_part(parts: u32) -> Self {
        let detail = format!("This scan has parts 0 to {}.", parts.saturating_sub(1));
        Self::account(StatusCode::BAD_REQUEST, "no_such_part", detail)
    }

    pub fn part_size(expected: u32) -> Self {
        let detail = format!("This part has {expected} addresses, no more and no fewer.");
        Self::account(StatusCode::BAD_REQUEST, "part_size", detail)
    }

    pub fn part_conflict() -> Self {
        let detail = "This part was sent before with other addresses. Nothing was changed.";
        Self::account(StatusCode::CONFLICT, "part_conflict", detail)
    }

    pub fn scan_ended() -> Self {
        let detail = "This scan takes no more addresses: it has ended, or all of them are in.";
        Self::account(StatusCode::CONFLICT, "scan_ended", detail)
    }

    /// The URL of a webhook is not of the form that is taken.
    pub fn invalid_webhook(detail: &'static str) -> Self {
        Self::account(StatusCode::BAD_REQUEST, "invalid_webhook", detail)
    }

    pub fn webhook_not_public() -> Self {
        let detail = "The webhook's URL must name a server on the public Internet that isn't ours.";
        Self::account(StatusCode::BAD_REQUEST, "webhook_not_public", detail)
    }

    pub fn no_webhook() -> Self {
        Self::account(StatusCode::CONFLICT, "no_webhook", "This account has no webhook.")
    }
}
