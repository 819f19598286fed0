//! The code that a person is asked for when two-factor authentication is on.

use std::sync::Arc;

use axum::http::StatusCode;
use secrecy::{ExposeSecret, SecretString};

use super::request::RequestContext;
use crate::{
    app::App,
    cf::clock,
    credentials::{random, recovery_code::RecoveryCode, totp::TotpSecret},
    error::Error,
    store,
    store::accounts::Account,
    throttle::Key,
};

/// Whose code is asked for, and how.
pub struct SecondFactor<'a> {
    account: &'a Account,
    /// Under which key attempts are counted.
    key: Key,
    /// What a missing or wrong code answers: 401 where it signs in, 403 within a session.
    status: StatusCode,
}

impl<'a> SecondFactor<'a> {
    pub const fn new(account: &'a Account, key: Key, status: StatusCode) -> Self {
        Self { account, key, status }
    }

    /// Demands a current code or an unused recovery code, and uses it up. Nothing is demanded while
    /// two-factor is off.
    ///
    /// # Errors
    /// [`Error::totp_required`], [`Error::totp_invalid`] or [`Error::throttled`].
    pub async fn demand(
        &self,
        app: &Arc<App>,
        context: &RequestContext,
        code: Option<&SecretString>,
    ) -> Result<(), Error> {
        let Some(sealed) = &self.account.totp_secret else { return Ok(()) };
        let code = code.map(ExposeSecret::expose_secret).filter(|code| !code.is_empty());
        let code = code.ok_or_else(|| Error::totp_required(self.status))?;
        let keys = [(self.key.clone(), app.config.throttle.account)];
        let now = clock::now();
        let attempt = random::identifier()?;
        let directory = app.databases.directory();
        store::throttle::admit(directory, &keys, &attempt, now).await?.or_throttled()?;
        let accepted = match RecoveryCode::parse(code) {
            Some(recovery_code) => self.use_recovery_code(app, context, &recovery_code).await?,
            None => self.use_totp(app, sealed, code, now).await?,
        };
        if !accepted {
            store::two_factor::count_wrong_code(
                app.databases.of(self.account.id)?,
                self.account.id,
            )
            .await?;
            context.notify(app, self.account.id);
            return Err(Error::totp_invalid(self.status));
        }
        store::throttle::succeeded(directory, &[&self.key], &[]).await
    }

    async fn use_totp(&self, app: &App, sealed: &str, code: &str, now: u64) -> Result<bool, Error> {
        let secret = TotpSecret::open(&app.config.totp_secrets, self.account.id, sealed)
            .map_err(|_| Error::internal("a TOTP secret does not open"))?;
        let Some(step) = secret.step_of(code, now) else { return Ok(false) };
        let accepted = store::two_factor::accept_step(
            app.databases.of(self.account.id)?,
            self.account.id,
            step,
        )
        .await?;
        if accepted && TotpSecret::is_outdated(&app.config.totp_secrets, sealed) {
            self.seal_anew(app, &secret, sealed).await?;
        }
        Ok(accepted)
    }

    async fn seal_anew(&self, app: &App, secret: &TotpSecret, sealed: &str) -> Result<(), Error> {
        let fresh = secret
            .seal(&app.config.totp_secrets, self.account.id, random::bytes()?)
            .map_err(|_| Error::internal("a TOTP secret cannot be sealed"))?;
        store::two_factor::reseal(
            app.databases.of(self.account.id)?,
            self.account.id,
            sealed,
            &fresh,
        )
        .await
    }

    async fn use_recovery_code(
        &self,
        app: &Arc<App>,
        context: &RequestContext,
        code: &RecoveryCode,
    ) -> Result<bool, Error> {
        let id = self.account.id;
        let used =
            store::two_factor::use_recovery_code(app.databases.of(id)?, id, &code.hash(id)).await?;
        if used {
            context.notify(app, id);
        }
        Ok(used)
    }
}
