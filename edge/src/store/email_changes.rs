//! Changes of an account's address. Two databases are involved: the directory maps addresses to
//! accounts, and the account's own database stores its address.
//!
//! | step | where | if interrupted after it |
//! |---|---|---|
//! | 1. the link is used: the change is `moving` | account | the scheduled run continues with 2 |
//! | 2. the directory names the account under the new address, too | directory | sign-in works with both addresses; the run continues with 2 |
//! | 3. the account has the new address, if it still has the old one and its password | account | the run continues with 4 |
//! | 4. the directory reserves the old address for a week, or removes the new one if 3 changed nothing | directory | the run repeats 4 |
//! | 5. the change is settled | account | |
//!
//! An undo is one transaction in the account's database, followed by steps 4 and 5.

use constcat::concat;
use serde::Deserialize;

use super::{
    IN_SESSION,
    accounts::ON_CONFLICT_UPDATE_TOMBSTONE,
    addresses::Tombstone,
    notices::{deed, told},
    two_factor::{Code, code_holds},
};
use crate::{
    account::AccountId,
    cf::database::{Database, Param},
    credentials::{address_hash::AccountHash, mailed_token::TokenHash, session::Session},
    error::Error,
    limits::quota::Day,
};

/// Seconds for which a change can be undone, and the old address can't be registered.
pub const UNDO_PERIOD_S: u64 = 7 * 24 * 60 * 60;

#[derive(Debug)]
pub struct NewChange<'a> {
    pub id: &'a str,
    pub email: &'a str,
    pub token: &'a TokenHash,
    pub now: u64,
    pub expires_at: u64,
}

/// Of several requested changes, only the last one is valid. `?2` session, `?3`, `?4` the code;
/// `?5` to `?9` the change.
const DELETE_REQUESTED: &str = concat!(
    "DELETE FROM email_changes WHERE account_id = ?1 AND state = 'asked'
       AND EXISTS (SELECT 1 FROM accounts WHERE ",
    code_holds!("?3", "?4"),
    " AND ",
    IN_SESSION,
    ")"
);
const INSERT_CHANGE: &str = concat!(
    "INSERT INTO email_changes (id, account_id, new_email, token_hash, asked_at, expires_at)
     SELECT ?5, id, ?6, ?7, ?8, ?9 FROM accounts WHERE ",
    code_holds!("?3", "?4"),
    " AND ",
    IN_SESSION,
    " RETURNING id"
);
const INSERT_REQUESTED: [&str; 2] =
    deed!("email_change_asked", code_holds!("?3", "?4"), " AND ", IN_SESSION);

/// Stores a change and consumes the presented code; `false` if the session has ended or the code
/// was already used.
pub async fn ask(
    database: &Database,
    session: Session,
    code: &Code,
    change: &NewChange<'_>,
) -> Result<bool, Error> {
    let (account, id) = session.texts();
    let caller = [vec![(&account).into(), (&id).into()], code.params()].concat();
    let stored: Vec<Param<'_>> = vec![
        change.id.into(),
        change.email.into(),
        change.token.as_str().into(),
        change.now.into(),
        change.expires_at.into(),
    ];
    let mut statements = vec![(DELETE_REQUESTED, caller.clone())];
    statements.extend(told(INSERT_REQUESTED, &caller));
    statements.push((INSERT_CHANGE, [caller, stored].concat()));
    statements.append(&mut code.used_up(&account, &id));
    database.batch(&statements).await?.any(3)
}

const DELETE_CHANGE: &str = "DELETE FROM email_changes WHERE id = ?1 AND state = 'asked'";

/// Removes a change whose link couldn't be sent.
pub async fn forget(database: &Database, change: &str) -> Result<(), Error> {
    database.run((DELETE_CHANGE, vec![change.into()])).await
}

/// A change of an address; `state` is its current step.
#[derive(Debug, Clone, Deserialize)]
pub struct EmailChange {
    pub id: String,
    pub account_id: AccountId,
    pub state: String,
    pub new_email: String,
    pub old_email: String,
    /// The account's current address.
    pub email: String,
}

const SELECT_CHANGE: &str = "SELECT c.id, c.account_id, c.state, c.new_email, c.old_email, a.email
    FROM email_changes c JOIN accounts a ON a.id = c.account_id WHERE a.deleted_at IS NULL AND ";
const SELECT_BY_TOKEN: &str = concat!(
    SELECT_CHANGE,
    "c.token_hash = ?1 AND c.expires_at > ?2 AND c.state IN ('moving', 'moved')"
);
const SELECT_BY_ID: &str = concat!(SELECT_CHANGE, "c.id = ?1");

/// The account whose address a link would change.
#[derive(Debug, Deserialize)]
pub struct ChangeOwner {
    pub id: AccountId,
    pub password_hash: String,
}

const SELECT_OWNER: &str = "SELECT a.id, a.password_hash FROM email_changes c JOIN accounts a ON a.id = c.account_id
    WHERE c.token_hash = ?1 AND c.expires_at > ?2 AND c.state IN ('asked', 'moving', 'moved') AND a.state = 'confirmed'";

/// The account of a link sent to a new mailbox. The link isn't consumed.
pub async fn owner(
    database: &Database,
    token: &TokenHash,
    now: u64,
) -> Result<Option<ChangeOwner>, Error> {
    database.first((SELECT_OWNER, vec![token.as_str().into(), now.into()])).await
}

/// The account's current state is stored for an undo.
const UPDATE_MOVING: &str = "UPDATE email_changes SET state = 'moving', settled = 0, old_email = a.email,
      old_password_hash = a.password_hash, old_totp_secret = a.totp_secret,
      former_credentials = (
        SELECT json_group_array(json_object('password_hash', f.password_hash, 'totp_secret', f.totp_secret))
        FROM former_credentials f WHERE f.account_id = a.id AND f.expires_at > ?2)
    FROM accounts a
    WHERE a.id = email_changes.account_id AND email_changes.token_hash = ?1 AND email_changes.state = 'asked'
      AND email_changes.expires_at > ?2 AND a.state = 'confirmed' AND a.frozen_until <= ?2
      AND a.email <> email_changes.new_email AND a.password_hash = ?3";

/// Consumes the link sent to the new mailbox. A used link returns the change again. Returns `None` if the link is
/// unknown, replaced or expired, its change was undone or voided, the account is frozen, or the password has changed.
pub async fn begin(
    database: &Database,
    token: &TokenHash,
    verified_hash: &str,
    now: u64,
) -> Result<Option<EmailChange>, Error> {
    let link: Vec<Param<'_>> = vec![token.as_str().into(), now.into()];
    let begin = [link.clone(), vec![verified_hash.into()]].concat();
    database.batch(&[(UPDATE_MOVING, begin), (SELECT_BY_TOKEN, link)]).await?.first(1)
}

// Parameters of the following statements: `?1` change, `?2` hash of the new address, `?3` today,
// `?4` now.

/// Selects the account of a running change if it still has the previous address and password: a reset voids the change.
const IS_MOVABLE: &str = "state = 'confirmed' AND frozen_until <= ?4 AND EXISTS (SELECT 1 FROM email_changes c
    WHERE c.id = ?1 AND c.account_id = accounts.id AND c.state = 'moving' AND c.old_email = accounts.email
      AND c.old_password_hash = accounts.password_hash)";
/// A registration of the new address may have left an unconfirmed account.
const DELETE_STRAY: &str = "DELETE FROM accounts WHERE address_hash = ?2 AND state = 'unconfirmed'
    AND EXISTS (SELECT 1 FROM email_changes WHERE id = ?1 AND state = 'moving')";
const INSERT_CHANGED: [&str; 2] = deed!("email_changed", IS_MOVABLE);
/// The usage still counts for the old address.
const INSERT_TOMBSTONE: &str = concat!(
    "INSERT INTO tombstones (address_hash, day, used, scans_used, welcome_left, expires_at)
     SELECT address_hash, ?3, CASE WHEN day < ?3 THEN 0 ELSE daily_charged END,
       CASE WHEN scans_day < ?3 THEN 0 ELSE scans_charged END, welcome_left, ?4 + 30 * 86400
     FROM accounts WHERE ",
    IS_MOVABLE,
    ON_CONFLICT_UPDATE_TOMBSTONE
);
const UPDATE_ACCOUNT: &str = concat!(
    "UPDATE OR IGNORE accounts SET address_hash = ?2,
       email = (SELECT new_email FROM email_changes WHERE id = ?1)
     WHERE ",
    IS_MOVABLE
);
/// `?3` now.
const UPDATE_MOVED: &str = "UPDATE email_changes SET state = 'moved', expires_at = ?3 + 604800
    WHERE id = ?1 AND state = 'moving' AND EXISTS (SELECT 1 FROM accounts a
      WHERE a.id = email_changes.account_id AND a.email = email_changes.new_email AND a.address_hash = ?2)";
const UPDATE_VOID: &str =
    "UPDATE email_changes SET state = 'void' WHERE id = ?1 AND state = 'moving'";
/// The link was requested from the old mailbox.
const DELETE_RESET_LINK: &str =
    "DELETE FROM mailed_tokens WHERE purpose = 'reset' AND account_id IN (
    SELECT account_id FROM email_changes WHERE id = ?1 AND state = 'moved')";

/// Sets the account's new address, which the directory already contains; voids the change if the
/// account was changed or frozen in the meantime. Returns the change in its new state.
pub async fn move_account(
    database: &Database,
    change: &EmailChange,
    hash: &AccountHash,
    now: u64,
) -> Result<Option<EmailChange>, Error> {
    let id: Param<'_> = (&change.id).into();
    let to: Vec<Param<'_>> = vec![id, hash.as_str().into()];
    let moves = [to.clone(), vec![Day::of(now).number().into(), now.into()]].concat();
    let mut statements = vec![(DELETE_STRAY, vec![id, hash.as_str().into()])];
    statements.extend(told(INSERT_CHANGED, &moves));
    statements.extend([
        (INSERT_TOMBSTONE, moves.clone()),
        (UPDATE_ACCOUNT, moves),
        (UPDATE_MOVED, [to, vec![now.into()]].concat()),
        (UPDATE_VOID, vec![id]),
        (DELETE_RESET_LINK, vec![id]),
        (SELECT_BY_ID, vec![id]),
    ]);
    database.batch(&statements).await?.first(statements.len() - 1)
}

/// Abandons a change whose new address now belongs to another account.
pub async fn give_up(
    database: &Database,
    change: &EmailChange,
) -> Result<Option<EmailChange>, Error> {
    let id: Vec<Param<'_>> = vec![(&change.id).into()];
    database.batch(&[(UPDATE_VOID, id.clone()), (SELECT_BY_ID, id)]).await?.first(1)
}

/// The usage to store in the directory with the old address.
pub async fn tombstone(database: &Database, old: &AccountHash) -> Result<Option<Tombstone>, Error> {
    database.first(super::addresses::tombstone(old)).await
}

const UPDATE_SETTLED: &str = "UPDATE email_changes SET settled = 1 WHERE id = ?1 AND state = ?2";

/// Marks the change as settled, because the directory agrees with the account. Does nothing if the
/// change is no longer in this state.
pub async fn mark_settled(database: &Database, change: &EmailChange) -> Result<(), Error> {
    database.run((UPDATE_SETTLED, vec![(&change.id).into(), (&change.state).into()])).await
}

/// `?1` row limit, `?2` account or `''` for all.
const SELECT_UNSETTLED: &str = concat!(
    SELECT_CHANGE,
    "c.settled = 0 AND (?2 = '' OR c.account_id = ?2) ORDER BY c.state = 'moved', random() LIMIT CAST(?1 AS INTEGER)"
);

/// Interrupted changes, then, in random order, changes whose old mailbox has no link yet. An email that can't be sent
/// is retried for a week, and mustn't delay others.
pub async fn select_unsettled(
    database: &Database,
    account: Option<AccountId>,
    most: u64,
) -> Result<Vec<EmailChange>, Error> {
    let account = account.map(|id| id.to_string()).unwrap_or_default();
    database.batch(&[(SELECT_UNSETTLED, vec![most.into(), (&account).into()])]).await?.all(0)
}
