//! After a change of address, the old mailbox's owner can freeze the account for a day or undo the change with the
//! previous password. An undo is one transaction in the account's database; the directory follows, as after a change
//! (`email_changes.rs`).

use constcat::concat;
use serde::Deserialize;

use super::{
    email_changes::EmailChange,
    notices::{deed, told},
    suspensions,
};
use crate::{
    account::AccountId,
    cf::database::{Database, Param, Statement},
    credentials::{address_hash::AccountHash, mailed_token::TokenHash},
    error::Error,
};

const UPDATE_UNDO_HASH: &str = "UPDATE email_changes SET undo_hash = ?2
    WHERE id = ?1 AND settled = 0 AND state = 'moved' AND expires_at > ?3 RETURNING id";

/// Stores the token for the old mailbox, before each attempt to mail it. Returns `false` if the link has been mailed or
/// has expired, or the change was undone.
pub async fn set_undo(
    database: &Database,
    change: &EmailChange,
    token: &TokenHash,
    now: u64,
) -> Result<bool, Error> {
    let params = vec![(&change.id).into(), token.as_str().into(), now.into()];
    database.any((UPDATE_UNDO_HASH, params)).await
}

// Parameters of the following statements: `?1` hash of the token sent to the old mailbox, `?2` now.

const IS_FREEZABLE: &str = "state = 'confirmed' AND id = (SELECT account_id FROM email_changes
    WHERE undo_hash = ?1 AND state = 'moved' AND frozen = 0 AND expires_at > ?2)";
const INSERT_FROZEN: [&str; 2] = deed!("account_frozen", IS_FREEZABLE);
const UPDATE_FROZEN_UNTIL: &str =
    concat!("UPDATE accounts SET frozen_until = ?2 + 86400 WHERE ", IS_FREEZABLE);
const UPDATE_FROZEN: &str = "UPDATE email_changes SET frozen = 1
    WHERE undo_hash = ?1 AND state = 'moved' AND expires_at > ?2 RETURNING account_id";

#[derive(Deserialize)]
struct FrozenAccount {
    account_id: AccountId,
}

/// Freezes the account, once for each change. Returns `None` if the link is unknown or expired, or
/// the change was undone.
pub async fn freeze(
    database: &Database,
    token: &TokenHash,
    now: u64,
) -> Result<Option<AccountId>, Error> {
    let params: Vec<Param<'_>> = vec![token.as_str().into(), now.into()];
    let [event, notice] = told(INSERT_FROZEN, &params);
    let freeze = [(UPDATE_FROZEN_UNTIL, params.clone()), (UPDATE_FROZEN, params)];
    let rows = database.batch(&[[event, notice], freeze].concat()).await?;
    Ok(rows.first::<FrozenAccount>(3)?.map(|row| row.account_id))
}

/// A change that can be undone, with the account's previous state.
#[derive(Debug, Deserialize)]
pub struct UndoableChange {
    pub id: String,
    pub account_id: AccountId,
    pub old_email: String,
    old_password_hash: String,
    old_totp_secret: Option<String>,
    /// A JSON list of [`UndoCredentials`].
    former_credentials: String,
}

/// A password that an undo accepts, with the second factor that the undo requires and restores.
#[derive(Debug, Deserialize)]
pub struct UndoCredentials {
    pub password_hash: String,
    /// The sealed secret; `None` if two-factor authentication was off.
    pub totp_secret: Option<String>,
}

impl UndoableChange {
    /// The account's credentials at the change of the address, then its credentials of the week before.
    pub fn credentials(&self) -> Result<Vec<UndoCredentials>, Error> {
        let former: Vec<UndoCredentials> = serde_json::from_str(&self.former_credentials)
            .map_err(|error| Error::internal(format!("former credentials: {error}")))?;
        let old = UndoCredentials {
            password_hash: self.old_password_hash.clone(),
            totp_secret: self.old_totp_secret.clone(),
        };
        Ok(std::iter::once(old).chain(former).collect())
    }
}

const SELECT_UNDOABLE: &str =
    "SELECT c.id, c.account_id, c.old_email, c.old_password_hash, c.old_totp_secret,
       c.former_credentials
    FROM email_changes c JOIN accounts a ON a.id = c.account_id
    WHERE c.undo_hash = ?1 AND c.state = 'moved' AND c.expires_at > ?2 AND a.state = 'confirmed'";

/// The change that this link to the old mailbox would undo. The link isn't consumed.
pub async fn undoable(
    database: &Database,
    token: &TokenHash,
    now: u64,
) -> Result<Option<UndoableChange>, Error> {
    database.first((SELECT_UNDOABLE, vec![token.as_str().into(), now.into()])).await
}

// Parameters of the following statements: `?1` change, `?2` now, `?3` step of the code or 0.

const IS_UNDOABLE: &str = "state = 'confirmed' AND (?3 = 0 OR totp_last_step < ?3) AND id = (
    SELECT account_id FROM email_changes WHERE id = ?1 AND state = 'moved' AND expires_at > ?2)";
const INSERT_UNDONE: [&str; 2] = deed!("email_change_undone", IS_UNDOABLE);
/// `?4` hash of the old address, `?5` of the new password, `?6` sealed secret of the second factor or `''`. The account
/// gets its previous state, except for the password.
const UPDATE_ACCOUNT: &str = concat!(
    "UPDATE OR IGNORE accounts SET address_hash = ?4, password_hash = ?5, frozen_until = 0, totp_pending = NULL,
       email = (SELECT old_email FROM email_changes WHERE id = ?1),
       totp_secret = nullif(?6, ''),
       totp_last_step = max(totp_last_step, ?3)
     WHERE ",
    IS_UNDOABLE,
    " RETURNING id"
);
// The following statements do nothing unless the account has its new password, `?2`.
const UPDATE_OTHERS_VOID: &str = "UPDATE email_changes SET state = 'void', settled = 0
    WHERE id <> ?1 AND state IN ('asked', 'moving', 'moved')
      AND (account_id, 1) IN (SELECT a.id, c.asked_at <= email_changes.asked_at FROM email_changes c
        JOIN accounts a ON a.id = c.account_id WHERE c.id = ?1 AND a.password_hash = ?2)";
const UPDATE_UNDONE: &str = "UPDATE email_changes SET state = 'undone', settled = 0
    WHERE id = ?1 AND state = 'moved'
      AND account_id IN (SELECT id FROM accounts WHERE password_hash = ?2)";
/// `?1` account.
const DELETE_SESSIONS: &str = "DELETE FROM sessions
    WHERE account_id = ?1 AND EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND password_hash = ?2)";
const DELETE_LINKS: &str = "DELETE FROM mailed_tokens
    WHERE account_id = ?1 AND EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND password_hash = ?2)";
/// A thief who had access to the account may know the recovery codes.
const DELETE_RECOVERY_CODES: &str = "DELETE FROM recovery_codes
    WHERE account_id = ?1 AND EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND password_hash = ?2)";

/// Undoes a change and every later one. The account gets its previous address and second factor back, and a new
/// password. Every session ends, mailed links and recovery codes are void, and recent keys and passkeys are
/// suspended. Returns `false` if the change can't be undone any more or the code was already used.
pub async fn undo(
    database: &Database,
    change: &UndoableChange,
    old: &AccountHash,
    (credentials, step): (&UndoCredentials, u64),
    new_password_hash: &str,
    now: u64,
) -> Result<bool, Error> {
    let account = change.account_id.to_string();
    let id: Param<'_> = (&change.id).into();
    let undoes: Vec<Param<'_>> = vec![id, now.into(), step.into()];
    let done: Vec<Param<'_>> = vec![id, new_password_hash.into()];
    let of_account: Vec<Param<'_>> = vec![(&account).into(), new_password_hash.into()];
    let secret = credentials.totp_secret.as_deref().unwrap_or_default();
    let to: Vec<Param<'_>> = vec![old.as_str().into(), new_password_hash.into(), secret.into()];
    let mut statements: Vec<Statement<'_>> = Vec::from(told(INSERT_UNDONE, &undoes));
    statements.extend([
        (UPDATE_ACCOUNT, [undoes, to].concat()),
        (UPDATE_OTHERS_VOID, done.clone()),
        (UPDATE_UNDONE, done),
        (DELETE_SESSIONS, of_account.clone()),
        (DELETE_LINKS, of_account.clone()),
        (DELETE_RECOVERY_CODES, of_account),
    ]);
    // The owner must confirm keys and passkeys that a thief may have made.
    statements.extend(suspensions::by_undo(&account, new_password_hash, &change.id));
    database.batch(&statements).await?.any(2)
}
