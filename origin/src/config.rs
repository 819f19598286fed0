//! Configuration: one TOML file, every value also by environment variable, read once into types.

mod certificate;
mod contradictions;
mod families;
mod mistake;
mod opt_outs;
mod parse;
mod routes;
mod settings;
mod validity;
mod values;
mod variables;

use std::{net::IpAddr, path::Path};

pub use certificate::{Certificate, Files};
pub use families::Families;
pub use mistake::{Mistake, Mistakes};
pub use opt_outs::OptOuts;
pub use routes::{Route, Routes, Server};
pub use settings::{Config, reference};
pub use validity::{Standing, Validity};
use values::Values;
pub use variables::{UnknownVariables, unknown_variables};

/// When a session is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartTls {
    /// Only when the server demands it: three round trips fewer for everyone else.
    OnDemand,
    /// Whenever the server offers it.
    Always,
}

/// An address to connect from, and the name that its reverse record leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceAddress {
    pub ip: IpAddr,
    /// `None`: [`Config::helo_name`].
    pub helo_name: Option<String>,
    /// Unix time since which mail servers see it. `None`: for long.
    pub since: Option<u64>,
}

impl Config {
    /// Reads the file at `path`, if any, and the environment, which wins over the file.
    ///
    /// # Errors
    /// [`Mistakes`]: every wrong, missing or unknown value, by name.
    pub fn read(
        path: Option<&Path>,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Mistakes> {
        let text = match path {
            Some(path) => std::fs::read_to_string(path)
                .map_err(|error| Mistake::new("config", &format!("{}: {error}", path.display())))?,
            None => String::new(),
        };
        Self::parse(&text, environment)
    }

    /// The families that are dialled, by whichever identity.
    pub fn dialled(&self) -> Families {
        self.families.unwrap_or_else(|| Families::of(&self.source_addresses))
    }

    /// Like [`Config::read`], from the text of the file.
    ///
    /// # Errors
    /// [`Mistakes`]: every wrong, missing or unknown value, by name.
    pub fn parse(
        text: &str,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Mistakes> {
        let mut values = Values::new(text, environment)?;
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
