//! Passkeys. The batch that a challenge authorises also consumes it.

use constcat::concat;
use serde::Deserialize;

use super::{
    changes_sql::opening,
    passkey::{PasskeyId, challenge::CHALLENGE_TTL_S},
    sessions_sql::NewSession,
};
use crate::{
    account::AccountId,
    cf::database::{Database, Param, Statement},
    credentials::session::Session,
    error::Error,
    ledger::{
        IN_SESSION,
        account::{SELECT_BY_ID, StoredAccount},
        code::{Code, code_holds},
        notices::{deed, told},
    },
};

pub const PASSKEYS_MAX: u32 = 20;

const SELECT_PERMITTED: &str =
    concat!("SELECT id FROM accounts WHERE ", code_holds!("?3", "?4"), " AND ", IN_SESSION);

pub async fn authorise(database: &Database, session: Session, code: &Code) -> Result<bool, Error> {
    let (account, id) = session.texts();
    let params = [vec![(&account).into(), (&id).into()], code.params()].concat();
    let mut statements = vec![(SELECT_PERMITTED, params)];
    statements.append(&mut code.used_up(&account, &id));
    database.batch(&statements).await?.any(0)
}

#[derive(Debug)]
pub struct NewPasskey<'a> {
    pub id: &'a PasskeyId,
    /// The credential's id in base64url.
    pub credential: &'a str,
    /// Public key as a JWK.
    pub public_key: &'a str,
    pub name: &'a str,
    pub counter: u32,
    pub is_syncable: bool,
    pub created_at: u64,
    /// Hash of the challenge that the new passkey has signed.
    pub challenge: &'a str,
}

const IS_ADDABLE: &str = concat!(
    "(SELECT count(*) FROM passkeys WHERE account_id = ?1) < 20
       AND NOT EXISTS (SELECT 1 FROM passkeys WHERE account_id = ?1 AND id = ?3)
       AND NOT EXISTS (SELECT 1 FROM throttles WHERE key = 'challenge ' || ?4) AND ",
    IN_SESSION
);
const INSERT_ADDED: [&str; 3] = opening!("passkey_added", "'passkey'", IS_ADDABLE);
const INSERT_PASSKEY: &str = concat!(
    "INSERT INTO passkeys (account_id, id, credential, public_key, name, counter, is_syncable, created_at)
     SELECT id, ?3, ?5, ?6, ?7, ?8, ?9, ?10 FROM accounts WHERE ",
    IS_ADDABLE,
    " RETURNING id"
);
const INSERT_USED_CHALLENGE: &str =
    "INSERT OR IGNORE INTO throttles (key, drained_at, last_attempt)
    VALUES ('challenge ' || ?1, ?2, '')";
const SELECT_COUNT: &str = "SELECT count(*) AS passkeys, coalesce(sum(id = ?2), 0) AS same
    FROM passkeys WHERE account_id = ?1";

#[derive(Deserialize)]
struct PasskeyCount {
    passkeys: u32,
    same: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddOutcome {
    Added,
    TooMany,
    Known,
    Refused,
}

/// A used challenge is stored until this time. The challenge itself expires earlier.
const fn challenge_end(now: u64) -> u64 {
    now.saturating_add(2 * CHALLENGE_TTL_S)
}

fn used_challenge(challenge: &str, now: u64) -> Statement<'_> {
    (INSERT_USED_CHALLENGE, vec![challenge.into(), challenge_end(now).into()])
}

pub async fn add(
    database: &Database,
    session: Session,
    new: &NewPasskey<'_>,
) -> Result<AddOutcome, Error> {
    let (account, session) = session.texts();
    let condition: Vec<Param<'_>> =
        vec![(&account).into(), (&session).into(), new.id.as_str().into(), new.challenge.into()];
    let row: Vec<Param<'_>> = vec![
        new.credential.into(),
        new.public_key.into(),
        new.name.into(),
        new.counter.into(),
        u32::from(new.is_syncable).into(),
        new.created_at.into(),
    ];
    let mut statements = vec![(SELECT_COUNT, vec![(&account).into(), new.id.as_str().into()])];
    statements.extend(told(INSERT_ADDED, &condition));
    statements.extend([
        (INSERT_PASSKEY, [condition, row].concat()),
        used_challenge(new.challenge, new.created_at),
    ]);
    let rows = database.batch(&statements).await?;
    let count = rows.first::<PasskeyCount>(0)?;
    Ok(match count {
        _ if rows.any(4)? => AddOutcome::Added,
        Some(count) if count.same > 0 => AddOutcome::Known,
        Some(count) if count.passkeys >= PASSKEYS_MAX => AddOutcome::TooMany,
        _ => AddOutcome::Refused,
    })
}

#[derive(Debug, Deserialize)]
pub struct StoredPasskey {
    pub id: String,
    pub credential: String,
    pub public_key: String,
    pub name: String,
    pub counter: u32,
    pub is_syncable: u8,
    pub created_at: u64,
    pub used_at: u64,
}

const SELECT_PASSKEY: &str =
    "SELECT id, credential, public_key, name, counter, is_syncable, created_at, used_at
    FROM passkeys WHERE account_id = ?1";
const SELECT_PASSKEYS: &str = concat!(
    SELECT_PASSKEY,
    " AND EXISTS (SELECT 1 FROM accounts WHERE ",
    IN_SESSION,
    ") ORDER BY created_at, id"
);
const SELECT_LIVE_SESSION: &str = concat!("SELECT id FROM accounts WHERE ", IN_SESSION);

pub async fn list(
    database: &Database,
    session: Session,
) -> Result<Option<Vec<StoredPasskey>>, Error> {
    let (account, session) = session.texts();
    let caller: Vec<Param<'_>> = vec![(&account).into(), (&session).into()];
    let rows =
        database.batch(&[(SELECT_LIVE_SESSION, caller.clone()), (SELECT_PASSKEYS, caller)]).await?;
    if rows.any(0)? { rows.all(1).map(Some) } else { Ok(None) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasskeyOutcome {
    Done,
    NoSuchPasskey,
    Refused,
}

const IS_REMOVABLE: &str =
    concat!("EXISTS (SELECT 1 FROM passkeys WHERE account_id = ?1 AND id = ?3) AND ", IN_SESSION);
const INSERT_REMOVED: [&str; 2] = deed!("passkey_removed", IS_REMOVABLE);
const DELETE_PASSKEY: &str = concat!(
    "DELETE FROM passkeys WHERE account_id = ?1 AND id = ?3 AND EXISTS (SELECT 1 FROM accounts WHERE ",
    IN_SESSION,
    ") RETURNING id"
);

pub async fn remove(
    database: &Database,
    session: Session,
    passkey: &PasskeyId,
) -> Result<PasskeyOutcome, Error> {
    let (account, session) = session.texts();
    let caller: Vec<Param<'_>> = vec![(&account).into(), (&session).into()];
    let params = [caller.clone(), vec![passkey.as_str().into()]].concat();
    let [event, notice] = told(INSERT_REMOVED, &params);
    let (alive, remove) = ((SELECT_LIVE_SESSION, caller), (DELETE_PASSKEY, params));
    let rows = database.batch(&[alive, event, notice, remove]).await?;
    Ok(outcome(rows.any(0)?, rows.any(3)?))
}

const fn outcome(is_alive: bool, is_done: bool) -> PasskeyOutcome {
    match (is_alive, is_done) {
        (false, _) => PasskeyOutcome::Refused,
        (true, true) => PasskeyOutcome::Done,
        (true, false) => PasskeyOutcome::NoSuchPasskey,
    }
}

const SELECT_BY_PASSKEY: &str = concat!(SELECT_PASSKEY, " AND id = ?2");

/// The account of a user handle, with the passkey of this id. If either is missing, the same work is done.
pub async fn find(
    database: &Database,
    account: AccountId,
    passkey: &PasskeyId,
) -> Result<Option<(StoredAccount, StoredPasskey)>, Error> {
    let account = account.to_string();
    let id: Vec<Param<'_>> = vec![(&account).into()];
    let both = [id.clone(), vec![passkey.as_str().into()]].concat();
    let rows = database.batch(&[(SELECT_BY_ID, id), (SELECT_BY_PASSKEY, both)]).await?;
    Ok(rows.first(0)?.zip(rows.first(1)?))
}

#[derive(Debug)]
pub struct PasskeyUse<'a> {
    pub id: &'a PasskeyId,
    pub public_key: &'a str,
    pub counter: u32,
    pub challenge: &'a str,
    /// Password hash that the account must still have, so that a concurrent reset wins over the sign-in.
    pub password_hash: &'a str,
}

/// `?1` account, `?2` passkey, `?3` its public key, `?4` counter, `?5` challenge, `?6` session, `?7` now. A counter
/// that doesn't increase indicates a copied passkey.
const UPDATE_USED: &str = "UPDATE passkeys SET counter = ?4, used_at = ?7, last_session = ?6
    WHERE account_id = ?1 AND id = ?2 AND public_key = ?3
      AND (counter < ?4 OR counter = 0 AND ?4 = 0)
      AND NOT EXISTS (SELECT 1 FROM throttles WHERE key = 'challenge ' || ?5)";

/// Starts a session by passkey, and consumes the challenge and the code. `false` if one of them was used, the passkey
/// was removed, the password changed, or a counter other than 0 didn't increase.
pub async fn sign_in(
    database: &Database,
    used: &PasskeyUse<'_>,
    session: &NewSession,
    code: &Code,
) -> Result<bool, Error> {
    let texts = session.texts();
    let vouched: Vec<Param<'_>> = vec![
        (&texts.account).into(),
        used.id.as_str().into(),
        used.public_key.into(),
        used.counter.into(),
        used.challenge.into(),
        (&texts.id).into(),
        session.created_at.into(),
    ];
    let challenge = used_challenge(used.challenge, session.created_at);
    let mut statements = vec![(UPDATE_USED, vouched), challenge];
    statements.extend(session.start_by_passkey(&texts, used.password_hash, code, used.id));
    statements.append(&mut code.used_up(&texts.account, &texts.id));
    database.batch(&statements).await?.any(2)
}
