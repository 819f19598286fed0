//! Replaces secrets, ids and times by fixed values.

use serde_json::{Value, json};

/// Members with a time, and their fixed values, which are consistent: a scan at half past nine took four seconds.
const TIMES: [(&str, &str); 16] = [
    ("at", "2026-01-31T09:30:00Z"),
    ("attempted_at", "2026-01-31T09:30:05Z"),
    ("changes_at", "2026-02-03T09:30:00Z"),
    ("completed_at", "2026-01-31T09:30:04Z"),
    ("created_at", "2026-01-31T09:30:00Z"),
    ("expires_at", "2026-01-31T21:30:00Z"),
    ("exported_at", "2026-01-31T09:30:00Z"),
    ("key_last_used", "2026-01-31"),
    ("last_used_at", "2026-01-31T09:30:00Z"),
    ("open_until", "2026-02-03T09:30:00Z"),
    ("previous_secret_until", "2026-02-01T09:30:00Z"),
    ("previous_until", "2026-02-01T09:30:00Z"),
    ("resets_at", "2026-02-01T00:00:00Z"),
    ("results_until", "2026-02-07T09:30:04Z"),
    ("retries_until", "2026-01-31T10:55:00Z"),
    ("timestamp", "2026-01-31T09:30:04Z"),
];

#[derive(Default)]
pub struct Fixed {
    texts: Vec<(String, String)>,
}

impl Fixed {
    /// Replaces `text` by `shown` wherever it occurs.
    pub fn replace(&mut self, text: &str, shown: &str) {
        assert!(!text.is_empty(), "{shown}");
        self.texts.push((text.to_owned(), shown.to_owned()));
    }

    pub fn apply(&self, mut recorded: Value) -> Value {
        self.fix("", &mut recorded);
        recorded
    }

    fn fix(&self, member: &str, value: &mut Value) {
        match value {
            Value::Object(members) => {
                for (name, value) in members.iter_mut() {
                    self.fix(name, value);
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.fix(member, value)),
            Value::String(text) => {
                let time = TIMES.iter().find(|(name, _)| *name == member);
                *text = match time {
                    Some((_, time)) => (*time).to_owned(),
                    None => self.fixed(text),
                };
            }
            Value::Number(_) | Value::Null | Value::Bool(_) => {}
        }
    }

    fn fixed(&self, text: &str) -> String {
        let replaced = self.texts.iter();
        replaced.fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    }
}

#[test]
fn texts_times_and_measured_numbers_are_fixed_at_any_depth() {
    let mut fixed = Fixed::default();
    fixed.replace("secret", "shown");
    let recorded = json!([{ "a": { "b": "a secret", "created_at": "now", "n": 7 } }]);
    let expected =
        json!([{ "a": { "b": "a shown", "created_at": "2026-01-31T09:30:00Z", "n": 7 } }]);
    assert_eq!(fixed.apply(recorded), expected);
}
