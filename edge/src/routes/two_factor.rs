//! Two-factor authentication: set-up, on, off, recovery codes.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use crate::{
    app::App,
    body::JsonBody,
    caller::SessionCaller,
    cf::clock,
    client::Client,
    error::Error,
    mail, random,
    recovery_code::RecoveryCode,
    store::{self, accounts::Member, two_factor},
    throttle::Key,
    totp::{SealError, TotpSecret},
};

/// Body of `POST /auth/totp/setup`.
#[derive(Deserialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct SetUp {
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = String))]
    pub password: SecretString,
}

/// Answer of `POST /auth/totp/setup`: shown once.
#[derive(Debug, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct TotpSetUp {
    /// Base32, for typing into an authenticator.
    pub secret: String,
    /// For scanning, as a QR code.
    pub otpauth_url: String,
}

/// Makes a new secret; two-factor stays off until its first valid code.
pub async fn set_up(
    State(app): State<Arc<App>>,
    caller: SessionCaller,
    client: Client,
    JsonBody(body): JsonBody<SetUp>,
) -> Result<Json<TotpSetUp>, Error> {
    let member = Member::of_session(&app, caller).await?;
    if member.totp_secret.is_some() {
        return Err(Error::totp_already_on());
    }
    member.check_password(&app, &client, &body.password).await?;
    let secret = TotpSecret::from_random(random::bytes()?);
    let sealed =
        secret.seal(&app.config.totp_secrets, member.id, random::bytes()?).map_err(unsealable)?;
    let answer = TotpSetUp {
        secret: secret.to_base32(),
        otpauth_url: secret.otpauth_url(&member.email).map_err(unsealable)?,
    };
    if two_factor::pend(&app.database, caller, &sealed).await? {
        Ok(Json(answer))
    } else {
        Err(Error::invalid_session())
    }
}

/// Body of `POST /auth/totp/enable`.
#[derive(Deserialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct Enable {
    /// Current code of the authenticator that was just set up.
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = String))]
    pub totp_code: SecretString,
}

/// Recovery codes: shown once, each works once in place of a code.
#[derive(Debug, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct RecoveryCodes {
    pub recovery_codes: Vec<String>,
}

/// Turns two-factor on with the first valid code.
pub async fn enable(
    State(app): State<Arc<App>>,
    caller: SessionCaller,
    JsonBody(body): JsonBody<Enable>,
) -> Result<Json<RecoveryCodes>, Error> {
    let member = Member::of_session(&app, caller).await?;
    if member.totp_secret.is_some() {
        return Err(Error::totp_already_on());
    }
    let pending = member.totp_pending.as_deref().ok_or_else(Error::totp_not_set_up)?;
    let key = Key::code(member.id);
    let now = clock::now();
    let keys = [(key.clone(), app.config.throttle.account)];
    let attempt = random::identifier()?;
    store::throttle::admit(&app.database, &keys, &attempt, now).await?.or_throttled()?;
    let secret =
        TotpSecret::open(&app.config.totp_secrets, member.id, pending).map_err(unsealable)?;
    let step = secret.step_of(body.totp_code.expose_secret(), now);
    let step = step.ok_or_else(|| Error::totp_invalid(StatusCode::FORBIDDEN))?;
    let codes = RecoveryCode::set_from_random(random::bytes()?);
    app.mailer.send(&member.email, &mail::two_factor_on(&app.config.portal_url)).await?;
    let hashes = hashes(&member, &codes);
    if !two_factor::enable(&app.database, caller, pending, step, &hashes).await? {
        return Err(Error::totp_not_set_up());
    }
    store::throttle::succeeded(&app.database, &[&key], &[], now).await?;
    Ok(shown(&codes))
}

/// Body of `POST /auth/totp/disable` and `POST /auth/totp/recovery-codes`.
#[derive(Deserialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct PasswordAndCode {
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = String))]
    pub password: SecretString,
    /// Current code or recovery code.
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = String))]
    pub totp_code: SecretString,
}

/// Turns two-factor off.
pub async fn disable(
    State(app): State<Arc<App>>,
    caller: SessionCaller,
    client: Client,
    JsonBody(body): JsonBody<PasswordAndCode>,
) -> Result<StatusCode, Error> {
    let member = with_two_factor(&app, caller, &client, &body).await?;
    app.mailer.send(&member.email, &mail::two_factor_off(&app.config.portal_url)).await?;
    if two_factor::disable(&app.database, caller).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Error::totp_not_on())
    }
}

/// Replaces the recovery codes.
pub async fn recovery_codes(
    State(app): State<Arc<App>>,
    caller: SessionCaller,
    client: Client,
    JsonBody(body): JsonBody<PasswordAndCode>,
) -> Result<Json<RecoveryCodes>, Error> {
    let member = with_two_factor(&app, caller, &client, &body).await?;
    let codes = RecoveryCode::set_from_random(random::bytes()?);
    two_factor::replace_recovery_codes(&app.database, member.id, &hashes(&member, &codes)).await?;
    Ok(shown(&codes))
}

/// The account of a session, once password and code have been right.
async fn with_two_factor(
    app: &App,
    caller: SessionCaller,
    client: &Client,
    body: &PasswordAndCode,
) -> Result<Member, Error> {
    let member = Member::of_session(app, caller).await?;
    if member.totp_secret.is_none() {
        return Err(Error::totp_not_on());
    }
    member.check_password(app, client, &body.password).await?;
    member.challenge().meet(app, Some(&body.totp_code)).await?;
    Ok(member)
}

fn hashes(member: &Member, codes: &[RecoveryCode]) -> Vec<String> {
    codes.iter().map(|code| code.hash(member.id)).collect()
}

fn shown(codes: &[RecoveryCode]) -> Json<RecoveryCodes> {
    Json(RecoveryCodes { recovery_codes: codes.iter().map(RecoveryCode::to_text).collect() })
}

fn unsealable(_: SealError) -> Error {
    Error::internal("a TOTP secret cannot be sealed or opened")
}
