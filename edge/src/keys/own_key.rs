//! The account's own API key.

use std::sync::Arc;

use axum::{Json, extract::State};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::keys_sql;
use crate::{
    app::App,
    cf::clock,
    credentials::{
        api_key::{ApiKey, KeyId},
        password::Password,
    },
    error::{Error, PlainError},
    extract::{
        client_network::ClientNetwork, json_body::JsonBody, member::Member, request::RequestContext,
    },
    limits::quota::Day,
};

/// Body of `POST /auth/rotate-api-key`.
#[derive(Deserialize, ToSchema)]
pub struct Rotation {
    /// Current code or recovery code, when two-factor authentication is on.
    #[schema(value_type = Option<String>)]
    totp_code: Option<SecretString>,
}

/// Response of `POST /auth/rotate-api-key`.
#[derive(Debug, Serialize, ToSchema)]
pub struct NewApiKey {
    api_key: String,
}

/// Body of `POST /auth/show-api-key`.
#[derive(Deserialize, ToSchema)]
pub struct KeyDisplay {
    #[schema(value_type = String)]
    password: Password,
    /// Current code or recovery code, when two-factor authentication is on.
    #[schema(value_type = Option<String>)]
    totp_code: Option<SecretString>,
}

/// Response of `POST /auth/show-api-key`.
#[derive(Debug, Serialize, ToSchema)]
pub struct CurrentApiKey {
    api_key: String,
}

/// Replace the API key
///
/// The old key stops working immediately. To let it work for another day, use `POST /keys/own/replace`.
#[utoipa::path(
    post, path = "/v1/auth/rotate-api-key", tag = "Account", operation_id = "rotateApiKey",
    request_body = Rotation,
    responses(
        (status = 200, description = "The new key", body = NewApiKey),
        (status = 403, description = "The two-factor code is missing or wrong, or the key has been deactivated", body = PlainError),
    ),
    security(("Session" = [])),
)]
// The notice to the owner is stored with the change and sent afterwards: a failing mailer mustn't
// keep an owner from replacing a leaked key.
pub async fn rotate(
    State(app): State<Arc<App>>,
    context: RequestContext,
    member: Member,
    JsonBody(body): JsonBody<Rotation>,
) -> Result<Json<NewApiKey>, Error> {
    if member.account.key_active == 0 {
        return Err(Error::key_deactivated());
    }
    let factor = member.second_factor();
    let right = factor.demand(&app, &context, body.totp_code.as_ref()).await?;
    let database = app.databases.of(member.account.id)?;
    let now = clock::now();
    let (own, today) = ((Some(KeyId::OWN), 0), (Day::of(now).number(), now));
    let replaced = keys_sql::replace(database, member.session, own, &right.code, today).await?;
    let new = replaced.ok().and_then(|keys| keys.first()?.key(member.account.id));
    let Some(key) = new else {
        return Err(member.explain_failure(&app, &context, &right).await?);
    };
    factor.complete(&app, &context, right).await;
    context.notify(&app, member.account.id);
    Ok(Json(NewApiKey { api_key: key.text(&app.config.api_key_secrets) }))
}

/// Show the API key
///
/// The account's key, and changes nothing.
#[utoipa::path(
    post, path = "/v1/auth/show-api-key", tag = "Account", operation_id = "showApiKey",
    request_body = KeyDisplay,
    responses(
        (status = 200, description = "The key", body = CurrentApiKey),
        (status = 403, description = "The password is wrong, the two-factor code is missing or wrong, or the key has been deactivated", body = PlainError),
    ),
    security(("Session" = [])),
)]
// A stolen session mustn't suffice: it ends within hours, and a key doesn't.
pub async fn show(
    State(app): State<Arc<App>>,
    context: RequestContext,
    member: Member,
    client: ClientNetwork,
    JsonBody(body): JsonBody<KeyDisplay>,
) -> Result<Json<CurrentApiKey>, Error> {
    member.check_password(&app, &context, &client, &body.password).await?;
    if member.account.key_active == 0 {
        return Err(Error::key_deactivated());
    }
    let factor = member.second_factor();
    let right = factor.demand(&app, &context, body.totp_code.as_ref()).await?;
    let database = app.databases.of(member.account.id)?;
    let Some(version) =
        keys_sql::show_own(database, member.session, &right.code, &context.event()).await?
    else {
        return Err(member.explain_failure(&app, &context, &right).await?);
    };
    factor.complete(&app, &context, right).await;
    let key = ApiKey::own(member.account.id, version);
    Ok(Json(CurrentApiKey { api_key: key.text(&app.config.api_key_secrets) }))
}
