//! Registration and confirmation.

use futures_util::future::join;
use serde::Deserialize;

use super::{
    accounts,
    addresses::{self, Tombstone},
    databases::Databases,
    keys,
    mailed_tokens::{self, NewToken, PreviousLink, TokenPurpose},
};
use crate::{
    account::{AccountId, AccountState},
    cf::database::{Database, Statement},
    credentials::{
        address_hash::AccountHash,
        mailed_token::{self, MailedToken, TokenHash},
    },
    error::Error,
};

/// A registration, ready to be stored.
pub struct Registration {
    /// Id for a new account; an address with an account keeps its id.
    pub id: AccountId,
    pub address_hash: AccountHash,
    pub email: String,
    pub password_hash: String,
    pub random: [u8; mailed_token::RANDOM_BYTES],
    /// Expiry of the link in Unix seconds.
    pub expires_at: u64,
}

impl Registration {
    /// The token to be mailed, for the account that was registered.
    pub fn token(&self, account: AccountId) -> MailedToken {
        MailedToken::new(account.database(), self.random)
    }
}

/// The account of a registration, and what the registration changed.
#[derive(Debug)]
pub struct Registered {
    pub account: AccountId,
    pub change: RegistrationChange,
}

/// Changes made by a registration, to undo them if its email can't be sent.
#[derive(Debug)]
pub enum RegistrationChange {
    /// A new account.
    New,
    /// An unconfirmed account got a new password and a new link.
    Again(Box<Previous>),
    /// The address has an account that isn't waiting for confirmation: nothing changed. Holds the
    /// account's own address, to which emails go.
    Taken { email: String },
    /// Another spelling of the mailbox has a confirmed account: nothing changed.
    AnotherSpelling,
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

enum FoundAccount {
    Done(RegistrationChange),
    /// The directory's account doesn't exist.
    Nothing {
        tombstone: Option<Tombstone>,
    },
    /// The database has another account for the address, and the directory doesn't name it.
    Lost {
        account: AccountId,
        email: String,
    },
}

/// Attempts per request: concurrent registrations of an address may replace each other.
const TRIES_MAX: usize = 3;

/// Stores a registration: a new account, or a new password and link for an unconfirmed one. Two round trips, one
/// to the directory and one to the account's database; more only after a crash.
///
/// # Errors
/// [`Error::unavailable`] when a database fails. The next registration works even after an interruption.
pub async fn register(
    databases: &Databases,
    registration: &Registration,
    now: u64,
) -> Result<Registered, Error> {
    let (directory, hash) = (databases.directory(), &registration.address_hash);
    let mut buried: Option<Tombstone> = None;
    for _ in 0..TRIES_MAX {
        let claim = addresses::claim(directory, hash, registration.id, now).await?;
        if claim.is_another_spelling {
            // The following statements only equalise the response time.
            let account = registration.id;
            let stored = store(databases, registration, account, &None, false, now);
            let (found, ()) = join(stored, look(databases.of_unknown_address(hash), hash)).await;
            let change = RegistrationChange::AnotherSpelling;
            return found.map(|_| Registered { account, change });
        }
        let account = claim.account;
        let tombstone = newer(buried.take(), claim.tombstone);
        // The response time mustn't reveal anything. Two databases are therefore queried in parallel:
        // that of the existing account or unknown address, and that of the new id.
        let other = if account == registration.id {
            databases.of_unknown_address(hash)
        } else {
            databases.of(registration.id)?
        };
        let there = store(databases, registration, account, &tombstone, !claim.confirmed, now);
        let (found, ()) = join(there, look(other, hash)).await;
        if found.is_err() && !claim.confirmed {
            // The chosen database may be down for long, and the next attempt may choose another one.
            let _ = addresses::forget_claim(directory, hash, account).await;
        }
        let (account_there, taken) = match found? {
            FoundAccount::Done(change) => return Ok(Registered { account, change }),
            FoundAccount::Nothing { tombstone: left } => {
                buried = newer(tombstone, left);
                (registration.id, None)
            }
            FoundAccount::Lost { account, email } => {
                (account, Some(RegistrationChange::Taken { email }))
            }
        };
        let (ids, is_confirmed) = ([account, account_there], taken.is_some());
        addresses::replace(directory, hash, ids, is_confirmed, buried.as_ref(), now).await?;
        if let Some(change) = taken {
            return Ok(Registered { account: account_there, change });
        }
    }
    Err(Error::unavailable("an address was registered many times at once"))
}

fn newer(one: Option<Tombstone>, other: Option<Tombstone>) -> Option<Tombstone> {
    one.into_iter().chain(other).max_by_key(|tombstone| tombstone.expires_at)
}

const SELECT_ACCOUNT: &str = "SELECT id FROM accounts WHERE address_hash = ?1";

/// Takes the same time as a lookup in this database, without a result.
async fn look(database: &Database, hash: &AccountHash) {
    let _ = database.any((SELECT_ACCOUNT, vec![hash.as_str().into()])).await;
}

// Removes accounts of interrupted registrations, and unconfirmed ones that the directory has lost.
const DELETE_STRAY: &str =
    "DELETE FROM accounts WHERE address_hash = ?2 AND id <> ?1 AND state = 'unconfirmed'";

const SELECT_PREVIOUS: &str =
    "SELECT id, email, password_hash, state FROM accounts WHERE address_hash = ?1";

// A deleted account's usage still counts for its address. `?6`: whether a new account may be
// created.
const UPSERT_ACCOUNT: &str = "
    INSERT INTO accounts (id, address_hash, email, password_hash, created_at, day, daily_charged,
      scans_day, scans_charged)
    SELECT ?1, ?2, ?3, ?4, ?5, coalesce(t.day, 0), coalesce(t.used, 0), coalesce(t.day, 0),
      coalesce(t.scans_used, 0)
    FROM (SELECT 1) LEFT JOIN tombstones t ON t.address_hash = ?2
    WHERE ?6 = 1 OR EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND deleted_at IS NULL)
    ON CONFLICT (address_hash) DO UPDATE
      SET email = excluded.email, password_hash = excluded.password_hash
      WHERE accounts.state = 'unconfirmed' AND accounts.id = excluded.id";

async fn store(
    databases: &Databases,
    registration: &Registration,
    account: AccountId,
    tombstone: &Option<Tombstone>,
    may_be_new: bool,
    now: u64,
) -> Result<FoundAccount, Error> {
    let (hash, id) = (&registration.address_hash, account.to_string());
    let new: Statement<'_> = (
        UPSERT_ACCOUNT,
        vec![
            (&id).into(),
            hash.as_str().into(),
            (&registration.email).into(),
            (&registration.password_hash).into(),
            now.into(),
            u64::from(may_be_new).into(),
        ],
    );
    let token = NewToken {
        purpose: TokenPurpose::Confirm,
        hash: registration.token(account).hash(),
        expires_at: registration.expires_at,
    };
    let mut statements = Vec::from_iter(accounts::rekey(hash));
    statements.extend(tombstone.iter().map(|tombstone| addresses::bury(hash, tombstone)));
    let first = statements.len();
    statements.extend([
        (DELETE_STRAY, vec![(&id).into(), hash.as_str().into()]),
        (SELECT_PREVIOUS, vec![hash.as_str().into()]),
        mailed_tokens::previous(token.purpose, &id),
        addresses::tombstone(hash),
        new,
        keys::own(&id),
        mailed_tokens::store(&token, &id),
    ]);
    let rows = databases.of(account)?.batch(&statements).await?;
    let previous = rows.first::<PreviousAccount>(first + 1)?;
    let link = rows.first::<PreviousLink>(first + 2)?;
    Ok(match (previous, link) {
        (Some(previous), _) if previous.id != account => {
            FoundAccount::Lost { account: previous.id, email: previous.email }
        }
        (Some(account), Some(link)) if account.state == AccountState::Unconfirmed => {
            FoundAccount::Done(RegistrationChange::Again(Box::new(Previous { account, link })))
        }
        (Some(account), _) => {
            FoundAccount::Done(RegistrationChange::Taken { email: account.email })
        }
        (None, _) if may_be_new => FoundAccount::Done(RegistrationChange::New),
        (None, _) => FoundAccount::Nothing { tombstone: rows.first(first + 3)? },
    })
}

// Deletes the account only if it is unchanged since this registration.
const DELETE_NEW: &str = "DELETE FROM accounts
    WHERE id = ?1 AND state = 'unconfirmed' AND password_hash = ?2 RETURNING id";
const RESTORE_ACCOUNT: &str = "
    UPDATE accounts SET email = ?3, password_hash = ?4
    WHERE id = ?1 AND state = 'unconfirmed' AND password_hash = ?2";

/// Removes a registration whose email couldn't be sent.
pub async fn unregister(
    databases: &Databases,
    registration: &Registration,
    registered: Registered,
) -> Result<(), Error> {
    let (account, id) = (registered.account, registered.account.to_string());
    let database = databases.of(account)?;
    match registered.change {
        RegistrationChange::Taken { .. } | RegistrationChange::AnotherSpelling => Ok(()),
        RegistrationChange::New => {
            // The token is deleted with its account.
            let params = vec![(&id).into(), (&registration.password_hash).into()];
            if database.any((DELETE_NEW, params)).await? {
                let directory = databases.directory();
                addresses::forget_claim(directory, &registration.address_hash, account).await?;
            }
            Ok(())
        }
        RegistrationChange::Again(previous) => {
            let params = vec![
                (&id).into(),
                (&registration.password_hash).into(),
                (&previous.account.email).into(),
                (&previous.account.password_hash).into(),
            ];
            let token = registration.token(account).hash();
            let token = mailed_tokens::restore(&token, &previous.link);
            database.batch(&[(RESTORE_ACCOUNT, params), token]).await.map(drop)
        }
    }
}

/// An account that waits for confirmation.
#[derive(Debug, Deserialize)]
pub struct WaitingAccount {
    pub id: AccountId,
    pub email: String,
}

/// A newly confirmed account.
#[derive(Debug, Deserialize)]
pub struct Confirmed {
    pub id: AccountId,
    pub email: String,
    pub key_version: u32,
    pub password_hash: String,
}

const UPDATE_CONFIRMED: &str = "
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
    RETURNING id, email, password_hash,
      (SELECT k.version FROM keys k WHERE k.account_id = accounts.id AND k.id = '0000000000000000') AS key_version";

/// Day 0 of the account's usage, from which the welcome checks of its first day are counted.
const UPDATE_FIRST_DAY: &str = "
    UPDATE accounts SET days = json_array(json_array(0, 0, welcome_left))
    WHERE state = 'confirmed' AND welcome_left > 0 AND days = '[]' AND id = (
      SELECT account_id FROM mailed_tokens WHERE hash = ?1 AND purpose = 'confirm')";

const DELETE_TOKEN: &str = "DELETE FROM mailed_tokens WHERE hash = ?1 AND purpose = 'confirm'";

/// Confirms the account to which this token was mailed and consumes the token, in one transaction;
/// the directory was updated before. A given password hash becomes the account's. Returns `None` if the
/// token is unknown, used, replaced or expired.
pub async fn confirm(
    database: &Database,
    token: &TokenHash,
    password_hash: Option<&str>,
    now: u64,
) -> Result<Option<Confirmed>, Error> {
    let hash = token.as_str();
    let confirm = vec![hash.into(), now.into(), password_hash.unwrap_or_default().into()];
    let [begin, delete] = [UPDATE_FIRST_DAY, DELETE_TOKEN].map(|sql| (sql, vec![hash.into()]));
    database.batch(&[(UPDATE_CONFIRMED, confirm), begin, delete]).await?.first(0)
}

const SELECT_WAITING: &str = "
    SELECT a.id, a.email FROM mailed_tokens t JOIN accounts a ON a.id = t.account_id
    WHERE t.hash = ?1 AND t.purpose = 'confirm' AND t.expires_at > ?2 AND a.state = 'unconfirmed'";

/// The account to which a confirmation link was mailed. The link isn't consumed.
pub async fn waiting(
    database: &Database,
    token: &TokenHash,
    now: u64,
) -> Result<Option<WaitingAccount>, Error> {
    database.first((SELECT_WAITING, vec![token.as_str().into(), now.into()])).await
}
