//! API keys: each has a row, without the key's text. Every statement authorised by a key reads its row
//! (`ledger/authorise.rs`). The account's own key has its row from the beginning.

use constcat::concat;
use serde::Deserialize;

use crate::{
    account::AccountId,
    cf::database::{Database, Param},
    credentials::{
        api_key::{ApiKey, KeyId, Rights},
        session::Session,
    },
    error::Error,
    ledger::{
        IN_SESSION,
        code::{Code, code_holds},
        key_use::{KEY_USED, LAST_DAY},
        notices::{deed, told},
        own_key::{OWN_VERSION, OwnVersion, own_id},
        security_events::{device, event},
    },
    mail::AccountEvent,
};

/// Maximum number of keys beside the account's own: a rotation without an overlap needs two for each program.
pub const KEYS_MAX: u32 = 20;
pub const OVERLAP_S: u32 = 24 * 60 * 60;

#[derive(Debug)]
pub struct NewKey<'a> {
    pub key: ApiKey,
    pub name: &'a str,
    /// Daily limit of checks; 0 for none.
    pub daily_limit: u32,
    /// Creation time in Unix seconds.
    pub created_at: u64,
}

macro_rules! may_make {
    () => {
        concat!(
            "key_active = 1 AND (SELECT count(*) FROM keys k WHERE k.account_id = ?1 AND k.id <> ",
            own_id!(),
            ") < 20 AND ",
            code_holds!("?3", "?4"),
            " AND ",
            IN_SESSION
        )
    };
}

const INSERT_KEY_MADE: [&str; 2] = deed!("key_made", may_make!());

const INSERT_KEY: &str = concat!(
    "INSERT INTO keys (account_id, id, name, rights, daily_limit, expires_at, created_at)
     SELECT id, ?5, ?6, ?7, nullif(?8, 0), ?9, ?10 FROM accounts WHERE ",
    may_make!(),
    " RETURNING id"
);

const UPDATE_KEY_USE: &str = "UPDATE accounts SET key_use = (
    SELECT json_group_object(u.key, json(u.value)) FROM json_each(key_use) u
    WHERE u.key IN (SELECT k.id FROM keys k WHERE k.account_id = ?1)) WHERE id = ?1";

const SELECT_COUNT: &str =
    concat!("SELECT count(*) AS keys FROM keys WHERE account_id = ?1 AND id <> ", own_id!());

#[derive(Deserialize)]
struct Count {
    keys: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MakeOutcome {
    Made,
    TooMany,
    Refused,
}

pub async fn make(
    database: &Database,
    session: Session,
    new: &NewKey<'_>,
    code: &Code,
) -> Result<MakeOutcome, Error> {
    let (account, session) = session.texts();
    let id = new.key.id.to_string();
    let params = [vec![(&account).into(), (&session).into()], code.params()].concat();
    let row: Vec<Param<'_>> = vec![
        (&id).into(),
        new.name.into(),
        u32::from(new.key.rights.bits()).into(),
        new.daily_limit.into(),
        new.key.expires_at.into(),
        new.created_at.into(),
    ];
    let mut statements = vec![(SELECT_COUNT, vec![(&account).into()])];
    statements.extend(told(INSERT_KEY_MADE, &params));
    let made = statements.len();
    statements.push((INSERT_KEY, [params, row].concat()));
    statements.push((UPDATE_KEY_USE, vec![(&account).into()]));
    statements.append(&mut code.used_up(&account, &session));
    let rows = database.batch(&statements).await?;
    let keys = rows.first::<Count>(0)?.map_or(0, |count| count.keys);
    Ok(match rows.any(made)? {
        true => MakeOutcome::Made,
        false if keys >= KEYS_MAX => MakeOutcome::TooMany,
        false => MakeOutcome::Refused,
    })
}

#[derive(Debug, Deserialize)]
pub struct StoredKey {
    pub id: String,
    pub version: u32,
    pub previous_until: u64,
    pub name: String,
    pub rights: u8,
    pub daily_limit: Option<u32>,
    pub expires_at: u32,
    pub created_at: u64,
    pub day: u64,
    pub used_today: u32,
}

impl StoredKey {
    /// The data that the key's text encodes; `None` if the stored id is malformed.
    pub fn key(&self, account: AccountId) -> Option<ApiKey> {
        let (id, rights) = (KeyId::parse(&self.id)?, Rights::from_bits(self.rights));
        let Self { version, expires_at, .. } = *self;
        Some(ApiKey { account, id, version, rights, expires_at })
    }
}

/// `?1` account, `?4` day, `?5` now; `?2` and `?3` are unused.
const SELECT_STORED_KEYS: &str = concat!(
    "SELECT k.id, k.version, CASE WHEN k.previous_until > unixepoch() THEN k.previous_until ELSE 0 END AS previous_until,
       k.name, k.rights, k.daily_limit, k.expires_at, k.created_at, ",
    LAST_DAY,
    " AS day, ",
    KEY_USED,
    " AS used_today
     FROM keys k JOIN accounts a ON a.id = k.account_id WHERE k.account_id = ?1"
);
const OWN_FIRST: &str = concat!(" ORDER BY k.id <> ", own_id!(), ", k.created_at, k.id");
const SELECT_KEYS: &str = concat!(
    SELECT_STORED_KEYS,
    " AND EXISTS (SELECT 1 FROM accounts WHERE ",
    IN_SESSION,
    ")",
    OWN_FIRST
);
const SELECT_LIVE_SESSION: &str = concat!("SELECT id FROM accounts WHERE ", IN_SESSION);

/// The account's own key, then the others, oldest first.
pub async fn list(
    database: &Database,
    session: Session,
    (day, now): (u64, u64),
) -> Result<Option<Vec<StoredKey>>, Error> {
    let (account, session) = session.texts();
    let caller: Vec<Param<'_>> = vec![(&account).into(), (&session).into()];
    let list = (SELECT_KEYS, [caller.clone(), vec![0_u64.into(), day.into(), now.into()]].concat());
    let rows = database.batch(&[(SELECT_LIVE_SESSION, caller), list]).await?;
    if rows.any(0)? { rows.all(1).map(Some) } else { Ok(None) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOutcome {
    Done,
    NoSuchKey,
    Refused,
}

const DELETE_KEY: &str = concat!(
    "DELETE FROM keys WHERE account_id = ?1 AND id = ?3 AND id <> ",
    own_id!(),
    " AND EXISTS (SELECT 1 FROM accounts WHERE ",
    IN_SESSION,
    ") RETURNING id"
);

/// Ends a key, whose next request is then rejected. The account's own key has no end.
pub async fn end(database: &Database, session: Session, key: KeyId) -> Result<KeyOutcome, Error> {
    let (account, session) = session.texts();
    let key = key.to_string();
    let caller: Vec<Param<'_>> = vec![(&account).into(), (&session).into()];
    let end = (DELETE_KEY, [caller.clone(), vec![(&key).into()]].concat());
    let rows = database.batch(&[(SELECT_LIVE_SESSION, caller), end]).await?;
    Ok(match (rows.any(0)?, rows.any(1)?) {
        (false, _) => KeyOutcome::Refused,
        (true, true) => KeyOutcome::Done,
        (true, false) => KeyOutcome::NoSuchKey,
    })
}

macro_rules! in_session_with_code {
    () => {
        concat!(code_holds!("?3", "?4"), " AND ", IN_SESSION)
    };
}

macro_rules! may_replace {
    () => {
        concat!("key_active = 1 AND ", in_session_with_code!())
    };
}

/// `?5` key, or `''` for all.
const IS_CHOSEN: &str = "k.account_id = ?1 AND (?5 = '' OR k.id = ?5)";

const INSERT_KEY_REPLACED: [&str; 2] = deed!(
    "key_replaced",
    may_replace!(),
    " AND EXISTS (SELECT 1 FROM keys k WHERE ",
    IS_CHOSEN,
    ")"
);
/// `?6` seconds for which the version before works.
const UPDATE_VERSION: &str = concat!(
    "UPDATE keys AS k SET version = version + 1, replaced_at = unixepoch(),
       previous_until = CASE ?6 WHEN 0 THEN 0 ELSE unixepoch() + ?6 END WHERE ",
    IS_CHOSEN,
    " AND EXISTS (SELECT 1 FROM accounts WHERE ",
    may_replace!(),
    ") RETURNING id"
);
/// `?2` key, or `''` for all; `?3` is unused.
const SELECT_CHOSEN: &str = concat!(SELECT_STORED_KEYS, " AND (?2 = '' OR k.id = ?2)", OWN_FIRST);

/// Replaces one key, or all, and consumes the presented code. Only the last version before a key's new one works for
/// `overlap_s` more seconds. Returns the new keys, the own one first.
pub async fn replace(
    database: &Database,
    session: Session,
    (key, overlap_s): (Option<KeyId>, u32),
    code: &Code,
    (day, now): (u64, u64),
) -> Result<Result<Vec<StoredKey>, KeyOutcome>, Error> {
    let (account, session) = session.texts();
    let key = key.map(|key| key.to_string()).unwrap_or_default();
    let caller = [vec![(&account).into(), (&session).into()], code.params()].concat();
    let chosen = [caller, vec![(&key).into()]].concat();
    let mut statements = Vec::from(told(INSERT_KEY_REPLACED, &chosen));
    statements.push((UPDATE_VERSION, [chosen, vec![overlap_s.into()]].concat()));
    let rest = [(&key).into(), 0_u64.into(), day.into(), now.into()];
    statements.push((SELECT_CHOSEN, [vec![(&account).into()], rest.to_vec()].concat()));
    statements.append(&mut code.used_up(&account, &session));
    let rows = database.batch(&statements).await?;
    let keys: Vec<StoredKey> = rows.all(3)?;
    Ok(match rows.any(2)? {
        true => Ok(keys),
        false if keys.is_empty() => Err(KeyOutcome::NoSuchKey),
        false => Err(KeyOutcome::Refused),
    })
}

const SELECT_OWN_SHOWN: &str = concat!(
    "SELECT ",
    OWN_VERSION,
    " AS key_version FROM accounts a WHERE key_active = 1 AND id IN (SELECT id FROM accounts WHERE ",
    in_session_with_code!(),
    ")"
);

const INSERT_KEY_SHOWN_EVENT: &str =
    event!("key_shown", "?5", "?6", "key_active = 1 AND ", in_session_with_code!());

/// Reads the own key's version and consumes the presented code; `None` also if the keys were deactivated.
pub async fn show_own(
    database: &Database,
    session: Session,
    code: &Code,
    event: &AccountEvent,
) -> Result<Option<u32>, Error> {
    let (id, session) = session.texts();
    let params = [vec![(&id).into(), (&session).into()], code.params()].concat();
    let mut statements = vec![
        (INSERT_KEY_SHOWN_EVENT, [params.clone(), device(event)].concat()),
        (SELECT_OWN_SHOWN, params),
    ];
    statements.append(&mut code.used_up(&id, &session));
    let rows = database.batch(&statements).await?;
    Ok(rows.first::<OwnVersion>(1)?.map(|row| row.key_version))
}
