//! Writes verdicts as a table, as one JSON array, or as one JSON object per line.

use std::io::{self, Write};

use rcpt_client::{Deliverability, Details, Validation};
use serde::Serialize;

use crate::{args::Format, failure::Failure, input::Entry};

#[derive(Debug)]
pub enum Outcome {
    Verdict(Box<Validation>),
    /// The service refused to check this text; nothing is known about a mailbox.
    Refusal {
        error: String,
        code: Option<String>,
    },
}

#[derive(Debug)]
pub struct Row {
    pub entry: Entry,
    pub outcome: Outcome,
}

#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    entry: &'a Entry,
    #[serde(flatten)]
    verdict: Option<&'a Validation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
}

impl Row {
    pub fn verdict(&self) -> Option<Deliverability> {
        match &self.outcome {
            Outcome::Verdict(answer) => Some(answer.verdict),
            Outcome::Refusal { .. } => None,
        }
    }

    fn json(&self) -> String {
        let entry = &self.entry;
        let line = match &self.outcome {
            Outcome::Verdict(answer) => {
                Line { entry, verdict: Some(answer), error: None, code: None }
            }
            Outcome::Refusal { error, code } => {
                Line { entry, verdict: None, error: Some(error), code: code.as_deref() }
            }
        };
        serde_json::to_string(&line).unwrap_or_default()
    }

    fn email(&self) -> &str {
        match &self.outcome {
            Outcome::Verdict(answer) => &answer.email,
            Outcome::Refusal { .. } => &self.entry.input,
        }
    }

    fn why(&self) -> String {
        match &self.outcome {
            Outcome::Verdict(answer) => match &answer.details {
                Some(details) => in_words(details),
                None => answer.status.as_str().to_owned(),
            },
            Outcome::Refusal { error, .. } => error.clone(),
        }
    }
}

fn in_words(details: &Details) -> String {
    let mut words = details.reason.clone();
    if let Some(problem) = &details.problem {
        words = format!("{words}: {problem}");
    }
    if let Some(suggestion) = &details.suggestion {
        words = format!("{words} (did you mean {suggestion}?)");
    }
    words
}

pub struct Rows<W> {
    to: W,
    format: Format,
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
        self.write_text(&text)?;
        self.count += 1;
        Ok(())
    }

    pub fn end(&mut self) -> Result<(), Failure> {
        match (self.format, self.count) {
            (Format::Json, 0) => self.write_text("[]\n"),
            (Format::Json, _) => self.write_text("\n]\n"),
            _ => Ok(()),
        }
    }

    fn line(&self, row: &Row) -> String {
        let (word, colour) = match row.verdict() {
            Some(Deliverability::Deliverable) => ("deliverable", "\x1b[32m"),
            Some(Deliverability::Undeliverable) => ("undeliverable", "\x1b[31m"),
            Some(Deliverability::Risky) => ("risky", "\x1b[33m"),
            Some(Deliverability::Unknown) => ("unknown", "\x1b[33m"),
            None => ("not checked", "\x1b[35m"),
        };
        let (email, why) = (printable(row.email()), printable(&row.why()));
        format!("{email:<width$}  {colour}{word:<13}\x1b[0m  {why}\n", width = self.width)
    }

    fn write_text(&mut self, text: &str) -> Result<(), Failure> {
        let result = self.to.write_all(text.as_bytes()).and_then(|()| self.to.flush());
        result.map_err(|error| Failure::of_output("The verdicts", &error))
    }
}

/// Replaces control characters, which could send commands to the terminal, with U+FFFD.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

pub fn print(text: &str) -> Result<(), Failure> {
    let mut to = io::stdout().lock();
    let result = writeln!(to, "{text}").and_then(|()| to.flush());
    result.map_err(|error| Failure::of_output("The output", &error))
}

#[cfg(test)]
mod tests {
    use super::{Entry, Format, Outcome, Row, Rows};
    use serde_json::{Value, json};

    fn row(line: usize, input: &str, outcome: Outcome) -> Row {
        Row { entry: Entry { line: Some(line), input: input.to_owned() }, outcome }
    }

    fn rows() -> [Row; 2] {
        let answer = json!({
            "email": "ann@example.org", "verdict": "undeliverable", "status": false, "cached": false, "new_member": 1,
            "details": { "confidence": "high", "reason": "a_new_reason", "catch_all": "no", "disposable": false,
                "role_account": false, "free_provider": false, "newer_member": true },
        });
        let verdict = Outcome::Verdict(Box::new(serde_json::from_value(answer).unwrap()));
        let refusal = Outcome::Refusal { error: "Not one.".to_owned(), code: None };
        [row(1, "Ann <ann@example.org>", verdict), row(3, "\x1b]0;owned\x07", refusal)]
    }

    fn printed(format: Format, rows: &[Row]) -> String {
        let mut to = Rows::new(Vec::new(), format, 15);
        rows.iter().for_each(|row| to.write(row).unwrap());
        to.end().unwrap();
        String::from_utf8(to.to).unwrap()
    }

    #[test]
    fn json_is_json_whatever_was_written_and_keeps_what_this_version_does_not_know() {
        let array: Value = serde_json::from_str(&printed(Format::Json, &rows())).unwrap();
        assert_eq!(array[0]["new_member"], 1);
        assert_eq!(array[0]["details"]["reason"], "a_new_reason");
        assert_eq!(array[0]["details"]["newer_member"], true);
        assert_eq!(
            (&array[0]["line"], &array[0]["input"]),
            (&json!(1), &json!("Ann <ann@example.org>"))
        );
        assert_eq!(
            array[1],
            json!({ "line": 3, "input": "\x1b]0;owned\x07", "error": "Not one." })
        );
        assert_eq!(printed(Format::Json, &[]), "[]\n");
        let lines = printed(Format::Ndjson, &rows());
        assert_eq!(
            lines.lines().map(serde_json::from_str::<Value>).filter(Result::is_ok).count(),
            2
        );
    }

    #[test]
    fn a_table_says_why_an_address_is_none_and_which_was_meant() {
        let answer = |details: Value| {
            let mut answer = json!({ "email": "ann@gmial.com", "verdict": "undeliverable", "status": "domain_not_found" });
            answer["details"] = json!({ "confidence": "high", "catch_all": "unknown", "disposable": false,
                "role_account": false, "free_provider": false });
            for (name, value) in details.as_object().unwrap() {
                answer["details"][name] = value.clone();
            }
            row(1, "", Outcome::Verdict(Box::new(serde_json::from_value(answer).unwrap())))
        };
        let suggestion =
            answer(json!({ "reason": "domain_not_found", "suggestion": "ann@gmail.com" }));
        let problem = answer(
            json!({ "reason": "malformed", "problem": "two dots in a row", "suggestion": null }),
        );
        let table = printed(Format::Table, &[suggestion, problem]);
        assert!(table.contains("domain_not_found (did you mean ann@gmail.com?)\n"), "{table}");
        assert!(table.contains("malformed: two dots in a row\n"), "{table}");
    }

    #[test]
    fn a_table_obeys_no_list() {
        let table = printed(Format::Table, &rows());
        assert!(
            table.contains("ann@example.org  \x1b[31mundeliverable\x1b[0m  a_new_reason\n"),
            "{table}"
        );
        assert!(!table.contains("\x1b]0") && !table.contains('\x07'), "{table:?}");
    }
}
