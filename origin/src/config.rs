//! The configuration: a TOML file whose values can be set by environment variables too, parsed once
//! into types.

mod certificate;
mod domains;
mod mistakes;
mod parse;
mod settings;
mod values;

use std::{fmt, path::Path, str::FromStr};

use hmac::{Hmac, KeyInit as _, Mac as _};
use rcpt_pool::HashKey;
pub use rcpt_smtp::{Families, SourceAddress};
use sha2::Sha256;

pub use certificate::{Certificate, Files, Standing, Validity};
pub use domains::{OptOuts, Route, Routes, Server};
pub use mistakes::{Mistakes, SettingMistake};
pub use settings::{Config, UnknownVariables, is_reloaded, reference, unknown_variables};
use values::Values;

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

    /// `source_key`, or else the secret for tickets: then nothing depends on it that should outlive this process.
    pub fn own_secret(&self) -> &[u8] {
        match self.source_key.0.as_str() {
            "" => self.ticket_secrets.signing().1,
            own => own.as_bytes(),
        }
    }

    /// An HMAC that has been fed with `purpose`, so that tags for different purposes differ.
    pub fn own_mac(&self, purpose: &[u8]) -> Hmac<Sha256> {
        // HMAC accepts keys of any length, so this can't fail.
        let keyed = Hmac::<Sha256>::new_from_slice(self.own_secret());
        keyed.unwrap_or_else(|_| Hmac::new(&Default::default())).chain_update(purpose)
    }

    pub fn hash_key(&self) -> HashKey {
        let tag = self.own_mac(b"names in memory").finalize().into_bytes();
        let word =
            |octets: &[u8]| octets.iter().fold(0, |word, octet| word << 8 | u64::from(*octet));
        let (first, rest) = tag.split_at(8);
        HashKey::new([word(first), word(rest.split_at(8).0)])
    }
}

#[cfg(test)]
mod tests;
