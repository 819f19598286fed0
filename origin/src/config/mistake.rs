//! Mistakes in the configuration, single and as a list.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingMistake {
    pub name: String,
    sentence: String,
}

impl SettingMistake {
    pub(crate) fn new(name: &str, problem: &str) -> Self {
        Self { name: name.to_owned(), sentence: format!("{name}: {problem}") }
    }

    pub(super) fn unknown(kind: &str, name: &str, suggestion: Option<&str>) -> Self {
        let hint = match suggestion {
            Some(suggestion) => format!("did you mean `{suggestion}`?"),
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

/// All mistakes of a configuration: first unknown keys, then wrong values, then contradictions.
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
