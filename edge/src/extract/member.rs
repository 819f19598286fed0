//! A signed-in account, loaded for the handler.

use std::sync::Arc;

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use secrecy::SecretString;

use super::{client_network::ClientNetwork, second_factor::SecondFactor};
use crate::{
    app::App,
    credentials::{password, session::Session},
    error::Error,
    store::accounts::{self, Account},
    throttle::Key,
};

/// The account of a session that is not over.
pub struct Member {
    pub session: Session,
    pub account: Account,
}

impl FromRequestParts<Arc<App>> for Member {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        let session = Session::from_request_parts(parts, app).await?;
        let account = accounts::by_session(app.databases.of(session.account)?, session).await?;
        Ok(Self { session, account: account.ok_or_else(Error::invalid_session)? })
    }
}

impl Member {
    /// The code that is demanded within a session.
    pub fn second_factor(&self) -> SecondFactor<'_> {
        SecondFactor::new(&self.account, Key::code(self.account.id), StatusCode::FORBIDDEN)
    }

    /// Asks for the password again: a session alone must not be enough for what cannot be undone.
    ///
    /// # Errors
    /// [`Error::wrong_password`], or [`Error::throttled`] after too many.
    pub async fn check_password(
        &self,
        app: &App,
        client: &ClientNetwork,
        password: &SecretString,
    ) -> Result<(), Error> {
        let attempt = client.attempt(app, Key::password(self.account.id)).await?;
        let turn = client.hashing_turn(app).await?;
        if !password::verify(turn, password, &self.account.password_hash)? {
            return Err(Error::wrong_password());
        }
        attempt.succeeded(app).await
    }
}
