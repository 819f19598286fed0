//! The directory: maps addresses to accounts, in the first database. An account is looked up in it only if nothing but
//! the address is known, and never by a check.
//!
//! No transaction spans two databases, and none needs to. A registration writes the directory's row
//! first and then the account; a deletion removes the account first and then the row. A crash in
//! between leaves a row without an account. The next registration then creates the account of an unconfirmed row, and
//! gives a confirmed row a new id. A confirmed id is never reused for a second account: the first account's key would
//! be valid again. Only the account named by the directory can be confirmed and signed in to.

use constcat::concat;
use serde::{Deserialize, Serialize};

use crate::{
    account::AccountId,
    cf::database::{Database, Param, Statement},
    credentials::address_hash::AccountHash,
    error::Error,
    limits::rules::Key,
};

// No-op if two instances, one of which hasn't yet loaded a new secret, have created two rows.
const UPDATE_ADDRESS_HASHES: [&str; 3] = [
    "UPDATE OR IGNORE addresses SET address_hash = ?1 WHERE address_hash = ?2",
    "UPDATE OR IGNORE tombstones SET address_hash = ?1 WHERE address_hash = ?2",
    "UPDATE OR IGNORE allowed_addresses SET address_hash = ?1 WHERE address_hash = ?2",
];
const UPDATE_MAILBOX_HASHES: [&str; 2] = [
    "UPDATE OR IGNORE addresses SET mailbox_hash = ?1 WHERE mailbox_hash = ?2 AND confirmed = 1",
    "UPDATE tombstones SET mailbox_hash = ?1 WHERE mailbox_hash = ?2",
];

/// While a secret is being replaced, the statements renew the directory's rows of an address under the signing secret.
/// They precede the lookup, in the same transaction.
fn rekey<'a>(hash: &'a AccountHash) -> impl Iterator<Item = Statement<'a>> {
    let of = |statements: &'static [&'static str], fresh: &'a str, other: Option<&'a str>| {
        let pairs =
            other.into_iter().flat_map(|other| statements.iter().map(move |sql| (sql, other)));
        pairs.map(move |(sql, other)| (*sql, vec![fresh.into(), other.into()]))
    };
    of(&UPDATE_ADDRESS_HASHES, hash.as_str(), hash.other()).chain(of(
        &UPDATE_MAILBOX_HASHES,
        hash.mailbox(),
        hash.other_mailbox(),
    ))
}

#[derive(Deserialize)]
struct Named {
    account_id: AccountId,
}

const SELECT_BY_ADDRESS: &str = "SELECT account_id FROM addresses
    WHERE address_hash = ?1 AND confirmed = 1";

// `UNION ALL` instead of `OR`, which would read all rows: the index contains confirmed rows only.
const SELECT_BY_MAILBOX: &str = "SELECT account_id FROM (
      SELECT account_id, 1 AS place FROM addresses
      WHERE address_hash = ?1 AND confirmed = 1
      UNION ALL
      SELECT account_id, 2 FROM addresses
      WHERE mailbox_hash = ?2 AND confirmed = 1)
    ORDER BY place LIMIT 1";

/// The confirmed account of an address or, if it has none, of another spelling of its mailbox.
pub async fn find_mailbox(
    directory: &Database,
    hash: &AccountHash,
) -> Result<Option<AccountId>, Error> {
    let mut statements = Vec::from_iter(rekey(hash));
    let index = statements.len();
    statements.push((SELECT_BY_MAILBOX, vec![hash.as_str().into(), hash.mailbox().into()]));
    let row = directory.batch(&statements).await?.first::<Named>(index)?;
    Ok(row.map(|row| row.account_id))
}

/// The confirmed account of an address. `None` if the address has no account or waits for confirmation.
pub async fn find(directory: &Database, hash: &AccountHash) -> Result<Option<AccountId>, Error> {
    let mut statements = Vec::from_iter(rekey(hash));
    let index = statements.len();
    statements.push((SELECT_BY_ADDRESS, vec![hash.as_str().into()]));
    let row = directory.batch(&statements).await?.first::<Named>(index)?;
    Ok(row.map(|row| row.account_id))
}

/// Usage that still counts for an address whose account was deleted or got another address.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tombstone {
    pub day: u64,
    pub used: u64,
    pub scans_used: u64,
    pub welcome_left: u64,
    /// Expiry in Unix seconds.
    pub expires_at: u64,
}

const SELECT_TOMBSTONE: &str =
    "SELECT day, used, scans_used, welcome_left, expires_at FROM tombstones
    WHERE address_hash = ?1 OR mailbox_hash = ?2 ORDER BY expires_at DESC LIMIT 1";

/// Also finds the tombstone of another spelling of the mailbox.
pub(super) fn tombstone(hash: &AccountHash) -> Statement<'_> {
    (SELECT_TOMBSTONE, vec![hash.as_str().into(), hash.mailbox().into()])
}

// The newer tombstone wins: its account had started with the older tombstone's usage.
const INSERT_TOMBSTONE: &str = "
    INSERT INTO tombstones (address_hash, day, used, scans_used, welcome_left, expires_at)
    VALUES (?1, ?2, ?3, ?6, ?4, ?5)
    ON CONFLICT (address_hash) DO UPDATE SET day = excluded.day, used = excluded.used,
      scans_used = excluded.scans_used, welcome_left = excluded.welcome_left, expires_at = excluded.expires_at
    WHERE excluded.expires_at >= tombstones.expires_at";

/// The tombstone comes from another database.
pub(super) fn bury<'a>(hash: &'a AccountHash, tombstone: &Tombstone) -> Statement<'a> {
    let Tombstone { day, used, scans_used, welcome_left, expires_at } = *tombstone;
    let numbers = [day, used, welcome_left, expires_at, scans_used].map(Param::from);
    let params: Vec<Param<'a>> = [&[hash.as_str().into()][..], &numbers].concat();
    (INSERT_TOMBSTONE, params)
}

/// The directory's entry for an address that is being registered.
pub struct Claim {
    /// The account to register: the address's, or else the offered one.
    pub account: AccountId,
    pub confirmed: bool,
    /// True if another spelling of the mailbox has a confirmed account; then nothing is registered.
    pub is_another_spelling: bool,
    pub tombstone: Option<Tombstone>,
}

#[derive(Deserialize)]
struct ClaimRow {
    account_id: AccountId,
    confirmed: u8,
}

// Selects whether the operator has allowed this exact address (`?1`). The mailbox's hash belongs to another address, so
// this row is marked as in `mailbox_hashes.rs`.
const IS_ALLOWED: &str = "EXISTS (SELECT 1 FROM allowed_addresses WHERE address_hash = ?1)";
const OWN_MAILBOX: &str = concat!("CASE WHEN ", IS_ALLOWED, " THEN '- ' || ?1 ELSE ?4 END");

const INSERT_CLAIM: &str = concat!(
    "INSERT INTO addresses (address_hash, account_id, claimed_at, mailbox_hash)
     SELECT ?1, ?2, ?3, ",
    OWN_MAILBOX,
    " WHERE ",
    IS_ALLOWED,
    " OR NOT EXISTS (SELECT 1 FROM addresses WHERE mailbox_hash = ?4 AND confirmed = 1)
     ON CONFLICT (address_hash) DO NOTHING"
);
const SELECT_CLAIM: &str = "SELECT account_id, confirmed FROM addresses WHERE address_hash = ?1";

/// Finds the account of an address, or adds a row for the offered one.
pub async fn claim(
    directory: &Database,
    hash: &AccountHash,
    offered: AccountId,
    now: u64,
) -> Result<Claim, Error> {
    let id = offered.to_string();
    let mut statements = Vec::from_iter(rekey(hash));
    let first = statements.len();
    statements.extend([
        (INSERT_CLAIM, vec![hash.as_str().into(), (&id).into(), now.into(), hash.mailbox().into()]),
        (SELECT_CLAIM, vec![hash.as_str().into()]),
        tombstone(hash),
    ]);
    let rows = directory.batch(&statements).await?;
    let (claimed, tombstone) = (rows.first::<ClaimRow>(first + 1)?, rows.first(first + 2)?);
    let is_another_spelling = claimed.is_none();
    let ClaimRow { account_id: account, confirmed } =
        claimed.unwrap_or(ClaimRow { account_id: offered, confirmed: 0 });
    Ok(Claim { account, confirmed: confirmed != 0, is_another_spelling, tombstone })
}

const UPDATE_ACCOUNT: &str = "
    UPDATE addresses SET account_id = ?3, confirmed = ?4, claimed_at = ?5
    WHERE address_hash = ?1 AND account_id = ?2";

/// Replaces a missing account with `to`. Does nothing if another account has already replaced it.
pub async fn replace(
    directory: &Database,
    hash: &AccountHash,
    [from, to]: [AccountId; 2],
    is_confirmed: bool,
    tombstone: Option<&Tombstone>,
    now: u64,
) -> Result<(), Error> {
    let [from, to] = [from, to].map(|id| id.to_string());
    let confirmed = u64::from(is_confirmed);
    let params: Vec<Param<'_>> =
        vec![hash.as_str().into(), (&from).into(), (&to).into(), confirmed.into(), now.into()];
    // In one transaction, so that an interruption doesn't lose the usage.
    let buried = tombstone.map(|tombstone| bury(hash, tombstone));
    let statements = Vec::from_iter(buried.into_iter().chain([(UPDATE_ACCOUNT, params)]));
    directory.batch(&statements).await.map(drop)
}

// If two spellings of a mailbox are registered, the first to be confirmed wins.
const INSERT_CONFIRMED: &str = concat!(
    "INSERT INTO addresses (address_hash, account_id, confirmed, claimed_at, mailbox_hash)
     SELECT ?1, ?2, 1, ?3, ",
    OWN_MAILBOX,
    " WHERE ",
    IS_ALLOWED,
    " OR NOT EXISTS (SELECT 1 FROM addresses
        WHERE mailbox_hash = ?4 AND confirmed = 1 AND address_hash <> ?1)
     ON CONFLICT (address_hash) DO UPDATE
       SET confirmed = 1, mailbox_hash = excluded.mailbox_hash
       WHERE account_id = excluded.account_id
     RETURNING account_id"
);

/// Marks the account as confirmed in the directory, before the account itself; `false` if the
/// address or its mailbox now belongs to another account.
pub async fn confirm(
    directory: &Database,
    hash: &AccountHash,
    account: AccountId,
    now: u64,
) -> Result<bool, Error> {
    let account = account.to_string();
    let mut statements = Vec::from_iter(rekey(hash));
    let index = statements.len();
    let mailbox = hash.mailbox().into();
    statements.push((
        INSERT_CONFIRMED,
        vec![hash.as_str().into(), (&account).into(), now.into(), mailbox],
    ));
    directory.batch(&statements).await?.any(index)
}

// A click on the link proves access to the mailbox, so it replaces an unconfirmed registration of the
// address.
const INSERT_FURTHER: &str = concat!(
    "INSERT INTO addresses (address_hash, account_id, confirmed, claimed_at, mailbox_hash)
     SELECT ?1, ?2, 1, ?3, ",
    OWN_MAILBOX,
    " WHERE ",
    IS_ALLOWED,
    " OR NOT EXISTS (SELECT 1 FROM addresses
        WHERE mailbox_hash = ?4 AND confirmed = 1 AND address_hash <> ?1)
     ON CONFLICT (address_hash) DO UPDATE
       SET account_id = excluded.account_id, confirmed = 1, claimed_at = excluded.claimed_at,
         mailbox_hash = excluded.mailbox_hash
       WHERE confirmed = 0 OR account_id = excluded.account_id
     RETURNING account_id"
);

/// Adds another address to an account; `false` if the address or its mailbox belongs to another
/// account.
pub async fn take(
    directory: &Database,
    hash: &AccountHash,
    account: AccountId,
    now: u64,
) -> Result<bool, Error> {
    let account = account.to_string();
    let mut statements = Vec::from_iter(rekey(hash));
    let index = statements.len();
    let mailbox = hash.mailbox().into();
    statements
        .push((INSERT_FURTHER, vec![hash.as_str().into(), (&account).into(), now.into(), mailbox]));
    directory.batch(&statements).await?.any(index)
}

/// Stores the usage of an address that an account no longer has.
pub async fn store_usage(
    directory: &Database,
    hash: &AccountHash,
    account: AccountId,
    tombstone: Tombstone,
) -> Result<(), Error> {
    let (address_hash, account_id) = (hash.as_str().to_owned(), account.to_string());
    let deleted = serde_json::to_string(&[DeletedAccount { address_hash, account_id, tombstone }])
        .map_err(|error| Error::internal(format!("usage: {error}")))?;
    directory.run((INSERT_TOMBSTONES, vec![(&deleted).into()])).await
}

const DELETE_ALL: &str = "DELETE FROM addresses WHERE account_id = ?1";

/// Removes every row of a closed account.
pub async fn forget_all(directory: &Database, account: AccountId) -> Result<(), Error> {
    let account = account.to_string();
    directory.run((DELETE_ALL, vec![(&account).into()])).await
}

const DELETE_OTHERS: &str = "DELETE FROM addresses WHERE account_id = ?2 AND address_hash <> ?1";

/// Makes the directory's rows of an account its one address.
pub async fn make_equal(
    directory: &Database,
    current: &AccountHash,
    account: AccountId,
) -> Result<(), Error> {
    let account = account.to_string();
    let mut statements = Vec::from_iter(rekey(current));
    statements.push((DELETE_OTHERS, vec![current.as_str().into(), (&account).into()]));
    directory.batch(&statements).await.map(drop)
}

const DELETE_CLAIM: &str =
    "DELETE FROM addresses WHERE address_hash = ?1 AND account_id = ?2 AND confirmed = 0";

/// Removes an account's unconfirmed claim of an address.
pub async fn forget_claim(
    directory: &Database,
    hash: &AccountHash,
    account: AccountId,
) -> Result<(), Error> {
    let account = account.to_string();
    directory.run((DELETE_CLAIM, vec![hash.as_str().into(), (&account).into()])).await
}

/// `?1` a JSON array of account ids, each with its previous and its new hash.
const UPDATE_HASHES: &str = "UPDATE OR IGNORE addresses SET address_hash = j.value ->> 'fresh',
      mailbox_hash = CASE WHEN mailbox_hash IS NULL OR mailbox_hash GLOB '- *' THEN mailbox_hash
        ELSE j.value ->> 'mailbox' END
    FROM json_each(?1) j
    WHERE address_hash = j.value ->> 'outdated' AND account_id = j.value ->> 'id'";

/// `renewed` is a JSON array of objects with `id`, `outdated`, `fresh` and `mailbox`.
pub(super) async fn rehash(directory: &Database, renewed: &str) -> Result<(), Error> {
    directory.run((UPDATE_HASHES, vec![renewed.into()])).await
}

/// A deleted account that must be removed from the directory, with its stored hash.
#[derive(Debug, Serialize, Deserialize)]
pub struct DeletedAccount {
    pub address_hash: String,
    pub account_id: String,
    #[serde(flatten)]
    pub tombstone: Tombstone,
}

/// `?1` a JSON array of [`DeletedAccount`].
const DELETE_ADDRESSES: &str = "
    DELETE FROM addresses WHERE (address_hash, account_id) IN (
      SELECT value ->> 'address_hash', value ->> 'account_id' FROM json_each(?1))";
const INSERT_TOMBSTONES: &str = "
    INSERT INTO tombstones
      (address_hash, day, used, scans_used, welcome_left, expires_at, mailbox_hash)
    SELECT value ->> 'address_hash', value ->> 'day', value ->> 'used', value ->> 'scans_used',
      value ->> 'welcome_left', value ->> 'expires_at',
      (SELECT mailbox_hash FROM addresses WHERE address_hash = value ->> 'address_hash')
    FROM json_each(?1) WHERE true
    ON CONFLICT (address_hash) DO UPDATE SET day = excluded.day, used = excluded.used,
      scans_used = excluded.scans_used, welcome_left = excluded.welcome_left, expires_at = excluded.expires_at,
      mailbox_hash = coalesce(excluded.mailbox_hash, tombstones.mailbox_hash)
    WHERE excluded.expires_at >= tombstones.expires_at";
/// `?1` a JSON array of throttle keys.
const DELETE_ATTEMPTS: &str =
    "DELETE FROM throttles WHERE key IN (SELECT value FROM json_each(?1))";

/// Removes deleted accounts and their counted attempts to enter a code or password. Attempts counted
/// for their addresses stay, and so does their usage.
pub async fn forget(directory: &Database, deleted: &[DeletedAccount]) -> Result<(), Error> {
    let ids = deleted.iter().filter_map(|account| AccountId::parse(&account.account_id));
    let keys = ids.flat_map(|id| [Key::code(id), Key::password(id)]);
    let keys: Vec<String> = keys.map(|key| key.as_str().to_owned()).collect();
    let [deleted, keys] = [serde_json::to_string(deleted), serde_json::to_string(&keys)]
        .map(|json| json.map_err(|error| Error::internal(format!("deleted: {error}"))));
    let (deleted, keys) = (deleted?, keys?);
    let statements: [Statement<'_>; 3] = [
        (INSERT_TOMBSTONES, vec![(&deleted).into()]),
        (DELETE_ADDRESSES, vec![(&deleted).into()]),
        (DELETE_ATTEMPTS, vec![(&keys).into()]),
    ];
    directory.batch(&statements).await.map(drop)
}
