//! Adding a passkey: the password for the options, and then the credential that the browser creates.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    passkey::{
        self, PasskeyId, RelyingParty,
        challenge::{self, CHALLENGE_TTL_S, ChallengePurpose},
        public_key::ALGORITHMS,
    },
    passkeys::Passkey,
    passkeys_sql::{self, AddOutcome, NewPasskey, PASSKEYS_MAX},
};
use crate::{
    app::App,
    cf::{clock, glue},
    credentials::random,
    error::{Error, PlainError},
    extract::{
        client_network::ClientNetwork, json_body::JsonBody, member::Member,
        password_proof::PasswordProof, request::RequestContext,
    },
};

const NAME_CHARS_MAX: usize = 60;
/// Milliseconds that a browser waits for the person.
pub const TIMEOUT_MS: u64 = CHALLENGE_TTL_S * 1_000;

/// Options for `navigator.credentials.create()`, as `PublicKeyCredential.parseCreationOptionsFromJSON()` reads them.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreationOptions {
    rp: PasskeyParty,
    user: PasskeyUser,
    /// Valid once, for five minutes, in this session.
    challenge: String,
    pub_key_cred_params: Vec<PasskeyAlgorithm>,
    /// Milliseconds.
    timeout: u64,
    /// The account's passkeys.
    exclude_credentials: Vec<CredentialName>,
    authenticator_selection: AuthenticatorSelection,
    attestation: &'static str,
}

/// The service that a passkey is for.
#[derive(Debug, Serialize, ToSchema)]
struct PasskeyParty {
    /// The portal's host.
    id: String,
    name: &'static str,
}

/// The account that a passkey is for.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PasskeyUser {
    /// In base64url.
    id: String,
    name: String,
    display_name: String,
}

/// An algorithm that a passkey may sign with.
#[derive(Debug, Serialize, ToSchema)]
struct PasskeyAlgorithm {
    r#type: &'static str,
    alg: i64,
}

/// A credential by its id.
#[derive(Debug, Serialize, ToSchema)]
struct CredentialName {
    r#type: &'static str,
    /// In base64url.
    id: String,
}

/// Requirements for the authenticator.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AuthenticatorSelection {
    resident_key: &'static str,
    require_resident_key: bool,
    user_verification: &'static str,
}

const KIND: &str = "public-key";

/// Start adding a passkey
///
/// Takes the password, and a code where two-factor authentication is on. Returns the options for the browser.
#[utoipa::path(
    post, path = "/v1/auth/passkeys/options", tag = "Passkeys", operation_id = "passkeyOptions",
    request_body = PasswordProof,
    responses(
        (status = 200, description = "Options for the browser", body = CreationOptions),
        (status = 403, description = "The password is wrong, or the two-factor code is missing or wrong", body = PlainError),
        (status = 409, description = "`too_many_passkeys`: the account has 20", body = PlainError),
    ),
    security(("Session" = [])),
)]
// The challenge proves that the password was presented in this session, so the browser's answer needs no other
// credentials.
pub async fn options(
    State(app): State<Arc<App>>,
    context: RequestContext,
    member: Member,
    client: ClientNetwork,
    JsonBody(body): JsonBody<PasswordProof>,
) -> Result<Json<CreationOptions>, Error> {
    member.check_password(&app, &context, &client, &body.password).await?;
    let database = app.databases.of(member.account.id)?;
    let listed = passkeys_sql::list(database, member.session).await?;
    let listed = listed.ok_or_else(Error::invalid_session)?;
    if listed.len() >= PASSKEYS_MAX as usize {
        return Err(Error::too_many_passkeys());
    }
    let factor = member.second_factor();
    let right = factor.demand(&app, &context, body.totp_code.as_ref()).await?;
    if !passkeys_sql::authorise(database, member.session, &right.code).await? {
        return Err(member.explain_failure(&app, &context, &right).await?);
    }
    factor.complete(&app, &context, right).await;
    let purpose = ChallengePurpose::Registration(member.session);
    let challenge = purpose.challenge(&app.config.session_secrets, clock::now(), random::bytes()?);
    let Member { account, .. } = member;
    let has_name = !account.display_name.is_empty();
    Ok(Json(CreationOptions {
        rp: PasskeyParty { id: RelyingParty::of(&app.config.portal_url).id, name: "rcpt" },
        user: PasskeyUser {
            id: URL_SAFE_NO_PAD.encode(account.id.as_u64().to_be_bytes()),
            display_name: if has_name { account.display_name } else { account.email.clone() },
            name: account.email,
        },
        challenge,
        pub_key_cred_params: ALGORITHMS.map(|alg| PasskeyAlgorithm { r#type: KIND, alg }).into(),
        timeout: TIMEOUT_MS,
        exclude_credentials: listed
            .into_iter()
            .map(|stored| CredentialName { r#type: KIND, id: stored.credential })
            .collect(),
        authenticator_selection: AuthenticatorSelection {
            resident_key: "required",
            require_resident_key: true,
            user_verification: "required",
        },
        attestation: "none",
    }))
}

/// Body of `POST /auth/passkeys`.
#[derive(Deserialize, ToSchema)]
pub struct PasskeyRequest {
    /// 1 to 60 characters, no control characters.
    #[schema(min_length = 1, max_length = 60)]
    name: String,
    credential: CreatedCredential,
}

/// A credential as the browser returns it (`RegistrationResponseJSON`). Members that aren't listed are ignored.
#[derive(Deserialize, ToSchema)]
struct CreatedCredential {
    /// In base64url.
    id: String,
    response: CreationResponse,
}

/// The response of an authenticator that has made a passkey.
#[derive(Deserialize, ToSchema)]
struct CreationResponse {
    /// In base64url.
    #[serde(rename = "clientDataJSON")]
    client_data: String,
    /// In base64url.
    #[serde(rename = "attestationObject")]
    attestation_object: String,
}

/// Add a passkey
///
/// Adds the credential that the browser has created from the options, which can be used once. The password keeps
/// working.
#[utoipa::path(
    post, path = "/v1/auth/passkeys", tag = "Passkeys", operation_id = "addPasskey",
    request_body = PasskeyRequest,
    responses(
        (status = 201, description = "The passkey", body = Passkey),
        (status = 400, description = "`invalid_passkey`, or the body is malformed", body = PlainError),
        (status = 409, description = "`too_many_passkeys`: the account has 20", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn add(
    State(app): State<Arc<App>>,
    context: RequestContext,
    member: Member,
    JsonBody(body): JsonBody<PasskeyRequest>,
) -> Result<(StatusCode, Json<Passkey>), Error> {
    let name = body.name.trim();
    let is_name =
        (1..=NAME_CHARS_MAX).contains(&name.chars().count()) && !name.chars().any(char::is_control);
    if !is_name {
        return Err(Error::invalid_passkey(
            "The name of a passkey has 1 to 60 characters and no control characters.",
        ));
    }
    let unreadable = || {
        Error::invalid_passkey(
            "This isn't a passkey for this portal, signing with ES256 or RS256, whose owner was verified.",
        )
    };
    let CreatedCredential { id: credential, response } = body.credential;
    let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| unreadable());
    let party = RelyingParty::of(&app.config.portal_url);
    let (client_data, object) =
        (bytes(&response.client_data)?, bytes(&response.attestation_object)?);
    let made = passkey::registration(&party, &client_data, &object).ok_or_else(unreadable)?;
    if bytes(&credential)? != made.credential_id {
        return Err(unreadable());
    }
    let (now, purpose) = (clock::now(), ChallengePurpose::Registration(member.session));
    let stale = || {
        Error::invalid_passkey(
            "This took longer than five minutes, or was sent before. Start again.",
        )
    };
    if !purpose.is_answered_by(&app.config.session_secrets, now, &made.challenge) {
        return Err(stale());
    }
    // Checks only that this is a key: nothing has been signed with it yet.
    glue::verifies(made.public_key.as_jwk(), &[0; 64], &[]).await.ok_or_else(unreadable)?;
    let id = PasskeyId::of(&made.credential_id);
    let new = NewPasskey {
        id: &id,
        credential: &credential,
        public_key: made.public_key.as_jwk(),
        name,
        counter: made.counter,
        is_syncable: made.is_backup_eligible,
        created_at: now,
        challenge: &challenge::name_of(&made.challenge),
    };
    match passkeys_sql::add(app.databases.of(member.account.id)?, member.session, &new).await? {
        AddOutcome::Added => {}
        AddOutcome::TooMany => return Err(Error::too_many_passkeys()),
        AddOutcome::Known => {
            return Err(Error::invalid_passkey("The account has this passkey already."));
        }
        AddOutcome::Refused => return Err(stale()),
    }
    context.notify(&app, member.account.id);
    Ok((StatusCode::CREATED, Json(Passkey::new(&new))))
}
