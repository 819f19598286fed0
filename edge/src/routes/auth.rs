//! Registration, confirmation and sign-in (interface §4.2–§4.4).

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use crate::{
    account::{AccountAddress, AccountId, AccountState},
    address_hash,
    api_key::{ApiKey, KeyIdentity},
    app::App,
    body::JsonBody,
    cf::clock,
    client::Client,
    error::Error,
    mail,
    mailed_token::{CONFIRMATION_TTL, MailedToken, TokenHash},
    password, random,
    second_factor::Challenge,
    session::{self, SessionIdentity},
    store::accounts::{self, Registered, Registration, SignIn},
    throttle::Key,
};

/// Body of `POST /auth/register`.
#[derive(Deserialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct Credentials {
    pub email: String,
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = String, min_length = 8, max_length = 128))]
    pub password: SecretString,
}

/// Answer of `POST /auth/register` (interface §2.3).
#[derive(Debug, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct RegistrationResult {
    /// The registered address.
    pub email: String,
    pub verification_required: bool,
    pub message: &'static str,
}

/// Answer of sign-in and confirmation (interface §2.2).
#[derive(Debug, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct SessionCredentials {
    /// JWT for a portal session.
    pub token: String,
    pub api_key: String,
    pub email: String,
}

/// The same answer, after the same work, whether or not the address has an account (trust A1).
pub async fn register(
    State(app): State<Arc<App>>,
    client: Client,
    JsonBody(body): JsonBody<Credentials>,
) -> Result<(StatusCode, Json<RegistrationResult>), Error> {
    let address = account_address(&body.email)?;
    password::check_rules(&body.password, &address).map_err(Error::invalid_password)?;
    let address_hash = address_hash::of_account(&app.config.address_secret, &address);
    client.attempt(&app, Key::registration(&address_hash)).await?;
    let now = clock::now();
    let token = MailedToken::from_random(random::bytes()?);
    let registration = Registration {
        id: AccountId::from_u64(u64::from_be_bytes(random::bytes()?)),
        address_hash,
        email: address.as_given().to_owned(),
        password_hash: password::hash(&body.password, random::bytes()?)?,
        token: token.hash(),
        token_expires_at: now.saturating_add(CONFIRMATION_TTL),
    };
    let registered = accounts::register(&app.database, &registration, now).await?;
    let recipient = address.as_given();
    let mail = match registered {
        Registered::Taken => mail::already_registered(recipient, &app.config.portal_url),
        _ => mail::confirm(recipient, &app.config.portal_url, &token),
    };
    if let Err(error) = app.mailer.send(recipient, &mail).await {
        accounts::unregister(&app.database, &registration, registered).await?;
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
#[derive(Deserialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct Confirmation {
    /// The token from the mailed link.
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = String))]
    pub token: SecretString,
}

/// Consumes the token and signs the account in. Only POST does: mail scanners follow links.
pub async fn verify_email(
    State(app): State<Arc<App>>,
    JsonBody(body): JsonBody<Confirmation>,
) -> Result<Json<SessionCredentials>, Error> {
    let token = TokenHash::of(body.token.expose_secret());
    let confirmed = accounts::confirm(&app.database, &token, clock::now()).await?;
    let account = confirmed.ok_or_else(Error::invalid_confirmation_token)?;
    let session = SessionIdentity { account: account.id, version: account.session_version };
    credentials(&app, session, account.key_version, account.email)
}

/// Body of `POST /auth/login`.
#[derive(Deserialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct Login {
    pub email: String,
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = String))]
    pub password: SecretString,
    /// Current code or recovery code, when two-factor authentication is on.
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = Option<String>))]
    totp_code: Option<SecretString>,
}

/// One answer, after the same work, for an unknown address and for a wrong password (trust A1).
pub async fn login(
    State(app): State<Arc<App>>,
    client: Client,
    JsonBody(body): JsonBody<Login>,
) -> Result<Json<SessionCredentials>, Error> {
    // What is not an address has no account; it is hashed like one, so that it costs the same.
    let address_hash = match AccountAddress::parse(&body.email) {
        Ok(address) => address_hash::of_account(&app.config.address_secret, &address),
        Err(_) => TokenHash::of(&body.email).as_str().to_owned(),
    };
    let attempt = client.attempt(&app, Key::sign_in(&address_hash)).await?;
    let account = accounts::by_address(&app.database, &address_hash).await?;
    let Some(account) = account else {
        password::verify_nothing(&body.password)?;
        return Err(Error::invalid_credentials());
    };
    if !password::verify(&body.password, &account.password_hash)? {
        return Err(Error::invalid_credentials());
    }
    attempt.succeeded(&app).await?;
    match account.state {
        AccountState::Confirmed => {}
        AccountState::Unconfirmed => return Err(Error::unconfirmed()),
        AccountState::Deactivated => return Err(Error::deactivated()),
    }
    let challenge = Challenge {
        account: account.id,
        email: &account.email,
        sealed: account.totp_secret.as_deref(),
        key: Key::code(account.id),
        status: StatusCode::UNAUTHORIZED,
    };
    challenge.meet(&app, body.totp_code.as_ref()).await?;
    renew_hash(&app, &account, &body.password).await?;
    let session = SessionIdentity { account: account.id, version: account.session_version };
    credentials(&app, session, account.key_version, account.email)
}

async fn renew_hash(app: &App, account: &SignIn, password: &SecretString) -> Result<(), Error> {
    if !password::is_outdated(&account.password_hash) {
        return Ok(());
    }
    let fresh = password::hash(password, random::bytes()?)?;
    accounts::rehash(&app.database, account.id, &account.password_hash, &fresh).await
}

/// A fresh session, with the account's API key.
///
/// # Errors
/// [`Error::internal`] when the token cannot be signed.
pub fn credentials(
    app: &App,
    session: SessionIdentity,
    key_version: u32,
    email: String,
) -> Result<Json<SessionCredentials>, Error> {
    let config = &app.config;
    let jti = random::identifier()?;
    let token =
        session::issue(&config.session_secrets, session, jti, clock::now(), config.session_ttl)
            .map_err(|error| Error::internal(format!("session: {error}")))?;
    let key = KeyIdentity { account: session.account, version: key_version };
    let api_key = ApiKey::derive(&config.api_key_secrets, key).into_text();
    Ok(Json(SessionCredentials { token, api_key, email }))
}
