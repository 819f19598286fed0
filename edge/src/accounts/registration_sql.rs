//! Registrations and their confirmation. Who isn't confirmed isn't an account: a registration is a row of the first
//! database, and nothing of it is in the directory. The scheduled run finishes an interrupted confirmation, without a
//! session:
//!
//! 1. first database: the registration is entered, with the password of the click, and the directory its address.
//! 2. account: the account and its own key, unless they are there; a session, if the account has the click's password.
//! 3. first database: the registration goes.

use constcat::concat;
use serde::Deserialize;

use super::sessions_sql::NewSession;
use crate::{
    account::{AccountAddress, AccountId},
    cf::{
        database::{Database, Param, Statement},
        log,
    },
    credentials::{
        keyed_names::MailboxHash,
        mailed_token::{MailedToken, TokenHash},
    },
    error::Error,
    ledger::{
        code::Code,
        databases::Databases,
        directory::{DELETE_ALLOWED, IS_ALLOWED},
        own_key,
    },
    limits::{quota::Day, rules::Key},
};

pub struct Registration {
    pub id: AccountId,
    pub address: AccountAddress,
    pub password_hash: String,
    pub token: MailedToken,
    pub expires_at: u64,
}

#[derive(Debug, Deserialize)]
pub struct Standing {
    /// The account's address as it was typed; `None` without an account.
    pub taken: Option<String>,
    pub is_spelling: u8,
    pub is_waiting: u8,
    pub is_opted_out: u8,
}

/// `?1` address, `?2` mailbox. Allowed addresses stand beside another spelling.
const IS_SPELLING: &str =
    concat!("EXISTS (SELECT 1 FROM directory d WHERE d.mailbox = ?2) AND NOT ", IS_ALLOWED);
/// `?3` now, `?4` and `?5` keys of an opt-out.
const SELECT_STANDING: &str = concat!(
    "SELECT (SELECT d.email FROM directory d WHERE d.address = ?1) AS taken, ",
    IS_SPELLING,
    " AS is_spelling,
       EXISTS (SELECT 1 FROM registrations r WHERE r.address = ?1 AND r.expires_at > ?3) AS is_waiting,
       EXISTS (SELECT 1 FROM throttles t WHERE t.key IN (?4, ?5) AND t.drained_at > ?3) AS is_opted_out"
);

pub async fn standing(
    directory: &Database,
    address: &AccountAddress,
    hash: &MailboxHash,
    now: u64,
) -> Result<Standing, Error> {
    let (folded, mailbox) = (address.folded(), address.mailbox());
    let [current, other] = hash.live().map(Key::opt_out);
    let params = vec![
        (&folded).into(),
        (&mailbox).into(),
        now.into(),
        current.as_str().into(),
        other.as_str().into(),
    ];
    let row = directory.first((SELECT_STANDING, params)).await?;
    row.ok_or_else(|| Error::internal("a registration stands nowhere"))
}

const UPSERT_REGISTRATION: &str = concat!(
    "INSERT INTO registrations (address, email, password_hash, token_hash, account_id, expires_at)
     SELECT ?1, ?3, ?4, ?5, ?6, ?7
     WHERE NOT EXISTS (SELECT 1 FROM directory d WHERE d.address = ?1) AND NOT (",
    IS_SPELLING,
    ") ON CONFLICT (address) DO UPDATE SET email = excluded.email, password_hash = excluded.password_hash,
       token_hash = excluded.token_hash, account_id = excluded.account_id, expires_at = excluded.expires_at
     WHERE registrations.is_entered = 0"
);

/// Stores a registration in place of an earlier one, once its email was handed over. Nothing changes where the mailbox
/// has an account.
pub async fn store(directory: &Database, registration: &Registration) -> Result<(), Error> {
    let Registration { id, address, password_hash, token, expires_at } = registration;
    let (folded, mailbox, id) = (address.folded(), address.mailbox(), id.to_string());
    let token = token.hash();
    let params: Vec<Param<'_>> = vec![
        (&folded).into(),
        (&mailbox).into(),
        address.as_given().into(),
        password_hash.into(),
        token.as_str().into(),
        (&id).into(),
        (*expires_at).into(),
    ];
    directory.run((UPSERT_REGISTRATION, params)).await
}

#[derive(Debug, Deserialize)]
pub struct WaitingAccount {
    #[serde(rename = "account_id")]
    pub id: AccountId,
    pub email: String,
}

const SELECT_WAITING: &str = "SELECT account_id, email FROM registrations
    WHERE token_hash = ?1 AND expires_at > ?2 AND is_entered = 0";

/// The registration of a confirmation link. The link isn't consumed.
pub async fn waiting(
    directory: &Database,
    token: &TokenHash,
    now: u64,
) -> Result<Option<WaitingAccount>, Error> {
    directory.first((SELECT_WAITING, vec![token.as_str().into(), now.into()])).await
}

#[derive(Debug, Deserialize)]
pub struct Entered {
    #[serde(rename = "account_id")]
    pub id: AccountId,
    pub email: String,
    pub password_hash: String,
    /// 1 if the mailbox had an account until a few days ago.
    is_former: u8,
}

/// `?1` address, `?2` token, `?3` now, `?4` mailbox.
const INSERT_ENTRY: &str = concat!(
    "INSERT OR IGNORE INTO directory (address, mailbox, email, account_id)
     SELECT r.address, CASE WHEN ",
    IS_ALLOWED,
    " THEN NULL ELSE ?4 END, r.email, r.account_id FROM registrations r
     WHERE r.address = ?1 AND r.token_hash = ?2 AND r.expires_at > ?3 AND r.is_entered = 0"
);
/// `?4` hash of the click's password or `''`, `?5` and `?6` keys of the mark.
const UPDATE_ENTERED: &str = "UPDATE registrations SET is_entered = 1,
      password_hash = CASE ?4 WHEN '' THEN password_hash ELSE ?4 END,
      is_former = EXISTS (SELECT 1 FROM throttles t WHERE t.key IN (?5, ?6) AND t.drained_at > ?3)
    WHERE address = ?1 AND token_hash = ?2 AND expires_at > ?3 AND is_entered = 0
      AND EXISTS (SELECT 1 FROM directory d WHERE d.address = ?1 AND d.account_id = registrations.account_id)
    RETURNING account_id, email, password_hash, is_former";

/// Decides a click: of all clicks on all links for a mailbox, one enters it. `None` if the link is unknown, used,
/// replaced or expired, or the mailbox has an account.
pub async fn enter(
    directory: &Database,
    token: &TokenHash,
    address: &AccountAddress,
    hash: &MailboxHash,
    password_hash: Option<&str>,
    now: u64,
) -> Result<Option<Entered>, Error> {
    let (folded, mailbox) = (address.folded(), address.mailbox());
    let [current, other] = hash.live().map(Key::former);
    let link: Vec<Param<'_>> = vec![(&folded).into(), token.as_str().into(), now.into()];
    let click = vec![
        password_hash.unwrap_or_default().into(),
        current.as_str().into(),
        other.as_str().into(),
    ];
    let statements = [
        (INSERT_ENTRY, [link.clone(), vec![(&mailbox).into()]].concat()),
        (UPDATE_ENTERED, [link, click].concat()),
        (DELETE_ALLOWED, vec![(&folded).into()]),
    ];
    directory.batch(&statements).await?.first(1)
}

/// `?1` account, `?2` address, `?3` password hash, `?4` now, `?5` today, `?6` whether the mailbox had an account: then
/// it gets no welcome checks, and today's allowance is used. The welcome checks of the first day are counted from day
/// 0.
const INSERT_ACCOUNT: &str = "
    INSERT INTO accounts (id, email, password_hash, created_at, welcome_left, days, day, daily_charged, scans_day,
      scans_charged)
    SELECT ?1, ?2, ?3, ?4, welcome, CASE welcome WHEN 0 THEN '[]' ELSE json_array(json_array(0, 0, welcome)) END,
      ?5 * ?6, daily_checks * ?6, ?5 * ?6, daily_scans * ?6
    FROM (SELECT CASE ?6 WHEN 0 THEN welcome_checks ELSE 0 END AS welcome, daily_checks, daily_scans
      FROM plans WHERE name = 'free')
    WHERE NOT EXISTS (SELECT 1 FROM closed_accounts WHERE id = ?1)
    ON CONFLICT (id) DO NOTHING";
const DELETE_ENTERED: &str = "DELETE FROM registrations WHERE account_id = ?1 AND is_entered = 1";

/// Makes the account and its own key unless they are there, starts the click's session, and removes the registration.
/// `None` if no session has started: the account is closed, or has another password.
pub async fn finish(
    databases: &Databases,
    entered: &Entered,
    session: Option<&NewSession>,
    now: u64,
) -> Result<Option<u32>, Error> {
    let id = entered.id.to_string();
    let account: Vec<Param<'_>> = vec![
        (&id).into(),
        (&entered.email).into(),
        (&entered.password_hash).into(),
        now.into(),
        Day::of(now).number().into(),
        u64::from(entered.is_former).into(),
    ];
    let texts = session.map(NewSession::texts);
    let mut statements: Vec<Statement<'_>> =
        vec![(INSERT_ACCOUNT, account), own_key::own(&id), own_key::select(&id)];
    if let (Some(session), Some(texts)) = (session, &texts) {
        statements.append(&mut session.start(texts, &entered.password_hash, &Code::Off));
    }
    let rows = databases.of(entered.id)?.batch(&statements).await?;
    let key_version = own_key::version(&rows, 2)?;
    let has_started = session.is_some() && rows.any(3)?;
    let removal = databases.directory().run((DELETE_ENTERED, vec![(&id).into()])).await;
    if let Err(error) = removal {
        log::failure("a registration that is entered", &error);
    }
    Ok(key_version.filter(|_| has_started))
}

/// In random order, so that a database that fails delays no others.
const SELECT_ENTERED: &str = "SELECT account_id, email, password_hash, is_former FROM registrations
    WHERE is_entered = 1 ORDER BY random() LIMIT 50";

pub async fn interrupted(directory: &Database) -> Result<Vec<Entered>, Error> {
    directory.batch(&[(SELECT_ENTERED, Vec::new())]).await?.all(0)
}
