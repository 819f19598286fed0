//! Accounts and the links mailed to them.

use serde::Deserialize;

use crate::{
    account::{AccountId, AccountState},
    caller::SessionCaller,
    cf::database::Database,
    confirmation::TokenHash,
    error::Error,
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
}

/// An account that has just been confirmed.
#[derive(Debug, Deserialize)]
pub struct Confirmed {
    pub id: AccountId,
    pub email: String,
    pub key_version: u32,
    pub session_version: u32,
}

const REGISTER: &str = "
    INSERT INTO accounts (id, address_hash, email, password_hash, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (address_hash) DO UPDATE
      SET email = excluded.email, password_hash = excluded.password_hash
      WHERE accounts.state = 'unconfirmed'";

const MAIL_TOKEN: &str = "
    INSERT INTO mailed_tokens (hash, account_id, purpose, expires_at)
    SELECT ?1, id, 'confirm', ?3 FROM accounts WHERE address_hash = ?2 AND state = 'unconfirmed'
    ON CONFLICT (account_id, purpose) DO UPDATE
      SET hash = excluded.hash, expires_at = excluded.expires_at
    RETURNING account_id";

#[derive(Deserialize)]
struct Found {}

/// Stores a registration: a new account, or a new password and link for an unconfirmed one, in one
/// transaction. `false` when the address has an account that is not waiting for confirmation: then
/// nothing has changed.
///
/// # Errors
/// [`Error::unavailable`] when the database fails; then nothing has changed either.
pub async fn register(
    database: &Database,
    registration: &Registration,
    now: u64,
) -> Result<bool, Error> {
    let id = registration.id.to_string();
    let rows = database
        .batch(&[
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
                MAIL_TOKEN,
                vec![
                    registration.token.as_str().into(),
                    (&registration.address_hash).into(),
                    registration.token_expires_at.into(),
                ],
            ),
        ])
        .await?;
    Ok(rows.first::<Found>(1)?.is_some())
}

const CONFIRM: &str = "
    UPDATE accounts SET
      state = 'confirmed', confirmed_at = ?2,
      welcome_left = (SELECT welcome_checks FROM plans WHERE name = accounts.plan)
    WHERE state = 'unconfirmed' AND id = (
      SELECT account_id FROM mailed_tokens
      WHERE hash = ?1 AND purpose = 'confirm' AND expires_at > ?2)
    RETURNING id, email, key_version, session_version";

const CONSUME_TOKEN: &str = "DELETE FROM mailed_tokens WHERE hash = ?1";

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
            (CONSUME_TOKEN, vec![token.as_str().into()]),
        ])
        .await?;
    rows.first(0)
}

const BY_ADDRESS: &str = "
    SELECT id, email, password_hash, state, key_version, session_version
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

const ROTATE_KEY: &str = "
    UPDATE accounts SET key_version = key_version + 1
    WHERE id = ?1 AND session_version = ?2 AND state = 'confirmed'
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
