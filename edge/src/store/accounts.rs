//! Accounts: reading them, and changes by their signed-in owners.

use constcat::concat;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    IN_SESSION,
    addresses::DeletedAccount,
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
        address_hash::AccountHash,
        proof::{Caller, Proof},
        session::Session,
    },
    error::Error,
    limits::quota::Day,
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
    /// Version of the account's own key.
    pub key_version: u32,
    pub key_active: u8,
    /// Day of the own key's last charge, from 1970-01-01; 0 if there was none.
    pub key_day: i32,
    /// Id and sealed secret of the second factor that is on.
    pub factor: Option<String>,
    pub totp_secret: Option<String>,
    /// Second factors turned on in three days and since the last reset.
    pub recent_factors: u32,
    /// The sealed secret between set-up and its first valid code.
    pub totp_pending: Option<String>,
    pub recovery_codes_left: u32,
    /// Creation time in Unix seconds.
    pub created_at: i64,
    /// Time of the last new password in Unix seconds; 0 if there was none.
    pub password_at: u64,
    /// A JSON array, for [`changes::parse`](super::changes::parse).
    pub open_changes: String,
    /// Unix time at which an operator's recovery of the account takes effect.
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

// No-op if two instances, one of which hasn't yet loaded a new secret, have created two rows.
const UPDATE_ADDRESS_HASHES: [&str; 2] = [
    "UPDATE OR IGNORE accounts SET address_hash = ?1 WHERE address_hash = ?2",
    "UPDATE OR IGNORE tombstones SET address_hash = ?1 WHERE address_hash = ?2",
];

/// While a secret is being replaced, the statements renew an address's rows under the signing secret. They precede the
/// lookup of the account, in the same transaction.
pub(super) fn rekey(hash: &AccountHash) -> impl Iterator<Item = Statement<'_>> {
    let others = hash.other().into_iter();
    others.flat_map(|other| {
        UPDATE_ADDRESS_HASHES.map(|statement| (statement, vec![hash.as_str().into(), other.into()]))
    })
}

/// `?1` account.
pub(super) const SELECT_BY_ID: &str = concat!(SELECT_ACCOUNT, "id = ?1 AND deleted_at IS NULL");

/// The account in the directory's row for an address. If there is no row, the same work is done.
pub async fn of_address(
    database: &Database,
    hash: &AccountHash,
    id_in_directory: Option<AccountId>,
) -> Result<Option<StoredAccount>, Error> {
    let id = id_in_directory.map(|id| id.to_string()).unwrap_or_default();
    let mut statements = Vec::from_iter(rekey(hash));
    let index = statements.len();
    statements.push((SELECT_BY_ID, vec![(&id).into()]));
    database.batch(&statements).await?.first(index)
}

const SELECT_BY_SESSION: &str = concat!(SELECT_ACCOUNT, IN_SESSION);

/// The account of this session; `None` if the session has ended.
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

/// An account's profile.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
pub struct Profile {
    pub email: String,
    pub display_name: String,
}

/// Sets the display name; `None` if the session has ended.
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

/// Stores the account's usage, leases included, under the hash of its address. `?1` account, `?3` today, `?4` now. A
/// condition must follow, then `ON_CONFLICT_UPDATE_TOMBSTONE`.
pub(super) const INSERT_TOMBSTONE: &str = "INSERT INTO tombstones
       (address_hash, account_id, day, used, scans_used, welcome_left, expires_at)
     SELECT address_hash, id, ?3,
       CASE WHEN day < ?3 THEN 0 ELSE daily_charged END
         + (SELECT coalesce(sum(n_daily), 0) FROM leases
            WHERE account_id = ?1 AND day = ?3 AND expires_at > ?4),
       CASE WHEN scans_day < ?3 THEN 0 ELSE scans_charged END,
       max(0, welcome_left - (SELECT coalesce(sum(n_welcome), 0) FROM leases
         WHERE account_id = ?1 AND expires_at > ?4)),
       ?4 + 30 * 86400
     FROM accounts WHERE ";
pub(super) const ON_CONFLICT_UPDATE_TOMBSTONE: &str = " ON CONFLICT (address_hash) DO UPDATE SET
       account_id = excluded.account_id, day = excluded.day, used = excluded.used,
       scans_used = excluded.scans_used, welcome_left = excluded.welcome_left,
       expires_at = excluded.expires_at";

/// A password younger than three days deletes nothing: a minute in the mailbox is enough to set one.
const IS_DELETABLE: &str = concat!(
    code_holds!("?5", "?6"),
    " AND password_at <= unixepoch() - 3 * 86400 AND ",
    IN_SESSION
);
/// Must run before [`UPDATE_DELETED`], under the same condition.
const INSERT_MEMBER_TOMBSTONE: &str =
    concat!(INSERT_TOMBSTONE, IS_DELETABLE, ON_CONFLICT_UPDATE_TOMBSTONE);

/// Clears all columns of the row that identify the owner or grant access, and marks the account as
/// deleted. Rows of other tables are removed later in steps (`deleted_accounts.rs`). The address
/// can be registered again. `?4` is now; a condition
/// must follow.
pub(super) const UPDATE_ERASED: &str = "UPDATE accounts SET deleted_at = ?4, state = 'deactivated', address_hash = 'deleted.' || id, email = '',
       display_name = '', password_hash = '', totp_pending = NULL, key_active = 0,
       confirmed_at = NULL, scan_mail = 0, plan_until = NULL, erase_at = NULL
     WHERE ";

const UPDATE_DELETED: &str = concat!(UPDATE_ERASED, IS_DELETABLE, " RETURNING id");

/// Notices are few, and the owner's address no longer exists.
pub(super) const DELETE_NOTICES: &str = "DELETE FROM notices WHERE account_id = ?1
    AND EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND deleted_at IS NOT NULL)";

const SELECT_TOMBSTONE: &str =
    "SELECT address_hash, account_id, day, used, scans_used, welcome_left, expires_at
     FROM tombstones WHERE ";

const SELECT_DELETED_ACCOUNT: &str = concat!(SELECT_TOMBSTONE, "account_id = ?1");

/// Ends the account and frees its address; `deleted_accounts.rs` removes its rows. Returns the
/// values to remove from the directory; `None` if the session has ended, the code was already used or
/// the password is younger than three days.
pub async fn delete(
    database: &Database,
    session: Session,
    code: &Code,
    now: u64,
) -> Result<Option<DeletedAccount>, Error> {
    let (id, session) = session.texts();
    let today = Day::of(now).number().into();
    let caller = vec![(&id).into(), (&session).into(), today, now.into()];
    let params = [caller, code.params()].concat();
    let rows = database
        .batch(&[
            (INSERT_MEMBER_TOMBSTONE, params.clone()),
            (UPDATE_DELETED, params),
            (DELETE_NOTICES, vec![(&id).into()]),
            (keys::DELETE_OF_DELETED, vec![(&id).into()]),
            (SELECT_DELETED_ACCOUNT, vec![(&id).into()]),
        ])
        .await?;
    if rows.any(1)? { rows.first(4) } else { Ok(None) }
}

const SELECT_TO_BE_ERASED: &str = "SELECT id FROM accounts WHERE erase_at <= ?1 LIMIT 20";
const IS_TO_BE_ERASED: &str = "id = ?1 AND erase_at <= ?4";
const INSERT_TOMBSTONE_OF_ERASED: &str =
    concat!(INSERT_TOMBSTONE, IS_TO_BE_ERASED, ON_CONFLICT_UPDATE_TOMBSTONE);
const UPDATE_DUE: &str = concat!(UPDATE_ERASED, IS_TO_BE_ERASED);

#[derive(Deserialize)]
struct Erased {
    id: String,
}

/// Ends accounts that an operator deleted a day ago, at most twenty. Usage is kept as when owners delete accounts.
pub async fn erase_due(database: &Database, now: u64) -> Result<(), Error> {
    let due = database.batch(&[(SELECT_TO_BE_ERASED, vec![now.into()])]).await?;
    for Erased { id } in due.all(0)? {
        // `?2` is the session of an owner's deletion.
        let today = Day::of(now).number().into();
        let params = vec![(&id).into(), "".into(), today, now.into()];
        database
            .batch(&[
                (INSERT_TOMBSTONE_OF_ERASED, params.clone()),
                (UPDATE_DUE, params),
                (DELETE_NOTICES, vec![(&id).into()]),
                (keys::DELETE_OF_DELETED, vec![(&id).into()]),
            ])
            .await?;
    }
    Ok(())
}

const SELECT_PENDING_DELETIONS: &str =
    concat!(SELECT_TOMBSTONE, "account_id IS NOT NULL LIMIT 500");

/// At most 500 deleted accounts that may still be in the directory.
pub async fn pending_deletions(database: &Database) -> Result<Vec<DeletedAccount>, Error> {
    database.batch(&[(SELECT_PENDING_DELETIONS, Vec::new())]).await?.all(0)
}

const UPDATE_TOMBSTONE: &str = "UPDATE tombstones SET account_id = NULL
    WHERE account_id IN (SELECT value ->> 'account_id' FROM json_each(?1))";

/// Removes the ids of these accounts from their tombstones, once the directory has removed the
/// accounts.
pub async fn unlink_tombstones(
    database: &Database,
    deleted: &[DeletedAccount],
) -> Result<(), Error> {
    let deleted = serde_json::to_string(deleted)
        .map_err(|error| Error::internal(format!("deleted: {error}")))?;
    database.run((UPDATE_TOMBSTONE, vec![(&deleted).into()])).await
}
