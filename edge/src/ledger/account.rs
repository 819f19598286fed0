//! Reading accounts, and whether their callers have ended.

use constcat::concat;
use serde::Deserialize;

use super::{
    IN_SESSION,
    authorise::{IS_OVER, IS_PRESENTED},
    own_key::{OWN_LAST_DAY, OWN_VERSION},
    plans::IN_FORCE,
};
use crate::{
    account::{AccountId, AccountState},
    cf::database::Database,
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
    /// A JSON array of the open changes.
    pub open_changes: String,
    pub recovery_due_at: Option<i64>,
}

pub const IS_OPEN: &str = "c.since > unixepoch() - 3 * 86400";

/// A JSON array of [`OpenChange`] of account `a`, the oldest first.
pub(super) const OPEN_CHANGES: &str = concat!(
    "(SELECT json_group_array(json_object('kind', c.kind, 'at', c.at, 'until', c.since + 3 * 86400) ORDER BY c.at)
      FROM changes c WHERE c.account_id = a.id AND ",
    IS_OPEN,
    ")"
);

/// Second factors that account `a` has turned on in three days and since its last reset.
pub(super) const RECENT_FACTORS: &str =
    "(SELECT count(*) FROM second_factors f WHERE f.account_id = a.id
    AND f.on_at > max(a.reset_at, unixepoch() - 3 * 86400))";
pub const SELECT_ACCOUNT: &str = concat!(
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

pub const SELECT_BY_ID: &str = concat!(SELECT_ACCOUNT, "id = ?1 AND deleted_at IS NULL");

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

const SELECT_OVER: &str =
    concat!("SELECT 1 FROM (SELECT 1) LEFT JOIN keys k ON ", IS_PRESENTED, " WHERE ", IS_OVER);

const SELECT_SESSION_ENDED: &str = "SELECT 1 AS ended WHERE NOT EXISTS (
    SELECT 1 FROM sessions s WHERE s.account_id = ?1 AND s.id = ?2)";

/// True if a genuine key or session has permanently ended. A key that the operator has deactivated, itself or with its
/// account, may work again.
pub async fn has_ended(database: &Database, caller: Caller) -> Result<bool, Error> {
    match caller.proof {
        Proof::Key { .. } => {
            let (account, shown) = (caller.account.to_string(), caller.proof.text());
            database.any((SELECT_OVER, vec![(&account).into(), (&shown).into()])).await
        }
        Proof::Session { id } => {
            let (account, id) = (caller.account.to_string(), id.to_string());
            database.any((SELECT_SESSION_ENDED, vec![(&account).into(), (&id).into()])).await
        }
    }
}

const UPDATE_USED: &str =
    "UPDATE sessions SET is_used = 1 WHERE id = ?2 AND account_id = ?1 AND is_used = 0";

pub async fn mark_used(database: &Database, session: Session) -> Result<(), Error> {
    let (account, id) = session.texts();
    database.run((UPDATE_USED, vec![(&account).into(), (&id).into()])).await
}
