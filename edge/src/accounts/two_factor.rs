//! Two-factor authentication: setting it up, turning it on and off, and recovery codes.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::two_factor_sql::{self, FACTORS_MAX, NewFactor};
use crate::{
    account::AccountId,
    app::App,
    cf::clock,
    credentials::{
        password::Password,
        random,
        recovery_code::RecoveryCode,
        totp::{SealError, TotpSecret},
    },
    error::{Error, PlainError},
    extract::{
        client_network::ClientNetwork,
        json_body::JsonBody,
        member::Member,
        request::RequestContext,
        second_factor::{RightCode, plain},
    },
    ledger::account,
    limits::{
        rules::{Gate, Key},
        throttle::Attempt,
    },
};

/// Body of `POST /auth/totp/setup`.
#[derive(Deserialize, ToSchema)]
pub struct SetUp {
    #[schema(value_type = String)]
    password: Password,
}

/// Response of `POST /auth/totp/setup`: shown once.
#[derive(Debug, Serialize, ToSchema)]
pub struct TotpSetUp {
    /// Base32, for typing into an authenticator.
    secret: String,
    /// For scanning, as a QR code.
    otpauth_url: String,
}

/// Start two-factor setup
///
/// Two-factor authentication stays off until `enable` is called with a valid code.
#[utoipa::path(
    post, path = "/v1/auth/totp/setup", tag = "Two-factor", operation_id = "setUpTotp",
    request_body = SetUp,
    responses(
        (status = 200, description = "The secret, shown once", body = TotpSetUp),
        (status = 403, description = "The password is wrong", body = PlainError),
        (status = 409, description = "Two-factor authentication is already on, or was turned on five times in three days", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn set_up(
    State(app): State<Arc<App>>,
    context: RequestContext,
    member: Member,
    client: ClientNetwork,
    JsonBody(body): JsonBody<SetUp>,
) -> Result<Json<TotpSetUp>, Error> {
    if member.account.totp_secret.is_some() {
        return Err(Error::totp_already_on());
    }
    has_room(&member)?;
    member.check_password(&app, &context, &client, &body.password).await?;
    let secret = TotpSecret::from_random(random::bytes()?);
    let sealed = secret
        .seal(&app.config.totp_secrets, member.account.id, random::bytes()?)
        .map_err(unsealable)?;
    let answer = TotpSetUp {
        secret: secret.to_base32(),
        otpauth_url: secret.otpauth_url(&member.account.email).map_err(unsealable)?,
    };
    let database = app.databases.of(member.account.id)?;
    if two_factor_sql::pend(database, member.session, &sealed).await? {
        return Ok(Json(answer));
    }
    // Either two-factor has been turned on since, or the session has ended.
    let now = account::by_session(database, member.session).await?;
    Err(if now.is_some() { Error::totp_already_on() } else { Error::invalid_session() })
}

/// Body of `POST /auth/totp/enable`.
#[derive(Deserialize, ToSchema)]
pub struct Enable {
    /// Current code of the authenticator that was just set up.
    #[schema(value_type = String)]
    totp_code: SecretString,
}

/// Recovery codes: shown once, each works once in place of a code.
#[derive(Debug, Serialize, ToSchema)]
pub struct RecoveryCodes {
    recovery_codes: Vec<String>,
}

/// Enable two-factor
///
/// Takes a code from the app that has the secret, and returns recovery codes. Signing in asks for a code from then on.
#[utoipa::path(
    post, path = "/v1/auth/totp/enable", tag = "Two-factor", operation_id = "enableTotp",
    request_body = Enable,
    responses(
        (status = 200, description = "Ten recovery codes, shown once", body = RecoveryCodes),
        (status = 403, description = "The code is wrong", body = PlainError),
        (status = 409, description = "Already on, setup hasn't been started, or two-factor authentication was turned on five times in three days", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn enable(
    State(app): State<Arc<App>>,
    context: RequestContext,
    member: Member,
    JsonBody(body): JsonBody<Enable>,
) -> Result<Json<RecoveryCodes>, Error> {
    let Member { session, ref account } = member;
    if account.totp_secret.is_some() {
        return Err(Error::totp_already_on());
    }
    let pending = account.totp_pending.as_deref().ok_or_else(Error::totp_not_set_up)?;
    has_room(&member)?;
    let now = clock::now();
    let gates = vec![Gate::new(Key::code(account.id), app.config.throttle.account)];
    let attempt = Attempt::count(app.databases.directory(), gates, now).await?;
    let secret =
        TotpSecret::open(&app.config.totp_secrets, account.id, pending).map_err(unsealable)?;
    let step = secret.step_of(&plain(body.totp_code.expose_secret()), now);
    let step = step.ok_or_else(|| Error::totp_invalid(StatusCode::FORBIDDEN))?;
    let codes = RecoveryCode::set_from_random(random::bytes()?);
    let (id, hashes) = (random::identifier()?, hashes(account.id, &codes));
    let new = NewFactor { id: &id, step, hashes: &hashes };
    if !two_factor_sql::enable(app.databases.of(account.id)?, session, pending, &new).await? {
        return Err(Error::totp_not_set_up());
    }
    context.notify(&app, account.id);
    attempt.give_back(app.databases.directory()).await;
    Ok(to_response(&codes))
}

/// Body of `POST /auth/totp/disable` and `POST /auth/totp/recovery-codes`.
#[derive(Deserialize, ToSchema)]
pub struct PasswordAndCode {
    #[schema(value_type = String)]
    password: Password,
    /// Current code or recovery code.
    #[schema(value_type = String)]
    totp_code: SecretString,
}

/// Disable two-factor
///
/// Takes the password, and a code or a recovery code.
#[utoipa::path(
    post, path = "/v1/auth/totp/disable", tag = "Two-factor", operation_id = "disableTotp",
    request_body = PasswordAndCode,
    responses(
        (status = 204, description = "Two-factor authentication is off"),
        (status = 403, description = "The password or the code is wrong", body = PlainError),
        (status = 409, description = "Two-factor authentication isn't on", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn disable(
    State(app): State<Arc<App>>,
    context: RequestContext,
    member: Member,
    client: ClientNetwork,
    JsonBody(body): JsonBody<PasswordAndCode>,
) -> Result<StatusCode, Error> {
    let right = check_both(&app, &context, &member, &client, &body).await?;
    let database = app.databases.of(member.account.id)?;
    if !two_factor_sql::disable(database, member.session, &right.code).await? {
        return Err(member.explain_failure(&app, &context, &right).await?);
    }
    member.second_factor().complete(&app, &context, right).await;
    context.notify(&app, member.account.id);
    Ok(StatusCode::NO_CONTENT)
}

/// Replace the recovery codes
///
/// Takes the password, and a code or a recovery code. The previous codes stop working.
#[utoipa::path(
    post, path = "/v1/auth/totp/recovery-codes", tag = "Two-factor",
    operation_id = "replaceRecoveryCodes",
    request_body = PasswordAndCode,
    responses(
        (status = 200, description = "Ten new codes, shown once. The old ones have stopped working", body = RecoveryCodes),
        (status = 403, description = "The password or the code is wrong", body = PlainError),
        (status = 409, description = "Two-factor authentication isn't on, or was turned on or got new codes five times in three days", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn recovery_codes(
    State(app): State<Arc<App>>,
    context: RequestContext,
    member: Member,
    client: ClientNetwork,
    JsonBody(body): JsonBody<PasswordAndCode>,
) -> Result<Json<RecoveryCodes>, Error> {
    has_room(&member)?;
    let right = check_both(&app, &context, &member, &client, &body).await?;
    let codes = RecoveryCode::set_from_random(random::bytes()?);
    let (id, hashes) = (random::identifier()?, hashes(member.account.id, &codes));
    let (database, session) = (app.databases.of(member.account.id)?, member.session);
    let (former, new) = (
        member.account.factor.as_deref().unwrap_or_default(),
        NewFactor { id: &id, step: 0, hashes: &hashes },
    );
    if !two_factor_sql::replace_recovery_codes(database, session, &right.code, former, &new).await?
    {
        return Err(member.explain_failure(&app, &context, &right).await?);
    }
    member.second_factor().complete(&app, &context, right).await;
    context.notify(&app, member.account.id);
    Ok(to_response(&codes))
}

async fn check_both(
    app: &Arc<App>,
    context: &RequestContext,
    member: &Member,
    client: &ClientNetwork,
    body: &PasswordAndCode,
) -> Result<RightCode, Error> {
    if member.account.totp_secret.is_none() {
        return Err(Error::totp_not_on());
    }
    member.check_password(app, context, client, &body.password).await?;
    member.second_factor().demand(app, context, Some(&body.totp_code)).await
}

/// Each factor of three days is accepted at a reset, so there are few of them.
fn has_room(member: &Member) -> Result<(), Error> {
    if member.account.recent_factors < FACTORS_MAX {
        Ok(())
    } else {
        Err(Error::too_many_factors())
    }
}

fn hashes(account: AccountId, codes: &[RecoveryCode]) -> Vec<String> {
    codes.iter().map(|code| code.hash(account)).collect()
}

fn to_response(codes: &[RecoveryCode]) -> Json<RecoveryCodes> {
    Json(RecoveryCodes { recovery_codes: codes.iter().map(RecoveryCode::to_text).collect() })
}

fn unsealable(_: SealError) -> Error {
    Error::internal("a TOTP secret cannot be sealed or opened")
}
