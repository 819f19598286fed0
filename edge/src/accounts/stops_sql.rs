//! Stopping changes of an account, by link or in a session: ends sessions, drops what waits, and begins the three days
//! of every open change anew. It opens nothing.

use constcat::concat;

use super::reset_codes_sql::{ResetCode, fits};
use crate::{
    account::AccountId,
    cf::database::{Database, Param, Statement},
    credentials::session::Session,
    error::Error,
    ledger::{
        IN_SESSION,
        account::IS_OPEN,
        security_events::{device, event},
    },
    mail::AccountEvent,
};

/// `?1` account, `?2` name of the change.
const IS_STOPPABLE: &str = concat!(
    "id = ?1 AND deleted_at IS NULL AND EXISTS (SELECT 1 FROM changes c
       WHERE c.account_id = ?1 AND c.name = ?2 AND ",
    IS_OPEN,
    ")"
);
const SELECT_STOPPABLE_ACCOUNT: &str = concat!("SELECT id FROM accounts WHERE ", IS_STOPPABLE);

pub async fn is_stoppable(
    database: &Database,
    account: AccountId,
    change: &str,
) -> Result<bool, Error> {
    let account = account.to_string();
    database.any((SELECT_STOPPABLE_ACCOUNT, vec![(&account).into(), change.into()])).await
}

macro_rules! renamed {
    ($($condition:expr),+) => {
        constcat::concat!("UPDATE changes SET name = lower(hex(randomblob(8))) WHERE ", $($condition),+)
    };
}
pub(super) use renamed;

/// Under a condition on the account `?1`: drops what waits for it. What the directory is being asked about is finished
/// without effect, never deleted, because the directory must follow.
macro_rules! dropped {
    ($($condition:expr),+) => {
        [
            constcat::concat!(
                "DELETE FROM waiting WHERE account_id = ?1 AND state IN ('asked', 'agreed')
                 AND EXISTS (SELECT 1 FROM accounts WHERE ", $($condition,)+ ")"
            ),
            constcat::concat!(
                "UPDATE waiting SET state = 'done', at = unixepoch() WHERE account_id = ?1 AND state = 'moving'
                 AND EXISTS (SELECT 1 FROM accounts WHERE ", $($condition,)+ ")"
            ),
        ]
    };
}

/// Under a condition on the account `?1`: ends every session but `$kept`, drops what waits, and begins the three days of
/// every open change anew. The first statement returns a row if the condition holds.
macro_rules! stopping {
    ($browser:literal, $country:literal, $kept:literal, $condition:expr) => {{
        const DROPPED: [&str; 2] = dropped!($condition);
        [
            concat!("SELECT id FROM accounts WHERE ", $condition),
            concat!(
                "DELETE FROM sessions WHERE account_id = ?1 AND id <> ",
                $kept,
                " AND EXISTS (SELECT 1 FROM accounts WHERE ",
                $condition,
                ")"
            ),
            DROPPED[0],
            DROPPED[1],
            concat!(
                "UPDATE changes AS c SET since = max(c.since, unixepoch()) WHERE c.account_id = ?1 AND ",
                IS_OPEN,
                " AND EXISTS (SELECT 1 FROM accounts WHERE ",
                $condition,
                ")"
            ),
            event!("changes_stopped", $browser, $country, $condition),
        ]
    }};
}

/// `?3` factor, `?4` hash of a recovery code.
const MAY_STOP: &str = concat!(IS_STOPPABLE, " AND ", fits!("?3", "?4"));
const STOP: [&str; 6] = stopping!("?5", "?6", "''", MAY_STOP);
const DELETE_USED_CODE: &str = concat!(
    "DELETE FROM recovery_codes WHERE account_id = ?1 AND factor_id = ?3 AND hash = ?4
       AND EXISTS (SELECT 1 FROM accounts WHERE ",
    MAY_STOP,
    ")"
);
const STOP_IN_SESSION: [&str; 6] = stopping!("?3", "?4", "?2", IN_SESSION);

fn stopped<'a>(
    [select, sessions, asked, moving, open, event]: [&'static str; 6],
    params: &[Param<'a>],
    deed: &'a AccountEvent,
) -> Vec<Statement<'a>> {
    let event = (event, [params, &device(deed)].concat());
    let each = [select, sessions, asked, moving, open].map(|sql| (sql, params.to_vec()));
    each.into_iter().chain([event]).collect()
}

/// Stops every change of the account. Opens nothing, so a link stops as often as wanted. Returns `false` if the change
/// isn't open any more, or the code doesn't fit.
pub async fn stop(
    database: &Database,
    account: AccountId,
    change: &str,
    code: &ResetCode,
    deed: &AccountEvent,
) -> Result<bool, Error> {
    let account = account.to_string();
    let params = [vec![(&account).into(), change.into()], code.params()].concat();
    let mut statements = stopped(STOP, &params, deed);
    statements.push((DELETE_USED_CODE, params));
    database.batch(&statements).await?.any(0)
}

/// Like [`stop`], by a session, which is the only one that stays; `false` if it has ended.
pub async fn stop_in_session(
    database: &Database,
    session: Session,
    deed: &AccountEvent,
) -> Result<bool, Error> {
    let (account, id) = session.texts();
    let caller: Vec<Param<'_>> = vec![(&account).into(), (&id).into()];
    database.batch(&stopped(STOP_IN_SESSION, &caller, deed)).await?.any(0)
}

/// `?2` the hash of a password that was just set.
const DROPPED_BY_PASSWORD: [&str; 2] = dropped!("id = ?1 AND password_hash = ?2");

const ENDED_LINKS: &str = renamed!(
    "account_id = ?1 AND EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND password_hash = ?2)"
);

/// A reset ends the links that stop changes.
pub(super) fn end_links<'a>(account: &'a str, new_hash: &'a str) -> Statement<'a> {
    (ENDED_LINKS, vec![account.into(), new_hash.into()])
}

/// A new password drops what waits for the account.
pub(super) fn drop_waiting<'a>(account: &'a str, new_hash: &'a str) -> [Statement<'a>; 2] {
    DROPPED_BY_PASSWORD.map(|sql| (sql, vec![account.into(), new_hash.into()]))
}
