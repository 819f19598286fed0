//! Mistakes in the configuration: a single one, and the list of all.

use std::fmt;

/// A wrong value: its name, and the expected form. It never holds a secret's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingMistake {
    pub name: String,
    sentence: String,
}

impl SettingMistake {
    pub(crate) fn new(name: &str, problem: &str) -> Self {
        Self { name: name.to_owned(), sentence: format!("{name}: {problem}") }
    }

    /// `kind` is the kind of `name`; `meant` is a known name with almost the same spelling.
    pub(super) fn unknown(kind: &str, name: &str, meant: Option<&str>) -> Self {
        let hint = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "`origin --help` lists those there are".to_owned(),
        };
        Self { name: name.to_owned(), sentence: format!("unknown {kind} `{name}`; {hint}") }
    }
}

impl fmt::Display for SettingMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

/// Every mistake of a configuration, in the order of the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mistakes(pub Vec<SettingMistake>);

impl Mistakes {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<SettingMistake> for Mistakes {
    fn from(mistake: SettingMistake) -> Self {
        Self(vec![mistake])
    }
}

/// Writes each mistake on a line.
impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, mistake) in self.0.iter().enumerate() {
            let separator = if position == 0 { "" } else { "\n" };
            write!(f, "{separator}{mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}
