//! Changing a password, within a session or by a mailed link.

use serde::Deserialize;

use crate::{
    account::AccountId, caller::SessionCaller, cf::database::Database, error::Error,
    mailed_token::TokenHash,
};

#[derive(Deserialize)]
struct Found {}

#[derive(Deserialize)]
struct SessionVersion {
    session_version: u32,
}

const CHANGE: &str = "
    UPDATE accounts SET password_hash = ?4, session_version = session_version + 1
    WHERE id = ?1 AND session_version = ?2 AND state = 'confirmed' AND password_hash = ?3
    RETURNING session_version";

// A reset link that was asked for before is void: whoever has it must not undo this change.
const VOID_RESET_LINK: &str = "
    DELETE FROM mailed_tokens WHERE account_id = ?1 AND purpose = 'reset'
      AND EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND password_hash = ?2)";

/// Sets a new password, ends every session and voids a waiting reset link, in one transaction. Returns the new session version; `None` when the
/// session is over or the password was changed meanwhile.
///
/// # Errors
/// [`Error::unavailable`] when the database fails; then nothing has changed.
pub async fn change(
    database: &Database,
    caller: SessionCaller,
    current_hash: &str,
    new_hash: &str,
) -> Result<Option<u32>, Error> {
    let id = caller.account.to_string();
    let params = vec![(&id).into(), caller.version.into(), current_hash.into(), new_hash.into()];
    let rows = database
        .batch(&[(CHANGE, params), (VOID_RESET_LINK, vec![(&id).into(), new_hash.into()])])
        .await?;
    Ok(rows.first::<SessionVersion>(0)?.map(|row| row.session_version))
}

/// The reset link that an account had before a newer one, so that the newer one can be taken back
/// where its mail cannot be handed over.
#[derive(Debug, Deserialize)]
pub struct PreviousLink {
    hash: Option<String>,
    expires_at: Option<u64>,
}

const PREVIOUS_LINK: &str = "
    SELECT t.hash, t.expires_at FROM accounts a
    LEFT JOIN mailed_tokens t ON t.account_id = a.id AND t.purpose = 'reset'
    WHERE a.address_hash = ?1 AND a.state = 'confirmed'";

const RESET_TOKEN: &str = "
    INSERT INTO mailed_tokens (hash, account_id, purpose, expires_at)
    SELECT ?1, id, 'reset', ?3 FROM accounts WHERE address_hash = ?2 AND state = 'confirmed'
    ON CONFLICT (account_id, purpose) DO UPDATE
      SET hash = excluded.hash, expires_at = excluded.expires_at";

/// Stores the token of a reset link, which voids older ones; `None` when the address has no confirmed
/// account.
///
/// # Errors
/// As [`change`].
pub async fn store_reset_token(
    database: &Database,
    address_hash: &str,
    token: &TokenHash,
    expires_at: u64,
) -> Result<Option<PreviousLink>, Error> {
    let params = vec![token.as_str().into(), address_hash.into(), expires_at.into()];
    let rows = database
        .batch(&[(PREVIOUS_LINK, vec![address_hash.into()]), (RESET_TOKEN, params)])
        .await?;
    rows.first(0)
}

const FORGET_TOKEN: &str =
    "DELETE FROM mailed_tokens WHERE hash = ?1 AND purpose = 'reset' RETURNING hash";
const RESTORE_LINK: &str =
    "UPDATE mailed_tokens SET hash = ?2, expires_at = ?3 WHERE hash = ?1 RETURNING hash";

/// Takes back a token whose mail could not be handed over: the link before it works again.
///
/// # Errors
/// As [`change`].
pub async fn take_back(
    database: &Database,
    token: &TokenHash,
    previous: &PreviousLink,
) -> Result<(), Error> {
    let token = token.as_str().into();
    let statement = match (&previous.hash, previous.expires_at) {
        (Some(hash), Some(expires_at)) => {
            (RESTORE_LINK, vec![token, hash.into(), expires_at.into()])
        }
        _ => (FORGET_TOKEN, vec![token]),
    };
    database.first::<Found>(statement).await.map(drop)
}

/// The account that a reset link belongs to.
#[derive(Debug, Deserialize)]
pub struct Resetting {
    pub id: AccountId,
    pub email: String,
    pub address_hash: String,
    pub key_version: u32,
    /// Sealed; `None` while two-factor is off.
    pub totp_secret: Option<String>,
}

const RESETTING: &str = "
    SELECT a.id, a.email, a.address_hash, a.key_version, a.totp_secret
    FROM mailed_tokens t JOIN accounts a ON a.id = t.account_id
    WHERE t.hash = ?1 AND t.purpose = 'reset' AND t.expires_at > ?2 AND a.state = 'confirmed'";

/// Looks a reset link up without consuming it.
///
/// # Errors
/// As [`change`].
pub async fn resetting(
    database: &Database,
    token: &TokenHash,
    now: u64,
) -> Result<Option<Resetting>, Error> {
    database.first((RESETTING, vec![token.as_str().into(), now.into()])).await
}

const RESET: &str = "
    UPDATE accounts SET password_hash = ?3, session_version = session_version + 1
    WHERE state = 'confirmed' AND id = (
      SELECT account_id FROM mailed_tokens
      WHERE hash = ?1 AND purpose = 'reset' AND expires_at > ?2)
    RETURNING session_version";

/// Consumes a reset link: sets the password and ends every session, in one transaction. Returns the
/// new session version; `None` when the link was used or replaced meanwhile.
///
/// # Errors
/// As [`change`].
pub async fn reset(
    database: &Database,
    token: &TokenHash,
    new_hash: &str,
    now: u64,
) -> Result<Option<u32>, Error> {
    let rows = database
        .batch(&[
            (RESET, vec![token.as_str().into(), now.into(), new_hash.into()]),
            (FORGET_TOKEN, vec![token.as_str().into()]),
        ])
        .await?;
    Ok(rows.first::<SessionVersion>(0)?.map(|row| row.session_version))
}
