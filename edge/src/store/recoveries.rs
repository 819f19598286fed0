//! Recovery of an account whose owner has lost the second factor. An operator's call starts it (`operator/accounts.rs`). The
//! owner gets an email immediately and then daily. Three days after the first email was handed over, two-factor
//! authentication is turned off. Until then, any sign-in ends the recovery (`sessions.rs`), and any session can end it.
//! While an email can't be sent, the recovery waits.

use constcat::concat;
use serde::Deserialize;

use super::{
    IN_SESSION, IS_UNFROZEN,
    notices::{deed, told},
    operator_actions::BY_CALL,
    suspensions::suspend,
};
use crate::{
    account::AccountId,
    cf::database::{Database, Statement},
    credentials::session::Session,
    error::Error,
};

/// Requires two-factor authentication and an account that isn't frozen, both when a recovery starts and when it takes
/// effect. A deactivated account qualifies, so the operator can deactivate it first. After a deactivation, a thief who
/// has turned on two-factor authentication can't end the recovery by signing in.
const HAS_SECOND_FACTOR: &str =
    concat!("confirmed_at IS NOT NULL AND totp_secret IS NOT NULL AND ", IS_UNFROZEN);

/// Requires that account `?1` can be recovered. A recent change of the password or the address may be the work of a
/// thief, so it rules out a recovery.
pub const IS_RECOVERABLE: &str = concat!(
    "id = ?1 AND ",
    HAS_SECOND_FACTOR,
    " AND NOT EXISTS (SELECT 1 FROM recoveries WHERE account_id = ?1)
      AND NOT EXISTS (SELECT 1 FROM security_events WHERE account_id = ?1 AND class = 'deed'
        AND kind IN ('password_changed', 'email_changed', 'email_change_undone') AND at > unixepoch() - 14 * 86400)"
);

/// `?1` account, `?2` call of an operator, recorded if the account [`IS_RECOVERABLE`]. `mailed_at` is 0 until the first
/// email is handed over.
pub const INSERT_RECOVERY: &str = concat!(
    "INSERT INTO recoveries (account_id, due_at, mailed_at, started_at)
     SELECT id, unixepoch() + 3 * 86400, 0, unixepoch() FROM accounts WHERE ",
    BY_CALL
);

const IS_PENDING: &str = "EXISTS (SELECT 1 FROM recoveries WHERE account_id = accounts.id)";
const INSERT_STOPPED: [&str; 2] = deed!("recovery_stopped", IS_PENDING, " AND ", IN_SESSION);
const DELETE_PENDING: &str = concat!(
    "DELETE FROM recoveries WHERE account_id = ?1 AND EXISTS (SELECT 1 FROM accounts WHERE ",
    IN_SESSION,
    ")"
);
const SELECT_SESSION: &str = concat!("SELECT id FROM accounts WHERE ", IN_SESSION);

pub(super) fn stop_by_session<'a>(account: &'a str, session: &'a str) -> [Statement<'a>; 3] {
    let caller = vec![account.into(), session.into()];
    let [event, notice] = told(INSERT_STOPPED, &caller);
    [event, notice, (DELETE_PENDING, caller)]
}

/// Ends the pending recovery of the session's account, if there is one; `false` if the session has ended.
pub async fn stop(database: &Database, session: Session) -> Result<bool, Error> {
    let (account, id) = session.texts();
    let [event, notice, end] = stop_by_session(&account, &id);
    let session = (SELECT_SESSION, vec![(&account).into(), (&id).into()]);
    database.batch(&[event, notice, end, session]).await?.any(3)
}

#[derive(Deserialize)]
struct Pending {
    due_at: i64,
}

/// Leaves the owner three days after the first email, and at least half a day after a later one.
const UPDATE_DUE_AT: &str = "UPDATE recoveries
    SET due_at = max(due_at, unixepoch() + CASE mailed_at WHEN 0 THEN 3 * 86400 ELSE 43200 END)
    WHERE account_id = ?1 RETURNING due_at";

/// The Unix time at which the account's recovery takes effect, for the next email about it; `None` if none is pending.
/// Postpones the recovery if the email would leave its reader too little time.
pub async fn due_at_after_mail(
    database: &Database,
    account: AccountId,
) -> Result<Option<i64>, Error> {
    let account = account.to_string();
    let rows = database.batch(&[(UPDATE_DUE_AT, vec![(&account).into()])]).await?;
    Ok(rows.first::<Pending>(0)?.map(|pending| pending.due_at))
}

/// Requires that every email of the recovery so far was handed over. Each start of a recovery adds an email, so emails
/// of an earlier recovery don't count.
const IS_NOTICE_SENT: &str =
    "EXISTS (SELECT 1 FROM notices n WHERE n.account_id = recoveries.account_id
    AND n.kind = 'recovery_pending' AND n.told = n.deeds)";
const UPDATE_MAILED_AT: &str = concat!(
    "UPDATE recoveries SET mailed_at = unixepoch() WHERE account_id = ?1 AND ",
    IS_NOTICE_SENT
);

/// Records that the email about the account's recovery was handed over. Runs after the notice is recorded as sent; if
/// interrupted in between, the owner gets another email.
pub async fn record_mail(database: &Database, account: AccountId) -> Result<(), Error> {
    let account = account.to_string();
    database.run((UPDATE_MAILED_AT, vec![(&account).into()])).await
}

/// Removes recoveries of accounts that have been deleted or have no second factor. Also removes recoveries that are a
/// week overdue: their owners can't be mailed.
const DELETE_POINTLESS: &str = "DELETE FROM recoveries WHERE due_at <= unixepoch() - 7 * 86400
    OR account_id IN (
      SELECT r.account_id FROM recoveries r JOIN accounts a ON a.id = r.account_id WHERE a.totp_secret IS NULL)";

/// Age of the last email, in seconds, above which a recovery takes effect only after another email.
const LATE_S: &str = "129600";
/// Requires that a further email is due: a day after the last one or, once the recovery is due, 36 hours after the last
/// one.
const TO_BE_MAILED: &str = concat!(
    "mailed_at <= unixepoch() - 86400 AND (due_at > unixepoch() OR mailed_at <= unixepoch() - ",
    LATE_S,
    ") AND ",
    IS_NOTICE_SENT
);
const INSERT_PENDING: [&str; 2] =
    deed!("recovery_pending", "id IN (SELECT account_id FROM recoveries WHERE ", TO_BE_MAILED, ")");

/// Marks the recoveries that take effect with this transaction, by negating `due_at`. A frozen account waits, and so
/// does one whose owner hasn't got the last email.
const UPDATE_DUE: &str = concat!(
    "UPDATE recoveries SET due_at = -due_at WHERE due_at BETWEEN 0 AND unixepoch() AND mailed_at > unixepoch() - ",
    LATE_S,
    " AND ",
    IS_NOTICE_SENT,
    " AND account_id IN (SELECT id FROM accounts WHERE ",
    HAS_SECOND_FACTOR,
    ")"
);
const OF_DUE: &str = "account_id IN (SELECT account_id FROM recoveries WHERE due_at < 0)";
const IS_DUE: &str = "id IN (SELECT account_id FROM recoveries WHERE due_at < 0)";
const INSERT_RECOVERED: [&str; 2] = deed!("account_recovered", IS_DUE);
/// Start of the recovery: keys that a thief has added shortly before the start are also suspended.
const STARTED_AT: &str =
    "(SELECT r.started_at FROM recoveries r WHERE r.account_id = k.account_id)";
const UPDATE_SUSPENDED: [&str; 4] = suspend!(IS_DUE, STARTED_AT);
/// `?1` the hash of a password that nobody knows.
const UPDATE_SECOND_FACTOR: &str = concat!(
    "UPDATE accounts SET totp_secret = NULL, totp_pending = NULL, password_hash = ?1 WHERE ",
    IS_DUE
);
const DELETE_SESSIONS: &str = concat!("DELETE FROM sessions WHERE ", OF_DUE);
const DELETE_RECOVERY_CODES: &str = concat!("DELETE FROM recovery_codes WHERE ", OF_DUE);
const DELETE_FORMER_CREDENTIALS: &str = concat!("DELETE FROM former_credentials WHERE ", OF_DUE);
const DELETE_DUE: &str = "DELETE FROM recoveries WHERE due_at < 0";

const SELECT_ANY: &str = "SELECT 1 AS one FROM recoveries LIMIT 1";

/// Stores a daily email to the owners of accounts in recovery, and completes recoveries after three days. Completion
/// removes the second factor and voids the password, so that only the mailbox's owner can sign in. Emails and
/// completions have a transaction each; if no recovery is pending, only one statement runs.
pub async fn run(database: &Database, void_hash: &str) -> Result<(), Error> {
    let bare = |sql| (sql, Vec::new());
    if !database.any(bare(SELECT_ANY)).await? {
        return Ok(());
    }
    let [event, notice] = INSERT_PENDING;
    database.batch(&[DELETE_POINTLESS, event, notice].map(bare)).await?;
    let mut statements = vec![bare(UPDATE_DUE)];
    statements.extend(INSERT_RECOVERED.into_iter().chain(UPDATE_SUSPENDED).map(bare));
    statements.push((UPDATE_SECOND_FACTOR, vec![void_hash.into()]));
    statements.extend(
        [DELETE_SESSIONS, DELETE_RECOVERY_CODES, DELETE_FORMER_CREDENTIALS, DELETE_DUE].map(bare),
    );
    database.batch(&statements).await.map(drop)
}
