//! Actions of operators and their programs on an account, as its owner sees them.

use constcat::concat;
use serde::Deserialize;

use super::IN_SESSION;
use crate::{cf::database::Database, credentials::session::Session, error::Error};

/// A row of `operator_actions`, without the operator's name and reason, which are internal notes.
#[derive(Debug, Deserialize)]
pub struct StoredAction {
    /// Time in Unix seconds.
    pub at: i64,
    pub action: String,
    pub value: String,
}

const SELECT_ACTIONS: &str = concat!(
    "SELECT at, action, value FROM operator_actions
     WHERE account_id = (SELECT id FROM accounts WHERE ",
    IN_SESSION,
    ") ORDER BY at DESC, id DESC LIMIT 1000"
);

/// The actions, newest first; none if the session has ended.
pub async fn of_session(database: &Database, session: Session) -> Result<Vec<StoredAction>, Error> {
    let (account, id) = session.texts();
    database.batch(&[(SELECT_ACTIONS, vec![(&account).into(), (&id).into()])]).await?.all(0)
}
