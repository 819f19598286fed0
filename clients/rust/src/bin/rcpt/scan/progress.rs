//! Progress of a scan on a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use rcpt_client::Scan;
use serde_json::Value;

#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    pub fn new(total: u64) -> Self {
        let bar = ProgressBar::new(total);
        match ProgressStyle::with_template("{wide_bar} {msg}") {
            Ok(style) => Self(bar.with_style(style)),
            Err(_) => Self(bar),
        }
    }

    pub fn say(&self, text: String) {
        self.0.set_message(text);
    }

    pub fn show(&self, scan: &Scan) {
        self.0.set_position(scan.answered);
        self.say(in_words(scan));
    }

    pub fn end(&self) {
        self.0.finish_and_clear();
    }
}

/// For example `127 of 150 done, 23 to be asked again, about 12 min left`.
fn in_words(scan: &Scan) -> String {
    let mut words = format!("{} of {} done", scan.answered, scan.total);
    if scan.waiting > 0 {
        words += &format!(", {} to be asked again", scan.waiting);
    }
    // Takes the time of day from `2026-11-23T17:20:00Z`.
    let until = scan.further.get("retries_until").and_then(Value::as_str);
    if let Some(time) = until.filter(|_| scan.waiting > 0).and_then(|until| until.get(11..16)) {
        words += &format!(", until {time} UTC at the latest");
    } else if let Some(seconds) = scan.estimated_seconds_left {
        words += &format!(", about {} left", time(seconds));
    }
    words
}

fn time(seconds: u64) -> String {
    match seconds {
        0..=90 => format!("{seconds} s"),
        91..=5_400 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3_600)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Scan, in_words};
    use serde_json::json;

    #[test]
    fn a_scan_that_waits_for_servers_says_so_and_how_long() {
        let scan = |waiting: u64, seconds_left: Option<u64>| -> Scan {
            let scan = json!({
                "id": "scan_1", "name": "", "state": "running", "total": 150, "received": 150,
                "answered": 127, "waiting": waiting, "estimated_seconds_left": seconds_left,
            });
            serde_json::from_value(scan).unwrap()
        };
        assert_eq!(in_words(&scan(0, None)), "127 of 150 done");
        assert_eq!(in_words(&scan(0, Some(20))), "127 of 150 done, about 20 s left");
        let waiting = "127 of 150 done, 23 to be asked again, about 72 min left";
        assert_eq!(in_words(&scan(23, Some(4_300))), waiting);
        let mut scan_state = scan(23, Some(4_300));
        scan_state.further.insert("retries_until".to_owned(), json!("2026-11-23T17:20:00Z"));
        let waiting = "127 of 150 done, 23 to be asked again, until 17:20 UTC at the latest";
        assert_eq!(in_words(&scan_state), waiting);
    }
}
