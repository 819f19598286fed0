//! After a change of address, the link sent to the old mailbox can freeze the account, and undo the change with the
//! previous password.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{email_change::own_hash, registration::check_new_password};
use crate::{
    account::AccountId,
    app::App,
    background::email_changes::finish,
    cf::{clock, log},
    credentials::{
        mailed_token::PresentedToken,
        password::{self, Password, PasswordCheck},
        random,
        totp::TotpSecret,
    },
    error::{Error, PlainError},
    extract::{
        client_network::ClientNetwork, json_body::JsonBody, request::RequestContext,
        second_factor::plain,
    },
    limits::{rules::Key, throttle::Attempt},
    meter,
    store::{
        email_undos::{self, UndoCredentials, UndoableChange},
        security_events::{self, FailedAttempt},
    },
};

/// Body of `POST /auth/freeze`.
#[derive(Deserialize, ToSchema)]
pub struct FreezeRequest {
    /// The token from the link at the old address.
    #[schema(value_type = String)]
    token: SecretString,
}

/// Freeze the account
///
/// For 24 hours the address, the sign-in and the API key can't be changed, and the account can't be deleted. Sessions and
/// keys stay valid. Works once for each change of address.
#[utoipa::path(
    post, path = "/v1/auth/freeze", tag = "Account", operation_id = "freezeAccount",
    request_body = FreezeRequest,
    responses(
        (status = 204, description = "The account is frozen, or was frozen by this link before"),
        (status = 400, description = "The link is unknown or expired, or the change has been undone", body = PlainError),
    ),
)]
pub async fn freeze(
    State(app): State<Arc<App>>,
    context: RequestContext,
    _: ClientNetwork,
    JsonBody(body): JsonBody<FreezeRequest>,
) -> Result<StatusCode, Error> {
    let token = PresentedToken::parse(body.token.expose_secret());
    let token = token.ok_or_else(Error::invalid_change_token)?;
    let database =
        app.databases.by_number(token.database).ok_or_else(Error::invalid_change_token)?;
    let account = email_undos::freeze(database, &token.hash, clock::now()).await?;
    let account = account.ok_or_else(Error::invalid_change_token)?;
    meter::note(|party| party.account = Some(account.to_string()));
    context.notify(&app, account);
    Ok(StatusCode::NO_CONTENT)
}

/// Body of `POST /auth/undo-change-email`.
#[derive(Deserialize, ToSchema)]
pub struct UndoRequest {
    /// The token from the link at the old address.
    #[schema(value_type = String)]
    token: SecretString,
    /// The password as it was before the change, or up to a week before it.
    #[schema(value_type = String)]
    password: Password,
    #[schema(value_type = String, min_length = 8, max_length = 128)]
    new_password: Password,
    /// Current code of the authenticator, when two-factor authentication was on before the change.
    #[schema(value_type = Option<String>)]
    totp_code: Option<SecretString>,
}

/// Undo a change of the email address
///
/// The account gets its previous address and second factor, and a new password. Every session ends, and recovery codes
/// are void. Later changes of the address are undone, too.
#[utoipa::path(
    post, path = "/v1/auth/undo-change-email", tag = "Account", operation_id = "undoChangeEmail",
    request_body = UndoRequest,
    responses(
        (status = 204, description = "Undone: sign in with the new password"),
        (status = 400, description = "The link is unknown, used or expired, or the new password breaks a rule", body = PlainError),
        (status = 403, description = "The password isn't that of before the change, or the two-factor code is missing or wrong", body = PlainError),
        (status = 429, description = "Too many attempts", body = PlainError),
    ),
)]
pub async fn undo(
    State(app): State<Arc<App>>,
    context: RequestContext,
    client: ClientNetwork,
    JsonBody(body): JsonBody<UndoRequest>,
) -> Result<StatusCode, Error> {
    let token = PresentedToken::parse(body.token.expose_secret());
    let token = token.ok_or_else(Error::invalid_change_token)?;
    let database =
        app.databases.by_number(token.database).ok_or_else(Error::invalid_change_token)?;
    let change = email_undos::undoable(database, &token.hash, clock::now()).await?;
    let change = change.ok_or_else(Error::invalid_change_token)?;
    meter::note(|party| party.account = Some(change.account_id.to_string()));
    check_new_password(&app, &body.new_password, &change.old_email).await?;
    let attempt = client.attempt(&app, Key::undo(change.account_id)).await?;
    let matched = matching(&app, &client, &attempt, &change, &body).await;
    let failure = match matched.as_ref().map_err(Error::code) {
        Err("wrong_password") => Some(FailedAttempt::Password),
        Err("totp_invalid") => Some(FailedAttempt::Code),
        _ => None,
    };
    if let Some(failure) = failure {
        let account = Some(change.account_id);
        security_events::note_failure(database, account, failure, &context.event()).await?;
    }
    let (credentials, step) = matched?;
    let turn = client.hashing_turn(&app, Some(&attempt)).await?;
    let hash = password::hash(turn, &body.new_password, random::bytes()?)?;
    let old = own_hash(&app, &change.old_email)?;
    let restored = (&credentials, step);
    if !email_undos::undo(database, &change, &old, restored, &hash, clock::now()).await? {
        return Err(match step {
            0 => Error::invalid_change_token(),
            _ => Error::totp_invalid(StatusCode::FORBIDDEN),
        });
    }
    attempt.give_back(app.databases.directory()).await;
    context.notify(&app, change.account_id);
    // The account is already restored. The directory is updated now or, if that fails, by the scheduled run.
    if let Err(error) = finish(&app, database, Some(change.account_id)).await {
        log::failure("an undone change of address", &error);
    }
    Ok(StatusCode::NO_CONTENT)
}

/// The credentials that match the password and the code, and the step of the code; 0 without a second factor. A thief
/// may have changed the credentials before the address, so credentials of the week before are accepted as well.
/// Credentials that match a code are preferred: an owner who had just turned on the second factor keeps it.
///
/// # Errors
/// [`Error::wrong_password`], or the error of the code.
async fn matching(
    app: &App,
    client: &ClientNetwork,
    attempt: &Attempt,
    change: &UndoableChange,
    body: &UndoRequest,
) -> Result<(UndoCredentials, u64), Error> {
    let shown = body.totp_code.as_ref().map(|shown| plain(shown.expose_secret()));
    let shown = shown.filter(|code| !code.is_empty());
    let (mut refusal, mut without_factor) = (Error::wrong_password(), None);
    for credentials in change.credentials()? {
        let turn = client.comparing_turn(app, attempt, &body.password).await?;
        let hash = &credentials.password_hash;
        if password::verify(turn, &body.password, hash)? == PasswordCheck::Wrong {
            continue;
        }
        match credentials.totp_secret.as_deref() {
            None if shown.is_none() => return Ok((credentials, 0)),
            None => without_factor = Some((credentials, 0)),
            Some(sealed) => match step_of(app, change.account_id, sealed, shown.as_deref()) {
                Ok(step) => return Ok((credentials, step)),
                Err(error) => refusal = error,
            },
        }
    }
    without_factor.ok_or(refusal)
}

fn step_of(app: &App, account: AccountId, sealed: &str, shown: Option<&str>) -> Result<u64, Error> {
    let status = StatusCode::FORBIDDEN;
    let shown = shown.ok_or_else(|| Error::totp_required(status))?;
    let secret = TotpSecret::open(&app.config.totp_secrets, account, sealed)
        .map_err(|_| Error::internal("a TOTP secret does not open"))?;
    secret.step_of(shown, clock::now()).ok_or_else(|| Error::totp_invalid(status))
}
