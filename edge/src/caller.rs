//! Who is calling: extractors for the two schemes of interface §5.
//!
//! They check everything that needs no storage: a forged key or token ends here. Whether a genuine one
//! is still the account's own is decided by the statement that acts on its behalf.

use std::sync::Arc;

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, header, request::Parts},
};
use secrecy::{ExposeSecret as _, SecretString};

use crate::{
    account::AccountId, api_key::ApiKey, app::App, cf::clock, config::Config, error::Error, session,
};

/// A caller with a genuine API key or session token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    pub account: AccountId,
    pub proof: Proof,
}

/// What the caller showed, with the version that must still be the account's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    Key { version: u32 },
    Session { version: u32 },
}

impl Caller {
    /// The version of the key or of the session.
    #[must_use]
    pub const fn version(self) -> u32 {
        match self.proof {
            Proof::Key { version } | Proof::Session { version } => version,
        }
    }

    /// What to answer when the database does not know this key or session any more.
    #[must_use]
    pub fn unauthorised(self) -> Error {
        match self.proof {
            Proof::Key { .. } => Error::invalid_api_key(),
            Proof::Session { .. } => Error::invalid_session(),
        }
    }

    fn identify(config: &Config, headers: &HeaderMap, now: u64) -> Result<Self, Error> {
        // Where both are sent, the key wins (architecture §4).
        if let Some(presented) = headers.get(API_KEY_HEADER) {
            let identity = presented
                .to_str()
                .ok()
                .and_then(|key| ApiKey::verify(&config.api_key_secrets, key))
                .ok_or_else(Error::invalid_api_key)?;
            let proof = Proof::Key { version: identity.version };
            return Ok(Self { account: identity.account, proof });
        }
        let token = bearer(headers).ok_or_else(Error::missing_api_key)?;
        let session = SessionCaller::verify(config, &token, now)?;
        let proof = Proof::Session { version: session.version };
        Ok(Self { account: session.account, proof })
    }
}

/// A caller with a genuine session token; an API key does not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionCaller {
    pub account: AccountId,
    pub version: u32,
}

impl SessionCaller {
    fn verify(config: &Config, token: &SecretString, now: u64) -> Result<Self, Error> {
        let identity = session::verify(&config.session_secrets, token.expose_secret(), now)
            .map_err(|_| Error::invalid_session())?;
        Ok(Self { account: identity.account, version: identity.version })
    }
}

/// Interface §5.
pub const API_KEY_HEADER: &str = "x-api-key";

/// The token of `Authorization: Bearer`; the scheme's case does not matter (RFC 9110 §11.1).
fn bearer(headers: &HeaderMap) -> Option<SecretString> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| SecretString::from(token.trim()))
}

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        Self::identify(&app.config, &parts.headers, clock::now())
    }
}

impl FromRequestParts<Arc<App>> for SessionCaller {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        let token = bearer(&parts.headers).ok_or_else(Error::missing_session)?;
        Self::verify(&app.config, &token, clock::now())
    }
}
