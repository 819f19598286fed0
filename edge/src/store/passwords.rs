//! Changing a password, within a session or by a mailed link, and renewing its hash.

use constcat::concat;

use super::{
    BY_RESET_LINK, IN_SESSION, IS_UNFROZEN,
    former_credentials::set_aside,
    notices::{deed, told},
    sessions::{self, NewSession},
    suspensions,
    two_factor::{Code, code_holds},
};
use crate::{
    account::AccountId,
    cf::database::Database,
    credentials::{mailed_token::TokenHash, session::Session},
    error::Error,
};

const IS_CHANGEABLE: &str = concat!("password_hash = ?3 AND ", IS_UNFROZEN, " AND ", IN_SESSION);
const INSERT_CHANGED: [&str; 2] = deed!("password_changed", IS_CHANGEABLE);
const SET_ASIDE: [&str; 2] = set_aside!(IS_CHANGEABLE);
const UPDATE_PASSWORD: &str =
    concat!("UPDATE accounts SET password_hash = ?4 WHERE ", IS_CHANGEABLE, " RETURNING id");

// An earlier reset link must not undo this change.
const DELETE_RESET_LINK: &str = "
    DELETE FROM mailed_tokens WHERE account_id = ?1 AND purpose = 'reset'
      AND EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND password_hash = ?2)";

/// Sets a new password, ends every session, starts a new one and voids a waiting reset link, in one
/// transaction. Returns `false` if the session has ended, the password was changed or the account is frozen.
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
    let mut statements = [INSERT_CHANGED, SET_ASIDE].map(|two| told(two, &deed)).concat();
    let index = statements.len();
    statements.extend([
        (UPDATE_PASSWORD, [deed, vec![new_hash.into()]].concat()),
        (DELETE_RESET_LINK, vec![(&id).into(), new_hash.into()]),
        sessions::end_of_password(&id, new_hash),
    ]);
    statements.extend(new_session.start(&texts, new_hash, &Code::Unasked));
    database.batch(&statements).await?.any(index)
}

const IS_RESETTABLE: &str =
    concat!(BY_RESET_LINK, " AND ", IS_UNFROZEN, " AND ", code_holds!("?3", "?4"));
const INSERT_CHANGED_BY_LINK: [&str; 2] = deed!("password_changed", IS_RESETTABLE);
const UPDATE_PASSWORD_BY_LINK: &str =
    concat!("UPDATE accounts SET password_hash = ?5 WHERE ", IS_RESETTABLE, "RETURNING id");

/// `?1` hash of the token, `?2` account, `?3` the account's password hash if the link was used.
const DELETE_USED_LINK: &str = "DELETE FROM mailed_tokens WHERE (hash = ?1 OR next_hash = ?1)
    AND EXISTS (SELECT 1 FROM accounts WHERE id = ?2 AND password_hash = ?3)";

/// Consumes a reset link and its code: sets the password, ends every session and starts a new one,
/// in one transaction. Returns `false` if the link was used, was replaced or has expired, the code
/// was already used, two-factor was turned on or the account is frozen.
pub async fn reset(
    database: &Database,
    token: &TokenHash,
    code: &Code,
    new_hash: &str,
    new_session: &NewSession,
    now: u64,
) -> Result<bool, Error> {
    let deed = [vec![token.as_str().into(), now.into()], code.params()].concat();
    let texts = new_session.texts();
    let id = &texts.account;
    let mut statements = Vec::from(told(INSERT_CHANGED_BY_LINK, &deed));
    statements.extend([
        (UPDATE_PASSWORD_BY_LINK, [deed, vec![new_hash.into()]].concat()),
        (DELETE_USED_LINK, vec![token.as_str().into(), id.into(), new_hash.into()]),
        sessions::end_of_password(id, new_hash),
    ]);
    statements.extend(new_session.start(&texts, new_hash, code));
    statements.extend(suspensions::by_reset(id, new_hash));
    statements.append(&mut code.used_up_unless_frozen(id, &texts.id));
    database.batch(&statements).await?.any(2)
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
