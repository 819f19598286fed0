//! Rows of the settings' table, read from the environment or the file. Mistakes are collected.

use std::{fs, sync::Arc};

use rcpt_pool::operators::Operators;
use strsim::osa_distance;
use toml::{Table, Value};

use super::{Certificate, Files, Mistakes, SettingMistake};
use crate::lists::{self, Lists};

/// The example configuration, whose required values and public secret must be replaced.
const EXAMPLE: &str = include_str!("../../origin.example.toml");

pub(super) struct Values<'a> {
    settings: &'static [Setting],
    file: Table,
    environment: &'a dyn Fn(&str) -> Option<String>,
    mistakes: Mistakes,
}

impl<'a> Values<'a> {
    pub(super) fn new(
        settings: &'static [Setting],
        text: &str,
        environment: &'a dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, SettingMistake> {
        // The error's own Display quotes the line, which may contain a secret.
        let file: Table = text.parse().map_err(|error: toml::de::Error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            SettingMistake::new("config", &format!("not TOML at line {line}: {}", error.message()))
        })?;
        let is_known = |key: &String| settings.iter().any(|setting| setting.name == key);
        let unknown = file.keys().filter(|key| !is_known(key));
        let mistakes = unknown
            .map(|key| SettingMistake::unknown("key", key, meant_by(settings, key)))
            .collect();
        Ok(Self { settings, file, environment, mistakes: Mistakes(mistakes) })
    }

    pub(super) fn read<T>(&mut self, name: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let setting = self.settings.iter().find(|setting| setting.name == name)?;
        let problem = match self.text(setting) {
            GivenValue::Nothing => format!("missing; expected {}", setting.expects),
            GivenValue::WrongForm => format!("expected {}", setting.expects),
            GivenValue::Text(text)
                if setting.default.is_none() && is_of_the_example(setting, &text) =>
            {
                "still the example's; set a value of your own".to_owned()
            }
            GivenValue::Text(text) => match parse(&text) {
                Some(value) => return Some(value),
                None if setting.form == Form::Secret || text.is_empty() => {
                    format!("expected {}", setting.expects)
                }
                None => {
                    // The message quotes only the wrong item of a long list.
                    let is_long = matches!(setting.form, Form::List | Form::Table);
                    let mut items = text.split(',').filter(|_| is_long);
                    let wrong = items.find(|item| parse(item).is_none()).unwrap_or(&text);
                    format!("expected {}, got {wrong:?}", setting.expects)
                }
            },
        };
        self.mistakes.0.push(SettingMistake::new(setting.name, &problem));
        None
    }

    fn text(&self, setting: &Setting) -> GivenValue {
        if let Some(text) = (self.environment)(&setting.variable()) {
            return GivenValue::Text(text);
        }
        match (self.file.get(setting.name), setting.default) {
            (Some(value), _) => {
                text_of(value, setting.form).map_or(GivenValue::WrongForm, GivenValue::Text)
            }
            (None, Some(default)) => GivenValue::Text(default.to_owned()),
            (None, None) => GivenValue::Nothing,
        }
    }

    /// `None` for a value of the wrong form, which has been recorded as a mistake already.
    fn given(&self, name: &str) -> Option<String> {
        let setting = self.settings.iter().find(|setting| setting.name == name)?;
        if let GivenValue::Text(text) = self.text(setting) { Some(text) } else { None }
    }

    pub(super) fn is_given(&self, name: &str) -> bool {
        let set = |setting: &Setting| (self.environment)(&setting.variable()).is_some();
        self.file.contains_key(name)
            || self.settings.iter().any(|setting| setting.name == name && set(setting))
    }

    pub(super) fn read_operators(&mut self, name: &str) -> Option<Arc<Operators>> {
        let path = self.given(name)?;
        let text = match path.as_str() {
            "" => Ok(String::new()),
            path => fs::read_to_string(path).map_err(|error| format!("{path}: {error}")),
        };
        let text = match text {
            Ok(text) => text,
            Err(problem) => {
                self.mistakes.0.push(SettingMistake::new(name, &problem));
                return None;
            }
        };
        match Operators::with(&text) {
            Ok(operators) => Some(Arc::new(operators)),
            Err(mistakes) => {
                self.mistakes
                    .0
                    .extend(mistakes.iter().map(|mistake| SettingMistake::new(name, mistake)));
                None
            }
        }
    }

    /// The lists in force, the reason if the file's lists are ignored, and the file's state before it was read. Never
    /// records a mistake: a service mustn't fail to start because of a downloaded file.
    pub(super) fn read_lists(&self, name: &str) -> (Arc<Lists>, Option<String>, Files) {
        let path = self.given(name).unwrap_or_default();
        let files = Files::at(Some(path.as_str()).filter(|path| !path.is_empty()));
        let (lists, note) = lists::in_force(&path);
        (lists, note, files)
    }

    /// `None` after recording a mistake; `Some(None)` if no certificate is configured.
    pub(super) fn read_certificate(
        &mut self,
        cert: &str,
        key: &str,
    ) -> Option<Option<Certificate>> {
        let (cert, key) = (self.given(cert)?, self.given(key)?);
        match Certificate::read(&cert, &key) {
            Ok(certificate) => Some(certificate),
            Err(mistake) => {
                self.mistakes.0.push(mistake);
                None
            }
        }
    }

    pub(super) fn finish(self) -> Mistakes {
        self.mistakes
    }
}

enum GivenValue {
    Text(String),
    /// For example, a number instead of a list.
    WrongForm,
    Nothing,
}

/// A secret may stand beside others.
fn is_of_the_example(setting: &Setting, text: &str) -> bool {
    let example: Table = EXAMPLE.parse().unwrap_or_default();
    let shown = example.get(setting.name).and_then(Value::as_str);
    shown.is_some_and(|shown| match setting.form {
        Form::Secret => text.contains(shown),
        _ => text.eq_ignore_ascii_case(shown),
    })
}

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

pub(super) struct Setting {
    /// Key in the file; the environment variable is `RCPT_` and the name in capitals.
    pub name: &'static str,
    pub default: Option<&'static str>,
    pub form: Form,
    /// Text after "expected" in a mistake.
    pub expects: &'static str,
    pub about: &'static str,
    pub is_reloaded: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A string or an integer.
    Single,
    /// An array of strings; comma separated in the environment.
    List,
    /// A table of strings; comma separated `key=value` in the environment.
    Table,
    /// A string that mustn't appear in messages.
    Secret,
}

const MAX_SLIPS: usize = 3;

pub(super) fn meant_by(settings: &[Setting], name: &str) -> Option<&'static str> {
    let slips = |known: &&Setting| osa_distance(known.name, name);
    let closest = settings.iter().min_by_key(slips)?;
    (slips(&closest) <= MAX_SLIPS).then_some(closest.name)
}

impl Setting {
    pub(super) fn variable(&self) -> String {
        format!("RCPT_{}", self.name.to_ascii_uppercase())
    }
}
