//! Named keys: each has a row of metadata, without the key's text. Every statement authorised by a
//! key reads its row.

use constcat::concat;
use serde::Deserialize;

use super::{
    IN_SESSION, IS_UNFROZEN,
    notices::{deed, told},
    two_factor::{Code, code_holds},
};
use crate::{
    account::AccountId,
    cf::database::{Database, Param},
    credentials::{
        named_key::{KeyId, NamedKey, Rights},
        proof::{Caller, Proof},
        session::Session,
    },
    error::Error,
};

/// Maximum number of named keys of an account: a rotation needs two for each program.
pub const KEYS_MAX: u32 = 20;

/// Requires that key `k` may be used from the address in `?2`, which follows the id and version.
const NETWORK_HOLDS: &str = "(k.networks = '[]' OR EXISTS (SELECT 1 FROM json_each(k.networks) n
       WHERE substr(?2, 21) BETWEEN n.value ->> 0 AND n.value ->> 1))";

/// A branch of `CASE ?3`: true if the named key of account `a`, described in `?2` by [`Proof::text`], is valid.
pub(super) const NAMED_KEY_HOLDS: &str = concat!(
    "WHEN 'named' THEN a.key_active = 1 AND EXISTS (SELECT 1 FROM named_keys k
       WHERE k.account_id = a.id AND k.id = substr(?2, 1, 16)
         AND printf('%04x', k.version) = substr(?2, 17, 4) AND k.suspended = 0 AND ",
    NETWORK_HOLDS,
    ")"
);

/// Units held by live leases that key `k` took on day `?4`. `?5` is now.
pub(super) const KEY_UNITS_HELD: &str =
    "(SELECT coalesce(sum(l.n_daily + l.n_welcome), 0) FROM leases l
      WHERE l.account_id = k.account_id AND l.key_id = k.id AND l.day = ?4 AND l.expires_at > ?5)";

/// A branch of `CASE ?3`: true if the first key of account `a` is valid.
pub(super) const FIRST_KEY_HOLDS: &str = "WHEN 'key' THEN a.key_active = 1 AND a.key_version = ?2";

const SELECT_VALID: &str = concat!(
    "SELECT 1 AS one FROM accounts a WHERE a.id = ?1 AND a.state = 'confirmed' AND CASE ?3 ",
    NAMED_KEY_HOLDS,
    " END"
);

/// True if a named key is valid and allows the client's address.
pub async fn is_good(database: &Database, caller: Caller) -> Result<bool, Error> {
    let (account, shown) = (caller.account.to_string(), caller.proof.text());
    let params = vec![(&account).into(), (&shown).into(), caller.proof.kind().into()];
    database.any((SELECT_VALID, params)).await
}

/// Reason why a genuine named key was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRefusal {
    /// The key was ended or replaced, and never works again.
    Ended,
    Suspended,
    Network,
    /// The account itself, or all its keys, were deactivated.
    OfAccount,
}

const SELECT_REFUSAL: &str = concat!(
    "SELECT k.suspended, NOT ",
    NETWORK_HOLDS,
    " AS elsewhere FROM named_keys k WHERE k.account_id = ?1 AND k.id = substr(?2, 1, 16)
       AND printf('%04x', k.version) = substr(?2, 17, 4)"
);

#[derive(Deserialize)]
struct RefusedKey {
    suspended: u8,
    elsewhere: u8,
}

/// The reason for rejecting a named key.
pub async fn refusal(database: &Database, caller: Caller) -> Result<KeyRefusal, Error> {
    let (account, shown) = (caller.account.to_string(), caller.proof.text());
    let params = vec![(&account).into(), (&shown).into()];
    let row = database.first::<RefusedKey>((SELECT_REFUSAL, params)).await?;
    Ok(match row {
        None => KeyRefusal::Ended,
        Some(row) if row.suspended != 0 => KeyRefusal::Suspended,
        Some(row) if row.elsewhere != 0 => KeyRefusal::Network,
        Some(_) => KeyRefusal::OfAccount,
    })
}

/// A key to create.
#[derive(Debug)]
pub struct NewKey<'a> {
    pub key: NamedKey,
    pub name: &'a str,
    /// Daily limit of checks; 0 for none.
    pub daily_limit: u32,
    /// A JSON list of address pairs.
    pub networks: &'a str,
    /// Creation time in Unix seconds.
    pub created_at: u64,
}

/// Requires that account `?1` of this session may have a further key, and that the code is valid.
macro_rules! may_make {
    () => {
        concat!(
            "key_active = 1 AND (SELECT count(*) FROM named_keys k WHERE k.account_id = ?1) < 20 AND ",
            code_holds!("?3", "?4"),
            " AND ",
            IN_SESSION
        )
    };
}

const INSERT_KEY_MADE: [&str; 2] = deed!("key_made", may_make!());

const INSERT_KEY: &str = concat!(
    "INSERT INTO named_keys (account_id, id, name, is_test, rights, daily_limit, expires_at, networks, created_at)
     SELECT id, ?5, ?6, ?7, ?8, nullif(?9, 0), ?10, ?11, ?12 FROM accounts WHERE ",
    may_make!(),
    " RETURNING id"
);

const SELECT_COUNT: &str = "SELECT count(*) AS keys FROM named_keys WHERE account_id = ?1";

#[derive(Deserialize)]
struct Count {
    keys: u32,
}

/// Result of creating a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MakeOutcome {
    Made,
    TooMany,
    /// The session has ended, all keys were deactivated, or the code was already used.
    Refused,
}

/// Creates a key and consumes the presented code.
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
        u32::from(new.key.is_test).into(),
        u32::from(new.key.rights.bits()).into(),
        new.daily_limit.into(),
        new.key.expires_at.into(),
        new.networks.into(),
        new.created_at.into(),
    ];
    let mut statements = vec![(SELECT_COUNT, vec![(&account).into()])];
    statements.extend(told(INSERT_KEY_MADE, &params));
    let made = statements.len();
    statements.push((INSERT_KEY, [params, row].concat()));
    statements.append(&mut code.used_up(&account, &session));
    let rows = database.batch(&statements).await?;
    let keys = rows.first::<Count>(0)?.map_or(0, |count| count.keys);
    Ok(match rows.any(made)? {
        true => MakeOutcome::Made,
        false if keys >= KEYS_MAX => MakeOutcome::TooMany,
        false => MakeOutcome::Refused,
    })
}

/// A key as its owner sees it.
#[derive(Debug, Deserialize)]
pub struct StoredKey {
    pub id: String,
    pub version: u16,
    pub name: String,
    pub is_test: u8,
    pub rights: u8,
    pub daily_limit: Option<u32>,
    /// Expiry in Unix seconds; 0 for none.
    pub expires_at: u64,
    pub networks: String,
    pub created_at: u64,
    pub suspended: u8,
    /// Day of the last charge, from 1970-01-01; 0 if there was none.
    pub day: u64,
    /// Units charged or leased today.
    pub used_today: u32,
}

impl StoredKey {
    /// The data that the key's text encodes; `None` if the stored id is malformed.
    pub fn key(&self, account: AccountId) -> Option<NamedKey> {
        Some(NamedKey {
            account,
            id: KeyId::parse(&self.id)?,
            version: self.version,
            is_test: self.is_test != 0,
            rights: Rights::from_bits(self.rights),
            expires_at: self.expires_at,
        })
    }
}

/// `?1` account, `?4` day, `?5` now; `?2` and `?3` are unused.
const SELECT_STORED_KEYS: &str = concat!(
    "SELECT k.id, k.version, k.name, k.is_test, k.rights, k.daily_limit, k.expires_at, k.networks,
       k.created_at, k.suspended, k.day, CASE WHEN k.day < ?4 THEN 0 ELSE k.charged END + ",
    KEY_UNITS_HELD,
    " AS used_today
     FROM named_keys k WHERE k.account_id = ?1"
);
const SELECT_KEYS: &str = concat!(
    SELECT_STORED_KEYS,
    " AND EXISTS (SELECT 1 FROM accounts WHERE ",
    IN_SESSION,
    ") ORDER BY k.created_at, k.id"
);
const SELECT_LIVE_SESSION: &str = concat!("SELECT id FROM accounts WHERE ", IN_SESSION);

/// The account's named keys, oldest first; `None` if the session has ended.
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

/// Result of changing one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOutcome {
    Done,
    NoSuchKey,
    /// The session has ended, or the code was already used.
    Refused,
}

const DELETE_KEY: &str = concat!(
    "DELETE FROM named_keys WHERE account_id = ?1 AND id = ?3
       AND EXISTS (SELECT 1 FROM accounts WHERE ",
    IN_SESSION,
    ") RETURNING id"
);

/// Ends a key, whose next request is then rejected.
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

const SELECT_CONFIRMABLE: &str = concat!("SELECT id FROM accounts WHERE ", in_session_with_code!());
const UPDATE_CONFIRMED: &str = concat!(
    "UPDATE named_keys SET suspended = 0 WHERE account_id = ?1 AND id = ?5
       AND EXISTS (SELECT 1 FROM accounts WHERE ",
    in_session_with_code!(),
    ") RETURNING id"
);

/// Ends the suspension of a key and consumes the presented code.
pub async fn confirm(
    database: &Database,
    session: Session,
    key: KeyId,
    code: &Code,
) -> Result<KeyOutcome, Error> {
    let (account, session) = session.texts();
    let key = key.to_string();
    let params = [vec![(&account).into(), (&session).into()], code.params()].concat();
    let confirm = (UPDATE_CONFIRMED, [params.clone(), vec![(&key).into()]].concat());
    let mut statements = vec![(SELECT_CONFIRMABLE, params), confirm];
    statements.append(&mut code.used_up(&account, &session));
    let rows = database.batch(&statements).await?;
    Ok(match (rows.any(0)?, rows.any(1)?) {
        (false, _) => KeyOutcome::Refused,
        (true, true) => KeyOutcome::Done,
        (true, false) => KeyOutcome::NoSuchKey,
    })
}

macro_rules! may_replace {
    () => {
        concat!("key_active = 1 AND ", IS_UNFROZEN, " AND ", in_session_with_code!())
    };
}

const INSERT_KEYS_REPLACED: [&str; 2] = deed!("key_replaced", may_replace!());
const UPDATE_FIRST_KEY: &str = concat!(
    "UPDATE accounts SET key_version = key_version + 1, key_day = 0 WHERE ",
    may_replace!(),
    " RETURNING key_version"
);
const UPDATE_NAMED_KEYS: &str = concat!(
    "UPDATE named_keys SET version = version + 1, suspended = 0, replaced_at = unixepoch() WHERE account_id = ?1
       AND EXISTS (SELECT 1 FROM accounts WHERE ",
    may_replace!(),
    ")"
);
const SELECT_ALL_KEYS: &str = concat!(SELECT_STORED_KEYS, " ORDER BY k.created_at, k.id");

#[derive(Deserialize)]
struct FirstVersion {
    key_version: u32,
}

/// Replaces the first key and all named keys, and consumes the presented code. Returns the version of
/// the first key and the named keys' rows. Returns `None` if the session has ended, all keys were
/// deactivated, the code was already used or the account is frozen.
pub async fn replace_all(
    database: &Database,
    session: Session,
    code: &Code,
    (day, now): (u64, u64),
) -> Result<Option<(u32, Vec<StoredKey>)>, Error> {
    let (account, session) = session.texts();
    let params = [vec![(&account).into(), (&session).into()], code.params()].concat();
    let mut statements = Vec::from(told(INSERT_KEYS_REPLACED, &params));
    statements.extend([
        (UPDATE_FIRST_KEY, params.clone()),
        (UPDATE_NAMED_KEYS, params),
        (SELECT_ALL_KEYS, vec![(&account).into(), "".into(), 0_u64.into(), day.into(), now.into()]),
    ]);
    statements.append(&mut code.used_up_unless_frozen(&account, &session));
    let rows = database.batch(&statements).await?;
    let Some(FirstVersion { key_version }) = rows.first(2)? else { return Ok(None) };
    Ok(Some((key_version, rows.all(4)?)))
}

const NAMED_KEY_LIVES: &str = "EXISTS (SELECT 1 FROM named_keys k
    WHERE k.account_id = ?1 AND k.id = substr(?2, 1, 16) AND printf('%04x', k.version) = substr(?2, 17, 4))";
const FIRST_KEY_LIVES: &str = "state = 'confirmed' AND key_active = 1 AND key_version = ?2";

const INSERT_NAMED_KEY_ENDED: [&str; 2] =
    deed!("key_ended_itself", "id = ?1 AND state = 'confirmed' AND ", NAMED_KEY_LIVES);
const INSERT_FIRST_KEY_ENDED: [&str; 2] =
    deed!("key_ended_itself", "id = ?1 AND ", FIRST_KEY_LIVES);
const DELETE_PRESENTED_KEY: &str =
    "DELETE FROM named_keys WHERE account_id = ?1 AND id = substr(?2, 1, 16)
    AND printf('%04x', version) = substr(?2, 17, 4) RETURNING id";
/// A freeze stops replacements of the key, but a finder may end a leaked one.
const UPDATE_PRESENTED_KEY: &str = concat!(
    "UPDATE accounts SET key_version = key_version + 1, key_day = 0 WHERE id = ?1 AND ",
    FIRST_KEY_LIVES,
    " RETURNING id"
);

/// Ends the presented key, sent from any network: a named key permanently, the first key by its
/// next version. Also works while the account is frozen. Returns whether the key was valid.
pub async fn end_itself(database: &Database, caller: Caller) -> Result<bool, Error> {
    let (account, shown) = (caller.account.to_string(), caller.proof.text());
    let (deed, end, shown): (_, _, Param<'_>) = match caller.proof {
        Proof::Key { version } => (INSERT_FIRST_KEY_ENDED, UPDATE_PRESENTED_KEY, version.into()),
        Proof::Named { .. } => (INSERT_NAMED_KEY_ENDED, DELETE_PRESENTED_KEY, (&shown).into()),
        Proof::Session { .. } => return Ok(false),
    };
    let params = vec![(&account).into(), shown];
    let [event, notice] = told(deed, &params);
    database.batch(&[event, notice, (end, params)]).await?.any(2)
}
