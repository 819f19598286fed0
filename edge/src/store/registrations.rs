//! Registration and confirmation.

use serde::Deserialize;

use super::{
    accounts,
    mailed_tokens::{self, NewToken, PreviousLink},
};
use crate::{
    account::{AccountId, AccountState},
    cf::database::{Database, Statement},
    credentials::{address_hash::AccountHash, mailed_token::TokenHash},
    error::Error,
};

/// A registration, ready to be stored.
pub struct Registration {
    /// For a new account; an account that is registered again before confirmation keeps its own.
    pub id: AccountId,
    pub address_hash: AccountHash,
    pub email: String,
    pub password_hash: String,
    pub token: NewToken,
}

/// What a registration changed, so that it can be taken back where its mail cannot be handed over.
#[derive(Debug)]
pub enum Registered {
    /// A new account.
    New,
    /// An unconfirmed account got a new password and a new link.
    Again(Box<Previous>),
    /// The address has an account that is not waiting for confirmation: nothing changed. Its own
    /// address, where mails to it go.
    Taken { email: String },
}

/// An unconfirmed account as it was before it was registered again.
#[derive(Debug)]
pub struct Previous {
    account: PreviousAccount,
    link: PreviousLink,
}

#[derive(Debug, Deserialize)]
struct PreviousAccount {
    id: AccountId,
    email: String,
    password_hash: String,
    state: AccountState,
}

const PREVIOUS: &str =
    "SELECT id, email, password_hash, state FROM accounts WHERE address_hash = ?1";

// What a deleted account of this address had used stays used.
const REGISTER: &str = "
    INSERT INTO accounts (id, address_hash, email, password_hash, created_at, day, daily_charged,
      scans_day, scans_charged)
    SELECT ?1, ?2, ?3, ?4, ?5, coalesce(t.day, 0), coalesce(t.used, 0), coalesce(t.day, 0),
      coalesce(t.scans_used, 0)
    FROM (SELECT 1) LEFT JOIN tombstones t ON t.address_hash = ?2 WHERE true
    ON CONFLICT (address_hash) DO UPDATE
      SET email = excluded.email, password_hash = excluded.password_hash
      WHERE accounts.state = 'unconfirmed'";

/// Stores a registration: a new account, or a new password and link for an unconfirmed one, in one
/// transaction.
pub async fn register(
    database: &Database,
    registration: &Registration,
    now: u64,
) -> Result<Registered, Error> {
    let id = registration.id.to_string();
    let address_hash = registration.address_hash.as_str();
    let account: Statement<'_> = (
        REGISTER,
        vec![
            (&id).into(),
            address_hash.into(),
            (&registration.email).into(),
            (&registration.password_hash).into(),
            now.into(),
        ],
    );
    let token = &registration.token;
    let mut statements = Vec::from_iter(accounts::rekey(&registration.address_hash));
    let first = statements.len();
    statements.extend([
        (PREVIOUS, vec![address_hash.into()]),
        mailed_tokens::previous(token.purpose, address_hash),
        account,
        mailed_tokens::store(token, address_hash),
    ]);
    let rows = database.batch(&statements).await?;
    let previous = rows.first::<PreviousAccount>(first)?;
    let link = rows.first::<PreviousLink>(first + 1)?;
    Ok(match (previous, link) {
        (Some(account), Some(link)) if account.state == AccountState::Unconfirmed => {
            Registered::Again(Box::new(Previous { account, link }))
        }
        (Some(account), _) => Registered::Taken { email: account.email },
        (None, _) => Registered::New,
    })
}

// Each only while the account is as this registration left it.
const UNDO_NEW: &str =
    "DELETE FROM accounts WHERE id = ?1 AND state = 'unconfirmed' AND password_hash = ?2";
const UNDO_AGAIN: &str = "
    UPDATE accounts SET email = ?3, password_hash = ?4
    WHERE id = ?1 AND state = 'unconfirmed' AND password_hash = ?2";

/// Takes a registration back whose mail could not be handed over.
pub async fn unregister(
    database: &Database,
    registration: &Registration,
    registered: Registered,
) -> Result<(), Error> {
    match registered {
        Registered::Taken { .. } => Ok(()),
        Registered::New => {
            let id = registration.id.to_string();
            // The token goes with its account.
            database.run((UNDO_NEW, vec![(&id).into(), (&registration.password_hash).into()])).await
        }
        Registered::Again(previous) => {
            let id = previous.account.id.to_string();
            let account = vec![
                (&id).into(),
                (&registration.password_hash).into(),
                (&previous.account.email).into(),
                (&previous.account.password_hash).into(),
            ];
            let token = mailed_tokens::restore(&registration.token.hash, &previous.link);
            database.batch(&[(UNDO_AGAIN, account), token]).await.map(drop)
        }
    }
}

/// An unconfirmed account that is to get a new link.
#[derive(Debug, Deserialize)]
pub struct Waiting {
    pub address_hash: String,
    pub email: String,
}

/// `?1` the most rows.
const TAKE_REQUESTED: &str = "
    UPDATE accounts SET confirmation_requested = 0
    WHERE id IN (SELECT id FROM accounts WHERE confirmation_requested = 1 LIMIT CAST(?1 AS INTEGER))
    RETURNING address_hash, email";

/// The accounts for which an operator has asked for a new link, each once.
pub async fn take_requested(database: &Database, most: u64) -> Result<Vec<Waiting>, Error> {
    database.batch(&[(TAKE_REQUESTED, vec![most.into()])]).await?.all(0)
}

/// Gives the account a new link; the one before is void.
pub async fn renew_link(
    database: &Database,
    address_hash: &str,
    token: &NewToken,
) -> Result<(), Error> {
    database.run(mailed_tokens::store(token, address_hash)).await
}

/// An account that has just been confirmed.
#[derive(Debug, Deserialize)]
pub struct Confirmed {
    pub id: AccountId,
    pub email: String,
    pub key_version: u32,
    pub password_hash: String,
}

const CONFIRM: &str = "
    UPDATE accounts SET
      state = 'confirmed', confirmed_at = ?2,
      password_hash = CASE ?3 WHEN '' THEN password_hash ELSE ?3 END,
      welcome_left = (
        SELECT min(p.welcome_checks, coalesce(t.welcome_left, p.welcome_checks))
        FROM plans p LEFT JOIN tombstones t
          ON t.address_hash = accounts.address_hash AND t.expires_at > ?2
        WHERE p.name = accounts.plan)
    WHERE state = 'unconfirmed' AND id = (
      SELECT account_id FROM mailed_tokens
      WHERE hash = ?1 AND purpose = 'confirm' AND expires_at > ?2)
    RETURNING id, email, key_version, password_hash";

const CONSUME: &str = "DELETE FROM mailed_tokens WHERE hash = ?1 AND purpose = 'confirm'";

/// Confirms the account that this token was mailed to and consumes the token, in one transaction. A
/// password hash becomes the account's. `None` for a token that is unknown, used, replaced or expired.
pub async fn confirm(
    database: &Database,
    token: &TokenHash,
    password_hash: Option<&str>,
    now: u64,
) -> Result<Option<Confirmed>, Error> {
    let hash = token.as_str();
    let confirm = vec![hash.into(), now.into(), password_hash.unwrap_or_default().into()];
    let rows = database.batch(&[(CONFIRM, confirm), (CONSUME, vec![hash.into()])]).await?;
    rows.first(0)
}

const ADDRESS: &str = "
    SELECT a.email FROM mailed_tokens t JOIN accounts a ON a.id = t.account_id
    WHERE t.hash = ?1 AND t.purpose = 'confirm' AND t.expires_at > ?2 AND a.state = 'unconfirmed'";

#[derive(Deserialize)]
struct Email {
    email: String,
}

/// The address that a confirmation link was mailed to. The link is not consumed.
pub async fn address_of(
    database: &Database,
    token: &TokenHash,
    now: u64,
) -> Result<Option<String>, Error> {
    let row = database.first::<Email>((ADDRESS, vec![token.as_str().into(), now.into()])).await?;
    Ok(row.map(|row| row.email))
}
