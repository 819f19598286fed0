//! Accounts: reading them, and changes by their signed-in owners.

use constcat::concat;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    IN_SESSION,
    changes::OPEN_CHANGES,
    ended_keys,
    keys::{self, OWN_LAST_DAY, OWN_VERSION},
    plans::IN_FORCE,
    two_factor::{Code, RECENT_FACTORS, code_holds},
};
use crate::{
    account::{AccountId, AccountState},
    cf::database::{Database, Statement},
    credentials::{
        proof::{Caller, Proof},
        session::Session,
    },
    error::Error,
};

/// A row of `accounts` without the ledger's columns.
#[derive(Debug, Deserialize)]
pub struct StoredAccount {
    pub id: AccountId,
    pub email: String,
    pub display_name: String,
    pub plan: String,
    pub state: AccountState,
    pub password_hash: String,
    pub key_version: u32,
    pub key_active: u8,
    pub key_day: i32,
    /// Id and sealed secret of the second factor that is on.
    pub factor: Option<String>,
    pub totp_secret: Option<String>,
    pub recent_factors: u32,
    /// The sealed secret between set-up and its first valid code.
    pub totp_pending: Option<String>,
    pub recovery_codes_left: u32,
    pub created_at: i64,
    pub password_at: u64,
    /// A JSON array, for [`changes::parse`](super::changes::parse).
    pub open_changes: String,
    pub recovery_due_at: Option<i64>,
}

pub(super) const SELECT_ACCOUNT: &str = concat!(
    "SELECT id, email, display_name, ",
    IN_FORCE,
    " AS plan, state, password_hash, ",
    OWN_VERSION,
    " AS key_version, key_active, ",
    OWN_LAST_DAY,
    " AS key_day, totp_pending, created_at, password_at,
       (SELECT f.id FROM second_factors f WHERE f.account_id = a.id AND f.off_at IS NULL) AS factor,
       (SELECT f.secret FROM second_factors f WHERE f.account_id = a.id AND f.off_at IS NULL) AS totp_secret,
       (SELECT count(*) FROM second_factors f
          JOIN recovery_codes r ON r.account_id = f.account_id AND r.factor_id = f.id
        WHERE f.account_id = a.id AND f.off_at IS NULL) AS recovery_codes_left, ",
    RECENT_FACTORS,
    " AS recent_factors, ",
    OPEN_CHANGES,
    " AS open_changes,
       (SELECT min(c.since, unixepoch()) + 3 * 86400
          FROM waiting w JOIN changes c ON c.account_id = w.account_id AND c.about = 'recovery'
        WHERE w.account_id = a.id AND w.kind = 'recovery') AS recovery_due_at
     FROM accounts a WHERE "
);

pub(super) const SELECT_BY_ID: &str = concat!(SELECT_ACCOUNT, "id = ?1 AND deleted_at IS NULL");

/// The account of an address's row in the directory. If there is no row, the same work is done.
pub async fn of_entry(
    database: &Database,
    entry: Option<AccountId>,
) -> Result<Option<StoredAccount>, Error> {
    let id = entry.map(|id| id.to_string()).unwrap_or_default();
    database.first((SELECT_BY_ID, vec![(&id).into()])).await
}

const SELECT_BY_SESSION: &str = concat!(SELECT_ACCOUNT, IN_SESSION);

pub async fn by_session(
    database: &Database,
    session: Session,
) -> Result<Option<StoredAccount>, Error> {
    let (id, session) = session.texts();
    database.first((SELECT_BY_SESSION, vec![(&id).into(), (&session).into()])).await
}

const SELECT_SESSION_ENDED: &str = "SELECT 1 AS ended WHERE NOT EXISTS (
    SELECT 1 FROM sessions s WHERE s.account_id = ?1 AND s.id = ?2)";

/// True if a genuine key or session has permanently ended.
pub async fn has_ended(database: &Database, caller: Caller) -> Result<bool, Error> {
    match caller.proof {
        Proof::Key { .. } => ended_keys::is_over(database, caller).await,
        Proof::Session { id } => {
            let (account, id) = (caller.account.to_string(), id.to_string());
            database.any((SELECT_SESSION_ENDED, vec![(&account).into(), (&id).into()])).await
        }
    }
}

const UPDATE_DISPLAY_NAME: &str = concat!(
    "UPDATE accounts SET display_name = ?3 WHERE ",
    IN_SESSION,
    " RETURNING email, display_name"
);

#[derive(Debug, Deserialize, Serialize, ToSchema)]
pub struct Profile {
    pub email: String,
    pub display_name: String,
}

pub async fn rename(
    database: &Database,
    session: Session,
    display_name: &str,
) -> Result<Option<Profile>, Error> {
    let (id, session) = session.texts();
    database
        .first((UPDATE_DISPLAY_NAME, vec![(&id).into(), (&session).into(), display_name.into()]))
        .await
}

/// A password younger than three days deletes nothing: a minute in the mailbox is enough to set one.
const IS_DELETABLE: &str = concat!(
    code_holds!("?4", "?5"),
    " AND password_at <= unixepoch() - 3 * 86400 AND ",
    IN_SESSION
);

/// Clears what identifies the owner or grants access, and marks the account as deleted. The rows go later, in steps
/// (`deleted_accounts.rs`). `?3` is now; a condition must follow.
pub(super) const UPDATE_ERASED: &str =
    "UPDATE accounts SET deleted_at = ?3, state = 'deactivated', email = '',
       display_name = '', password_hash = '', totp_pending = NULL, key_active = 0,
       scan_mail = 0, plan_until = NULL, erase_at = NULL
     WHERE ";

const UPDATE_DELETED: &str = concat!(UPDATE_ERASED, IS_DELETABLE, " RETURNING id");

/// Notices are few, and the owner's address no longer exists.
pub(super) const DELETE_NOTICES: &str = "DELETE FROM notices WHERE account_id = ?1
    AND EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND deleted_at IS NOT NULL)";

const DAY_S: u64 = 24 * 60 * 60;

/// The id is kept for a day: a step of a confirmation or of a change of address may come late.
const INSERT_CLOSED: &str = "INSERT OR IGNORE INTO closed_accounts (id, closed_at)
    SELECT id, deleted_at FROM accounts WHERE id = ?1 AND deleted_at IS NOT NULL";

/// These statements belong to the batch that closes an account.
fn closing(id: &str) -> [Statement<'_>; 3] {
    [INSERT_CLOSED, DELETE_NOTICES, keys::DELETE_OF_DELETED].map(|sql| (sql, vec![id.into()]))
}

/// Ends the account; `false` if the session has ended, the code was already used or the password is younger than three
/// days. The directory and the rows of other tables follow (`background/deletions.rs`).
pub async fn delete(
    database: &Database,
    session: Session,
    code: &Code,
    now: u64,
) -> Result<bool, Error> {
    let (id, session) = session.texts();
    let caller = vec![(&id).into(), (&session).into(), now.into()];
    let mut statements = vec![(UPDATE_DELETED, [caller, code.params()].concat())];
    statements.extend(closing(&id));
    database.batch(&statements).await?.any(0)
}

const SELECT_TO_BE_ERASED: &str = "SELECT id FROM accounts WHERE erase_at <= ?1 LIMIT 20";
const UPDATE_DUE: &str = concat!(UPDATE_ERASED, "id = ?1 AND erase_at <= ?3");

#[derive(Deserialize)]
struct Closed {
    id: AccountId,
}

/// Ends accounts that an operator deleted a day ago, at most twenty.
pub async fn erase_due(database: &Database, now: u64) -> Result<(), Error> {
    let due = database.batch(&[(SELECT_TO_BE_ERASED, vec![now.into()])]).await?;
    for Closed { id } in due.all(0)? {
        let id = id.to_string();
        // `?2` is the session of an owner's deletion.
        let mut statements = vec![(UPDATE_DUE, vec![(&id).into(), "".into(), now.into()])];
        statements.extend(closing(&id));
        database.batch(&statements).await?;
    }
    Ok(())
}

const SELECT_CLOSED: &str = "SELECT id FROM closed_accounts ORDER BY closed_at LIMIT 5000";

/// Accounts that were closed within a day.
pub async fn closed(database: &Database) -> Result<Vec<AccountId>, Error> {
    let closed = database.batch(&[(SELECT_CLOSED, Vec::new())]).await?.all::<Closed>(0)?;
    Ok(closed.into_iter().map(|account| account.id).collect())
}

/// `?1` a JSON array of ids, `?2` until when they were closed.
const DELETE_CLOSED: &str = "DELETE FROM closed_accounts
    WHERE closed_at <= ?2 AND id IN (SELECT value FROM json_each(?1))";

pub async fn forget_closed(
    database: &Database,
    accounts: &[AccountId],
    now: u64,
) -> Result<(), Error> {
    let ids = Vec::from_iter(accounts.iter().map(AccountId::to_string));
    let ids = serde_json::to_string(&ids)
        .map_err(|error| Error::internal(format!("closed accounts: {error}")))?;
    let until = now.saturating_sub(DAY_S).into();
    database.run((DELETE_CLOSED, vec![(&ids).into(), until])).await
}
