//! Changing a password, within a session or by a mailed link, and renewing its hash.

use serde::Deserialize;

use super::mailed_tokens;
use crate::{
    account::AccountId,
    cf::database::Database,
    credentials::{mailed_token::TokenHash, session::Session},
    error::Error,
};

#[derive(Deserialize)]
struct SessionVersion {
    session_version: u32,
}

const CHANGE: &str = concat!(
    "UPDATE accounts SET password_hash = ?4, session_version = session_version + 1
     WHERE password_hash = ?3 AND ",
    in_session!(),
    " RETURNING session_version"
);

// A link that was asked for before must not undo this change.
const VOID_RESET_LINK: &str = "
    DELETE FROM mailed_tokens WHERE account_id = ?1 AND purpose = 'reset'
      AND EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND password_hash = ?2)";

/// Sets a new password, ends every session and voids a waiting reset link, in one transaction. Returns
/// the new session version; `None` when the session is over or the password was changed meanwhile.
pub async fn change(
    database: &Database,
    session: Session,
    current_hash: &str,
    new_hash: &str,
) -> Result<Option<u32>, Error> {
    let id = session.account.to_string();
    let params = vec![(&id).into(), session.version.into(), current_hash.into(), new_hash.into()];
    let rows = database
        .batch(&[(CHANGE, params), (VOID_RESET_LINK, vec![(&id).into(), new_hash.into()])])
        .await?;
    Ok(rows.first::<SessionVersion>(0)?.map(|row| row.session_version))
}

const RESET: &str = "
    UPDATE accounts SET password_hash = ?3, session_version = session_version + 1
    WHERE state = 'confirmed' AND id = (
      SELECT account_id FROM mailed_tokens
      WHERE hash = ?1 AND purpose = 'reset' AND expires_at > ?2)
    RETURNING session_version";

/// Consumes a reset link: sets the password and ends every session, in one transaction. Returns the new
/// session version; `None` when the link was used or replaced meanwhile.
pub async fn reset(
    database: &Database,
    token: &TokenHash,
    new_hash: &str,
    now: u64,
) -> Result<Option<u32>, Error> {
    let rows = database
        .batch(&[
            (RESET, vec![token.as_str().into(), now.into(), new_hash.into()]),
            mailed_tokens::consume(token),
        ])
        .await?;
    Ok(rows.first::<SessionVersion>(0)?.map(|row| row.session_version))
}

// Only if the password has not been changed in the meantime.
const REHASH: &str = "UPDATE accounts SET password_hash = ?3 WHERE id = ?1 AND password_hash = ?2";

/// Replaces a hash that was made with outdated parameters.
pub async fn rehash(
    database: &Database,
    id: AccountId,
    outdated: &str,
    fresh: &str,
) -> Result<(), Error> {
    let id = id.to_string();
    database.run((REHASH, vec![(&id).into(), outdated.into(), fresh.into()])).await
}
