//! The configuration: a TOML file whose values can be set by environment variables too, parsed once
//! into types.

mod certificate;
mod contradictions;
mod mistake;
mod opt_outs;
mod own_secret;
mod parse;
mod routes;
mod setting;
mod settings;
mod validity;
mod values;
mod variables;

use std::{fmt, path::Path, str::FromStr};

pub use rcpt_smtp::{Families, SourceAddress};

use rcpt_shared::DomainFacts;

use crate::lists::MailRoute;

pub use certificate::{Certificate, Files};
pub use mistake::{Mistakes, SettingMistake};
pub use opt_outs::OptOuts;
pub use routes::{Route, Routes, Server};
pub use settings::{Config, is_reloaded, reference};
pub use validity::{Standing, Validity};
use values::Values;
pub use variables::{UnknownVariables, unknown_variables};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartTls {
    /// Only when the server demands encryption, which saves three round trips with all other
    /// servers.
    OnDemand,
    /// Whenever the server offers encryption.
    Always,
}

/// In bytes; a shorter `source_key` could be guessed.
const SOURCE_KEY_BYTES_MIN: usize = 16;

#[derive(Clone, PartialEq, Eq)]
pub struct SourceKey(pub String);

impl FromStr for SourceKey {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let fits = text.is_empty() || text.len() >= SOURCE_KEY_BYTES_MIN;
        fits.then(|| Self(text.to_owned())).ok_or(())
    }
}

impl fmt::Debug for SourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "hidden" })
    }
}

impl Config {
    /// Reads the file at `path`, if any, and the environment, which takes precedence.
    pub fn read(
        path: Option<&Path>,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Mistakes> {
        let text = match path {
            Some(path) => std::fs::read_to_string(path).map_err(|error| {
                SettingMistake::new("config", &format!("{}: {error}", path.display()))
            })?,
            None => String::new(),
        };
        Self::parse(&text, environment)
    }

    pub fn facts(&self, domain: &str, route: &MailRoute) -> DomainFacts {
        self.lists.facts(domain, route, &self.operators)
    }

    pub fn dialled_families(&self) -> Families {
        self.families.unwrap_or_else(|| Families::of(&self.source_addresses))
    }

    /// Like [`Config::read`], with the text of the file.
    pub fn parse(
        text: &str,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Mistakes> {
        let mut values = Values::new(settings::ALL, text, environment)?;
        let config = Self::from_values(&mut values);
        let contradictions = match &config {
            Some(config) => config.contradictions(|name| values.is_given(name)),
            None => Vec::new(),
        };
        let mut mistakes = values.finish();
        mistakes.0.extend(contradictions);
        match config {
            Some(config) if mistakes.is_empty() => Ok(config),
            _ => Err(mistakes),
        }
    }
}

#[cfg(test)]
mod tests;
