//! The code that two-factor authentication requires.

use std::{borrow::Cow, sync::Arc};

use axum::http::StatusCode;
use secrecy::{ExposeSecret, SecretString};

use super::request::RequestContext;
use crate::{
    app::App,
    cf::{clock, log},
    credentials::{random, recovery_code::RecoveryCode, totp::TotpSecret},
    error::Error,
    ledger::{
        account::StoredAccount,
        code::{self, Code},
    },
    limits::{
        rules::{Gate, Key},
        throttle::Attempt,
    },
};

pub struct SecondFactor<'a> {
    account: &'a StoredAccount,
    key: Key,
    /// Status for a missing or wrong code: 401 at sign-in, 403 within a session.
    status: StatusCode,
}

/// A correct code, or the fact that none is required. Only the authorised action consumes a code.
pub struct RightCode {
    pub code: Code,
    pub attempt: Option<Attempt>,
}

impl<'a> SecondFactor<'a> {
    pub const fn new(account: &'a StoredAccount, key: Key, status: StatusCode) -> Self {
        Self { account, key, status }
    }

    /// Requires a current code or an unused recovery code. No code is required while two-factor is off.
    pub async fn demand(
        &self,
        app: &Arc<App>,
        context: &RequestContext,
        shown: Option<&SecretString>,
    ) -> Result<RightCode, Error> {
        let Some(sealed) = &self.account.totp_secret else {
            return Ok(RightCode { code: Code::Off, attempt: None });
        };
        let shown = shown.map(|shown| plain(shown.expose_secret())).filter(|code| !code.is_empty());
        let shown = shown.ok_or_else(|| Error::totp_required(self.status))?;
        let gates = vec![Gate::new(self.key.clone(), app.config.throttle.account)];
        let now = clock::now();
        let attempt = Attempt::count(app.databases.directory(), gates, now).await?;
        let code = match RecoveryCode::parse(&shown) {
            Some(recovery_code) => {
                let hash = recovery_code.hash(self.account.id);
                let database = app.databases.of(self.account.id)?;
                let exists = code::is_recovery_code(database, self.account.id, &hash).await?;
                exists.then_some(Code::Recovery(hash))
            }
            None => {
                let secret = TotpSecret::open(&app.config.totp_secrets, self.account.id, sealed)
                    .map_err(|_| Error::internal("a TOTP secret does not open"))?;
                let factor = self.account.factor.clone().unwrap_or_default();
                secret.step_of(&shown, now).map(|step| Code::Step { factor, step })
            }
        };
        match code {
            Some(code) => Ok(RightCode { code, attempt: Some(attempt) }),
            None => Err(self.wrong(app, context).await?),
        }
    }

    pub async fn wrong(&self, app: &Arc<App>, context: &RequestContext) -> Result<Error, Error> {
        let database = app.databases.of(self.account.id)?;
        code::count_wrong_code(database, self.account.id, &context.event()).await?;
        context.notify(app, self.account.id);
        Ok(Error::totp_invalid(self.status))
    }

    /// Uncounts the attempt, notifies the owner of a used recovery code, and renews an outdated seal. A failure here
    /// doesn't undo the action.
    pub async fn complete(&self, app: &Arc<App>, context: &RequestContext, right: RightCode) {
        if let Some(attempt) = &right.attempt {
            attempt.give_back(app.databases.directory()).await;
        }
        if matches!(right.code, Code::Recovery(_)) {
            context.notify(app, self.account.id);
        }
        if matches!(right.code, Code::Step { .. })
            && let Err(error) = self.seal_anew(app).await
        {
            log::failure("renewing a seal", &error);
        }
    }

    /// The error of an action that failed because the account has changed since it was read; `now` is its state.
    /// `otherwise` if neither two-factor nor the code was the reason.
    pub async fn explain_failure(
        &self,
        app: &Arc<App>,
        context: &RequestContext,
        right: &RightCode,
        now: Option<StoredAccount>,
        otherwise: Error,
    ) -> Result<Error, Error> {
        let same = |now: &StoredAccount| now.password_hash == self.account.password_hash;
        let Some(now) = now.filter(same) else { return Ok(otherwise) };
        match right.code {
            Code::Unasked => Ok(otherwise),
            Code::Off if now.totp_secret.is_some() => Ok(Error::totp_required(self.status)),
            Code::Off => Ok(otherwise),
            Code::Step { .. } | Code::Recovery(_) => self.wrong(app, context).await,
        }
    }

    async fn seal_anew(&self, app: &App) -> Result<(), Error> {
        let (secrets, account) = (&app.config.totp_secrets, self.account.id);
        let Some(sealed) = &self.account.totp_secret else { return Ok(()) };
        if !TotpSecret::is_outdated(secrets, sealed) {
            return Ok(());
        }
        let unsealable = |_| Error::internal("a TOTP secret cannot be sealed");
        let secret = TotpSecret::open(secrets, account, sealed).map_err(unsealable)?;
        let fresh = secret.seal(secrets, account, random::bytes()?).map_err(unsealable)?;
        code::reseal(app.databases.of(account)?, account, sealed, &fresh).await
    }
}

/// A typed code without the single space that authenticator apps show in its middle.
pub fn plain(typed: &str) -> Cow<'_, str> {
    let is_half = |half: &str| half.len() == 3 && half.bytes().all(|byte| byte.is_ascii_digit());
    match typed.split_once(' ') {
        Some((first, second)) if is_half(first) && is_half(second) => {
            [first, second].concat().into()
        }
        _ => typed.into(),
    }
}
