//! The directory: the account of each address, in the first database. It is asked only if nothing but the address is
//! known, and never by a check.
//!
//! No transaction spans two databases, so each step can be repeated: a confirmation (`accounts/registration_sql.rs`)
//! writes the directory first; a change of address (`accounts/email_change_sql.rs`) and a deletion
//! (`accounts/closing_sql.rs`) make it equal last. Every account is in the directory.

use constcat::concat;
use rcpt_shared::KeyRing;
use serde::{Deserialize, Serialize};

use crate::{
    account::{AccountAddress, AccountId},
    cf::database::{Database, Param},
    credentials::keyed_names::MailboxHash,
    error::Error,
    limits::rules::Key,
};

/// Seconds for which the address of a deleted or moved account gets no fresh allowance.
const FORMER_S: u64 = 30 * 24 * 60 * 60;

pub const IS_ALLOWED: &str = "EXISTS (SELECT 1 FROM allowed_addresses w WHERE w.address = ?1)";

#[derive(Deserialize)]
struct Entry {
    account_id: AccountId,
}

const SELECT_BY_ADDRESS: &str = "SELECT account_id FROM directory WHERE address = ?1";

pub async fn find(directory: &Database, address: &str) -> Result<Option<AccountId>, Error> {
    let entry = directory.first::<Entry>((SELECT_BY_ADDRESS, vec![address.into()])).await?;
    Ok(entry.map(|entry| entry.account_id))
}

const SELECT_BY_MAILBOX: &str = "SELECT account_id FROM directory
    WHERE address = ?1 OR mailbox = ?2 ORDER BY address = ?1 DESC LIMIT 1";

pub async fn find_mailbox(
    directory: &Database,
    address: &AccountAddress,
) -> Result<Option<AccountId>, Error> {
    let (folded, mailbox) = (address.folded(), address.mailbox());
    let params = vec![(&folded).into(), (&mailbox).into()];
    let entry = directory.first::<Entry>((SELECT_BY_MAILBOX, params)).await?;
    Ok(entry.map(|entry| entry.account_id))
}

/// An account, and the one address that the directory may have for it: folded, and empty if the account is closed.
#[derive(Debug, Serialize)]
pub struct Owner {
    pub id: AccountId,
    pub address: String,
}

/// `?1` a JSON array of [`Owner`].
const OF_OTHERS: &str = "WHERE account_id IN (SELECT value ->> 'id' FROM json_each(?1))
    AND (account_id, address) NOT IN (SELECT value ->> 'id', value ->> 'address' FROM json_each(?1))";
const SELECT_OTHERS: &str = concat!("SELECT address FROM directory ", OF_OTHERS);
const DELETE_OTHERS: &str = concat!("DELETE FROM directory ", OF_OTHERS);
/// A step of a confirmation may come later than the deletion of its account.
const DELETE_REGISTRATIONS: &str =
    "DELETE FROM registrations WHERE is_entered = 1 AND account_id IN (
    SELECT value ->> 'id' FROM json_each(?1) WHERE value ->> 'address' = '')";
/// `?1` a JSON array of throttle keys, `?2` until when.
const INSERT_FORMER: &str = "INSERT INTO throttles (key, drained_at, last_attempt)
    SELECT value, ?2, '' FROM json_each(?1) WHERE true
    ON CONFLICT (key) DO UPDATE SET drained_at = excluded.drained_at";
const DELETE_ATTEMPTS: &str =
    "DELETE FROM throttles WHERE key IN (SELECT value FROM json_each(?1))";

#[derive(Deserialize)]
struct Address {
    address: String,
}

/// Makes the directory's rows of each of these accounts its one address, or none, and marks the addresses that go for
/// thirty days. Two round trips, the second of which decides: both can be repeated.
pub async fn make_equal(
    directory: &Database,
    secrets: &KeyRing,
    owners: &[Owner],
    now: u64,
) -> Result<(), Error> {
    let list = json(owners)?;
    let others = directory.batch(&[(SELECT_OTHERS, vec![(&list).into()])]).await?;
    let others = others.all::<Address>(0)?.into_iter();
    let others = others.filter_map(|row| AccountAddress::parse(&row.address).ok());
    let former = json(&Vec::from_iter(others.map(|address| {
        Key::former(MailboxHash::of(secrets, &address).as_str()).as_str().to_owned()
    })))?;
    let closed = owners.iter().filter(|owner| owner.address.is_empty());
    let attempts = closed.flat_map(|owner| [Key::code(owner.id), Key::password(owner.id)]);
    let attempts = json(&Vec::from_iter(attempts.map(|key| key.as_str().to_owned())))?;
    let until: Param<'_> = now.saturating_add(FORMER_S).into();
    let statements = [
        (INSERT_FORMER, vec![(&former).into(), until]),
        (DELETE_OTHERS, vec![(&list).into()]),
        (DELETE_REGISTRATIONS, vec![(&list).into()]),
        (DELETE_ATTEMPTS, vec![(&attempts).into()]),
    ];
    directory.batch(&statements).await.map(drop)
}

fn json(rows: &(impl Serialize + ?Sized)) -> Result<String, Error> {
    serde_json::to_string(rows).map_err(|error| Error::internal(format!("directory: {error}")))
}

/// `?1` address, `?2` mailbox, `?3` as typed, `?4` account. An address that the operator allowed has no mailbox:
/// another spelling may have it.
const INSERT_ENTRY: &str = concat!(
    "INSERT OR IGNORE INTO directory (address, mailbox, email, account_id)
     SELECT ?1, CASE WHEN ",
    IS_ALLOWED,
    " THEN NULL ELSE ?2 END, ?3, ?4"
);
const SELECT_ENTRY: &str = "SELECT 1 AS one FROM directory WHERE address = ?1 AND account_id = ?2";

pub async fn add(
    directory: &Database,
    address: &AccountAddress,
    account: AccountId,
) -> Result<bool, Error> {
    let (folded, mailbox, id) = (address.folded(), address.mailbox(), account.to_string());
    let entry: Vec<Param<'_>> =
        vec![(&folded).into(), (&mailbox).into(), address.as_given().into(), (&id).into()];
    let statements = [
        (INSERT_ENTRY, entry),
        (DELETE_ALLOWED, vec![(&folded).into()]),
        (SELECT_ENTRY, vec![(&folded).into(), (&id).into()]),
    ];
    directory.batch(&statements).await?.any(2)
}

pub const DELETE_ALLOWED: &str = "DELETE FROM allowed_addresses
    WHERE address = ?1 AND EXISTS (SELECT 1 FROM directory d WHERE d.address = ?1)";
