//! Verdicts as a table, as one JSON array, or one on each line.

use std::io::{self, Write};

use rcpt_client::{Deliverability, Validation};
use serde_json::json;

use crate::{args::Format, failure::Failure};

/// What came of one address: an answer, or why the service takes it for no address at all.
#[derive(Debug)]
pub enum Row {
    Answer(Box<Validation>),
    NoAddress { email: String, error: String },
}

impl Row {
    pub fn verdict(&self) -> Deliverability {
        match self {
            Self::Answer(answer) => answer.verdict(),
            Self::NoAddress { .. } => Deliverability::Undeliverable,
        }
    }

    fn json(&self) -> String {
        match self {
            Self::Answer(answer) => serde_json::to_string(answer).unwrap_or_default(),
            Self::NoAddress { email, error } => {
                json!({ "email": email, "error": error }).to_string()
            }
        }
    }

    fn email(&self) -> &str {
        match self {
            Self::Answer(answer) => &answer.email,
            Self::NoAddress { email, .. } => email,
        }
    }

    fn why(&self) -> &str {
        match self {
            Self::Answer(answer) => {
                let reason = answer.details.as_ref().map(|details| details.reason.as_str());
                reason.unwrap_or_else(|| answer.status.as_str())
            }
            Self::NoAddress { error, .. } => error,
        }
    }
}

/// Writes rows as they come. What was written is written: nothing waits in a buffer.
pub struct Rows<W> {
    to: W,
    format: Format,
    /// Columns that addresses have in a table.
    width: usize,
    count: usize,
}

impl<W: Write> Rows<W> {
    pub const fn new(to: W, format: Format, width: usize) -> Self {
        Self { to, format, width, count: 0 }
    }

    pub const fn count(&self) -> usize {
        self.count
    }

    pub fn write(&mut self, row: &Row) -> Result<(), Failure> {
        let text = match self.format {
            Format::Ndjson => format!("{}\n", row.json()),
            Format::Json if self.count == 0 => format!("[\n  {}", row.json()),
            Format::Json => format!(",\n  {}", row.json()),
            Format::Table => self.line(row),
        };
        self.put(&text)?;
        self.count += 1;
        Ok(())
    }

    /// Writes what belongs after the last row.
    pub fn end(&mut self) -> Result<(), Failure> {
        match (self.format, self.count) {
            (Format::Json, 0) => self.put("[]\n"),
            (Format::Json, _) => self.put("\n]\n"),
            _ => Ok(()),
        }
    }

    fn line(&self, row: &Row) -> String {
        let (word, colour) = match row.verdict() {
            Deliverability::Deliverable => ("deliverable", "\x1b[32m"),
            Deliverability::Undeliverable => ("undeliverable", "\x1b[31m"),
            Deliverability::Risky => ("risky", "\x1b[33m"),
            Deliverability::Unknown => ("unknown", "\x1b[33m"),
        };
        let (email, why) = (printable(row.email()), printable(row.why()));
        format!("{email:<width$}  {colour}{word:<13}\x1b[0m  {why}\n", width = self.width)
    }

    fn put(&mut self, text: &str) -> Result<(), Failure> {
        let written = self.to.write_all(text.as_bytes()).and_then(|()| self.to.flush());
        written.map_err(|error| Failure::of_output("The verdicts", &error))
    }
}

/// A list is anybody's text: its control characters would command the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Writes a text and a line break to standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut to = io::stdout().lock();
    let written = writeln!(to, "{text}").and_then(|()| to.flush());
    written.map_err(|error| Failure::of_output("The output", &error))
}

#[cfg(test)]
mod tests {
    use super::{Format, Row, Rows};
    use serde_json::{Value, json};

    fn rows() -> [Row; 2] {
        let answer = json!({
            "email": "ann@example.org", "status": false, "cached": false, "new_member": 1,
            "details": { "verdict": "undeliverable", "confidence": "high", "reason": "a_new_reason", "tls": true },
        });
        let answer = Row::Answer(Box::new(serde_json::from_value(answer).unwrap()));
        let email = "\x1b]0;owned\x07".to_owned();
        [answer, Row::NoAddress { email, error: "Not one.".to_owned() }]
    }

    fn written(format: Format, rows: &[Row]) -> String {
        let mut to = Rows::new(Vec::new(), format, 15);
        rows.iter().for_each(|row| to.write(row).unwrap());
        to.end().unwrap();
        String::from_utf8(to.to).unwrap()
    }

    #[test]
    fn json_is_json_whatever_was_written_and_keeps_what_this_version_does_not_know() {
        let array: Value = serde_json::from_str(&written(Format::Json, &rows())).unwrap();
        assert_eq!(array[0]["new_member"], 1);
        assert_eq!(array[0]["details"]["reason"], "a_new_reason");
        assert_eq!(array[0]["details"]["tls"], true);
        assert_eq!(array[1]["error"], "Not one.");
        assert_eq!(written(Format::Json, &[]), "[]\n");
        let lines = written(Format::Ndjson, &rows());
        assert_eq!(
            lines.lines().map(serde_json::from_str::<Value>).filter(Result::is_ok).count(),
            2
        );
    }

    #[test]
    fn a_table_obeys_no_list() {
        let table = written(Format::Table, &rows());
        assert!(
            table.contains("ann@example.org  \x1b[31mundeliverable\x1b[0m  a_new_reason\n"),
            "{table}"
        );
        assert!(!table.contains("\x1b]0") && !table.contains('\x07'), "{table:?}");
    }
}
