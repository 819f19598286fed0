//! Recovery of an account whose owner has lost the second factor. It waits like a change of the address: the owner gets
//! an email immediately and then daily, and three days after the first one every second factor goes. Until then any
//! sign-in, a new password and any session end it.

use constcat::concat;

use super::changes_sql::{change, opening};
use crate::{
    cf::database::{Database, Statement},
    error::Error,
    ledger::{
        IN_SESSION,
        notices::{deed, told},
        operator_actions::BY_CALL,
    },
};

/// Requires two-factor authentication. A deactivated account qualifies, so the operator can deactivate it first: then a
/// thief who has turned on two-factor authentication can't end the recovery by signing in.
const HAS_SECOND_FACTOR: &str = "deleted_at IS NULL AND EXISTS (SELECT 1 FROM second_factors f
    WHERE f.account_id = accounts.id AND f.off_at IS NULL)";

const IS_PENDING: &str =
    "EXISTS (SELECT 1 FROM waiting w WHERE w.account_id = accounts.id AND w.kind = 'recovery')";

/// Requires that account `?1` can be recovered. A recent change of the password or the address may be the work of a
/// thief, so it rules out a recovery.
pub const IS_RECOVERABLE: &str = concat!(
    "id = ?1 AND ",
    HAS_SECOND_FACTOR,
    " AND NOT ",
    IS_PENDING,
    " AND NOT EXISTS (SELECT 1 FROM notices WHERE account_id = ?1 AND kind IN ('password_changed', 'email_changed')
        AND happened_at > unixepoch() - 14 * 86400)"
);

/// Event, notice and change of a recovery's start, and the row that waits. `?1` account, `?2` call of an operator, recorded
/// if the account [`IS_RECOVERABLE`].
pub const START: [&str; 4] = {
    const OPENED: [&str; 3] = opening!("recovery_pending", "'recovery'", BY_CALL);
    [
        OPENED[0],
        OPENED[1],
        OPENED[2],
        concat!(
            "INSERT INTO waiting (id, account_id, kind, state, at)
             SELECT lower(hex(randomblob(16))), id, 'recovery', 'agreed', unixepoch() FROM accounts WHERE ",
            BY_CALL
        ),
    ]
};

const INSERT_STOPPED: [&str; 2] = deed!("recovery_stopped", IS_PENDING, " AND ", IN_SESSION);
const DELETE_PENDING: &str = concat!(
    "DELETE FROM waiting WHERE account_id = ?1 AND kind = 'recovery' AND EXISTS (SELECT 1 FROM accounts WHERE ",
    IN_SESSION,
    ")"
);

/// A sign-in shows that somebody has the second factor.
pub(super) fn stop_by_session<'a>(account: &'a str, session: &'a str) -> [Statement<'a>; 3] {
    let caller = vec![account.into(), session.into()];
    let [event, notice] = told(INSERT_STOPPED, &caller);
    [event, notice, (DELETE_PENDING, caller)]
}

/// Removes recoveries of accounts that have been deleted or have no second factor, and those that couldn't be told for a
/// month.
const DELETE_POINTLESS: &str = concat!(
    "DELETE FROM waiting WHERE kind = 'recovery' AND (at <= unixepoch() - 30 * 86400
       OR account_id NOT IN (SELECT id FROM accounts WHERE ",
    HAS_SECOND_FACTOR,
    "))"
);

/// Requires a pending recovery whose emails so far were all handed over, the last one at most `$age` seconds ago, or
/// longer ago.
macro_rules! mailed {
    ($than:literal) => {
        concat!(
            IS_PENDING,
            " AND EXISTS (SELECT 1 FROM notices n WHERE n.account_id = accounts.id AND n.kind = 'recovery_pending'
                AND n.told = n.deeds AND n.told_at ",
            $than,
            ")"
        )
    };
}

/// A day after the last email or, once the recovery is due, 36 hours after it.
const IS_TO_BE_MAILED: &str = concat!(
    mailed!("<= unixepoch() - 86400"),
    " AND (",
    mailed!("<= unixepoch() - 129600"),
    " OR EXISTS (SELECT 1 FROM changes c WHERE c.account_id = accounts.id AND c.about = 'recovery'
          AND c.since > unixepoch() - 3 * 86400))"
);
const INSERT_PENDING: [&str; 2] = deed!("recovery_pending", IS_TO_BE_MAILED);

/// A recovery is due three days after its first email, if the last one isn't older than 36 hours.
const IS_TO_BE_DONE: &str = concat!(
    HAS_SECOND_FACTOR,
    " AND ",
    mailed!("> unixepoch() - 129600"),
    " AND EXISTS (SELECT 1 FROM changes c WHERE c.account_id = accounts.id AND c.about = 'recovery'
        AND c.since <= unixepoch() - 3 * 86400)"
);
const UPDATE_DUE: &str = concat!(
    "UPDATE waiting SET state = 'done' WHERE kind = 'recovery' AND account_id IN (SELECT id FROM accounts WHERE ",
    IS_TO_BE_DONE,
    ")"
);
const OF_DUE: &str =
    "account_id IN (SELECT account_id FROM waiting WHERE kind = 'recovery' AND state = 'done')";
const IS_DUE: &str =
    "id IN (SELECT account_id FROM waiting WHERE kind = 'recovery' AND state = 'done')";
const INSERT_RECOVERED: [&str; 2] = deed!("account_recovered", IS_DUE);
/// The recovery is an open change again, so that the reset that follows ends what was made in the week before it began.
const INSERT_CHANGE: &str = change!("account_recovered", "'recovery'", IS_DUE);
const UPDATE_AT: &str = concat!(
    "UPDATE changes SET at = (SELECT w.at FROM waiting w WHERE w.account_id = changes.account_id AND w.kind = 'recovery')
     WHERE about = 'recovery' AND ",
    OF_DUE
);
/// `?1` the hash of a password that nobody knows.
const UPDATE_PASSWORD: &str =
    concat!("UPDATE accounts SET totp_pending = NULL, password_hash = ?1 WHERE ", IS_DUE);
const DELETE_SESSIONS: &str = concat!("DELETE FROM sessions WHERE ", OF_DUE);
/// Every row, so that the reset that follows asks for no code. Recovery codes go with them.
const DELETE_FACTORS: &str = concat!("DELETE FROM second_factors WHERE ", OF_DUE);
const DELETE_DUE: &str = "DELETE FROM waiting WHERE kind = 'recovery' AND state = 'done'";

const SELECT_ANY: &str = "SELECT 1 AS one FROM waiting WHERE kind = 'recovery' LIMIT 1";

/// Stores a daily email to the owners of accounts in recovery, and completes recoveries: second factors go, and the
/// password is void, so that only the mailbox's owner can sign in. If no recovery is pending, only one statement runs.
pub async fn run(database: &Database, void_hash: &str) -> Result<(), Error> {
    let bare = |sql| (sql, Vec::new());
    if !database.any(bare(SELECT_ANY)).await? {
        return Ok(());
    }
    let [event, notice] = INSERT_PENDING;
    database.batch(&[DELETE_POINTLESS, event, notice].map(bare)).await?;
    let mut statements = vec![bare(UPDATE_DUE)];
    statements.extend(INSERT_RECOVERED.into_iter().chain([INSERT_CHANGE, UPDATE_AT]).map(bare));
    statements.push((UPDATE_PASSWORD, vec![void_hash.into()]));
    statements.extend([DELETE_SESSIONS, DELETE_FACTORS, DELETE_DUE].map(bare));
    database.batch(&statements).await.map(drop)
}
