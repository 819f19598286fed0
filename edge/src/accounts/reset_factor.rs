//! The code that a reset or a stop requires: of any second factor that is on or can be taken back, while one counts.

use std::sync::Arc;

use axum::http::StatusCode;
use secrecy::{ExposeSecret as _, SecretString};

use super::reset_codes_sql::{self, KeptFactor, ResetCode};
use crate::{
    account::AccountId,
    app::App,
    cf::clock,
    credentials::{recovery_code::RecoveryCode, totp::TotpSecret},
    error::Error,
    extract::{
        request::RequestContext,
        second_factor::{SecondFactor, plain},
    },
    ledger::account::StoredAccount,
    limits::{
        rules::{Gate, Key},
        throttle::Attempt,
    },
};

pub struct ResetFactor {
    account: StoredAccount,
    factors: Vec<KeptFactor>,
    shown: Option<String>,
    /// Hash of the presented code, if it's a recovery code; else empty.
    recovery: String,
}

/// A code that fits, or the fact that none is required.
pub struct RightResetCode {
    pub code: ResetCode,
    pub attempt: Option<Attempt>,
}

impl RightResetCode {
    pub async fn give_back(&self, app: &App) {
        if let Some(attempt) = &self.attempt {
            attempt.give_back(app.databases.directory()).await;
        }
    }
}

impl ResetFactor {
    /// Loads an account that isn't deleted. The presented code is compared, but counts nothing before
    /// [`demand`](Self::demand).
    pub async fn load(
        app: &App,
        account: AccountId,
        shown: Option<&SecretString>,
    ) -> Result<Option<Self>, Error> {
        let shown = shown.map(|shown| plain(shown.expose_secret()).into_owned());
        let shown = shown.filter(|code| !code.is_empty());
        let recovery = shown.as_deref().and_then(RecoveryCode::parse);
        let recovery = recovery.map(|code| code.hash(account)).unwrap_or_default();
        let found =
            reset_codes_sql::factors(app.databases.of(account)?, account, &recovery).await?;
        Ok(found.map(|(account, factors)| Self { account, factors, shown, recovery }))
    }

    pub fn is_needed(&self) -> bool {
        self.factors.iter().any(|factor| factor.counts != 0)
    }

    /// True if a code can be given: without one, no factor is on afterwards.
    pub const fn is_possible(&self) -> bool {
        !self.factors.is_empty()
    }

    /// Requires a code while a factor counts, and checks a presented one. Whether it was used before doesn't matter.
    pub async fn demand(
        &self,
        app: &Arc<App>,
        context: &RequestContext,
    ) -> Result<RightResetCode, Error> {
        let Some(shown) = self.shown.as_deref().filter(|_| self.is_possible()) else {
            return if self.is_needed() {
                Err(Error::totp_required(StatusCode::UNAUTHORIZED))
            } else {
                Ok(RightResetCode { code: ResetCode::default(), attempt: None })
            };
        };
        let (key, now) = (Key::reset_code(self.account.id), clock::now());
        let gates = vec![Gate::new(key.clone(), app.config.throttle.account)];
        let attempt = Attempt::count(app.databases.directory(), gates, now).await?;
        let code = if self.recovery.is_empty() {
            self.of_authenticator(app, shown, now)?
        } else {
            let factor = self.factors.iter().find(|factor| factor.has_code != 0);
            let (step, recovery) = (0, self.recovery.clone());
            factor.map(|factor| ResetCode { factor: factor.id.clone(), step, recovery })
        };
        match code {
            Some(code) => Ok(RightResetCode { code, attempt: Some(attempt) }),
            None => {
                let factor = SecondFactor::new(&self.account, key, StatusCode::UNAUTHORIZED);
                Err(factor.wrong(app, context).await?)
            }
        }
    }

    fn of_authenticator(
        &self,
        app: &App,
        shown: &str,
        now: u64,
    ) -> Result<Option<ResetCode>, Error> {
        for factor in &self.factors {
            let secret =
                TotpSecret::open(&app.config.totp_secrets, self.account.id, &factor.secret)
                    .map_err(|_| Error::internal("a TOTP secret does not open"))?;
            if let Some(step) = secret.step_of(shown, now) {
                let factor = factor.id.clone();
                return Ok(Some(ResetCode { factor, step, recovery: String::new() }));
            }
        }
        Ok(None)
    }
}
