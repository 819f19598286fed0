//! API keys: the account's own, and further keys, each with its own rights, daily limit and expiry.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
};
use chrono::{DateTime, Utc};
use rcpt_shared::KeyRing;
use secrecy::SecretString;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    ended_sql,
    key_terms::{KeyRequest, KeyTerms, rights_schema},
    keys_sql::{self, KeyOutcome, MakeOutcome, NewKey, OVERLAP_S, StoredKey},
};
use crate::{
    account::AccountId,
    app::App,
    cf::clock,
    credentials::{
        api_key::{ApiKey, KeyId, Rights},
        proof::Caller,
        random,
        session::Session,
    },
    error::{Error, PlainError},
    extract::{
        caller::{any_key, shield, still_good},
        client_network::ClientNetwork,
        json_body::{JsonBody, StrictBody},
        member::Member,
        password_proof::PasswordProof,
        request::RequestContext,
    },
    ledger::account,
    limits::{
        quota::{Day, date_time},
        refusals::Refusal,
    },
};

/// A key, without its text.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyDetails {
    /// Names the key, such as `key_0123456789abcdef`; `own` for the account's own key.
    pub id: String,
    /// Empty for the account's own key.
    pub name: String,
    #[schema(schema_with = rights_schema)]
    pub rights: Vec<&'static str>,
    /// Daily limit of checks. Null if only the account's allowance applies.
    pub daily_limit: Option<u32>,
    /// Checks counted today, including those in flight. Null for a key without a daily limit.
    pub used_today: Option<u32>,
    /// The last day (UTC) on which a check or scan of the key was counted. Null when there was none since it was made
    /// or replaced.
    pub last_used_on: Option<String>,
    /// Null: never.
    pub expires_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    /// After a replacement, the key's previous text works until then. Null otherwise.
    pub previous_until: Option<DateTime<Utc>>,
}

impl KeyDetails {
    fn of(stored: StoredKey, id: KeyId) -> Self {
        let last_day = date_time(stored.day.saturating_mul(24 * 60 * 60));
        let time = |seconds: u64| (seconds > 0).then(|| date_time(seconds));
        Self {
            id: id.public_id(),
            rights: Rights::from_bits(stored.rights).names(),
            used_today: stored.daily_limit.map(|_| stored.used_today),
            daily_limit: stored.daily_limit,
            last_used_on: (stored.day > 0).then(|| last_day.date_naive().to_string()),
            expires_at: time(stored.expires_at.into()),
            created_at: date_time(stored.created_at),
            previous_until: time(stored.previous_until),
            name: stored.name,
        }
    }
}

/// A key with its text, which is shown this once.
#[derive(Debug, Serialize, ToSchema)]
pub struct NewKeyText {
    /// The key itself. Keep it: it isn't shown again.
    pub api_key: String,
    pub key: KeyDetails,
}

impl NewKeyText {
    fn of(stored: StoredKey, account: AccountId, secrets: &KeyRing) -> Option<Self> {
        let key = stored.key(account)?;
        Some(Self { api_key: key.text(secrets), key: KeyDetails::of(stored, key.id) })
    }
}

/// The keys of an account.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyList {
    /// The account's own key, then the others, the oldest first.
    pub keys: Vec<KeyDetails>,
}

/// Every key of an account, replaced.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReplacedKeys {
    /// The account's own key.
    pub api_key: String,
    /// The other keys, the oldest first.
    pub keys: Vec<NewKeyText>,
}

/// Make a key
///
/// Makes a key beside the account's own and shows it once. To change one, make another: both work until you end one of
/// them.
#[utoipa::path(
    post, path = "/v1/keys", tag = "Account", operation_id = "makeKey",
    request_body = KeyRequest,
    responses(
        (status = 201, description = "The key", body = NewKeyText),
        (status = 400, description = "`invalid_key`, or the body is malformed", body = PlainError),
        (status = 403, description = "The password is wrong, the two-factor code is missing or wrong, the keys have been deactivated", body = PlainError),
        (status = 409, description = "`too_many_keys`: the account has 20", body = PlainError),
    ),
    security(("Session" = [])),
)]
// The password is required, as for showing the own key: a session ends within hours, and a key
// doesn't.
pub async fn make(
    State(app): State<Arc<App>>,
    context: RequestContext,
    member: Member,
    client: ClientNetwork,
    StrictBody(body): StrictBody<KeyRequest>,
) -> Result<(StatusCode, Json<NewKeyText>), Error> {
    let now = clock::now();
    let terms = body.terms(now)?;
    member.check_password(&app, &context, &client, &body.password).await?;
    if member.account.key_active == 0 {
        return Err(Error::key_deactivated());
    }
    let factor = member.second_factor();
    let right = factor.demand(&app, &context, body.totp_code.as_ref()).await?;
    let id = KeyId::from_random(random::bytes()?);
    let KeyTerms { rights, daily_limit, expires_at } = terms;
    let account = member.account.id;
    let key = ApiKey { account, id, version: 1, rights, expires_at };
    let new = NewKey { key, name: body.name.trim(), daily_limit, created_at: now };
    let database = app.databases.of(account)?;
    match keys_sql::make(database, member.session, &new, &right.code).await? {
        MakeOutcome::Made => {}
        MakeOutcome::TooMany => return Err(Error::too_many_keys()),
        MakeOutcome::Refused => return Err(member.explain_failure(&app, &context, &right).await?),
    }
    factor.complete(&app, &context, right).await;
    context.notify(&app, account);
    let stored = StoredKey {
        id: id.to_string(),
        version: 1,
        previous_until: 0,
        name: new.name.to_owned(),
        rights: rights.bits(),
        daily_limit: body.daily_limit,
        expires_at,
        created_at: now,
        day: 0,
        used_today: 0,
    };
    let api_key = key.text(&app.config.api_key_secrets);
    Ok((StatusCode::CREATED, Json(NewKeyText { api_key, key: KeyDetails::of(stored, id) })))
}

/// List the keys
///
/// The account's own key and the others, without their texts.
#[utoipa::path(
    get, path = "/v1/keys", tag = "Account", operation_id = "listKeys",
    responses((status = 200, description = "The keys", body = KeyList)),
    security(("Session" = [])),
)]
pub async fn list(State(app): State<Arc<App>>, session: Session) -> Result<Json<KeyList>, Error> {
    let (database, now) = (app.databases.of(session.account)?, clock::now());
    let stored = keys_sql::list(database, session, (Day::of(now).number(), now)).await?;
    let stored = stored.ok_or_else(Error::invalid_session)?.into_iter();
    let keys = stored.filter_map(|stored| KeyId::parse(&stored.id).map(|id| (stored, id)));
    Ok(Json(KeyList { keys: keys.map(|(stored, id)| KeyDetails::of(stored, id)).collect() }))
}

/// End a key
///
/// It stops working immediately, and so does its previous text. The account's own key can't be ended: replace it.
#[utoipa::path(
    delete, path = "/v1/keys/{id}", tag = "Account", operation_id = "endKey",
    params(("id" = String, Path, description = "The `id` from the list of keys")),
    responses(
        (status = 204, description = "The key has ended"),
        (status = 400, description = "`invalid_key`: it's the account's own key", body = PlainError),
        (status = 404, description = "The account has no such key", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn end(
    State(app): State<Arc<App>>,
    session: Session,
    Path(id): Path<String>,
) -> Result<StatusCode, Error> {
    let id = id_of(&id);
    if id == KeyId::OWN {
        return Err(Error::invalid_key(
            "The account's own key can't be ended. Replace it instead.",
        ));
    }
    done(keys_sql::end(app.databases.of(session.account)?, session, id).await?)
        .unwrap_or_else(|| Err(Error::invalid_session()))
}

/// A malformed id becomes one without a key, so that the caller is verified first.
fn id_of(shown: &str) -> KeyId {
    KeyId::parse_shown(shown).unwrap_or(KeyId::from_random([0xff; 8]))
}

fn done(outcome: KeyOutcome) -> Option<Result<StatusCode, Error>> {
    match outcome {
        KeyOutcome::Done => Some(Ok(StatusCode::NO_CONTENT)),
        KeyOutcome::NoSuchKey => Some(Err(Error::no_such_key())),
        KeyOutcome::Refused => None,
    }
}

/// Replace every key
///
/// Replaces the account's own key and every other one. The old keys stop working immediately.
#[utoipa::path(
    post, path = "/v1/keys/replace-all", tag = "Account", operation_id = "replaceAllKeys",
    request_body = PasswordProof,
    responses(
        (status = 200, description = "The new keys", body = ReplacedKeys),
        (status = 403, description = "The password is wrong, the two-factor code is missing or wrong, the keys have been deactivated", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn replace_all(
    State(app): State<Arc<App>>,
    context: RequestContext,
    member: Member,
    client: ClientNetwork,
    JsonBody(body): JsonBody<PasswordProof>,
) -> Result<Json<ReplacedKeys>, Error> {
    member.check_password(&app, &context, &client, &body.password).await?;
    let replaced = replaced(&app, &context, &member, (None, 0), body.totp_code.as_ref()).await?;
    let mut keys = replaced.into_iter();
    let own = keys.next().ok_or_else(Error::no_such_key)?;
    Ok(Json(ReplacedKeys { api_key: own.api_key, keys: keys.collect() }))
}

/// Replace a key, with a day for your programs
///
/// Shows the key's new text once. The previous one works for another day, unless you replace or end the key again. If
/// somebody else may have the key, end it instead, or replace the account's own key.
#[utoipa::path(
    post, path = "/v1/keys/{id}/replace", tag = "Account", operation_id = "replaceKey",
    params(("id" = String, Path, description = "The `id` from the list of keys; `own` for the account's own key")),
    request_body = PasswordProof,
    responses(
        (status = 200, description = "The key with its new text", body = NewKeyText),
        (status = 403, description = "The password is wrong, the two-factor code is missing or wrong, the keys have been deactivated", body = PlainError),
        (status = 404, description = "The account has no such key", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn replace(
    State(app): State<Arc<App>>,
    context: RequestContext,
    member: Member,
    client: ClientNetwork,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<PasswordProof>,
) -> Result<Json<NewKeyText>, Error> {
    member.check_password(&app, &context, &client, &body.password).await?;
    let chosen = (Some(id_of(&id)), OVERLAP_S);
    let replaced = replaced(&app, &context, &member, chosen, body.totp_code.as_ref()).await?;
    replaced.into_iter().next().map(Json).ok_or_else(Error::no_such_key)
}

async fn replaced(
    app: &Arc<App>,
    context: &RequestContext,
    member: &Member,
    chosen: (Option<KeyId>, u32),
    code: Option<&SecretString>,
) -> Result<Vec<NewKeyText>, Error> {
    if member.account.key_active == 0 {
        return Err(Error::key_deactivated());
    }
    let factor = member.second_factor();
    let right = factor.demand(app, context, code).await?;
    let (account, now) = (member.account.id, clock::now());
    let (database, today) = (app.databases.of(account)?, (Day::of(now).number(), now));
    let stored =
        match keys_sql::replace(database, member.session, chosen, &right.code, today).await? {
            Ok(stored) => stored,
            Err(KeyOutcome::Refused) => {
                return Err(member.explain_failure(app, context, &right).await?);
            }
            Err(_) => return Err(Error::no_such_key()),
        };
    factor.complete(app, context, right).await;
    context.notify(app, account);
    let secrets = &app.config.api_key_secrets;
    let new = stored.into_iter().filter_map(|stored| NewKeyText::of(stored, account, secrets));
    Ok(new.collect())
}

/// End the key of this request
///
/// For finders of a leaked key. Always answers 204. The key ends for good; the owner of an account's own key gets
/// another by signing in. A text from before a replacement ends alone. We email the owner.
#[utoipa::path(
    post, path = "/v1/keys/self-revoke", tag = "Account", operation_id = "selfRevokeKey",
    responses((status = 204, description = "If a key was sent in `X-API-Key`, it has ended")),
)]
pub async fn self_revoke(
    State(app): State<Arc<App>>,
    context: RequestContext,
    headers: HeaderMap,
) -> Result<StatusCode, Error> {
    let Some(key) = any_key(&app.config, &headers) else { return Ok(StatusCode::NO_CONTENT) };
    let caller = Caller::from(key);
    if still_good(&app, caller).is_err() {
        return Ok(StatusCode::NO_CONTENT);
    }
    shield(&app, caller).await?;
    let database = app.databases.of(caller.account)?;
    let is_ended_now = ended_sql::end_itself(database, caller).await?;
    if is_ended_now {
        context.notify(&app, caller.account);
    }
    if is_ended_now || account::has_ended(database, caller).await? {
        app.refusals.learn(caller, Refusal::Dead, clock::now());
    }
    Ok(StatusCode::NO_CONTENT)
}
