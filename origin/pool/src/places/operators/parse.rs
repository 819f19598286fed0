//! Parses the rows of an operators file, and reports all mistakes.

use std::{sync::Arc, time::Duration};

use rcpt_shared::Address;
use strsim::osa_distance;
use toml::{Table, Value};

use super::Operator;

const KEYS: [&str; 9] = [
    "name",
    "mx",
    "consumer",
    "informative",
    "sessions",
    "session_interval_ms",
    "recipients_per_minute",
    "refused_per_hour",
    "session_recipients",
];

pub(super) fn mistake(operator: &str, problem: &str) -> String {
    format!("operator {operator:?}: {problem}")
}

pub(super) fn rows(text: &str) -> Result<Vec<Operator>, Vec<String>> {
    let file: Table = text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        vec![format!("not TOML at line {line}: {}", error.message())]
    })?;
    let mut mistakes = Vec::new();
    for key in file.keys().filter(|key| *key != "operator") {
        mistakes.push(format!("{key}: expected [[operator]] rows alone"));
    }
    let mut rows = Vec::new();
    match file.get("operator") {
        None => {}
        Some(Value::Array(found)) => {
            for (position, value) in found.iter().enumerate() {
                match value {
                    Value::Table(table) => rows.push(row(position, table, &mut mistakes)),
                    _ => mistakes.push("operator: expected tables".to_owned()),
                }
            }
        }
        Some(_) => mistakes.push("operator: expected [[operator]] rows".to_owned()),
    }
    if mistakes.is_empty() { Ok(rows) } else { Err(mistakes) }
}

struct Row<'a> {
    name: String,
    table: &'a Table,
    mistakes: &'a mut Vec<String>,
}

fn row(position: usize, table: &Table, mistakes: &mut Vec<String>) -> Operator {
    let name = table.get("name").and_then(Value::as_str).unwrap_or_default();
    let label = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    let shown = if name.is_empty() { format!("number {}", position + 1) } else { name.to_owned() };
    let mut row = Row { name: shown, table, mistakes };
    if name.is_empty() || !name.bytes().all(label) {
        row.wrong("name: expected lower-case letters, digits and underscores");
    }
    for key in table.keys().filter(|key| !KEYS.contains(&key.as_str())) {
        let nearest = KEYS.iter().min_by_key(|known| osa_distance(known, key));
        let suggestion =
            nearest.map(|known| format!("; did you mean {known}?")).unwrap_or_default();
        row.wrong(&format!("{key}: no such value{suggestion}"));
    }
    Operator {
        name: Arc::from(name),
        mx: row.names("mx", "names of hosts or their suffixes, two labels at least", is_pattern),
        consumer: row.names("consumer", "domain names", is_domain),
        informative: row.flag("informative"),
        sessions: row.number("sessions", 1, 1_000_000),
        session_interval: row
            .number("session_interval_ms", 0, 600_000)
            .map(|ms| Duration::from_millis(ms as u64)),
        recipients_per_minute: row.number("recipients_per_minute", 1, 1_000_000),
        refused_per_hour: row.number("refused_per_hour", 1, 1_000_000),
        session_recipients: row.number("session_recipients", 1, 100),
    }
}

impl Row<'_> {
    fn wrong(&mut self, problem: &str) {
        self.mistakes.push(mistake(&self.name, problem));
    }

    fn names(&mut self, key: &str, expected: &str, is_fine: fn(&str) -> bool) -> Vec<String> {
        let Some(value) = self.table.get(key) else { return Vec::new() };
        let Some(items) = value.as_array() else {
            self.wrong(&format!("{key}: expected a list of {expected}"));
            return Vec::new();
        };
        let mut names = Vec::new();
        for item in items {
            match item.as_str().map(str::to_ascii_lowercase) {
                Some(name) if is_fine(&name) => names.push(name),
                _ => self.wrong(&format!("{key}: expected {expected}, got {}", format_value(item))),
            }
        }
        names
    }

    fn flag(&mut self, key: &str) -> Option<bool> {
        let value = self.table.get(key)?;
        let flag = value.as_bool();
        if flag.is_none() {
            self.wrong(&format!("{key}: expected true or false, got {}", format_value(value)));
        }
        flag
    }

    fn number(&mut self, key: &str, least: usize, most: usize) -> Option<usize> {
        let value = self.table.get(key)?;
        let number = value.as_integer().and_then(|number| usize::try_from(number).ok());
        let number = number.filter(|number| (least..=most).contains(number));
        if number.is_none() {
            self.wrong(&format!(
                "{key}: expected a number, {least} to {most}, got {}",
                format_value(value)
            ));
        }
        number
    }
}

fn format_value(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Integer(number) => number.to_string(),
        Value::Boolean(flag) => flag.to_string(),
        other => format!("a value of type {}", other.type_str()),
    }
}

fn is_domain(name: &str) -> bool {
    // Reuses the rules of addresses: the part after an `@` is a domain name.
    name.contains('.') && Address::parse(&format!("a@{name}")).is_ok()
}

/// A `*` may stand for a label except the last two, since anybody may register `ionos.lol`.
fn is_pattern(pattern: &str) -> bool {
    let is_registered = pattern.rsplit('.').take(2).all(|label| label != "*");
    is_registered && is_domain(&pattern.replace('*', "x"))
}
