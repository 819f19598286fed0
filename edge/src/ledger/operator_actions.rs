//! Actions of operators and their programs on an account, as its owner sees them.

use constcat::concat;
use serde::Deserialize;

use super::IN_SESSION;
use crate::{cf::database::Database, credentials::session::Session, error::Error};

/// Requires that the call `?2` has just been recorded: account `?1` is changed in the batch of its record, whose condition
/// held.
pub const BY_CALL: &str =
    "id = ?1 AND EXISTS (SELECT 1 FROM operator_actions WHERE id = ?2 AND account_id = ?1)";

const SELECT_CALL: &str = "SELECT 1 AS done FROM operator_actions WHERE id = ?1";

pub async fn has(database: &Database, call: &str) -> Result<bool, Error> {
    database.any((SELECT_CALL, vec![call.into()])).await
}

#[derive(Debug, Deserialize)]
pub struct StoredAction {
    pub at: i64,
    pub action: String,
    pub value: String,
}

const SELECT_ACTIONS: &str = concat!(
    "SELECT at, action, value FROM operator_actions
     WHERE account_id = (SELECT id FROM accounts WHERE ",
    IN_SESSION,
    ") ORDER BY at DESC, rowid DESC LIMIT 1000"
);

pub async fn of_session(database: &Database, session: Session) -> Result<Vec<StoredAction>, Error> {
    let (account, id) = session.texts();
    database.batch(&[(SELECT_ACTIONS, vec![(&account).into(), (&id).into()])]).await?.all(0)
}
