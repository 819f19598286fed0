//! Passwords: asking for a reset link, resetting by it, and changing within a session.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    registration::{account_address, check_domain, check_new_password},
    sessions::{SessionCredentials, new_session},
};
use crate::{
    account::AccountId,
    app::App,
    cf::{clock, log},
    credentials::{
        address_hash::AccountHash,
        mailed_token::{MailedToken, PresentedToken, RESET_TTL},
        password, random,
    },
    error::{Error, PlainError},
    extract::{
        client_network::ClientNetwork, device::Device, json_body::JsonBody, member::Member,
        request::RequestContext, second_factor::SecondFactor,
    },
    mail,
    store::{
        accounts, addresses,
        mailed_tokens::{self, NewToken, Purpose},
        passwords,
        throttle::{self, Admission},
    },
    throttle::Key,
};

/// Body of `POST /auth/forgot-password`.
#[derive(Deserialize, ToSchema)]
pub struct Forgotten {
    email: String,
}

/// Response of `POST /auth/forgot-password`.
#[derive(Debug, Serialize, ToSchema)]
pub struct ResetMailed {
    message: &'static str,
}

/// Request a password reset
#[utoipa::path(
    post, path = "/v1/auth/forgot-password", tag = "Account", operation_id = "forgotPassword",
    request_body = Forgotten,
    responses(
        (status = 200, description = "The same response whether or not the address has an account", body = ResetMailed),
        (status = 400, description = "Not an email address, or a domain that doesn't exist or accepts no email (`code: undeliverable_email`)", body = PlainError),
        (status = 429, description = "Too many attempts", body = PlainError),
    ),
)]
// The same answer, after the same work and one mail either way, whether or not the address has an
// account (docs/trust.md, A1). No throttle of a network stands before it: it is the way out of them.
// Asking too often for one address gives the same answer and no further mail: the last link goes on
// working, so that a stranger who asks again and again cannot keep its owner out (A3).
pub async fn forgot(
    State(app): State<Arc<App>>,
    _shielded: ClientNetwork,
    JsonBody(body): JsonBody<Forgotten>,
) -> Result<Json<ResetMailed>, Error> {
    let address = account_address(&body.email)?;
    check_domain(&app, &address).await?;
    let address_hash = AccountHash::of(&app.config.address_secrets, &address);
    let keys = [(Key::reset_mail(address_hash.as_str()), app.config.throttle.reset_mail)];
    let now = clock::now();
    let admission =
        throttle::admit(app.databases.directory(), &keys, &random::identifier()?, now).await?;
    if admission == Admission::Admitted {
        mail_reset_link(&app, address.as_given(), &address_hash, now).await?;
    }
    let message = "Check your email: if the address has an account, a reset link is on its way. It \
                   expires in one hour.";
    Ok(Json(ResetMailed { message }))
}

async fn mail_reset_link(
    app: &App,
    recipient: &str,
    address_hash: &AccountHash,
    now: u64,
) -> Result<(), Error> {
    let directory = app.databases.directory();
    let named = addresses::find(directory, address_hash).await?;
    let database = match named {
        Some(account) => app.databases.of(account)?,
        None => app.databases.pretended(address_hash),
    };
    let number = named.map(AccountId::database).unwrap_or_default();
    let token = MailedToken::new(number, random::bytes()?);
    let stored = NewToken {
        purpose: Purpose::Reset,
        hash: token.hash(),
        expires_at: now.saturating_add(RESET_TTL),
    };
    let previous = mailed_tokens::store_reset(database, address_hash, named, &stored).await?;
    let portal_url = &app.config.portal_url;
    let throttle = &app.config.throttle;
    let (to, mail, budget) = match &previous {
        Some(link) => (
            link.email.as_str(),
            mail::reset(&link.email, portal_url, &token),
            (Key::all_reset_mails(), throttle.all_reset_mails),
        ),
        None => (
            recipient,
            mail::no_account(recipient, portal_url),
            (Key::all_registration_mails(), throttle.all_registration_mails),
        ),
    };
    let attempt = random::identifier()?;
    let admission = throttle::admit(directory, &[budget], &attempt, now).await?;
    // Answered all the same: which budget is used up would tell whether there is an account.
    let sent = match admission {
        Admission::Admitted => app.mailer.send(mail.to(to)).await,
        Admission::Wait { .. } => {
            log::failure("mail", &"a budget is used up");
            Ok(())
        }
    };
    if sent.is_err()
        && let Some(previous) = &previous
    {
        mailed_tokens::take_back(database, &stored.hash, previous).await?;
    }
    sent
}

/// Body of `POST /auth/reset-password`.
#[derive(Deserialize, ToSchema)]
pub struct Reset {
    /// The token from the emailed link.
    #[schema(value_type = String)]
    token: SecretString,
    #[schema(value_type = String, min_length = 8, max_length = 128)]
    password: SecretString,
    /// Current code or recovery code, when two-factor authentication is on.
    #[schema(value_type = Option<String>)]
    totp_code: Option<SecretString>,
}

/// Reset the password
///
/// Ends every session and signs in with a new one. Two-factor authentication stays on.
#[utoipa::path(
    post, path = "/v1/auth/reset-password", tag = "Account", operation_id = "resetPassword",
    request_body = Reset,
    responses(
        (status = 200, description = "The password has been changed; signed in", body = SessionCredentials),
        (status = 400, description = "The link is unknown, used, replaced or expired, or the password breaks a rule", body = PlainError),
        (status = 401, description = "The two-factor code is missing or wrong; the link still works", body = PlainError),
        (status = 429, description = "Too many attempts", body = PlainError),
    ),
)]
// The owner of the mailbox gets in here whatever strangers have done to the sign-in (docs/trust.md, A3):
// the only limit is on codes beside this one link. The link is consumed when everything else is right.
pub async fn reset(
    State(app): State<Arc<App>>,
    context: RequestContext,
    client: ClientNetwork,
    device: Device,
    JsonBody(body): JsonBody<Reset>,
) -> Result<Json<SessionCredentials>, Error> {
    let token = PresentedToken::parse(body.token.expose_secret());
    let token = token.ok_or_else(Error::invalid_reset_token)?;
    let database = app.databases.numbered(token.database);
    let (database, token) = (database.ok_or_else(Error::invalid_reset_token)?, token.hash);
    let account = accounts::by_reset_token(database, &token, clock::now()).await?;
    let account = account.ok_or_else(Error::invalid_reset_token)?;
    check_new_password(&app, &body.password, &account.email).await?;
    let second_factor =
        SecondFactor::new(&account, Key::reset(token.as_str()), StatusCode::UNAUTHORIZED);
    second_factor.demand(&app, &context, body.totp_code.as_ref()).await?;
    let hash = password::hash(client.hashing_turn(&app).await?, &body.password, random::bytes()?)?;
    let session = new_session(&app, account.id, device)?;
    if !passwords::reset(database, &token, &hash, &session, clock::now()).await? {
        return Err(Error::invalid_reset_token());
    }
    context.notify(&app, account.id);
    let waits = [Key::sign_in(&account.address_hash), Key::code(account.id)];
    let [sign_in, code] = &waits;
    throttle::succeeded(app.databases.directory(), &[sign_in, code], &[]).await?;
    SessionCredentials::of(&app, &session, account.key_version, account.email)
}

/// Body of `PUT /auth/password`.
#[derive(Deserialize, ToSchema)]
pub struct Change {
    #[schema(value_type = String)]
    current_password: SecretString,
    #[schema(value_type = String, min_length = 8, max_length = 128)]
    new_password: SecretString,
}

/// Change the password
///
/// Ends every session and signs in with a new one.
#[utoipa::path(
    put, path = "/v1/auth/password", tag = "Account", operation_id = "changePassword",
    request_body = Change,
    responses(
        (status = 200, description = "The password has been changed; signed in", body = SessionCredentials),
        (status = 400, description = "The new password breaks a rule", body = PlainError),
        (status = 403, description = "The current password is wrong", body = PlainError),
        (status = 429, description = "Too many attempts", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn change(
    State(app): State<Arc<App>>,
    context: RequestContext,
    member: Member,
    client: ClientNetwork,
    device: Device,
    JsonBody(body): JsonBody<Change>,
) -> Result<Json<SessionCredentials>, Error> {
    check_new_password(&app, &body.new_password, &member.account.email).await?;
    member.check_password(&app, &client, &body.current_password).await?;
    let hash =
        password::hash(client.hashing_turn(&app).await?, &body.new_password, random::bytes()?)?;
    let Member { session, account } = member;
    let new = new_session(&app, account.id, device)?;
    let current = &account.password_hash;
    let database = app.databases.of(account.id)?;
    if !passwords::change(database, session, current, &hash, &new).await? {
        return Err(Error::invalid_session());
    }
    context.notify(&app, account.id);
    SessionCredentials::of(&app, &new, account.key_version, account.email)
}
