//! One value that is wrong, and all of them together.

use std::fmt;

/// One value that is wrong: its name, and what is expected instead. Never a secret's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    pub name: String,
    pub problem: String,
}

impl Mistake {
    pub(crate) fn new(name: &str, problem: &str) -> Self {
        Self { name: name.to_owned(), problem: problem.to_owned() }
    }
}

/// Every mistake of a configuration, in the order of the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mistakes(pub Vec<Mistake>);

impl Mistakes {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Mistake> for Mistakes {
    fn from(mistake: Mistake) -> Self {
        Self(vec![mistake])
    }
}

/// One line a mistake.
impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, Mistake { name, problem }) in self.0.iter().enumerate() {
            let separator = if position == 0 { "" } else { "\n" };
            write!(f, "{separator}{name}: {problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}
