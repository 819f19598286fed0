//! Changes that could give an account away. A reset takes them back for three days, counted from the hand-over of the
//! email that tells of this very change, or from fourteen days after it if none can be handed over.

use constcat::concat;
use serde::Deserialize;

use crate::{
    cf::database::{Param, Statement},
    error::Error,
    json,
    ledger::account::IS_OPEN,
};

pub const OPEN_S: u64 = 3 * 24 * 60 * 60;

/// The time before which nothing of account `accounts.id` counts as a thief's: seven days before the oldest open
/// change, or before now.
pub(super) const SUSPECT_SINCE: &str = concat!(
    "(coalesce((SELECT min(c.at) FROM changes c WHERE c.account_id = accounts.id AND ",
    IS_OPEN,
    "), unixepoch()) - 7 * 86400)"
);

/// Opens a change of the accounts that the condition selects, or begins its three days anew. Follows the notice, under
/// the same condition; `$about` is what was changed.
macro_rules! change {
    ($kind:literal, $about:expr, $($condition:expr),+) => {
        constcat::concat!(
            "INSERT INTO changes (account_id, about, kind, deed, at, since)
             SELECT id, ", $about, ", '", $kind, "', (SELECT n.deeds FROM notices n
               WHERE n.account_id = accounts.id AND n.kind = '", $kind, "'), unixepoch(),
               unixepoch() + CASE '", $kind, "' WHEN 'recovery_pending' THEN 30 ELSE 14 END * 86400
             FROM accounts WHERE ",
            $($condition,)+
            " ON CONFLICT (account_id, about) DO UPDATE SET kind = excluded.kind, deed = excluded.deed,
               at = CASE WHEN since > unixepoch() - 3 * 86400 THEN at ELSE excluded.at END,
               name = CASE WHEN since > unixepoch() - 3 * 86400 THEN name ELSE excluded.name END,
               since = excluded.since"
        )
    };
}
pub(super) use change;

/// The statements of a [`deed!`](crate::ledger::notices::deed) that can be taken back: event, notice and change.
macro_rules! opening {
    ($kind:literal, $about:expr, $($condition:expr),+) => {
        [
            $crate::ledger::security_events::event!($kind, "''", "''", $($condition),+),
            $crate::ledger::notices::notice!($kind, $($condition),+),
            $crate::accounts::changes_sql::change!($kind, $about, $($condition),+),
        ]
    };
}
pub(super) use opening;

pub(super) fn opened<'a>(
    [event, notice, change]: [&'static str; 3],
    params: &[Param<'a>],
    about: Param<'a>,
) -> [Statement<'a>; 3] {
    let with_about = [params, &[about]].concat();
    [(event, params.to_vec()), (notice, params.to_vec()), (change, with_about)]
}

#[derive(Debug, Clone, Deserialize)]
pub struct OpenChange {
    pub kind: String,
    pub at: i64,
    pub until: i64,
}

/// Reads [`OPEN_CHANGES`](crate::ledger::account::OPEN_CHANGES).
///
/// # Errors
/// [`Error::internal`] if it isn't such an array.
pub fn parse(open: &str) -> Result<Vec<OpenChange>, Error> {
    json::read(open.as_bytes()).map_err(|error| Error::internal(format!("open changes: {error}")))
}
