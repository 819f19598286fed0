//! Log lines of the Worker, as JSON.

use serde::Serialize;

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

pub fn failure(event: &str, error: &dyn std::fmt::Debug) {
    line(&Failure { event, error: format!("{error:?}") });
}
