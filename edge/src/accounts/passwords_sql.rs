//! Changing a password within a session, and renewing its hash.

use constcat::concat;

use super::{
    changes_sql::opening,
    sessions_sql::{self, NewSession},
    stops_sql,
};
use crate::{
    account::AccountId,
    cf::database::Database,
    credentials::session::Session,
    error::Error,
    ledger::{IN_SESSION, code::Code, notices::told},
};

const IS_CHANGEABLE: &str = concat!("password_hash = ?3 AND ", IN_SESSION);
const INSERT_CHANGED: [&str; 3] = opening!("password_changed", "'password'", IS_CHANGEABLE);
const UPDATE_PASSWORD: &str = concat!(
    "UPDATE accounts SET password_hash = ?4, password_at = unixepoch() WHERE ",
    IS_CHANGEABLE,
    " RETURNING id"
);

// An earlier reset link must not undo this change.
const DELETE_RESET_LINK: &str = "
    DELETE FROM reset_links WHERE account_id = ?1
      AND EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND password_hash = ?2)";

/// Sets a new password, ends every session, starts a new one, voids a reset link and drops what waits, in one
/// transaction. `false` also if the password was changed.
pub async fn change(
    database: &Database,
    session: Session,
    current_hash: &str,
    new_hash: &str,
    new_session: &NewSession,
) -> Result<bool, Error> {
    let (id, session) = session.texts();
    let deed = vec![(&id).into(), (&session).into(), current_hash.into()];
    let texts = new_session.texts();
    let mut statements = Vec::from(told(INSERT_CHANGED, &deed));
    let index = statements.len();
    statements.extend([
        (UPDATE_PASSWORD, [deed, vec![new_hash.into()]].concat()),
        (DELETE_RESET_LINK, vec![(&id).into(), new_hash.into()]),
        sessions_sql::end_of_password(&id, new_hash),
    ]);
    statements.extend(stops_sql::drop_waiting(&id, new_hash));
    statements.extend(new_session.start(&texts, new_hash, &Code::Unasked));
    database.batch(&statements).await?.any(index)
}

// Changes nothing if the password was changed in the meantime.
const UPDATE_HASH: &str =
    "UPDATE accounts SET password_hash = ?3 WHERE id = ?1 AND password_hash = ?2";

/// Replaces a hash that was made with outdated parameters.
pub async fn rehash(
    database: &Database,
    id: AccountId,
    outdated: &str,
    fresh: &str,
) -> Result<(), Error> {
    let id = id.to_string();
    database.run((UPDATE_HASH, vec![(&id).into(), outdated.into(), fresh.into()])).await
}
