//! Recovering an account, or signing out everywhere, suspends what a thief may have added: keys created or
//! replaced, and passkeys created. This covers the seven days before the start of the recovery or sign-out, and the
//! time since. Each key or passkey works again after the owner has confirmed it.

use serde::Deserialize;

use super::{IN_SESSION, former_credentials, notices::deed};
use crate::{
    account::AccountId,
    cf::database::{Database, Param, Statement},
    error::Error,
};

/// Start of a recovery that takes effect immediately.
const NOW: &str = "unixepoch()";

/// Stores notices to the owners of the accounts that a condition selects, and suspends the accounts' recent keys
/// and passkeys. `$start` is the Unix time at which the recovery of the account `k.account_id` began.
macro_rules! suspend {
    ($condition:expr, $start:expr) => {{
        const TOLD: [&str; 2] = deed!(
            "keys_suspended",
            "(EXISTS (SELECT 1 FROM keys k WHERE k.account_id = accounts.id
                    AND k.id <> '0000000000000000' AND k.suspended = 0 AND max(k.created_at, k.replaced_at) > ",
            $start,
            " - 7 * 86400) OR EXISTS (SELECT 1 FROM passkeys k WHERE k.account_id = accounts.id
                    AND k.suspended = 0 AND k.created_at > ",
            $start,
            " - 7 * 86400)) AND ",
            $condition
        );
        [
            TOLD[0],
            TOLD[1],
            constcat::concat!(
                "UPDATE keys AS k SET suspended = 1
                 WHERE k.id <> '0000000000000000' AND k.suspended = 0 AND max(k.created_at, k.replaced_at) > ",
                $start,
                " - 7 * 86400 AND k.account_id IN (SELECT id FROM accounts WHERE ",
                $condition,
                ")"
            ),
            constcat::concat!(
                "UPDATE passkeys AS k SET suspended = 1 WHERE k.suspended = 0 AND k.created_at > ",
                $start,
                " - 7 * 86400 AND k.account_id IN (SELECT id FROM accounts WHERE ",
                $condition,
                ")"
            ),
        ]
    }};
}
pub(super) use suspend;

/// `?2` the hash of a password that has just been set by a mailed link.
const UPDATE_BY_RESET: [&str; 4] = suspend!("id = ?1 AND password_hash = ?2", NOW);
/// `?3` the undone change of the address: a thief may have requested it long before the undo.
const BY_UNDO: [&str; 4] = suspend!(
    "id = ?1 AND password_hash = ?2",
    "(SELECT c.asked_at FROM email_changes c WHERE c.id = ?3)"
);
/// `?2` session.
const UPDATE_BY_SESSION: [&str; 4] = suspend!(IN_SESSION, NOW);

/// The statements must run after a new password is set by a mailed link.
pub(super) fn by_reset<'a>(account: &'a str, new_hash: &'a str) -> Vec<Statement<'a>> {
    let suspend = UPDATE_BY_RESET.map(|sql| (sql, vec![account.into(), new_hash.into()]));
    suspend.into_iter().chain([former_credentials::forget(account, new_hash)]).collect()
}

/// The statements must run after a change of the address is undone.
pub(super) fn by_undo<'a>(
    account: &'a str,
    new_hash: &'a str,
    change: &'a str,
) -> Vec<Statement<'a>> {
    let params: Vec<Param<'a>> = vec![account.into(), new_hash.into(), change.into()];
    let suspend = BY_UNDO.map(|sql| (sql, params.clone()));
    suspend.into_iter().chain([former_credentials::forget(account, new_hash)]).collect()
}

/// The statements must run before all sessions are ended.
pub(super) fn by_session<'a>(account: &'a str, session: &'a str) -> [Statement<'a>; 4] {
    UPDATE_BY_SESSION.map(|sql| (sql, vec![account.into(), session.into()]))
}

/// A key or passkey that waits for confirmation.
#[derive(Debug, Deserialize)]
pub struct SuspendedRow {
    pub is_passkey: u8,
    /// Creation time in Unix seconds.
    pub created_at: u64,
    /// Time of the last replacement in Unix seconds; 0 if there was none.
    pub replaced_at: u64,
}

const SELECT_SUSPENDED: &str = "
    SELECT 0 AS is_passkey, created_at, replaced_at FROM keys WHERE account_id = ?1 AND suspended = 1
    UNION ALL SELECT 1, created_at, 0 FROM passkeys WHERE account_id = ?1 AND suspended = 1
    ORDER BY 1, 2";

/// The account's suspended keys, then its suspended passkeys.
pub async fn list(database: &Database, account: AccountId) -> Result<Vec<SuspendedRow>, Error> {
    let account = account.to_string();
    database.batch(&[(SELECT_SUSPENDED, vec![(&account).into()])]).await?.all(0)
}
