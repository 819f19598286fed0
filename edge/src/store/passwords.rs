//! Changing a password, within a session or by a mailed link, and renewing its hash.

use constcat::concat;

use super::{
    IN_SESSION,
    mailed_tokens::{self, BY_RESET_LINK},
    notices::notice,
    sessions::{self, NewSession},
};
use crate::{
    account::AccountId,
    cf::database::Database,
    credentials::{mailed_token::TokenHash, session::Session},
    error::Error,
};

const CHANGE: &str = concat!(
    "UPDATE accounts SET password_hash = ?4 WHERE password_hash = ?3 AND ",
    IN_SESSION,
    " RETURNING id"
);

const CHANGED: &str = notice!("password_changed", "password_hash = ?3 AND ", IN_SESSION);

// A link that was asked for before must not undo this change.
const VOID_RESET_LINK: &str = "
    DELETE FROM mailed_tokens WHERE account_id = ?1 AND purpose = 'reset'
      AND EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND password_hash = ?2)";

/// Sets a new password, ends every session, starts a new one and voids a waiting reset link, in one
/// transaction. `false` when the session is over or the password was changed meanwhile.
pub async fn change(
    database: &Database,
    session: Session,
    current_hash: &str,
    new_hash: &str,
    new_session: &NewSession,
) -> Result<bool, Error> {
    let (id, session) = session.texts();
    let deed = vec![(&id).into(), (&session).into(), current_hash.into()];
    let rows = database
        .batch(&[
            (CHANGED, deed.clone()),
            (CHANGE, [deed, vec![new_hash.into()]].concat()),
            (VOID_RESET_LINK, vec![(&id).into(), new_hash.into()]),
            sessions::end_of_password(&id, new_hash),
            new_session.start(&new_session.texts(), new_hash),
        ])
        .await?;
    rows.any(1)
}

const RESET: &str =
    concat!("UPDATE accounts SET password_hash = ?3 WHERE ", BY_RESET_LINK, " RETURNING id");

const CHANGED_BY_LINK: &str = notice!("password_changed", BY_RESET_LINK);

/// Consumes a reset link: sets the password, ends every session and starts a new one, in one transaction.
/// `false` when the link was used or replaced meanwhile.
pub async fn reset(
    database: &Database,
    token: &TokenHash,
    new_hash: &str,
    new_session: &NewSession,
    now: u64,
) -> Result<bool, Error> {
    let link = vec![token.as_str().into(), now.into()];
    let id = new_session.session.account.to_string();
    let rows = database
        .batch(&[
            (CHANGED_BY_LINK, link.clone()),
            (RESET, [link, vec![new_hash.into()]].concat()),
            mailed_tokens::consume(token),
            sessions::end_of_password(&id, new_hash),
            new_session.start(&new_session.texts(), new_hash),
        ])
        .await?;
    rows.any(1)
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
