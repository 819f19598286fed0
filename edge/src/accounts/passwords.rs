//! Passwords: requesting a reset link, resetting with it, and changing within a session.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use chrono::{DateTime, Utc};
use futures_util::future::join;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    mail_due_sql::{self, DueMail},
    passwords_sql,
    registration::{account_address, check_domain, check_new_password},
    reset_factor::ResetFactor,
    reset_links,
    resets_sql::{self, NewReset},
    sessions::{SessionCredentials, new_session},
};
use crate::{
    app::App,
    cf::{clock, database::Database},
    credentials::{
        api_key::KeyId,
        keyed_names::MailboxHash,
        mailed_token::{PresentedToken, TokenHash},
        password::{self, Password},
        random,
    },
    error::{Error, PlainError},
    extract::{
        client_network::ClientNetwork, device::Device, json_body::JsonBody, member::Member,
        request::RequestContext,
    },
    ledger::account::StoredAccount,
    limits::{
        quota::date_time,
        rules::{Gate, Key, MailPurpose},
        throttle::{Attempt, AttemptOutcome},
    },
    meter,
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
    let hash = MailboxHash::of(&app.config.address_secrets, &address);
    let throttle = &app.config.throttle;
    let directory = app.databases.directory();
    let (counted, budgets) = loop {
        let (purpose, rule) = (MailPurpose::Reset, throttle.all_reset_mails);
        let mut gates = client.mail_gates(&app, purpose, rule, is_verified);
        let budgets = gates.len();
        gates.push(Gate::new(Key::mail(purpose, hash.as_str()), throttle.reset_mail));
        let attempt = Attempt::new(gates)?;
        let (gates, now) = (attempt.gates(), clock::now());
        let admission = mail_due_sql::ask(directory, gates, attempt.name(), &address, now).await?;
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
            reset_links::soon(&app, &context.deferred, attempt, DueMail::of(&address));
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

/// Body of `POST /auth/reset-password/show`.
#[derive(Deserialize, ToSchema)]
pub struct ResetLink {
    /// The token from the emailed link.
    #[schema(value_type = String)]
    token: SecretString,
}

/// The effects of a reset by a link.
#[derive(Debug, Serialize, ToSchema)]
pub struct ResetPreview {
    /// True if the reset needs a code, because a second factor has been on for three days.
    code_needed: bool,
    /// True if a code can be given: without one, two-factor authentication is off afterwards.
    code_possible: bool,
    /// The keys that it ends, unless they are kept.
    keys: Vec<SuspectedKey>,
    /// The number of passkeys that it removes.
    passkeys: u32,
}

/// A key that somebody else may have made, replaced or seen.
#[derive(Debug, Serialize, ToSchema)]
pub struct SuspectedKey {
    /// As the list of keys names it. `own` for the account's own key, which changes.
    id: String,
    /// When it was made or last replaced.
    at: DateTime<Utc>,
}

/// Show what a reset does
///
/// Changes nothing, and the link keeps working. It names keys and passkeys that were made or replaced since the oldest
/// recent change, or in the seven days before it.
#[utoipa::path(
    post, path = "/v1/auth/reset-password/show", tag = "Account", operation_id = "showReset",
    request_body = ResetLink,
    responses(
        (status = 200, description = "What the reset would do", body = ResetPreview),
        (status = 400, description = "The link is unknown, used, replaced or expired", body = PlainError),
    ),
)]
pub async fn show_reset(
    State(app): State<Arc<App>>,
    _: ClientNetwork,
    JsonBody(body): JsonBody<ResetLink>,
) -> Result<Json<ResetPreview>, Error> {
    let (database, token, account) = of_link(&app, &body.token).await?;
    let factor = ResetFactor::load(&app, account.id, None).await?;
    let factor = factor.ok_or_else(Error::invalid_reset_token)?;
    let (keys, passkeys) = resets_sql::suspects(database, &token, clock::now()).await?;
    let keys = keys.into_iter().map(|key| SuspectedKey {
        id: KeyId::parse(&key.id).map(KeyId::public_id).unwrap_or_default(),
        at: date_time(key.at),
    });
    Ok(Json(ResetPreview {
        code_needed: factor.is_needed(),
        code_possible: factor.is_possible(),
        keys: keys.collect(),
        passkeys,
    }))
}

async fn of_link<'a>(
    app: &'a App,
    token: &SecretString,
) -> Result<(&'a Database, TokenHash, StoredAccount), Error> {
    let token = PresentedToken::parse(token.expose_secret());
    let token = token.ok_or_else(Error::invalid_reset_token)?;
    let database = app.databases.by_number(token.database);
    let (database, token) = (database.ok_or_else(Error::invalid_reset_token)?, token.hash);
    let account = resets_sql::by_token(database, &token, clock::now()).await?;
    let account = account.ok_or_else(Error::invalid_reset_token)?;
    meter::note(|party| party.account = Some(account.id.to_string()));
    Ok((database, token, account))
}

/// Body of `POST /auth/reset-password`.
#[derive(Deserialize, ToSchema)]
pub struct Reset {
    /// The token from the emailed link.
    #[schema(value_type = String)]
    token: SecretString,
    #[schema(value_type = String, min_length = 8, max_length = 128)]
    password: Password,
    /// A code or recovery code, when a second factor has been on for three days.
    #[schema(value_type = Option<String>)]
    totp_code: Option<SecretString>,
    /// Ids of suspected keys that stay, as `show` names them. Optional.
    #[serde(default)]
    keep_keys: Vec<String>,
}

/// Reset the password
///
/// Ends every session and signs in with a new one. It takes back what was changed in three days: a waiting change of
/// the address, passkeys, keys and second factors.
#[utoipa::path(
    post, path = "/v1/auth/reset-password", tag = "Account", operation_id = "resetPassword",
    request_body = Reset,
    responses(
        (status = 200, description = "The password has been changed; signed in", body = SessionCredentials),
        (status = 400, description = "The link is unknown, used, replaced or expired, or the password breaks a rule", body = PlainError),
        (status = 401, description = "The two-factor code is missing or wrong; the link still works", body = PlainError),
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
    let (database, token, account) = of_link(&app, &body.token).await?;
    check_new_password(&app, &body.password, &account.email).await?;
    let factor = ResetFactor::load(&app, account.id, body.totp_code.as_ref()).await?;
    let right = factor.ok_or_else(Error::invalid_reset_token)?.demand(&app, &context).await?;
    let turn = client.hashing_turn(&app, right.attempt.as_ref()).await?;
    let hash = password::hash(turn, &body.password, random::bytes()?)?;
    let (session, now) = (new_session(&app, account.id, device)?, clock::now());
    let kept_keys: Vec<String> = body
        .keep_keys
        .iter()
        .filter_map(|id| KeyId::parse_shown(id))
        .map(|id| id.to_string())
        .collect();
    let new = NewReset { token: &token, code: &right.code, new_hash: &hash, kept_keys: &kept_keys };
    let Some(key_version) = resets_sql::reset(database, &new, &session, now).await? else {
        // A factor that counts by now, or a code that no longer fits, is asked for again; else the link is used.
        let still = resets_sql::by_token(database, &token, now).await?.is_some();
        return Err(match still {
            true => Error::totp_required(StatusCode::UNAUTHORIZED),
            false => Error::invalid_reset_token(),
        });
    };
    right.give_back(&app).await;
    context.notify(&app, account.id);
    SessionCredentials::of(&app, &session, key_version, account.email)
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
        (status = 403, description = "The current password is wrong", body = PlainError),
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
    member.check_password(&app, &context, &client, &body.current_password).await?;
    let hash = password::hash(
        client.hashing_turn(&app, None).await?,
        &body.new_password,
        random::bytes()?,
    )?;
    let Member { session, ref account } = member;
    let new = new_session(&app, account.id, device)?;
    let database = app.databases.of(account.id)?;
    if !passwords_sql::change(database, session, &account.password_hash, &hash, &new).await? {
        return Err(Error::invalid_session());
    }
    context.notify(&app, account.id);
    SessionCredentials::of(&app, &new, account.key_version, member.account.email)
}
