//! A signed-in account, loaded for the handler.

use std::sync::Arc;

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};

use super::{
    client_network::ClientNetwork,
    request::RequestContext,
    second_factor::{RightCode, SecondFactor},
};
use crate::{
    account::AccountId,
    app::App,
    credentials::{
        password::{self, Password, PasswordCheck},
        session::Session,
    },
    error::Error,
    ledger::{
        account::{self, StoredAccount},
        security_events::{self, FailedAttempt},
    },
    limits::rules::Key,
};

pub struct Member {
    pub session: Session,
    pub account: StoredAccount,
}

impl FromRequestParts<Arc<App>> for Member {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        let session = Session::from_request_parts(parts, app).await?;
        let account = account::by_session(app.databases.of(session.account)?, session).await?;
        Ok(Self { session, account: account.ok_or_else(Error::invalid_session)? })
    }
}

impl Member {
    pub fn second_factor(&self) -> SecondFactor<'_> {
        SecondFactor::new(&self.account, Key::code(self.account.id), StatusCode::FORBIDDEN)
    }

    /// Requires the password again: a session alone mustn't permit irreversible actions.
    pub async fn check_password(
        &self,
        app: &App,
        context: &RequestContext,
        client: &ClientNetwork,
        password: &Password,
    ) -> Result<(), Error> {
        let Self { account: StoredAccount { id, password_hash, .. }, .. } = self;
        check_password(app, context, client, (*id, password_hash), password).await
    }

    /// The error of an action that failed because session, second factor or code has changed since the account was
    /// loaded.
    pub async fn explain_failure(
        &self,
        app: &Arc<App>,
        context: &RequestContext,
        right: &RightCode,
    ) -> Result<Error, Error> {
        let database = app.databases.of(self.account.id)?;
        let now = account::by_session(database, self.session).await?;
        let otherwise = Error::invalid_session();
        self.second_factor().explain_failure(app, context, right, now, otherwise).await
    }
}

/// Checks a password against an account's hash, behind a session or an emailed link: guesses at sign-in, which anybody can
/// make, don't use these up.
pub async fn check_password(
    app: &App,
    context: &RequestContext,
    client: &ClientNetwork,
    (account, hash): (AccountId, &str),
    password: &Password,
) -> Result<(), Error> {
    let attempt = client.attempt(app, Key::password(account)).await?;
    let turn = client.hashing_turn(app, Some(&attempt)).await?;
    if password::verify(turn, password, hash)? == PasswordCheck::Wrong {
        let (database, failure) = (app.databases.of(account)?, FailedAttempt::Password);
        security_events::note_failure(database, Some(account), failure, &context.event()).await?;
        return Err(Error::wrong_password());
    }
    attempt.give_back(app.databases.directory()).await;
    Ok(())
}
