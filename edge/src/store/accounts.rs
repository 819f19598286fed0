//! Accounts and the links mailed to them.

use serde::Deserialize;

use crate::{
    account::{AccountId, AccountState},
    caller::SessionCaller,
    cf::database::Database,
    error::Error,
    mailed_token::TokenHash,
    throttle::Key,
};

/// A registration, ready to be stored.
pub struct Registration {
    /// For a new account; an account that is re-registered before confirmation keeps its own.
    pub id: AccountId,
    pub address_hash: String,
    pub email: String,
    pub password_hash: String,
    pub token: TokenHash,
    /// Unix seconds.
    pub token_expires_at: u64,
}

/// What sign-in needs to know of an account.
#[derive(Debug, Deserialize)]
pub struct SignIn {
    pub id: AccountId,
    pub email: String,
    pub password_hash: String,
    pub state: AccountState,
    pub key_version: u32,
    pub session_version: u32,
    /// Sealed; `None` while two-factor is off.
    pub totp_secret: Option<String>,
}

/// An account that has just been confirmed.
#[derive(Debug, Deserialize)]
pub struct Confirmed {
    pub id: AccountId,
    pub email: String,
    pub key_version: u32,
    pub session_version: u32,
}

/// What a registration changed, so that it can be taken back where its mail cannot be handed over.
#[derive(Debug)]
pub enum Registered {
    /// A new account.
    New,
    /// An unconfirmed account got a new password and a new link.
    Again(Box<Previous>),
    /// The address has an account that is not waiting for confirmation: nothing changed.
    Taken,
}

/// An unconfirmed account as it was before it was registered again.
#[derive(Debug, Deserialize)]
pub struct Previous {
    id: AccountId,
    email: String,
    password_hash: String,
    state: AccountState,
    token_hash: Option<String>,
    token_expires_at: Option<u64>,
}

const PREVIOUS: &str = "
    SELECT a.id, a.email, a.password_hash, a.state,
      t.hash AS token_hash, t.expires_at AS token_expires_at
    FROM accounts a
    LEFT JOIN mailed_tokens t ON t.account_id = a.id AND t.purpose = 'confirm'
    WHERE a.address_hash = ?1";

const REGISTER: &str = "
    INSERT INTO accounts (id, address_hash, email, password_hash, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (address_hash) DO UPDATE
      SET email = excluded.email, password_hash = excluded.password_hash
      WHERE accounts.state = 'unconfirmed'";

const CONFIRMATION_TOKEN: &str = "
    INSERT INTO mailed_tokens (hash, account_id, purpose, expires_at)
    SELECT ?1, id, 'confirm', ?3 FROM accounts WHERE address_hash = ?2 AND state = 'unconfirmed'
    ON CONFLICT (account_id, purpose) DO UPDATE
      SET hash = excluded.hash, expires_at = excluded.expires_at";

#[derive(Deserialize)]
struct Found {}

/// Stores a registration: a new account, or a new password and link for an unconfirmed one, in one
/// transaction.
///
/// # Errors
/// [`Error::unavailable`] when the database fails; then nothing has changed.
pub async fn register(
    database: &Database,
    registration: &Registration,
    now: u64,
) -> Result<Registered, Error> {
    let id = registration.id.to_string();
    let rows = database
        .batch(&[
            (PREVIOUS, vec![(&registration.address_hash).into()]),
            (
                REGISTER,
                vec![
                    (&id).into(),
                    (&registration.address_hash).into(),
                    (&registration.email).into(),
                    (&registration.password_hash).into(),
                    now.into(),
                ],
            ),
            (
                CONFIRMATION_TOKEN,
                vec![
                    registration.token.as_str().into(),
                    (&registration.address_hash).into(),
                    registration.token_expires_at.into(),
                ],
            ),
        ])
        .await?;
    Ok(match rows.first::<Previous>(0)? {
        None => Registered::New,
        Some(previous) if previous.state == AccountState::Unconfirmed => {
            Registered::Again(Box::new(previous))
        }
        Some(_) => Registered::Taken,
    })
}

// Each only while the account is as this registration left it.
const UNDO_NEW: &str =
    "DELETE FROM accounts WHERE id = ?1 AND state = 'unconfirmed' AND password_hash = ?2";
const UNDO_AGAIN: &str = "
    UPDATE accounts SET email = ?3, password_hash = ?4
    WHERE id = ?1 AND state = 'unconfirmed' AND password_hash = ?2";
const UNDO_TOKEN: &str = "UPDATE mailed_tokens SET hash = ?2, expires_at = ?3 WHERE hash = ?1";

/// Takes a registration back whose mail could not be handed over.
///
/// # Errors
/// As [`register`].
pub async fn unregister(
    database: &Database,
    registration: &Registration,
    registered: Registered,
) -> Result<(), Error> {
    let token = registration.token.as_str();
    match registered {
        Registered::Taken => Ok(()),
        Registered::New => {
            let id = registration.id.to_string();
            let params = vec![(&id).into(), (&registration.password_hash).into()];
            // The token goes with its account.
            database.batch(&[(UNDO_NEW, params)]).await.map(drop)
        }
        Registered::Again(previous) => {
            let id = previous.id.to_string();
            let account = vec![
                (&id).into(),
                (&registration.password_hash).into(),
                (&previous.email).into(),
                (&previous.password_hash).into(),
            ];
            let token = match (&previous.token_hash, previous.token_expires_at) {
                (Some(hash), Some(expires_at)) => {
                    (UNDO_TOKEN, vec![token.into(), hash.into(), expires_at.into()])
                }
                _ => (FORGET_TOKEN, vec![token.into()]),
            };
            database.batch(&[(UNDO_AGAIN, account), token]).await.map(drop)
        }
    }
}

const CONFIRM: &str = "
    UPDATE accounts SET
      state = 'confirmed', confirmed_at = ?2,
      welcome_left = (SELECT welcome_checks FROM plans WHERE name = accounts.plan)
    WHERE state = 'unconfirmed' AND id = (
      SELECT account_id FROM mailed_tokens
      WHERE hash = ?1 AND purpose = 'confirm' AND expires_at > ?2)
    RETURNING id, email, key_version, session_version";

/// Consumes a token, or takes one back.
const FORGET_TOKEN: &str = "DELETE FROM mailed_tokens WHERE hash = ?1 AND purpose = 'confirm'";

/// Confirms the account that this token was mailed to and consumes the token, in one transaction.
/// `None` for a token that is unknown, used, replaced or expired.
///
/// # Errors
/// As [`register`]; the token is then not consumed.
pub async fn confirm(
    database: &Database,
    token: &TokenHash,
    now: u64,
) -> Result<Option<Confirmed>, Error> {
    let rows = database
        .batch(&[
            (CONFIRM, vec![token.as_str().into(), now.into()]),
            (FORGET_TOKEN, vec![token.as_str().into()]),
        ])
        .await?;
    rows.first(0)
}

const BY_ADDRESS: &str = "
    SELECT id, email, password_hash, state, key_version, session_version, totp_secret
    FROM accounts WHERE address_hash = ?1";

/// The account registered under this address.
///
/// # Errors
/// As [`register`].
pub async fn by_address(database: &Database, address_hash: &str) -> Result<Option<SignIn>, Error> {
    database.first((BY_ADDRESS, vec![address_hash.into()])).await
}

// Only if the password has not been changed in the meantime.
const REHASH: &str =
    "UPDATE accounts SET password_hash = ?3 WHERE id = ?1 AND password_hash = ?2 RETURNING id";

/// Replaces a hash that was made with outdated parameters.
///
/// # Errors
/// As [`register`].
pub async fn rehash(
    database: &Database,
    id: AccountId,
    outdated: &str,
    fresh: &str,
) -> Result<(), Error> {
    let id = id.to_string();
    let params = vec![(&id).into(), outdated.into(), fresh.into()];
    database.first::<Found>((REHASH, params)).await.map(drop)
}

/// A signed-in account.
#[derive(Debug, Deserialize)]
pub struct Member {
    pub id: AccountId,
    pub address_hash: String,
    pub email: String,
    pub display_name: String,
    pub plan: String,
    pub password_hash: String,
    pub key_version: u32,
    pub key_active: u8,
    /// Sealed; `None` while two-factor is off.
    pub totp_secret: Option<String>,
    /// Sealed; between set-up and the first valid code.
    pub totp_pending: Option<String>,
    pub recovery_codes_left: u32,
    /// Unix seconds.
    pub created_at: i64,
}

const BY_SESSION: &str = "
    SELECT id, address_hash, email, display_name, plan, password_hash, key_version, key_active,
      totp_secret, totp_pending, created_at,
      (SELECT count(*) FROM recovery_codes r WHERE r.account_id = a.id) AS recovery_codes_left
    FROM accounts a WHERE id = ?1 AND session_version = ?2 AND state = 'confirmed'";

/// The account of this session; `None` when the session is over.
///
/// # Errors
/// As [`register`].
pub async fn by_session(
    database: &Database,
    caller: SessionCaller,
) -> Result<Option<Member>, Error> {
    let id = caller.account.to_string();
    database.first((BY_SESSION, vec![(&id).into(), caller.version.into()])).await
}

const ROTATE_KEY: &str = "
    UPDATE accounts SET key_version = key_version + 1
    WHERE id = ?1 AND session_version = ?2 AND state = 'confirmed' AND key_active = 1
    RETURNING key_version";

#[derive(Deserialize)]
struct KeyVersion {
    key_version: u32,
}

/// Replaces the API key; the old one is dead with this statement. Returns the new key's version,
/// `None` when the session is over.
///
/// # Errors
/// As [`register`]; the key is then not replaced.
pub async fn rotate_key(database: &Database, caller: SessionCaller) -> Result<Option<u32>, Error> {
    let id = caller.account.to_string();
    let row = database
        .first::<KeyVersion>((ROTATE_KEY, vec![(&id).into(), caller.version.into()]))
        .await?;
    Ok(row.map(|row| row.key_version))
}

const RENAME: &str = "
    UPDATE accounts SET display_name = ?3
    WHERE id = ?1 AND session_version = ?2 AND state = 'confirmed'
    RETURNING email, display_name";

/// An account's profile (interface §2.4).
#[derive(Debug, Deserialize, serde::Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct Profile {
    pub email: String,
    pub display_name: String,
}

/// Sets the display name; `None` when the session is over.
///
/// # Errors
/// As [`register`].
pub async fn rename(
    database: &Database,
    caller: SessionCaller,
    display_name: &str,
) -> Result<Option<Profile>, Error> {
    let id = caller.account.to_string();
    database.first((RENAME, vec![(&id).into(), caller.version.into(), display_name.into()])).await
}

const END_SESSIONS: &str = "
    UPDATE accounts SET session_version = session_version + 1
    WHERE id = ?1 AND session_version = ?2 AND state = 'confirmed'
    RETURNING id";

/// Ends every session; `false` when this one was over already.
///
/// # Errors
/// As [`register`].
pub async fn end_sessions(database: &Database, caller: SessionCaller) -> Result<bool, Error> {
    let id = caller.account.to_string();
    let params = vec![(&id).into(), caller.version.into()];
    Ok(database.first::<Found>((END_SESSIONS, params)).await?.is_some())
}

/// `?3` a JSON array of keys. Runs before [`DELETE`] and under its condition.
const FORGET_ATTEMPTS: &str = "
    DELETE FROM throttles WHERE key IN (SELECT value FROM json_each(?3)) AND EXISTS (
      SELECT 1 FROM accounts WHERE id = ?1 AND session_version = ?2 AND state = 'confirmed')";

// The rows of other tables go with it: ON DELETE CASCADE.
const DELETE: &str = "
    DELETE FROM accounts WHERE id = ?1 AND session_version = ?2 AND state = 'confirmed'
    RETURNING id";

/// Removes the account and every row that belongs to it; `false` when the session is over.
///
/// # Errors
/// As [`register`].
pub async fn delete(
    database: &Database,
    caller: SessionCaller,
    address_hash: &str,
) -> Result<bool, Error> {
    let id = caller.account.to_string();
    let keys = Key::all_of(caller.account, address_hash);
    let keys = serde_json::to_string(&keys.each_ref().map(Key::as_str))
        .map_err(|error| Error::internal(format!("keys: {error}")))?;
    let version = caller.version.into();
    let rows = database
        .batch(&[
            (FORGET_ATTEMPTS, vec![(&id).into(), version, (&keys).into()]),
            (DELETE, vec![(&id).into(), version]),
        ])
        .await?;
    Ok(rows.first::<Found>(1)?.is_some())
}
