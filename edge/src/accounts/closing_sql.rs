//! The end of an account: by its owner, or a day after an operator's call.

use constcat::concat;
use serde::Deserialize;

use crate::{
    account::AccountId,
    cf::database::{Database, Statement},
    credentials::session::Session,
    error::Error,
    ledger::{
        IN_SESSION,
        code::{Code, code_holds},
        own_key::DELETE_OF_DELETED,
    },
};

/// A password younger than three days deletes nothing: a minute in the mailbox is enough to set one.
const IS_DELETABLE: &str = concat!(
    code_holds!("?4", "?5"),
    " AND password_at <= unixepoch() - 3 * 86400 AND ",
    IN_SESSION
);

/// Clears all columns of the row that identify the owner or grant access, and marks the account as deleted. The row and
/// those of other tables are removed later in steps (`deletion_sql.rs`). `?3` is now; a condition must follow.
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

fn closing(id: &str) -> [Statement<'_>; 3] {
    [INSERT_CLOSED, DELETE_NOTICES, DELETE_OF_DELETED].map(|sql| (sql, vec![id.into()]))
}

/// Ends the account; `false` if the session has ended, the code was already used or the password is younger than three
/// days. The directory and the rows of other tables follow (`deletion.rs`).
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
