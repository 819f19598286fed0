//! The code that a person is asked for when two-factor authentication is on.

use axum::http::StatusCode;
use secrecy::{ExposeSecret, SecretString};

use crate::{
    account::AccountId, app::App, cf::clock, error::Error, mail, random,
    recovery_code::RecoveryCode, store, throttle::Key, totp::TotpSecret,
};

/// Whose code is asked for, and how.
pub struct Challenge<'a> {
    pub account: AccountId,
    pub email: &'a str,
    /// The sealed secret; `None` while two-factor is off.
    pub sealed: Option<&'a str>,
    /// Under which key attempts are counted.
    pub key: Key,
    /// What a missing or wrong code answers: 401 where it signs in, 403 within a session.
    pub status: StatusCode,
}

impl Challenge<'_> {
    /// Demands a current code or an unused recovery code, and uses it up. Nothing is demanded while
    /// two-factor is off.
    ///
    /// # Errors
    /// [`Error::totp_required`], [`Error::totp_invalid`] or [`Error::throttled`].
    pub async fn meet(&self, app: &App, code: Option<&SecretString>) -> Result<(), Error> {
        let Some(sealed) = self.sealed else { return Ok(()) };
        let code = code.map(ExposeSecret::expose_secret).filter(|code| !code.is_empty());
        let code = code.ok_or_else(|| Error::totp_required(self.status))?;
        let keys = [(self.key.clone(), app.config.throttle.account)];
        let now = clock::now();
        let attempt = random::identifier()?;
        store::throttle::admit(&app.database, &keys, &attempt, now).await?.or_throttled()?;
        let accepted = match RecoveryCode::parse(code) {
            Some(recovery_code) => self.use_recovery_code(app, &recovery_code).await?,
            None => self.use_totp(app, sealed, code, now).await?,
        };
        if !accepted {
            return Err(Error::totp_invalid(self.status));
        }
        store::throttle::succeeded(&app.database, &[&self.key], &[], now).await
    }

    async fn use_totp(&self, app: &App, sealed: &str, code: &str, now: u64) -> Result<bool, Error> {
        let secret = TotpSecret::open(&app.config.totp_secrets, self.account, sealed)
            .map_err(|_| Error::internal("a TOTP secret does not open"))?;
        match secret.step_of(code, now) {
            Some(step) => store::two_factor::accept_step(&app.database, self.account, step).await,
            None => Ok(false),
        }
    }

    /// Its owner is told first: a code must not go without a mail.
    async fn use_recovery_code(&self, app: &App, code: &RecoveryCode) -> Result<bool, Error> {
        let hash = code.hash(self.account);
        if !store::two_factor::has_recovery_code(&app.database, self.account, &hash).await? {
            return Ok(false);
        }
        app.mailer.send(self.email, &mail::recovery_code_used(&app.config.portal_url)).await?;
        store::two_factor::use_recovery_code(&app.database, self.account, &hash).await
    }
}
