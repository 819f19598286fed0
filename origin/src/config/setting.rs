//! A setting of the table, and the form of its value.

use strsim::osa_distance;

/// A configurable value.
pub(super) struct Setting {
    /// Key in the file; in the environment `RCPT_` and the name in capitals.
    pub name: &'static str,
    /// Default in the environment's form; `None` if the value is required.
    pub default: Option<&'static str>,
    pub form: Form,
    /// Completes "expected …".
    pub expects: &'static str,
    pub about: &'static str,
}

/// Form of a value in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A string or an integer.
    Single,
    /// An array of strings; comma separated in the environment.
    List,
    /// A table of strings; comma separated `key=value` in the environment.
    Table,
    /// A string that no message may repeat.
    Secret,
}

/// Slips of the finger in the name of a value that are recognised.
const MAX_SLIPS: usize = 3;

/// Returns the one of `settings` whose name is almost `name`.
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
