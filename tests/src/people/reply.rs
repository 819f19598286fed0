//! A response of the service, and assertions about it.

use reqwest::header::HeaderMap;
use serde_json::{Value, json};

/// A response: status, headers, and the body as JSON.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Reply {
    /// Status and body, to assert both together.
    pub fn parts(&self) -> (u16, &Value) {
        (self.status, &self.body)
    }

    /// Asserts that the request has failed with this status, and with exactly `{detail, code}` and this code.
    pub fn assert_error(&self, status: u16, code: &str, why: &str) {
        let detail = self.body.get("detail").and_then(Value::as_str).unwrap_or_default();
        let expected = json!({ "detail": detail, "code": code });
        assert_eq!(self.parts(), (status, &expected), "{why}");
        assert!(!detail.is_empty(), "{why}");
    }

    /// A member of the body as text; empty if absent.
    pub fn text(&self, member: &str) -> &str {
        self.body.get(member).and_then(Value::as_str).unwrap_or_default()
    }

    /// A header as text; empty if absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}
