//! The Worker's log.

use serde::Serialize;

/// Writes one JSON line to the Worker's log. What is passed here must hold no address and no secret.
pub fn line(entry: &impl Serialize) {
    if let Ok(line) = serde_json::to_string(entry) {
        worker::console_log!("{line}");
    }
}

/// Writes down a failure of work that no request waits for.
pub fn failure(event: &str, error: &impl std::fmt::Debug) {
    line(&serde_json::json!({ "event": event, "error": format!("{error:?}") }));
}
