//! Changes of an account's address: asked for in a session, agreed to with the password at the new mailbox, and carried
//! out by the scheduled run once the change is no longer open (`changes_sql.rs`). After an interruption the next run
//! continues with the step after the last one, or repeats it:
//!
//! 1. account: a change that is due is claimed, `moving`.
//! 2. directory: it names the account under the new address, too, if that is free.
//! 3. account: it takes the address, if the change is still `moving` and the account open; the change is `done`.
//! 4. directory: the account's rows become its one address.
//! 5. a day later, once more 4, because a step that was cut off may come late; the change goes.
//!
//! A reset or a new password never removes a change that is `moving`: it's `done` then, and 3 does nothing.

use constcat::concat;
use serde::Deserialize;

use super::{changes_sql::opening, stops_sql::renamed};
use crate::{
    account::AccountId,
    cf::database::{Database, Param},
    credentials::{mailed_token::TokenHash, session::Session},
    error::Error,
    ledger::{
        IN_SESSION,
        code::{Code, code_holds},
        notices::{deed, told},
    },
};

#[derive(Debug)]
pub struct NewChange<'a> {
    pub id: &'a str,
    pub email: &'a str,
    pub token: &'a TokenHash,
    pub expires_at: u64,
}

/// `?2` session, `?3`, `?4` the code. While the directory is being asked about an address, none is accepted.
const IS_ASKABLE: &str = concat!(
    "NOT EXISTS (SELECT 1 FROM waiting w WHERE w.account_id = accounts.id AND w.state = 'moving') AND ",
    code_holds!("?3", "?4"),
    " AND ",
    IN_SESSION
);
/// Of several requested changes, only the last one is valid.
const DELETE_FORMER: &str = concat!(
    "DELETE FROM waiting WHERE account_id = ?1 AND kind = 'address' AND state IN ('asked', 'agreed')
       AND EXISTS (SELECT 1 FROM accounts WHERE ",
    IS_ASKABLE,
    ")"
);
const INSERT_ASKED: [&str; 3] = opening!("email_change_asked", "'address'", IS_ASKABLE);
const INSERT_CHANGE: &str = concat!(
    "INSERT INTO waiting (id, account_id, kind, state, at, new_email, token_hash, expires_at)
     SELECT ?5, id, 'address', 'asked', unixepoch(), ?6, ?7, ?8 FROM accounts WHERE ",
    IS_ASKABLE,
    " RETURNING id"
);

/// Stores a change and consumes the presented code; `false` if the session has ended, the code was already used, or a
/// change is being carried out.
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
        change.expires_at.into(),
    ];
    let mut statements = vec![(DELETE_FORMER, caller.clone())];
    statements.extend(told(INSERT_ASKED, &caller));
    statements.push((INSERT_CHANGE, [caller, stored].concat()));
    statements.append(&mut code.used_up(&account, &id));
    database.batch(&statements).await?.any(4)
}

const SELECT_UNDER_WAY: &str = "SELECT id FROM waiting WHERE account_id = ?1 AND state = 'moving'";

pub async fn is_under_way(database: &Database, account: AccountId) -> Result<bool, Error> {
    let account = account.to_string();
    database.any((SELECT_UNDER_WAY, vec![(&account).into()])).await
}

const DELETE_CHANGE: &str = "DELETE FROM waiting WHERE id = ?1 AND state = 'asked'";

pub async fn forget(database: &Database, change: &str) -> Result<(), Error> {
    database.run((DELETE_CHANGE, vec![change.into()])).await
}

#[derive(Debug, Deserialize)]
pub struct ChangeOwner {
    pub id: AccountId,
    pub password_hash: String,
    pub new_email: String,
}

const SELECT_OWNER: &str = "SELECT a.id, a.password_hash, w.new_email FROM waiting w JOIN accounts a ON a.id = w.account_id
    WHERE w.token_hash = ?1 AND w.expires_at > ?2 AND w.state IN ('asked', 'agreed') AND a.state = 'confirmed'";

pub async fn owner(
    database: &Database,
    token: &TokenHash,
    now: u64,
) -> Result<Option<ChangeOwner>, Error> {
    database.first((SELECT_OWNER, vec![token.as_str().into(), now.into()])).await
}

#[derive(Deserialize)]
struct DueChange {
    due_at: i64,
}

/// `?3` the password hash that was verified.
const UPDATE_AGREED: &str =
    "UPDATE waiting SET state = 'agreed' WHERE token_hash = ?1 AND expires_at > ?2
    AND state IN ('asked', 'agreed') AND EXISTS (SELECT 1 FROM accounts a
      WHERE a.id = waiting.account_id AND a.state = 'confirmed' AND a.password_hash = ?3)
    RETURNING coalesce((SELECT max(unixepoch(), c.since + 3 * 86400) FROM changes c
      WHERE c.account_id = waiting.account_id AND c.about = 'address'), unixepoch()) AS due_at";

/// A used link agrees again. Returns when the change can take effect, as far as it's known; `None` if the link is
/// unknown, replaced, dropped or expired, or the password has changed.
pub async fn agree(
    database: &Database,
    token: &TokenHash,
    verified_hash: &str,
    now: u64,
) -> Result<Option<i64>, Error> {
    let params = vec![token.as_str().into(), now.into(), verified_hash.into()];
    let due = database.first::<DueChange>((UPDATE_AGREED, params)).await?;
    Ok(due.map(|due| due.due_at))
}

#[derive(Debug, Clone, Deserialize)]
pub struct EmailChange {
    pub id: String,
    pub account_id: AccountId,
    pub state: String,
    pub new_email: String,
    pub old_email: String,
    pub email: String,
}

const SELECT_CHANGE: &str = "SELECT w.id, w.account_id, w.state, w.new_email, w.old_email, a.email
    FROM waiting w JOIN accounts a ON a.id = w.account_id
    WHERE w.kind = 'address' AND a.deleted_at IS NULL AND ";
const SELECT_BY_ID: &str = concat!(SELECT_CHANGE, "w.id = ?1");

/// `?1` row limit. A change is due when it's agreed to, no longer open, and the account's last one has gone: step 5 of that
/// one would take the new address out of the directory.
const UPDATE_MOVING: &str = "UPDATE waiting SET state = 'moving' WHERE id IN (
    SELECT w.id FROM waiting w JOIN accounts a ON a.id = w.account_id
    WHERE w.kind = 'address' AND w.state = 'agreed' AND a.state = 'confirmed'
      AND NOT EXISTS (SELECT 1 FROM changes c WHERE c.account_id = w.account_id AND c.about = 'address'
        AND c.since > unixepoch() - 3 * 86400)
      AND NOT EXISTS (SELECT 1 FROM waiting d
        WHERE d.account_id = w.account_id AND d.kind = 'address' AND d.state = 'done')
    LIMIT CAST(?1 AS INTEGER))";
const SELECT_UNFINISHED: &str = concat!(
    SELECT_CHANGE,
    "(w.state = 'moving' OR w.state = 'done' AND (w.settled = 0 OR w.old_email <> '' OR w.at <= unixepoch() - 86400))
     ORDER BY w.state = 'done', random() LIMIT CAST(?1 AS INTEGER)"
);

/// Claims changes that are due, and returns all that aren't finished, in random order: an email that can't be sent mustn't
/// delay others.
pub async fn claim(database: &Database, most: u64) -> Result<Vec<EmailChange>, Error> {
    let most = || vec![most.into()];
    database.batch(&[(UPDATE_MOVING, most()), (SELECT_UNFINISHED, most())]).await?.all(1)
}

// `?1` of the following statements is the change.

const IS_MOVABLE: &str = "state = 'confirmed' AND EXISTS (SELECT 1 FROM waiting w
    WHERE w.id = ?1 AND w.account_id = accounts.id AND w.state = 'moving')";
const INSERT_CHANGED: [&str; 2] = deed!("email_changed", IS_MOVABLE);
const UPDATE_OLD_EMAIL: &str = "UPDATE waiting SET old_email = (SELECT email FROM accounts a
      WHERE a.id = waiting.account_id AND a.state = 'confirmed')
    WHERE id = ?1 AND state = 'moving' AND EXISTS (SELECT 1 FROM accounts a
      WHERE a.id = waiting.account_id AND a.state = 'confirmed')";
/// Links that were mailed to the old mailbox work no longer.
const UPDATE_ACCOUNT: &str = concat!(
    "UPDATE accounts SET email = (SELECT new_email FROM waiting WHERE id = ?1)
     WHERE ",
    IS_MOVABLE
);
const DELETE_RESET_LINK: &str = "DELETE FROM reset_links WHERE account_id IN (
    SELECT account_id FROM waiting WHERE id = ?1 AND state = 'moving')";
const ENDED_LINKS: &str =
    renamed!("account_id IN (SELECT account_id FROM waiting WHERE id = ?1 AND state = 'moving')");
const UPDATE_DONE: &str =
    "UPDATE waiting SET state = 'done', at = unixepoch() WHERE id = ?1 AND state = 'moving'";

/// Sets the account's new address, unless the change was dropped or the account closed. Returns the change in its new
/// state.
pub async fn move_account(
    database: &Database,
    change: &EmailChange,
) -> Result<Option<EmailChange>, Error> {
    let id: Vec<Param<'_>> = vec![(&change.id).into()];
    let mut statements = Vec::from(told(INSERT_CHANGED, &id));
    let rest = [
        UPDATE_OLD_EMAIL,
        UPDATE_ACCOUNT,
        DELETE_RESET_LINK,
        ENDED_LINKS,
        UPDATE_DONE,
        SELECT_BY_ID,
    ];
    statements.extend(rest.map(|sql| (sql, id.clone())));
    database.batch(&statements).await?.first(statements.len() - 1)
}

pub async fn give_up(
    database: &Database,
    change: &EmailChange,
) -> Result<Option<EmailChange>, Error> {
    let id: Vec<Param<'_>> = vec![(&change.id).into()];
    database.batch(&[(UPDATE_DONE, id.clone()), (SELECT_BY_ID, id)]).await?.first(1)
}

const UPDATE_SETTLED: &str = "UPDATE waiting SET settled = 1 WHERE id = ?1 AND state = 'done'";
const DELETE_OVER: &str =
    "DELETE FROM waiting WHERE id = ?1 AND state = 'done' AND at <= unixepoch() - 86400";

pub async fn settle(database: &Database, change: &EmailChange) -> Result<(), Error> {
    let id: Vec<Param<'_>> = vec![(&change.id).into()];
    database.batch(&[(UPDATE_SETTLED, id.clone()), (DELETE_OVER, id)]).await.map(drop)
}

const CLEAR_OLD_EMAIL: &str = "UPDATE waiting SET old_email = '' WHERE id = ?1";

pub async fn record_mail(database: &Database, change: &EmailChange) -> Result<(), Error> {
    database.run((CLEAR_OLD_EMAIL, vec![(&change.id).into()])).await
}
