//! Sign-in and sign-out.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    passwords_sql,
    sessions_sql::{self, NewSession},
};
use crate::{
    account::{AccountAddress, AccountId, AccountState},
    app::App,
    cf::{clock, log},
    credentials::{
        api_key::ApiKey,
        keyed_names::MailboxHash,
        password::{self, Password, PasswordCheck},
        random,
        session::{self, Session, SessionId},
    },
    error::{Error, PlainError},
    extract::{
        client_network::ClientNetwork, device::Device, json_body::JsonBody,
        request::RequestContext, second_factor::SecondFactor,
    },
    ledger::{
        account::{self, StoredAccount},
        directory,
        security_events::{self, FailedAttempt},
    },
    limits::rules::Key,
    meter,
};

/// Response of sign-in and confirmation.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionCredentials {
    /// Session token (a JWT). It expires after 12 hours, or when the password changes.
    pub token: String,
    pub api_key: String,
    pub email: String,
}

impl SessionCredentials {
    /// The credentials of a stored session, with the account's API key.
    pub fn of(
        app: &App,
        session: &NewSession,
        key_version: u32,
        email: String,
    ) -> Result<Json<Self>, Error> {
        let config = &app.config;
        let NewSession { session, created_at, .. } = session;
        let token =
            session::issue(&config.session_secrets, *session, *created_at, config.session_ttl)
                .map_err(|error| Error::internal(format!("session: {error}")))?;
        let key = ApiKey::own(session.account, key_version);
        let api_key = key.text(&config.api_key_secrets);
        Ok(Json(Self { token, api_key, email }))
    }
}

/// A new session for this account and device, to be stored.
#[inline(never)]
pub fn new_session(app: &App, account: AccountId, device: Device) -> Result<NewSession, Error> {
    let created_at = clock::now();
    Ok(NewSession {
        session: Session { account, id: SessionId::from_random(random::bytes()?) },
        browser: device.browser,
        country: device.country,
        created_at,
        expires_at: created_at.saturating_add(app.config.session_ttl),
    })
}

/// Body of `POST /auth/login`.
#[derive(Deserialize, ToSchema)]
pub struct Login {
    email: String,
    #[schema(value_type = String)]
    password: Password,
    /// Current code or recovery code, when two-factor authentication is on.
    #[schema(value_type = Option<String>)]
    totp_code: Option<SecretString>,
}

/// Sign in
///
/// A session token for 12 hours, and the API key. With two-factor authentication on, it takes a code too.
#[utoipa::path(
    post, path = "/v1/auth/login", tag = "Account", operation_id = "login",
    request_body = Login,
    responses(
        (status = 200, description = "Signed in", body = SessionCredentials),
        (status = 401, description = "Wrong email or password, an unconfirmed address, or a missing or wrong two-factor code", body = PlainError),
        (status = 403, description = "The account has been deactivated", body = PlainError),
    ),
)]
// The response and the work before it are the same for an unknown address and a wrong password
// (docs/security.md, A1).
pub async fn login(
    State(app): State<Arc<App>>,
    context: RequestContext,
    device: Device,
    client: ClientNetwork,
    JsonBody(body): JsonBody<Login>,
) -> Result<Json<SessionCredentials>, Error> {
    // A malformed address has no account, but is hashed like a valid one so that it takes the same
    // time.
    let (address, hash) = match AccountAddress::parse(&body.email) {
        Ok(address) => (address.folded(), MailboxHash::of(&app.config.address_secrets, &address)),
        Err(_) => (String::new(), MailboxHash::of_no_address(&body.email)),
    };
    let attempt = client.attempt(&app, Key::sign_in(hash.as_str())).await?;
    // Follows the count, so that a throttled network doesn't use up others' hashes.
    let turn = client.hashing_turn(&app, Some(&attempt)).await?;
    let entry = directory::find(app.databases.directory(), &address).await?;
    let database = match entry {
        Some(account) => app.databases.of(account)?,
        None => app.databases.of_unknown_address(&hash),
    };
    let account = account::of_entry(database, entry).await?;
    meter::note(|party| party.account = entry.map(|account| account.to_string()));
    let check = match &account {
        Some(account) => password::verify(turn, &body.password, &account.password_hash)?,
        None => password::verify_nothing(turn, &body.password)?,
    };
    let Some(account) = account.filter(|_| check != PasswordCheck::Wrong) else {
        note_failure(&app, &context, hash, entry);
        return Err(Error::invalid_credentials());
    };
    attempt.give_back(app.databases.directory()).await;
    if account.state == AccountState::Deactivated {
        return Err(Error::deactivated());
    }
    let second_factor =
        SecondFactor::new(&account, Key::code(account.id), StatusCode::UNAUTHORIZED);
    let right = second_factor.demand(&app, &context, body.totp_code.as_ref()).await?;
    let session = new_session(&app, account.id, device)?;
    if !sessions_sql::start(database, &session, &account.password_hash, &right.code).await? {
        let now = account::of_entry(database, Some(account.id)).await?;
        let otherwise = Error::invalid_credentials();
        return Err(second_factor.explain_failure(&app, &context, &right, now, otherwise).await?);
    }
    second_factor.complete(&app, &context, right).await;
    if check == PasswordCheck::Outdated {
        renew_hash(&app, &context, &client, &account, body.password);
    }
    SessionCredentials::of(&app, &session, account.key_version, account.email)
}

/// An address without an account causes the same work.
fn note_failure(
    app: &Arc<App>,
    context: &RequestContext,
    hash: MailboxHash,
    account_id: Option<AccountId>,
) {
    let (app, event) = (Arc::clone(app), context.event());
    context.deferred.after_response(async move {
        let recording = async {
            let database = match account_id {
                Some(account) => app.databases.of(account)?,
                None => app.databases.of_unknown_address(&hash),
            };
            security_events::note_failure(database, account_id, FailedAttempt::SignIn, &event).await
        };
        if let Err(error) = recording.await {
            log::failure("a failed sign-in", &error);
        }
    });
}

fn renew_hash(
    app: &Arc<App>,
    context: &RequestContext,
    client: &ClientNetwork,
    account: &StoredAccount,
    password: Password,
) {
    let (app, client) = (Arc::clone(app), client.clone());
    let (id, outdated) = (account.id, account.password_hash.clone());
    context.deferred.after_response(async move {
        let renewed = async {
            let turn = client.hashing_turn(&app, None).await?;
            let fresh = password::hash(turn, &password, random::bytes()?)?;
            passwords_sql::rehash(app.databases.of(id)?, id, &outdated, &fresh).await
        };
        if let Err(error) = renewed.await {
            log::failure("renewing a hash", &error);
        }
    });
}

/// Sign out
///
/// Ends this session. Its token stops working immediately.
#[utoipa::path(
    post, path = "/v1/auth/sign-out", tag = "Account", operation_id = "signOut",
    responses((status = 204, description = "The session has ended")),
    security(("Session" = [])),
)]
pub async fn sign_out(State(app): State<Arc<App>>, session: Session) -> Result<StatusCode, Error> {
    end_response(sessions_sql::end(app.databases.of(session.account)?, session).await?)
}

/// Sign out everywhere
///
/// Ends every session of the account, including this one. The API key keeps working.
#[utoipa::path(
    post, path = "/v1/auth/sign-out-everywhere", tag = "Account", operation_id = "signOutEverywhere",
    responses((status = 204, description = "Every session has ended, including this one")),
    security(("Session" = [])),
)]
pub async fn sign_out_everywhere(
    State(app): State<Arc<App>>,
    context: RequestContext,
    session: Session,
) -> Result<StatusCode, Error> {
    let database = app.databases.of(session.account)?;
    let has_ended = sessions_sql::end_all(database, session, &context.event()).await?;
    context.notify(&app, session.account);
    end_response(has_ended)
}

fn end_response(has_ended: bool) -> Result<StatusCode, Error> {
    if has_ended { Ok(StatusCode::NO_CONTENT) } else { Err(Error::invalid_session()) }
}
