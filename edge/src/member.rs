//! A signed-in account: the steps that the routes of a session share.

use axum::http::StatusCode;
use secrecy::SecretString;

use crate::{
    app::App,
    caller::SessionCaller,
    client::Client,
    error::Error,
    password,
    second_factor::Challenge,
    store::accounts::{self, Member},
    throttle::Key,
};

impl Member {
    /// The account of this session.
    ///
    /// # Errors
    /// [`Error::invalid_session`] when the session is over.
    pub async fn of_session(app: &App, caller: SessionCaller) -> Result<Self, Error> {
        accounts::by_session(&app.database, caller).await?.ok_or_else(Error::invalid_session)
    }

    /// What a code within a session has to meet.
    #[must_use]
    pub fn challenge(&self) -> Challenge<'_> {
        Challenge {
            account: self.id,
            email: &self.email,
            sealed: self.totp_secret.as_deref(),
            key: Key::code(self.id),
            status: StatusCode::FORBIDDEN,
        }
    }

    /// Asks for the password again: a session alone must not be enough for what cannot be undone.
    ///
    /// # Errors
    /// [`Error::wrong_password`], or [`Error::throttled`] after too many.
    pub async fn check_password(
        &self,
        app: &App,
        client: &Client,
        password: &SecretString,
    ) -> Result<(), Error> {
        let attempt = client.attempt(app, Key::password(self.id)).await?;
        if !password::verify(password, &self.password_hash)? {
            return Err(Error::wrong_password());
        }
        attempt.succeeded(app).await
    }
}
