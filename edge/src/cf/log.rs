//! Log lines of the Worker, as JSON.

use serde::Serialize;

/// Writes one JSON line to the Worker's log. The entry must contain no address and no secret.
pub fn line(entry: &impl Serialize) {
    if let Ok(line) = serde_json::to_string(entry) {
        worker::console_log!("{line}");
    }
}

#[derive(Serialize)]
struct Failure<'a> {
    event: &'a str,
    error: String,
}

/// Logs a failure of work that no request waits for.
pub fn failure(event: &str, error: &dyn std::fmt::Debug) {
    line(&Failure { event, error: format!("{error:?}") });
}
