//! Registration and confirmation of an account.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::sessions::SessionCredentials;
use crate::{
    account::{AccountAddress, AccountId},
    app::App,
    cf::clock,
    credentials::{
        address_hash::AccountHash,
        mailed_token::{CONFIRMATION_TTL, MailedToken, TokenHash},
        password, random,
        session::Session,
    },
    error::{Error, PlainError},
    extract::{client_network::ClientNetwork, json_body::JsonBody},
    mail,
    store::{
        mailed_tokens::{NewToken, Purpose},
        registrations::{self, Registered, Registration},
    },
    throttle::Key,
};

/// Body of `POST /auth/register`.
#[derive(Deserialize, ToSchema)]
pub struct Credentials {
    email: String,
    #[schema(value_type = String, min_length = 8, max_length = 128)]
    password: SecretString,
}

/// Answer of `POST /auth/register`.
#[derive(Debug, Serialize, ToSchema)]
pub struct RegistrationResult {
    /// The registered address.
    email: String,
    verification_required: bool,
    message: &'static str,
}

/// Register
///
/// Mails a confirmation link, valid for 24 hours and once. Registering again before confirmation
/// replaces the password and the link.
#[utoipa::path(
    post, path = "/v1/auth/register", tag = "Account", operation_id = "register",
    request_body = Credentials,
    responses(
        (status = 201, description = "A mail was sent; the same answer where the address has an account", body = RegistrationResult),
        (status = 400, description = "Not an email address, or a password that breaks a rule", body = PlainError),
        (status = 429, description = "Too many attempts", body = PlainError),
    ),
)]
// The same answer, after the same work, whether or not the address has an account (docs/trust.md, A1).
pub async fn register(
    State(app): State<Arc<App>>,
    client: ClientNetwork,
    JsonBody(body): JsonBody<Credentials>,
) -> Result<(StatusCode, Json<RegistrationResult>), Error> {
    let address = account_address(&body.email)?;
    password::check_rules(&body.password, &address).map_err(Error::invalid_password)?;
    let address_hash = AccountHash::of(&app.config.address_secrets, &address);
    client.attempt(&app, Key::registration(address_hash.as_str())).await?;
    let now = clock::now();
    let token = MailedToken::from_random(random::bytes()?);
    let registration = Registration {
        id: AccountId::from_u64(u64::from_be_bytes(random::bytes()?)),
        address_hash,
        email: address.as_given().to_owned(),
        password_hash: password::hash(&body.password, random::bytes()?)?,
        token: NewToken {
            purpose: Purpose::Confirm,
            hash: token.hash(),
            expires_at: now.saturating_add(CONFIRMATION_TTL),
        },
    };
    let registered = registrations::register(&app.database, &registration, now).await?;
    let recipient = address.as_given();
    let mail = match registered {
        Registered::Taken => mail::already_registered(recipient, &app.config.portal_url),
        _ => mail::confirm(recipient, &app.config.portal_url, &token),
    };
    if let Err(error) = app.mailer.send(mail.to(recipient)).await {
        registrations::unregister(&app.database, &registration, registered).await?;
        return Err(error);
    }
    let result = RegistrationResult {
        email: registration.email,
        verification_required: true,
        message: "Check your email: open the link in it within 24 hours to confirm your address.",
    };
    Ok((StatusCode::CREATED, Json(result)))
}

/// Reads the address of an account.
///
/// # Errors
/// [`Error::invalid_email`] that says what is wrong with it.
pub fn account_address(email: &str) -> Result<AccountAddress, Error> {
    AccountAddress::parse(email)
        .map_err(|error| Error::invalid_email(format!("This is not an email address: {error}.")))
}

/// Body of `POST /auth/verify-email`.
#[derive(Deserialize, ToSchema)]
pub struct Confirmation {
    /// The token from the mailed link.
    #[schema(value_type = String)]
    token: SecretString,
}

/// Confirm an address
#[utoipa::path(
    post, path = "/v1/auth/verify-email", tag = "Account", operation_id = "verifyEmail",
    request_body = Confirmation,
    responses(
        (status = 200, description = "Confirmed and signed in", body = SessionCredentials),
        (status = 400, description = "Unknown, used, replaced or expired token", body = PlainError),
    ),
)]
// Only POST consumes the token: mail scanners follow links.
pub async fn verify_email(
    State(app): State<Arc<App>>,
    JsonBody(body): JsonBody<Confirmation>,
) -> Result<Json<SessionCredentials>, Error> {
    let token = TokenHash::of(body.token.expose_secret());
    let confirmed = registrations::confirm(&app.database, &token, clock::now()).await?;
    let account = confirmed.ok_or_else(Error::invalid_confirmation_token)?;
    let session = Session { account: account.id, version: account.session_version };
    SessionCredentials::issue(&app, session, account.key_version, account.email)
}
