//! Forgotten, reset and changed passwords.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use super::auth::{SessionCredentials, account_address, credentials};
use crate::{
    account::AccountAddress,
    address_hash,
    app::App,
    body::JsonBody,
    caller::SessionCaller,
    cf::clock,
    client::Client,
    error::Error,
    mail,
    mailed_token::{MailedToken, RESET_TTL, TokenHash},
    password, random,
    second_factor::Challenge,
    session::SessionIdentity,
    store::{
        accounts::Member,
        passwords,
        throttle::{self, Admission},
    },
    throttle::Key,
};

/// Body of `POST /auth/forgot-password`.
#[derive(Deserialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct Forgotten {
    pub email: String,
}

/// Answer of `POST /auth/forgot-password`.
#[derive(Debug, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct ResetMailed {
    pub message: &'static str,
}

/// The same answer, after the same work and one mail either way, whether or not the address has an
/// account (trust A1).
///
/// Whoever asks too often for one address gets the same answer and no further mail: the last link goes
/// on working, so that a stranger who asks again and again cannot keep its owner out (trust A3).
pub async fn forgot(
    State(app): State<Arc<App>>,
    client: Client,
    JsonBody(body): JsonBody<Forgotten>,
) -> Result<Json<ResetMailed>, Error> {
    let address = account_address(&body.email)?;
    client.pass(&app).await?;
    let address_hash = address_hash::of_account(&app.config.address_secret, &address);
    let keys = [(Key::reset_mail(&address_hash), app.config.throttle.account)];
    let now = clock::now();
    let admission = throttle::admit(&app.database, &keys, &random::identifier()?, now).await?;
    if admission == Admission::Admitted {
        mail_reset_link(&app, address.as_given(), &address_hash, now).await?;
    }
    let message = "Check your email: if the address has an account, the mail has a link, valid for one \
                   hour, to set a new password.";
    Ok(Json(ResetMailed { message }))
}

async fn mail_reset_link(
    app: &App,
    recipient: &str,
    address_hash: &str,
    now: u64,
) -> Result<(), Error> {
    let token = MailedToken::from_random(random::bytes()?);
    let hash = token.hash();
    let expires_at = now.saturating_add(RESET_TTL);
    let previous =
        passwords::store_reset_token(&app.database, address_hash, &hash, expires_at).await?;
    let mail = match previous {
        Some(_) => mail::reset(recipient, &app.config.portal_url, &token),
        None => mail::no_account(recipient, &app.config.portal_url),
    };
    let sent = app.mailer.send(recipient, &mail).await;
    if sent.is_err()
        && let Some(previous) = &previous
    {
        passwords::take_back(&app.database, &hash, previous).await?;
    }
    sent
}

/// Body of `POST /auth/reset-password`.
#[derive(Deserialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct Reset {
    /// The token from the mailed link.
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = String))]
    pub token: SecretString,
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = String, min_length = 8, max_length = 128))]
    pub password: SecretString,
    /// Current code or recovery code, when two-factor authentication is on.
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = Option<String>))]
    pub totp_code: Option<SecretString>,
}

/// Sets a new password by a mailed link, ends every session and signs in with a new one. The owner of
/// the mailbox gets in here whatever strangers have done to the sign-in (trust A3): the only limit is
/// on codes beside this one link. The link is consumed only when everything else is right.
pub async fn reset(
    State(app): State<Arc<App>>,
    JsonBody(body): JsonBody<Reset>,
) -> Result<Json<SessionCredentials>, Error> {
    let token = TokenHash::of(body.token.expose_secret());
    let account = passwords::resetting(&app.database, &token, clock::now()).await?;
    let account = account.ok_or_else(Error::invalid_reset_token)?;
    check_new_password(&body.password, &account.email)?;
    let challenge = Challenge {
        account: account.id,
        email: &account.email,
        sealed: account.totp_secret.as_deref(),
        key: Key::reset(token.as_str()),
        status: StatusCode::UNAUTHORIZED,
    };
    challenge.meet(&app, body.totp_code.as_ref()).await?;
    let hash = password::hash(&body.password, random::bytes()?)?;
    app.mailer.send(&account.email, &mail::password_changed(&app.config.portal_url)).await?;
    let version = passwords::reset(&app.database, &token, &hash, clock::now()).await?;
    let version = version.ok_or_else(Error::invalid_reset_token)?;
    let waits = [Key::sign_in(&account.address_hash), Key::code(account.id)];
    let [sign_in, code] = &waits;
    throttle::succeeded(&app.database, &[sign_in, code], &[], clock::now()).await?;
    let session = SessionIdentity { account: account.id, version };
    credentials(&app, session, account.key_version, account.email)
}

/// Body of `PUT /auth/password`.
#[derive(Deserialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct Change {
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = String))]
    pub current_password: SecretString,
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = String, min_length = 8, max_length = 128))]
    pub new_password: SecretString,
}

/// Changes the password, ends every session and starts a new one for the caller.
pub async fn change(
    State(app): State<Arc<App>>,
    caller: SessionCaller,
    client: Client,
    JsonBody(body): JsonBody<Change>,
) -> Result<Json<SessionCredentials>, Error> {
    let member = Member::of_session(&app, caller).await?;
    check_new_password(&body.new_password, &member.email)?;
    member.check_password(&app, &client, &body.current_password).await?;
    let hash = password::hash(&body.new_password, random::bytes()?)?;
    app.mailer.send(&member.email, &mail::password_changed(&app.config.portal_url)).await?;
    let version = passwords::change(&app.database, caller, &member.password_hash, &hash).await?;
    let version = version.ok_or_else(Error::invalid_session)?;
    let session = SessionIdentity { account: member.id, version };
    credentials(&app, session, member.key_version, member.email)
}

fn check_new_password(password: &SecretString, email: &str) -> Result<(), Error> {
    let address = AccountAddress::parse(email)
        .map_err(|error| Error::internal(format!("a stored address does not parse: {error}")))?;
    password::check_rules(password, &address).map_err(Error::invalid_password)
}
