//! What a signed-in person changes: the API key and the display name (interface §4.5, §4.6).

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::{
    api_key::{ApiKey, KeyIdentity},
    app::App,
    body::JsonBody,
    caller::SessionCaller,
    error::Error,
    mail,
    store::accounts::{self, Member, Profile},
};

/// Body of `POST /auth/rotate-api-key`.
#[derive(Deserialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct Rotation {
    /// Current code, when two-factor authentication is on.
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = Option<String>))]
    totp_code: Option<SecretString>,
}

/// Answer of `POST /auth/rotate-api-key`.
#[derive(Debug, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct NewApiKey {
    pub api_key: String,
}

/// Replaces the API key; the old one stops working at once. Its owner is told before it happens: a
/// key must not be replaced without a mail.
pub async fn rotate_api_key(
    State(app): State<Arc<App>>,
    caller: SessionCaller,
    JsonBody(body): JsonBody<Rotation>,
) -> Result<Json<NewApiKey>, Error> {
    let member = Member::of_session(&app, caller).await?;
    if member.key_active == 0 {
        return Err(Error::key_deactivated());
    }
    member.challenge().meet(&app, body.totp_code.as_ref()).await?;
    app.mailer.send(&member.email, &mail::key_rotated(&app.config.portal_url)).await?;
    let version = accounts::rotate_key(&app.database, caller).await?;
    let version = version.ok_or_else(Error::invalid_session)?;
    let key = KeyIdentity { account: caller.account, version };
    Ok(Json(NewApiKey { api_key: ApiKey::derive(&app.config.api_key_secrets, key).into_text() }))
}

/// Body of `PUT /auth/settings`.
#[derive(Deserialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct Settings {
    /// 1 to 100 characters, no control characters.
    #[cfg_attr(not(target_arch = "wasm32"), schema(min_length = 1, max_length = 100))]
    pub display_name: String,
}

/// Sets the display name.
pub async fn settings(
    State(app): State<Arc<App>>,
    caller: SessionCaller,
    JsonBody(body): JsonBody<Settings>,
) -> Result<Json<Profile>, Error> {
    let name = body.display_name;
    let fits = (1..=100).contains(&name.chars().count()) && !name.chars().any(char::is_control);
    if !fits {
        return Err(Error::invalid_display_name());
    }
    let profile = accounts::rename(&app.database, caller, &name).await?;
    profile.map(Json).ok_or_else(Error::invalid_session)
}

/// Ends every session of the account, this one too.
pub async fn sign_out_everywhere(
    State(app): State<Arc<App>>,
    caller: SessionCaller,
) -> Result<StatusCode, Error> {
    if accounts::end_sessions(&app.database, caller).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Error::invalid_session())
    }
}
