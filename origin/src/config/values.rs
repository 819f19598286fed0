use toml::{Table, Value};

use super::{
    Mistake, Mistakes,
    settings::{self, Form, Setting},
};

/// The text of every value, and the mistakes found while reading it.
pub(super) struct Values<'a> {
    file: Table,
    environment: &'a dyn Fn(&str) -> Option<String>,
    mistakes: Mistakes,
}

impl<'a> Values<'a> {
    pub(super) fn new(
        text: &str,
        environment: &'a dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Mistake> {
        // The error's own Display quotes the line, which may hold a secret.
        let file: Table = text.parse().map_err(|error: toml::de::Error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            Mistake::new("config", &format!("not TOML at line {line}: {}", error.message()))
        })?;
        let known = |key: &String| settings::ALL.iter().any(|setting| setting.name == key);
        let mistakes = file
            .keys()
            .filter(|key| !known(key))
            .map(|key| Mistake::new(key, "no such value; see --help for those there are"))
            .collect();
        Ok(Self { file, environment, mistakes: Mistakes(mistakes) })
    }

    /// The value of `setting`, or `None` with a mistake noted.
    pub(super) fn read<T>(
        &mut self,
        setting: &Setting,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let given = (self.environment)(&setting.variable())
            .map(Some)
            .or_else(|| self.file.get(setting.name).map(|value| text_of(value, setting.form)));
        let problem = match given {
            None => match setting.default {
                None => format!("missing; expected {}", setting.expects),
                Some(default) => match parse(default) {
                    Some(value) => return Some(value),
                    None => format!("expected {}", setting.expects),
                },
            },
            Some(None) => format!("expected {}", setting.expects),
            Some(Some(text)) => match parse(&text) {
                Some(value) => return Some(value),
                None if setting.form == Form::Secret => format!("expected {}", setting.expects),
                None => format!("expected {}, got {text:?}", setting.expects),
            },
        };
        self.mistakes.0.push(Mistake::new(setting.name, &problem));
        None
    }

    pub(super) fn finish(self) -> Mistakes {
        self.mistakes
    }
}

/// The value in the form it has in the environment; `None` when it is not written as `form` asks.
fn text_of(value: &Value, form: Form) -> Option<String> {
    match (form, value) {
        (Form::Single | Form::Secret, Value::String(text)) => Some(text.clone()),
        (Form::Single, Value::Integer(number)) => Some(number.to_string()),
        (Form::List, Value::Array(items)) => {
            let items: Option<Vec<_>> = items.iter().map(Value::as_str).collect();
            Some(items?.join(","))
        }
        (Form::Table, Value::Table(entries)) => {
            let entries: Option<Vec<_>> = entries
                .iter()
                .map(|(key, value)| Some(format!("{key}={}", value.as_str()?)))
                .collect();
            Some(entries?.join(","))
        }
        _ => None,
    }
}
