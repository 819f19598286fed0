//! Former passwords and second factors of the last week, with which an owner can undo a change of the address
//! (`email_undos.rs`): a thief may change them first.

use crate::cf::database::{Param, Statement};

/// The two statements that set the account's credentials aside. They precede the statement that changes them, under its
/// condition. An undo compares a password with each row, so there are five at most. A change that finds five makes them
/// last another week instead: the oldest is the owner's, even if a thief made the others.
///
/// A change that removes all former credentials needs none of this, and neither does a secret that is sealed anew.
macro_rules! set_aside {
    ($($condition:expr),+) => {
        [
            constcat::concat!(
                "UPDATE former_credentials SET expires_at = unixepoch() + 7 * 86400
                 WHERE account_id IN (SELECT id FROM accounts WHERE ",
                $($condition,)+
                ") AND expires_at > unixepoch() AND 5 <= (SELECT count(*) FROM former_credentials f
                   WHERE f.account_id = former_credentials.account_id AND f.expires_at > unixepoch())"
            ),
            constcat::concat!(
                "INSERT INTO former_credentials (account_id, password_hash, totp_secret, expires_at)
                 SELECT id, password_hash, totp_secret, unixepoch() + 7 * 86400 FROM accounts
                 WHERE 5 > (SELECT count(*) FROM former_credentials f
                   WHERE f.account_id = accounts.id AND f.expires_at > unixepoch()) AND ",
                $($condition),+
            ),
        ]
    };
}
pub(super) use set_aside;

/// Deletes former passwords, so that nobody who knows one can undo a change. `?2` a password that was just set.
const DELETE_OF_PASSWORD: &str = "DELETE FROM former_credentials WHERE account_id = ?1
    AND EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND password_hash = ?2)";

/// Does nothing until the account has this password.
pub(super) fn forget<'a>(account: &'a str, new_hash: &'a str) -> Statement<'a> {
    let params: Vec<Param<'a>> = vec![account.into(), new_hash.into()];
    (DELETE_OF_PASSWORD, params)
}
