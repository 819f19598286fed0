//! Passwords: requesting a reset link, resetting with it, and changing within a session.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use futures_util::future::join;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    registration::{account_address, check_domain, check_new_password},
    sessions::{SessionCredentials, new_session},
};
use crate::{
    app::App,
    background::reset_links,
    cf::clock,
    credentials::{
        address_hash::AccountHash,
        mailed_token::PresentedToken,
        password::{self, Password},
        random,
    },
    error::{Error, PlainError},
    extract::{
        client_network::ClientNetwork, device::Device, json_body::JsonBody, member::Member,
        request::RequestContext, second_factor::SecondFactor,
    },
    limits::{
        rules::{Gate, Key, MailPurpose},
        throttle::{Attempt, AttemptOutcome},
    },
    meter,
    store::{
        accounts,
        mail_due::{self, DueMail},
        passwords,
    },
};

/// Body of `POST /auth/forgot-password`.
#[derive(Deserialize, ToSchema)]
#[schema(as = Forgotten)]
pub struct ForgotPasswordRequest {
    email: String,
    /// Token of Cloudflare Turnstile, where the service uses it. Optional.
    #[schema(value_type = Option<String>)]
    turnstile_token: Option<SecretString>,
}

/// Response of `POST /auth/forgot-password`.
#[derive(Debug, Serialize, ToSchema)]
pub struct ResetMailed {
    message: &'static str,
}

/// Request a password reset
///
/// Emails a link that works once, for an hour. The response is the same whether or not the address has an account.
#[utoipa::path(
    post, path = "/v1/auth/forgot-password", tag = "Account", operation_id = "forgotPassword",
    request_body = ForgotPasswordRequest,
    responses(
        (status = 200, description = "The same response whether or not the address has an account", body = ResetMailed),
        (status = 400, description = "Not an email address, or a domain that doesn't exist or accepts no email (`code: undeliverable_email`)", body = PlainError),
        (status = 429, description = "Too many attempts", body = PlainError),
    ),
)]
// The response and the work before it are the same whether or not the address has an account
// (docs/security.md, A1). The email is created and sent afterwards. Too many requests for one address
// get the same response and no further email. The last link keeps working, so that a stranger who
// repeats the request can't lock the owner out (A3). A network with too many requests is throttled,
// but a member's first link of a day is still sent.
pub async fn forgot(
    State(app): State<Arc<App>>,
    context: RequestContext,
    client: ClientNetwork,
    JsonBody(body): JsonBody<ForgotPasswordRequest>,
) -> Result<Json<ResetMailed>, Error> {
    let address = account_address(&body.email)?;
    let verified = client.is_verified(&app, body.turnstile_token.as_ref());
    let (domain, mut is_verified) = join(check_domain(&app, &address), verified).await;
    domain?;
    let hash = AccountHash::of(&app.config.address_secrets, &address);
    let throttle = &app.config.throttle;
    let (directory, email) = (app.databases.directory(), address.as_given().to_owned());
    let (counted, budgets) = loop {
        let (purpose, rule) = (MailPurpose::Reset, throttle.all_reset_mails);
        let mut gates = client.mail_gates(&app, purpose, rule, is_verified);
        let budgets = gates.len();
        gates.push(Gate::new(Key::mail(purpose, hash.mailbox()), throttle.reset_mail));
        let attempt = Attempt::new(gates)?;
        let (gates, now) = (attempt.gates(), clock::now());
        let admission = mail_due::ask(directory, gates, attempt.name(), &hash, &email, now).await?;
        match attempt.into_outcome(admission) {
            // If the budget of verified requests is used up, the budget of unverified requests may
            // have room.
            AttemptOutcome::Refused { index, before, .. }
                if is_verified && index + 1 == budgets =>
            {
                before.give_back(directory).await;
                is_verified = false;
            }
            counted => break (counted, budgets),
        }
    };
    match counted {
        AttemptOutcome::Admitted(attempt) => {
            let due = DueMail { address_hash: hash.mailbox().to_owned(), email };
            reset_links::soon(&app, &context.deferred, attempt, due);
        }
        AttemptOutcome::Refused { index, seconds, before } if index < budgets => {
            reset_links::exempt_soon(&app, &context.deferred, before, address);
            return Err(Error::throttled(seconds));
        }
        AttemptOutcome::Refused { before, .. } => {
            let app = Arc::clone(&app);
            context
                .deferred
                .after_response(async move { before.give_back(app.databases.directory()).await });
        }
    }
    let message = "Check your email: if the address has an account, a reset link is on its way. It \
                   expires in one hour.";
    Ok(Json(ResetMailed { message }))
}

/// Body of `POST /auth/reset-password`.
#[derive(Deserialize, ToSchema)]
pub struct Reset {
    /// The token from the emailed link.
    #[schema(value_type = String)]
    token: SecretString,
    #[schema(value_type = String, min_length = 8, max_length = 128)]
    password: Password,
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
        (status = 403, description = "The account is frozen", body = PlainError),
        (status = 429, description = "Too many attempts", body = PlainError),
    ),
)]
// Strangers' attempts never keep a mailbox's owner from using a reset link (docs/security.md, A3): only
// codes entered with the account's reset links are limited. The link is consumed last.
pub async fn reset(
    State(app): State<Arc<App>>,
    context: RequestContext,
    client: ClientNetwork,
    device: Device,
    JsonBody(body): JsonBody<Reset>,
) -> Result<Json<SessionCredentials>, Error> {
    let token = PresentedToken::parse(body.token.expose_secret());
    let token = token.ok_or_else(Error::invalid_reset_token)?;
    let database = app.databases.by_number(token.database);
    let (database, token) = (database.ok_or_else(Error::invalid_reset_token)?, token.hash);
    let account = accounts::by_reset_token(database, &token, clock::now()).await?;
    let account = account.ok_or_else(Error::invalid_reset_token)?;
    meter::note(|party| party.account = Some(account.id.to_string()));
    if account.frozen_until > clock::now() {
        return Err(Error::account_frozen());
    }
    check_new_password(&app, &body.password, &account.email).await?;
    let key = Key::reset_code(account.id);
    let second_factor = SecondFactor::new(&account, key, StatusCode::UNAUTHORIZED);
    let right = second_factor.demand(&app, &context, body.totp_code.as_ref()).await?;
    let turn = client.hashing_turn(&app, right.attempt.as_ref()).await?;
    let hash = password::hash(turn, &body.password, random::bytes()?)?;
    let (session, now) = (new_session(&app, account.id, device)?, clock::now());
    if !passwords::reset(database, &token, &right.code, &hash, &session, now).await? {
        let now = accounts::by_reset_token(database, &token, now).await?;
        if now.as_ref().is_some_and(|now| now.frozen_until > clock::now()) {
            return Err(Error::account_frozen());
        }
        let otherwise = Error::invalid_reset_token();
        return Err(second_factor.explain_failure(&app, &context, &right, now, otherwise).await?);
    }
    second_factor.complete(&app, &context, right).await;
    context.notify(&app, account.id);
    SessionCredentials::of(&app, &session, account.key_version, account.email)
}

/// Body of `PUT /auth/password`.
#[derive(Deserialize, ToSchema)]
pub struct Change {
    #[schema(value_type = String)]
    current_password: Password,
    #[schema(value_type = String, min_length = 8, max_length = 128)]
    new_password: Password,
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
        (status = 403, description = "The current password is wrong, or the account is frozen", body = PlainError),
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
    member.unfrozen()?;
    check_new_password(&app, &body.new_password, &member.account.email).await?;
    member.check_password(&app, &context, &client, &body.current_password).await?;
    let hash = password::hash(
        client.hashing_turn(&app, None).await?,
        &body.new_password,
        random::bytes()?,
    )?;
    let Member { session, ref account } = member;
    let new = new_session(&app, account.id, device)?;
    let database = app.databases.of(account.id)?;
    if !passwords::change(database, session, &account.password_hash, &hash, &new).await? {
        return Err(member.frozen_or(&app, Error::invalid_session()).await?);
    }
    context.notify(&app, account.id);
    SessionCredentials::of(&app, &new, account.key_version, member.account.email)
}
