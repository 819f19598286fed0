//! The client's continent, which decides where its account is created.

use std::{convert::Infallible, sync::Arc};

use axum::{extract::FromRequestParts, http::request::Parts};

use crate::{
    account::AccountId,
    app::App,
    credentials::{keyed_names::MailboxHash, random},
    error::Error,
    ledger::databases::choose,
};

/// Two letters, as Cloudflare names a request's continent; empty if unknown, or if an API key was
/// sent.
#[derive(Debug, Clone, Default)]
pub struct Continent(pub String);

impl<S: Sync> FromRequestParts<S> for Continent {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().cloned().unwrap_or_default())
    }
}

impl Continent {
    pub fn new_account(&self, app: &Arc<App>, hash: &MailboxHash) -> Result<AccountId, Error> {
        let home = choose(app.config.homes.of(&self.0), hash);
        Ok(AccountId::new(home, random::bytes()?))
    }
}
