//! A row of the settings' table, and the form of its value.

use strsim::osa_distance;

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
