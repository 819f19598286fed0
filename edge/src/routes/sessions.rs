//! Signing in and out.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    account::{AccountAddress, AccountState},
    app::App,
    cf::clock,
    credentials::{
        address_hash::AccountHash,
        api_key::{ApiKey, KeyIdentity},
        password, random,
        session::{self, Session},
    },
    error::{Error, PlainError},
    extract::{client_network::ClientNetwork, json_body::JsonBody, second_factor::Challenge},
    store::{
        accounts::{self, Account},
        passwords,
    },
    throttle::Key,
};

/// Answer of sign-in and confirmation.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionCredentials {
    /// JWT for a portal session.
    pub token: String,
    pub api_key: String,
    pub email: String,
}

impl SessionCredentials {
    /// A fresh session, with the account's API key.
    ///
    /// # Errors
    /// [`Error::internal`] when the token cannot be signed.
    pub fn issue(
        app: &App,
        session: Session,
        key_version: u32,
        email: String,
    ) -> Result<Json<Self>, Error> {
        let config = &app.config;
        let jti = random::identifier()?;
        let token =
            session::issue(&config.session_secrets, session, jti, clock::now(), config.session_ttl)
                .map_err(|error| Error::internal(format!("session: {error}")))?;
        let key = KeyIdentity { account: session.account, version: key_version };
        let api_key = ApiKey::derive(&config.api_key_secrets, key).into_text();
        Ok(Json(Self { token, api_key, email }))
    }
}

/// Body of `POST /auth/login`.
#[derive(Deserialize, ToSchema)]
pub struct Login {
    email: String,
    #[schema(value_type = String)]
    password: SecretString,
    /// Current code or recovery code, when two-factor authentication is on.
    #[schema(value_type = Option<String>)]
    totp_code: Option<SecretString>,
}

/// Sign in
#[utoipa::path(
    post, path = "/v1/auth/login", tag = "Account", operation_id = "login",
    request_body = Login,
    responses(
        (status = 200, description = "Signed in", body = SessionCredentials),
        (status = 400, description = "The body does not fit", body = PlainError),
        (status = 401, description = "Wrong address or password; after a right one, a code is missing or wrong", body = PlainError),
        (status = 403, description = "The address is not confirmed, or the account is deactivated", body = PlainError),
        (status = 429, description = "Too many attempts", body = PlainError),
    ),
)]
// One answer, after the same work, for an unknown address and for a wrong password (docs/trust.md, A1).
pub async fn login(
    State(app): State<Arc<App>>,
    client: ClientNetwork,
    JsonBody(body): JsonBody<Login>,
) -> Result<Json<SessionCredentials>, Error> {
    // What is not an address has no account; it is hashed like one, so that it costs the same.
    let address_hash = match AccountAddress::parse(&body.email) {
        Ok(address) => AccountHash::of(&app.config.address_secrets, &address),
        Err(_) => AccountHash::of_no_address(&body.email),
    };
    let attempt = client.attempt(&app, Key::sign_in(address_hash.as_str())).await?;
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
    let challenge = Challenge::new(&account, Key::code(account.id), StatusCode::UNAUTHORIZED);
    challenge.meet(&app, body.totp_code.as_ref()).await?;
    renew_hash(&app, &account, &body.password).await?;
    let session = Session { account: account.id, version: account.session_version };
    SessionCredentials::issue(&app, session, account.key_version, account.email)
}

async fn renew_hash(app: &App, account: &Account, password: &SecretString) -> Result<(), Error> {
    if !password::is_outdated(&account.password_hash) {
        return Ok(());
    }
    let fresh = password::hash(password, random::bytes()?)?;
    passwords::rehash(&app.database, account.id, &account.password_hash, &fresh).await
}

/// End every session
#[utoipa::path(
    post, path = "/v1/auth/sign-out-everywhere", tag = "Account", operation_id = "signOutEverywhere",
    responses(
        (status = 204, description = "Every session is over, this one too"),
        (status = 401, description = "No valid session", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn sign_out_everywhere(
    State(app): State<Arc<App>>,
    session: Session,
) -> Result<StatusCode, Error> {
    if accounts::end_sessions(&app.database, session).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Error::invalid_session())
    }
}
