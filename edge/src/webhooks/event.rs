//! The payload of webhooks, and the entries of `GET /v1/events`.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    ledger::tally::{StatusCounts, VerdictCounts, from_column},
    limits::quota::date_time,
};

/// The body of a webhook. It contains no address.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WebhookEvent {
    /// `scan.completed`, `scan.expired`, `allowance.nearly_used`, `allowance.used_up` or `webhook.test`.
    #[serde(rename = "type")]
    #[schema(example = "scan.completed")]
    pub kind: String,
    /// Time of the event.
    pub timestamp: DateTime<Utc>,
    /// The scan, or the daily checks; empty if the type is `webhook.test`.
    #[schema(value_type = EndedScanData)]
    pub data: EventData,
}

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum EventData {
    StoredScan(EndedScanData),
    DailyChecks(DailyChecksData),
    Nothing {},
}

/// A scan that has ended.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct EndedScanData {
    pub id: String,
    /// `completed` or `expired`.
    #[schema(example = "completed")]
    pub state: String,
    /// Positions of the list.
    pub total: u32,
    /// Positions with a final verdict; at the end of a scan this is all of them.
    pub answered: u32,
    pub counts: StatusCounts,
    pub by_verdict: VerdictCounts,
}

/// The daily checks, when most or all of them are used.
#[derive(Debug, Clone, Serialize)]
pub struct DailyChecksData {
    pub daily_allowance: u32,
    pub used_today: u32,
}

/// The end of a scan, as it was when the scan ended: the owner may have deleted the scan since. Or the use of an
/// allowance of `total` checks, of which `answered` are used.
#[derive(Debug, Clone, Deserialize)]
pub struct Announced {
    /// Empty for an allowance.
    pub scan_id: String,
    /// The event's type.
    pub kind: String,
    pub created_at: u64,
    pub total: u32,
    pub answered: u32,
    #[serde(deserialize_with = "from_column")]
    pub counts: StatusCounts,
    #[serde(deserialize_with = "from_column")]
    pub by_verdict: VerdictCounts,
}

impl WebhookEvent {
    pub fn of(event: Announced) -> Self {
        let timestamp = date_time(event.created_at);
        if event.scan_id.is_empty() {
            let data = DailyChecksData { daily_allowance: event.total, used_today: event.answered };
            return Self { kind: event.kind, timestamp, data: EventData::DailyChecks(data) };
        }
        let data = EndedScanData {
            id: event.scan_id,
            state: event.kind.trim_start_matches("scan.").to_owned(),
            total: event.total,
            answered: event.answered,
            counts: event.counts,
            by_verdict: event.by_verdict,
        };
        Self { kind: event.kind, timestamp, data: EventData::StoredScan(data) }
    }

    pub fn of_test(now: u64) -> Self {
        let data = EventData::Nothing {};
        Self { kind: "webhook.test".to_owned(), timestamp: date_time(now), data }
    }

    /// The `webhook-id` of a scan's event, which all delivery attempts share.
    pub fn id_of(scan: &str) -> String {
        scan.replacen("scan_", "msg_", 1)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Announced, WebhookEvent};

    #[test]
    fn the_body_of_a_webhook_has_the_documented_members_in_this_order() {
        let counts = r#"{"true":1,"false":0,"invalid_format":0,"domain_not_found":0,"no_mx_records":0,"smtp_connect_error":0,"smtp_timeout":0,"blocked_by_provider":0,"fatal_exception":0}"#;
        let by_verdict = r#"{"deliverable":1,"undeliverable":0,"risky":0,"unknown":0}"#;
        let row = json!({
            "scan_id": "scan_1", "kind": "scan.completed", "created_at": 1_795_341_600, "total": 1,
            "answered": 1, "counts": counts, "by_verdict": by_verdict,
        });
        let event: Announced = serde_json::from_value(row).unwrap();
        let body = format!(
            r#"{{"type":"scan.completed","timestamp":"2026-11-22T10:00:00Z","data":{{"id":"scan_1","state":"completed","total":1,"answered":1,"counts":{counts},"by_verdict":{by_verdict}}}}}"#
        );
        assert_eq!(serde_json::to_string(&WebhookEvent::of(event)).unwrap(), body);
        let row = json!({
            "scan_id": "", "kind": "allowance.used_up", "created_at": 1_795_341_600, "total": 100,
            "answered": 100, "counts": "{}", "by_verdict": "{}",
        });
        let event: Announced = serde_json::from_value(row).unwrap();
        let body = r#"{"type":"allowance.used_up","timestamp":"2026-11-22T10:00:00Z","data":{"daily_allowance":100,"used_today":100}}"#;
        assert_eq!(serde_json::to_string(&WebhookEvent::of(event)).unwrap(), body);
        let test = WebhookEvent::of_test(1_795_341_600);
        let body = r#"{"type":"webhook.test","timestamp":"2026-11-22T10:00:00Z","data":{}}"#;
        assert_eq!(serde_json::to_string(&test).unwrap(), body);
    }
}
