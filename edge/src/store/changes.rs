//! Changes that could give an account away. A reset takes them back while they are open: for three days, counted from
//! the hand-over of the email that tells of this very change, or from fourteen days after it if none can be handed over.

use constcat::concat;
use serde::Deserialize;

use super::{
    IN_SESSION,
    resets::{ResetCode, fits},
    security_events::{device, event},
};
use crate::{
    account::AccountId,
    cf::database::{Database, Param, Statement},
    credentials::session::Session,
    error::Error,
    mail::{AccountEvent, Notice},
};

/// Seconds for which a change is open.
pub const OPEN_S: u64 = 3 * 24 * 60 * 60;

/// Requires that change `c` is open.
pub(super) const IS_OPEN: &str = "c.since > unixepoch() - 3 * 86400";

/// The time before which nothing of account `accounts.id` counts as a thief's: seven days before the oldest open change,
/// or before now.
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
               WHERE n.account_id = accounts.id AND n.kind = '", $kind, "'), unixepoch(), unixepoch() + 14 * 86400
             FROM accounts WHERE ",
            $($condition,)+
            " ON CONFLICT (account_id, about) DO UPDATE SET kind = excluded.kind, deed = excluded.deed, is_told = 0,
               at = CASE WHEN since > unixepoch() - 3 * 86400 THEN at ELSE excluded.at END, since = excluded.since"
        )
    };
}
pub(super) use change;

/// The statements of a [`deed!`](super::notices::deed) that can be taken back: event, notice and change.
macro_rules! opening {
    ($kind:literal, $about:expr, $($condition:expr),+) => {
        [
            $crate::store::security_events::event!($kind, "''", "''", $($condition),+),
            $crate::store::notices::notice!($kind, $($condition),+),
            $crate::store::changes::change!($kind, $about, $($condition),+),
        ]
    };
}
pub(super) use opening;

/// The statements of [`opening!`] where a further parameter says what was changed.
pub(super) fn opened<'a>(
    [event, notice, change]: [&'static str; 3],
    params: &[Param<'a>],
    about: Param<'a>,
) -> [Statement<'a>; 3] {
    let with_about = [params, &[about]].concat();
    [(event, params.to_vec()), (notice, params.to_vec()), (change, with_about)]
}

/// `?1` account, `?2` kind of the notice, `?3` number of deeds that its email covers.
const UPDATE_TOLD: &str = "UPDATE changes SET since = unixepoch(), is_told = 1
    WHERE account_id = ?1 AND kind = ?2 AND deed <= ?3 AND is_told = 0";

/// The three days of the changes that an email tells of count from now on.
pub(super) fn told<'a>(account: &'a str, kind: Notice, deeds: u64) -> Statement<'a> {
    (UPDATE_TOLD, vec![account.into(), kind.as_str().into(), deeds.into()])
}

/// An open change, as its owner sees it.
#[derive(Debug, Clone, Deserialize)]
pub struct OpenChange {
    pub kind: String,
    /// Unix time of the change.
    pub at: i64,
    /// Unix time of its end, if nothing else happens.
    pub until: i64,
}

/// A JSON array of [`OpenChange`] of account `a`, the oldest first.
pub(super) const OPEN_CHANGES: &str = concat!(
    "(SELECT json_group_array(json_object('kind', c.kind, 'at', c.at, 'until', c.since + 3 * 86400) ORDER BY c.at)
      FROM changes c WHERE c.account_id = a.id AND ",
    IS_OPEN,
    ")"
);

/// Reads [`OPEN_CHANGES`].
///
/// # Errors
/// [`Error::internal`] if it isn't such an array.
pub fn parse(open: &str) -> Result<Vec<OpenChange>, Error> {
    serde_json::from_str(open).map_err(|error| Error::internal(format!("open changes: {error}")))
}

/// The change that a stopping link is made for.
#[derive(Debug, Deserialize)]
pub struct StoppableChange {
    pub about: String,
    /// Resets and moves of the account so far: each ends the links from before.
    pub turns: u64,
}

const SELECT_STOPPABLE: &str = concat!(
    "SELECT c.about, a.turns FROM accounts a JOIN changes c ON c.account_id = a.id
     WHERE a.id = ?1 AND c.kind = ?2 AND ",
    IS_OPEN,
    " ORDER BY c.at DESC, c.about LIMIT 1"
);

/// The youngest open change of a kind, for the link in its email.
pub async fn stoppable(
    database: &Database,
    account: AccountId,
    kind: Notice,
) -> Result<Option<StoppableChange>, Error> {
    let account = account.to_string();
    database.first((SELECT_STOPPABLE, vec![(&account).into(), kind.as_str().into()])).await
}

/// `?1` account, `?2` what was changed, `?3` resets and moves.
const IS_STOPPABLE: &str = concat!(
    "id = ?1 AND deleted_at IS NULL AND turns = CAST(?3 AS INTEGER) AND EXISTS (SELECT 1 FROM changes c
       WHERE c.account_id = ?1 AND c.about = ?2 AND ",
    IS_OPEN,
    ")"
);
const SELECT_TURN: &str = concat!("SELECT id FROM accounts WHERE ", IS_STOPPABLE);

/// True if the change is open and the account had no reset and no move since.
pub async fn is_stoppable(
    database: &Database,
    account: AccountId,
    change: &StoppableChange,
) -> Result<bool, Error> {
    let account = account.to_string();
    database.any((SELECT_TURN, stop_params(&account, change))).await
}

fn stop_params<'a>(account: &'a str, change: &'a StoppableChange) -> Vec<Param<'a>> {
    vec![account.into(), (&change.about).into(), change.turns.into()]
}

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
                "UPDATE waiting SET state = 'done' WHERE account_id = ?1 AND state = 'moving'
                 AND EXISTS (SELECT 1 FROM accounts WHERE ", $($condition,)+ ")"
            ),
        ]
    };
}

/// Under a condition on the account `?1`: the three days of every open change begin anew.
macro_rules! begun_anew {
    ($($condition:expr),+) => {
        constcat::concat!(
            "UPDATE changes AS c SET since = max(c.since, unixepoch()) WHERE c.account_id = ?1 AND ",
            IS_OPEN, " AND EXISTS (SELECT 1 FROM accounts WHERE ", $($condition,)+ ")"
        )
    };
}

/// `?4` factor, `?5` hash of a recovery code.
const MAY_STOP: &str = concat!(IS_STOPPABLE, " AND ", fits!("?4", "?5"));
const SELECT_MAY_STOP: &str = concat!("SELECT id FROM accounts WHERE ", MAY_STOP);
const INSERT_STOPPED_EVENT: &str = event!("changes_stopped", "?6", "?7", MAY_STOP);
const DELETE_SESSIONS: &str =
    concat!("DELETE FROM sessions WHERE account_id = ?1 AND EXISTS (", SELECT_MAY_STOP, ")");
const DROPPED: [&str; 2] = dropped!(MAY_STOP);
const UPDATE_OPEN: &str = begun_anew!(MAY_STOP);
const DELETE_USED_CODE: &str = concat!(
    "DELETE FROM recovery_codes WHERE account_id = ?1 AND factor_id = ?4 AND hash = ?5 AND EXISTS (",
    SELECT_MAY_STOP,
    ")"
);

/// Ends every session, drops what waits, and begins the three days of every open change anew. Opens nothing, so a link
/// stops as often as wanted. Returns `false` if the change isn't open any more, or the code doesn't fit.
pub async fn stop(
    database: &Database,
    account: AccountId,
    change: &StoppableChange,
    code: &ResetCode,
    deed: &AccountEvent,
) -> Result<bool, Error> {
    let account = account.to_string();
    let params = [stop_params(&account, change), code.params()].concat();
    let [asked, moving] = DROPPED;
    let each = [SELECT_MAY_STOP, DELETE_SESSIONS, asked, moving, UPDATE_OPEN, DELETE_USED_CODE];
    let mut statements = Vec::from(each.map(|sql| (sql, params.clone())));
    statements.insert(1, (INSERT_STOPPED_EVENT, [params, device(deed)].concat()));
    database.batch(&statements).await?.any(0)
}

const SELECT_SESSION: &str = concat!("SELECT id FROM accounts WHERE ", IN_SESSION);
const INSERT_STOPPED_IN_SESSION: &str = event!("changes_stopped", "?3", "?4", IN_SESSION);
const DELETE_OTHER_SESSIONS: &str = concat!(
    "DELETE FROM sessions WHERE account_id = ?1 AND id <> ?2 AND EXISTS (",
    SELECT_SESSION,
    ")"
);
const DROPPED_IN_SESSION: [&str; 2] = dropped!(IN_SESSION);
const UPDATE_OPEN_IN_SESSION: &str = begun_anew!(IN_SESSION);

/// Like [`stop`], by a session, which is the only one that stays; `false` if it has ended.
pub async fn stop_in_session(
    database: &Database,
    session: Session,
    deed: &AccountEvent,
) -> Result<bool, Error> {
    let (account, id) = session.texts();
    let caller: Vec<Param<'_>> = vec![(&account).into(), (&id).into()];
    let [asked, moving] = DROPPED_IN_SESSION;
    let each = [SELECT_SESSION, DELETE_OTHER_SESSIONS, asked, moving, UPDATE_OPEN_IN_SESSION];
    let mut statements = Vec::from(each.map(|sql| (sql, caller.clone())));
    statements.insert(1, (INSERT_STOPPED_IN_SESSION, [caller, device(deed)].concat()));
    database.batch(&statements).await?.any(0)
}

/// `?2` the hash of a password that was just set.
const DROPPED_BY_PASSWORD: [&str; 2] = dropped!("id = ?1 AND password_hash = ?2");

/// A new password drops what waits for the account.
pub(super) fn drop_waiting<'a>(account: &'a str, new_hash: &'a str) -> [Statement<'a>; 2] {
    DROPPED_BY_PASSWORD.map(|sql| (sql, vec![account.into(), new_hash.into()]))
}
