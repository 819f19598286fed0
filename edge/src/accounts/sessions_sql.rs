//! Sessions: one row each, read by every statement authorised by the session.

use constcat::concat;
use serde::Deserialize;

use super::{passkey::PasskeyId, recoveries_sql};
use crate::{
    cf::database::{Database, Param, Statement},
    credentials::session::{Session, SessionId},
    error::Error,
    ledger::{
        IN_SESSION,
        code::{Code, code_holds},
        security_events::{device, event},
    },
    mail::AccountEvent,
};

pub struct NewSession {
    pub session: Session,
    pub browser: String,
    pub country: String,
    pub created_at: u64,
    pub expires_at: u64,
}

/// `?1` id, `?2` account, `?3` created, `?4` expires, `?5` browser, `?6` country. `?7` is the password hash that the
/// account must have: a concurrent change of password wins over a sign-in. `?8` and `?9` are the code: turning on
/// two-factor authentication also wins.
const INSERT_SESSION: &str = concat!(
    "INSERT INTO sessions (id, account_id, created_at, expires_at, browser, country)
     SELECT ?1, id, ?3, ?4, ?5, ?6 FROM accounts
     WHERE id = ?2 AND state = 'confirmed' AND password_hash = ?7 AND ",
    code_holds!("?8", "?9"),
    "RETURNING id"
);

/// Like [`INSERT_SESSION`], for a session started with passkey `?10`.
const INSERT_SESSION_BY_PASSKEY: &str = concat!(
    "INSERT INTO sessions (id, account_id, created_at, expires_at, browser, country)
     SELECT ?1, id, ?3, ?4, ?5, ?6 FROM accounts
     WHERE id = ?2 AND state = 'confirmed' AND password_hash = ?7 AND ",
    code_holds!("?8", "?9"),
    " AND EXISTS (SELECT 1 FROM passkeys p WHERE p.account_id = ?2 AND p.id = ?10 AND p.last_session = ?1)
     RETURNING id"
);

/// Ends sessions of an account with more than 20, the number its list shows: those first that weren't used after their
/// first minute, so that a program that forgets to sign out doesn't end its owner's session, then the oldest.
const DELETE_BEYOND_LIMIT: &str = "DELETE FROM sessions WHERE id IN (
    SELECT id FROM sessions WHERE account_id = ?1
    ORDER BY id = ?2 DESC, is_used DESC, created_at DESC LIMIT -1 OFFSET 20)";

const INSERT_SIGNED_IN_EVENT: &str = "
    INSERT INTO security_events (account_id, class, kind, name, at, browser, country)
    SELECT account_id, 'sign_in', 'signed_in', id, created_at, browser, country FROM sessions
    WHERE id = ?1 AND account_id = ?2
    ON CONFLICT (account_id, class, kind, name) DO NOTHING";

pub(super) struct SessionTexts {
    pub(super) id: String,
    pub(super) account: String,
}

impl NewSession {
    pub(super) fn texts(&self) -> SessionTexts {
        SessionTexts { id: self.session.id.to_string(), account: self.session.account.to_string() }
    }

    /// The first statement returns the session's id. The others write its security event, and stop a recovery: a
    /// sign-in shows that somebody has the second factor.
    pub(super) fn start<'a>(
        &'a self,
        texts: &'a SessionTexts,
        password_hash: &'a str,
        code: &'a Code,
    ) -> Vec<Statement<'a>> {
        texts.with_effects((INSERT_SESSION, self.params(texts, password_hash, code)))
    }

    fn params<'a>(
        &'a self,
        texts: &'a SessionTexts,
        password_hash: &'a str,
        code: &'a Code,
    ) -> Vec<Param<'a>> {
        let params: Vec<Param<'a>> = vec![
            (&texts.id).into(),
            (&texts.account).into(),
            self.created_at.into(),
            self.expires_at.into(),
            (&self.browser).into(),
            (&self.country).into(),
            password_hash.into(),
        ];
        [params, code.params()].concat()
    }

    /// Like [`start`](Self::start), for a session started with a passkey. The last statement ends the sessions
    /// beyond the limit.
    pub(super) fn start_by_passkey<'a>(
        &'a self,
        texts: &'a SessionTexts,
        password_hash: &'a str,
        code: &'a Code,
        passkey: &'a PasskeyId,
    ) -> Vec<Statement<'a>> {
        let start = [self.params(texts, password_hash, code), vec![passkey.as_str().into()]];
        let mut statements = texts.with_effects((INSERT_SESSION_BY_PASSKEY, start.concat()));
        statements.push(texts.end_beyond_limit());
        statements
    }
}

impl SessionTexts {
    fn with_effects<'a>(&'a self, start: Statement<'a>) -> Vec<Statement<'a>> {
        let event = (INSERT_SIGNED_IN_EVENT, vec![(&self.id).into(), (&self.account).into()]);
        let stop = recoveries_sql::stop_by_session(&self.account, &self.id);
        [start, event].into_iter().chain(stop).collect()
    }

    fn end_beyond_limit(&self) -> Statement<'_> {
        (DELETE_BEYOND_LIMIT, vec![(&self.account).into(), (&self.id).into()])
    }
}

/// Starts a session and consumes the presented code. Returns `false` if the account is no longer
/// active, has another password or two-factor on, or the code was already used.
pub async fn start(
    database: &Database,
    session: &NewSession,
    password_hash: &str,
    code: &Code,
) -> Result<bool, Error> {
    let texts = session.texts();
    let mut statements = session.start(&texts, password_hash, code);
    statements.push(texts.end_beyond_limit());
    statements.append(&mut code.used_up(&texts.account, &texts.id));
    database.batch(&statements).await?.any(0)
}

/// Ends all sessions of an account whose password hash is now `?2`.
const DELETE_OF_PASSWORD: &str = "
    DELETE FROM sessions WHERE account_id = ?1
      AND EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND password_hash = ?2)";

pub(super) fn end_of_password<'a>(account: &'a str, new_hash: &'a str) -> Statement<'a> {
    (DELETE_OF_PASSWORD, vec![account.into(), new_hash.into()])
}

const DELETE_SESSION: &str = "DELETE FROM sessions WHERE account_id = ?1 AND id = ?2 RETURNING id";

pub async fn end(database: &Database, session: Session) -> Result<bool, Error> {
    let (account, id) = session.texts();
    database.any((DELETE_SESSION, vec![(&account).into(), (&id).into()])).await
}

const DELETE_SESSIONS: &str = concat!(
    "DELETE FROM sessions WHERE account_id = ?1
       AND EXISTS (SELECT 1 FROM accounts WHERE ",
    IN_SESSION,
    ") RETURNING id"
);

const INSERT_ENDED_ALL_EVENT: &str = event!("signed_out_everywhere", "?3", "?4", IN_SESSION);

pub async fn end_all(
    database: &Database,
    session: Session,
    deed: &AccountEvent,
) -> Result<bool, Error> {
    let (account, id) = session.texts();
    let caller = vec![(&account).into(), (&id).into()];
    let event = (INSERT_ENDED_ALL_EVENT, [caller.clone(), device(deed)].concat());
    database.batch(&[event, (DELETE_SESSIONS, caller)]).await?.any(1)
}

#[derive(Debug, Deserialize)]
pub struct SessionRow {
    pub id: String,
    pub created_at: i64,
    pub expires_at: i64,
    pub browser: String,
    pub country: String,
    pub current: u8,
}

/// `?3` now. An account has no more sessions than this limit ([`DELETE_BEYOND_LIMIT`]).
const SELECT_SESSIONS: &str = concat!(
    "SELECT s.id, s.created_at, s.expires_at, s.browser, s.country, s.id = ?2 AS current
     FROM sessions s WHERE s.account_id = ?1 AND s.expires_at > ?3 AND EXISTS (SELECT 1 FROM accounts WHERE ",
    IN_SESSION,
    ") ORDER BY current DESC, s.created_at DESC, s.id LIMIT 20"
);

/// The account's sessions, this one first; empty if this session has ended.
pub async fn list(
    database: &Database,
    session: Session,
    now: u64,
) -> Result<Vec<SessionRow>, Error> {
    let (account, id) = session.texts();
    let params = vec![(&account).into(), (&id).into(), now.into()];
    database.batch(&[(SELECT_SESSIONS, params)]).await?.all(0)
}

pub enum EndOutcome {
    Done,
    NoSuchSession,
    Unauthorised,
}

const SELECT_LIVE_SESSION: &str = concat!("SELECT id FROM accounts WHERE ", IN_SESSION);

const DELETE_OTHER_SESSION: &str = concat!(
    "DELETE FROM sessions WHERE account_id = ?1 AND id = ?3
       AND EXISTS (SELECT 1 FROM accounts WHERE ",
    IN_SESSION,
    ") RETURNING id"
);

const INSERT_ENDED_EVENT: &str = event!(
    "session_ended",
    "?4",
    "?5",
    "EXISTS (SELECT 1 FROM sessions o WHERE o.account_id = ?1 AND o.id = ?3) AND ",
    IN_SESSION
);

/// Ends the session named `other`, which may be this one.
pub async fn end_one(
    database: &Database,
    session: Session,
    other: SessionId,
    deed: &AccountEvent,
) -> Result<EndOutcome, Error> {
    let (account, id) = session.texts();
    let other = other.to_string();
    let caller = vec![(&account).into(), (&id).into()];
    let ended: Vec<Param<'_>> = [caller.clone(), vec![(&other).into()]].concat();
    let event = (INSERT_ENDED_EVENT, [ended.clone(), device(deed)].concat());
    let rows = database
        .batch(&[(SELECT_LIVE_SESSION, caller), event, (DELETE_OTHER_SESSION, ended)])
        .await?;
    Ok(match (rows.any(0)?, rows.any(2)?) {
        (false, _) => EndOutcome::Unauthorised,
        (true, true) => EndOutcome::Done,
        (true, false) => EndOutcome::NoSuchSession,
    })
}
