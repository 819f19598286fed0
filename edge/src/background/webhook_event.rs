//! The payload of webhooks, and the entries of `GET /v1/events`.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    limits::quota::date_time,
    store::scans::{StatusCounts, StoredScan, VerdictCounts},
};

/// The body of a webhook. It contains no address.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct WebhookEvent {
    /// `scan.completed`, `scan.expired` or `webhook.test`.
    #[serde(rename = "type")]
    #[schema(example = "scan.completed")]
    pub kind: String,
    /// Time of the event.
    pub timestamp: DateTime<Utc>,
    /// The scan; empty if the type is `webhook.test`.
    #[schema(value_type = EndedScanData)]
    pub data: EventData,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EventData {
    StoredScan(EndedScanData),
    Nothing {},
}

/// A scan that has ended.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
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
    /// Absent in events that the previous release has written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub by_verdict: Option<VerdictCounts>,
}

impl WebhookEvent {
    /// Builds the event for the end of a scan.
    pub fn of_end(scan: StoredScan) -> Self {
        let data = EndedScanData {
            id: scan.id,
            state: scan.state,
            total: scan.total,
            answered: scan.answered,
            counts: scan.counts,
            by_verdict: Some(scan.by_verdict),
        };
        Self {
            kind: format!("scan.{}", data.state),
            timestamp: date_time(scan.ended_at.unwrap_or_default()),
            data: EventData::StoredScan(data),
        }
    }

    /// Builds the event of a test delivery.
    pub fn of_test(now: u64) -> Self {
        let data = EventData::Nothing {};
        Self { kind: "webhook.test".to_owned(), timestamp: date_time(now), data }
    }

    /// Returns the `webhook-id` of a scan's event, which all delivery attempts share.
    pub fn id_of(scan: &str) -> String {
        scan.replacen("scan_", "msg_", 1)
    }
}

#[cfg(test)]
mod tests {
    use super::WebhookEvent;

    #[test]
    fn an_event_is_written_as_it_was_read_and_one_of_the_release_before_too() {
        let of = |data: &str| {
            format!(
                r#"{{"type":"scan.completed","timestamp":"2026-11-22T10:00:00Z","data":{data}}}"#
            )
        };
        let counts = r#"{"true":1,"false":0,"invalid_format":0,"domain_not_found":0,"no_mx_records":0,"smtp_connect_error":0,"smtp_timeout":0,"blocked_by_provider":0,"fatal_exception":0}"#;
        let before = format!(
            r#"{{"id":"scan_1","state":"completed","total":1,"answered":1,"counts":{counts}}}"#
        );
        let words = r#""by_verdict":{"deliverable":1,"undeliverable":0,"risky":0,"unknown":0}"#;
        let now = before.replace("}}", &format!("}},{words}}}"));
        for text in [of("{}"), of(&before), of(&now)] {
            let event: WebhookEvent = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_string(&event).unwrap(), text);
        }
    }
}
