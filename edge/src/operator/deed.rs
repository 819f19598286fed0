//! A change by an operator and its row of the audit, which are written together or not at all.

use axum::{
    Json,
    response::{IntoResponse as _, Response},
};
use serde::Serialize;

use crate::{
    cf::database::{Database, Param, Rows, Statement},
    error::Error,
    ledger::operator_actions,
};

/// The call that asks for a change.
#[derive(Debug)]
pub struct Deed<'a> {
    pub call: &'a str,
    pub operator: &'a str,
    pub action: &'static str,
    pub reason: &'a str,
}

/// Writes the audit's row under a condition on the account; `?1` account, then [`Deed::params`]. A second row of the same
/// call fails, and with it the whole batch. The deed's statements follow, with [`operator_actions::BY_CALL`].
macro_rules! record {
    ($($condition:expr),+) => {
        constcat::concat!(
            "INSERT INTO operator_actions (id, at, operator, action, account_id, value, reason)
             SELECT ?2, unixepoch(), ?3, ?4, id, ?6, ?5 FROM accounts
             WHERE deleted_at IS NULL AND id = ?1 AND ", $($condition,)+ " RETURNING id"
        )
    };
}
pub(super) use record;

impl Deed<'_> {
    /// The parameters `?2` to `?6` of the audit's row: call, operator, action, reason, value.
    pub fn params<'a>(&'a self, value: &'a str) -> [Param<'a>; 5] {
        [self.call, self.operator, self.action, self.reason, value].map(Param::from)
    }

    /// Runs the batch; `None` if the call was done before.
    ///
    /// # Errors
    /// [`Error::unavailable`] when the database fails; then nothing has changed, unless only the answer was lost.
    pub async fn run(
        &self,
        database: &Database,
        statements: &[Statement<'_>],
    ) -> Result<Option<Rows>, Error> {
        match database.batch(statements).await {
            Ok(rows) => Ok(Some(rows)),
            Err(error) => {
                let is_done = operator_actions::has(database, self.call).await?;
                if is_done { Ok(None) } else { Err(error) }
            }
        }
    }
}

/// Response of a change.
#[derive(Serialize)]
pub struct Done<T> {
    /// `false` if this call had been done before; then nothing has changed.
    pub applied: bool,
    #[serde(flatten)]
    pub after: T,
}

impl<T: Serialize> Done<T> {
    pub fn into_response(self) -> Response {
        Json(self).into_response()
    }
}
