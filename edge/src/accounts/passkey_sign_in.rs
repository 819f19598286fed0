//! Signing in with a passkey.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    passkey::{
        self, Assertion, PasskeyId, RelyingParty,
        challenge::{self, ChallengePurpose},
        public_key::PublicKey,
    },
    passkey_registration::TIMEOUT_MS,
    passkeys_sql::{self, PasskeyUse},
    sessions::{SessionCredentials, new_session},
};
use crate::{
    account::{AccountId, AccountState},
    app::App,
    cf::{clock, glue, log},
    credentials::random,
    error::{Error, PlainError},
    extract::{
        client_network::ClientNetwork,
        device::Device,
        json_body::JsonBody,
        request::RequestContext,
        second_factor::{RightCode, SecondFactor},
    },
    ledger::{
        code::Code,
        security_events::{self, FailedAttempt},
    },
    limits::{rules::Key, throttle::Attempt},
    meter,
};

/// Options for `navigator.credentials.get()`, as `PublicKeyCredential.parseRequestOptionsFromJSON()` reads them.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestOptions {
    /// Valid once, for five minutes.
    challenge: String,
    /// Milliseconds.
    timeout: u64,
    /// The portal's host.
    rp_id: String,
    user_verification: &'static str,
}

/// Start a passkey sign-in
///
/// The options for the browser. They're the same for everybody, except for the challenge.
#[utoipa::path(
    post, path = "/v1/auth/passkeys/sign-in/options", tag = "Passkeys", operation_id = "passkeySignInOptions",
    responses(
        (status = 200, description = "Options for the browser", body = RequestOptions),
    ),
)]
pub async fn options(
    State(app): State<Arc<App>>,
    _: ClientNetwork,
) -> Result<Json<RequestOptions>, Error> {
    let (keys, now) = (&app.config.session_secrets, clock::now());
    Ok(Json(RequestOptions {
        challenge: ChallengePurpose::SignIn.challenge(keys, now, random::bytes()?),
        timeout: TIMEOUT_MS,
        rp_id: RelyingParty::of(&app.config.portal_url).id,
        user_verification: "preferred",
    }))
}

/// Body of `POST /auth/passkeys/sign-in`.
#[derive(Deserialize, ToSchema)]
pub struct PasskeyLogin {
    credential: UsedCredential,
    /// Current code or recovery code: needed only where two-factor authentication is on and the device didn't verify its owner.
    #[schema(value_type = Option<String>)]
    totp_code: Option<SecretString>,
}

/// A credential as the browser returns it (`AuthenticationResponseJSON`). Members that aren't listed are ignored.
#[derive(Deserialize, ToSchema)]
struct UsedCredential {
    /// In base64url.
    id: String,
    response: AssertionResponse,
}

/// The response of an authenticator that has used a passkey.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AssertionResponse {
    /// In base64url.
    #[serde(rename = "clientDataJSON")]
    client_data: String,
    /// In base64url.
    authenticator_data: String,
    /// In base64url.
    signature: String,
    /// In base64url: names the account.
    user_handle: String,
}

struct ReadAssertion {
    account: AccountId,
    passkey: PasskeyId,
    assertion: Assertion,
    signature: Vec<u8>,
}

impl UsedCredential {
    fn read(&self, app: &App) -> Option<ReadAssertion> {
        let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).ok();
        let response = &self.response;
        let account = <[u8; 8]>::try_from(bytes(&response.user_handle)?).ok()?;
        let party = RelyingParty::of(&app.config.portal_url);
        let (client_data, data) =
            (bytes(&response.client_data)?, bytes(&response.authenticator_data)?);
        let assertion = passkey::assertion(&party, &client_data, &data)?;
        let keys = &app.config.session_secrets;
        let is_ours =
            ChallengePurpose::SignIn.is_answered_by(keys, clock::now(), &assertion.challenge);
        let read = ReadAssertion {
            account: AccountId::from_u64(u64::from_be_bytes(account)),
            passkey: PasskeyId::of(&bytes(&self.id)?),
            signature: bytes(&response.signature)?,
            assertion,
        };
        is_ours.then_some(read)
    }
}

/// Passkey sign-in
///
/// A session token for 12 hours, and the API key. A passkey that has verified its owner needs no two-factor code.
#[utoipa::path(
    post, path = "/v1/auth/passkeys/sign-in", tag = "Passkeys", operation_id = "passkeySignIn",
    request_body = PasskeyLogin,
    responses(
        (status = 200, description = "Signed in", body = SessionCredentials),
        (status = 401, description = "The passkey is unknown, wrong or too late, or a two-factor code is missing or wrong", body = PlainError),
        (status = 403, description = "The account has been deactivated", body = PlainError),
    ),
)]
// The response and the work before it are the same for an unknown account, an unknown passkey and a wrong signature
// (docs/security.md, A1).
pub async fn sign_in(
    State(app): State<Arc<App>>,
    context: RequestContext,
    device: Device,
    client: ClientNetwork,
    JsonBody(body): JsonBody<PasskeyLogin>,
) -> Result<Json<SessionCredentials>, Error> {
    let gates = vec![client.gate(&app)];
    let attempt = Attempt::count(app.databases.directory(), gates, clock::now()).await?;
    let read = body.credential.read(&app).ok_or_else(Error::passkey_refused)?;
    let ReadAssertion { account: id, passkey, assertion, signature } = read;
    // A number without a database belongs to no account.
    let database =
        app.databases.by_number(id.database()).unwrap_or_else(|| app.databases.directory());
    let account_and_passkey = passkeys_sql::find(database, id, &passkey).await?;
    meter::note(|party| {
        party.account = account_and_passkey.as_ref().map(|(account, _)| account.id.to_string())
    });
    let key = match &account_and_passkey {
        Some((_, stored)) => PublicKey::stored(stored.public_key.clone()),
        None => PublicKey::base_point(),
    };
    let is_signed = match key.signature(&signature) {
        Some(signature) => {
            glue::verifies(key.as_jwk(), &signature, &assertion.signed).await == Some(true)
        }
        None => false,
    };
    let account_and_passkey = account_and_passkey.filter(|(_, stored)| {
        let counts =
            stored.counter < assertion.counter || stored.counter == 0 && assertion.counter == 0;
        is_signed && counts && (stored.is_syncable != 0) == assertion.is_backup_eligible
    });
    let Some((account, stored)) = account_and_passkey else {
        note_failure(&app, &context, id);
        return Err(Error::passkey_refused());
    };
    attempt.give_back(app.databases.directory()).await;
    if account.state == AccountState::Deactivated {
        return Err(Error::deactivated());
    }
    let factor = SecondFactor::new(&account, Key::code(account.id), StatusCode::UNAUTHORIZED);
    let right = match (assertion.is_verified, &account.totp_secret) {
        // The device and its owner's finger, face or PIN are two factors.
        (true, _) => RightCode { code: Code::Unasked, attempt: None },
        (false, Some(_)) => factor.demand(&app, &context, body.totp_code.as_ref()).await?,
        (false, None) => return Err(Error::passkey_unverified()),
    };
    let session = new_session(&app, account.id, device)?;
    let used = PasskeyUse {
        id: &passkey,
        public_key: &stored.public_key,
        counter: assertion.counter,
        challenge: &challenge::name_of(&assertion.challenge),
        password_hash: &account.password_hash,
    };
    if !passkeys_sql::sign_in(database, &used, &session, &right.code).await? {
        let now = passkeys_sql::find(database, id, &passkey).await?.map(|(account, _)| account);
        let otherwise = Error::passkey_refused();
        return Err(match right.code {
            Code::Unasked => otherwise,
            _ => factor.explain_failure(&app, &context, &right, now, otherwise).await?,
        });
    }
    factor.complete(&app, &context, right).await;
    SessionCredentials::of(&app, &session, account.key_version, account.email)
}

fn note_failure(app: &Arc<App>, context: &RequestContext, account: AccountId) {
    let (app, event) = (Arc::clone(app), context.event());
    context.deferred.after_response(async move {
        let database = app.databases.by_number(account.database());
        let database = database.unwrap_or_else(|| app.databases.directory());
        let failure = FailedAttempt::Passkey;
        let recording =
            security_events::note_failure(database, Some(account), failure, &event).await;
        if let Err(error) = recording {
            log::failure("a failed sign-in", &error);
        }
    });
}
