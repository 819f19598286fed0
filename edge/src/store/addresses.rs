//! The directory: which account an address has, in the first database. It is asked where only the address
//! is known, and never on the way of a check.
//!
//! No transaction spans two databases, and none needs to. A registration writes here first and then the account, a
//! deletion the account first and then here. A crash in between leaves a row that names no account: the next
//! registration puts a new id in its place. An id for which a key may have been handed out, that is one marked as
//! confirmed, is never used for a second account: its key is derived and would be valid again. Only the account named
//! by this row can be confirmed and signed in to.

use constcat::concat;
use serde::{Deserialize, Serialize};

use crate::{
    account::AccountId,
    cf::database::{Database, Param, Statement},
    credentials::address_hash::AccountHash,
    error::Error,
    limits::rules::Key,
};

// No-ops where two instances, one of which has not yet heard of a secret, have made two rows.
const REKEY: [&str; 3] = [
    "UPDATE OR IGNORE addresses SET address_hash = ?1 WHERE address_hash = ?2",
    "UPDATE OR IGNORE tombstones SET address_hash = ?1 WHERE address_hash = ?2",
    "UPDATE OR IGNORE allowed_addresses SET address_hash = ?1 WHERE address_hash = ?2",
];
const REKEY_MAILBOX: [&str; 2] = [
    "UPDATE OR IGNORE addresses SET mailbox_hash = ?1 WHERE mailbox_hash = ?2 AND confirmed = 1",
    "UPDATE tombstones SET mailbox_hash = ?1 WHERE mailbox_hash = ?2",
];

/// While a secret is being replaced, returns the statements that renew the directory's rows of an address under the
/// signing secret. They precede the lookup, in the same transaction.
fn rekey<'a>(hash: &'a AccountHash) -> impl Iterator<Item = Statement<'a>> {
    let of = |statements: &'static [&'static str], fresh: &'a str, other: Option<&'a str>| {
        let pairs =
            other.into_iter().flat_map(|other| statements.iter().map(move |sql| (sql, other)));
        pairs.map(move |(sql, other)| (*sql, vec![fresh.into(), other.into()]))
    };
    of(&REKEY, hash.as_str(), hash.other()).chain(of(
        &REKEY_MAILBOX,
        hash.mailbox(),
        hash.other_mailbox(),
    ))
}

#[derive(Deserialize)]
struct Named {
    account_id: AccountId,
}

const SELECT_BY_ADDRESS: &str = "SELECT account_id FROM addresses
    WHERE address_hash = ?1 AND confirmed = 1 AND reserved_until IS NULL";

// Not with OR, for which all would be read: the index holds confirmed ones only.
const SELECT_BY_MAILBOX: &str = "SELECT account_id FROM (
      SELECT account_id, 1 AS place FROM addresses
      WHERE address_hash = ?1 AND confirmed = 1 AND reserved_until IS NULL
      UNION ALL
      SELECT account_id, 2 FROM addresses
      WHERE mailbox_hash = ?2 AND confirmed = 1 AND reserved_until IS NULL)
    ORDER BY place LIMIT 1";

/// The confirmed account of an address or, where it has none, of another spelling of its mailbox.
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

/// The confirmed account of an address. An address that waits for confirmation has none yet.
pub async fn find(directory: &Database, hash: &AccountHash) -> Result<Option<AccountId>, Error> {
    let mut statements = Vec::from_iter(rekey(hash));
    let index = statements.len();
    statements.push((SELECT_BY_ADDRESS, vec![hash.as_str().into()]));
    let row = directory.batch(&statements).await?.first::<Named>(index)?;
    Ok(row.map(|row| row.account_id))
}

/// A deleted account's usage, remembered with its address.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tombstone {
    pub day: u64,
    pub used: u64,
    pub scans_used: u64,
    pub welcome_left: u64,
    /// Unix seconds.
    pub expires_at: u64,
}

const SELECT_TOMBSTONE: &str =
    "SELECT day, used, scans_used, welcome_left, expires_at FROM tombstones
    WHERE address_hash = ?1 OR mailbox_hash = ?2 ORDER BY expires_at DESC LIMIT 1";

/// Reads the [`Tombstone`] that a database has of an address, or of another spelling of its mailbox.
pub(super) fn tombstone(hash: &AccountHash) -> Statement<'_> {
    (SELECT_TOMBSTONE, vec![hash.as_str().into(), hash.mailbox().into()])
}

// The newer one counts: it was made of an account that had begun with the older one.
const BURY: &str = "
    INSERT INTO tombstones (address_hash, day, used, scans_used, welcome_left, expires_at)
    VALUES (?1, ?2, ?3, ?6, ?4, ?5)
    ON CONFLICT (address_hash) DO UPDATE SET day = excluded.day, used = excluded.used,
      scans_used = excluded.scans_used, welcome_left = excluded.welcome_left, expires_at = excluded.expires_at
    WHERE excluded.expires_at >= tombstones.expires_at";

/// Stores a tombstone of another database in this one.
pub(super) fn bury<'a>(hash: &'a AccountHash, tombstone: &Tombstone) -> Statement<'a> {
    let Tombstone { day, used, scans_used, welcome_left, expires_at } = *tombstone;
    let numbers = [day, used, welcome_left, expires_at, scans_used].map(Param::from);
    let params: Vec<Param<'a>> = [&[hash.as_str().into()][..], &numbers].concat();
    (BURY, params)
}

/// The directory's entry for an address that is being registered.
pub struct Claim {
    /// The account to register: an existing one, or the one offered.
    pub account: AccountId,
    pub confirmed: bool,
    /// True if another spelling of the mailbox has a confirmed account: then there is nothing to register.
    pub is_another_spelling: bool,
    /// Whether an account had the address until a few days ago: then there is nothing to register either.
    pub is_reserved: bool,
    pub tombstone: Option<Tombstone>,
}

#[derive(Deserialize)]
struct Claimed {
    account_id: AccountId,
    confirmed: u8,
    reserved: u8,
}

// Whether an operator has allowed this very address (`?1`). Another address has the hash of its mailbox then, and it is
// marked as `mailbox_hashes.rs` marks such addresses.
const IS_ALLOWED: &str = "EXISTS (SELECT 1 FROM allowed_addresses WHERE address_hash = ?1)";
const OWN_MAILBOX: &str = concat!("CASE WHEN ", IS_ALLOWED, " THEN '- ' || ?1 ELSE ?4 END");

// An account from before 0.3 has no hash of its mailbox until the scheduled run has made it (`mailbox_hashes.rs`).
const CLAIM: &str = concat!(
    "INSERT INTO addresses (address_hash, account_id, claimed_at, mailbox_hash)
     SELECT ?1, ?2, ?3, ",
    OWN_MAILBOX,
    " WHERE ",
    IS_ALLOWED,
    " OR NOT EXISTS (SELECT 1 FROM addresses WHERE mailbox_hash = ?4 AND confirmed = 1)
     ON CONFLICT (address_hash) DO NOTHING"
);
const SELECT_CLAIM: &str = "SELECT account_id, confirmed, reserved_until IS NOT NULL AS reserved
    FROM addresses WHERE address_hash = ?1";

/// Finds the account of an address, or enters the one offered.
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
        (CLAIM, vec![hash.as_str().into(), (&id).into(), now.into(), hash.mailbox().into()]),
        (SELECT_CLAIM, vec![hash.as_str().into()]),
        tombstone(hash),
    ]);
    let rows = directory.batch(&statements).await?;
    let (claimed, tombstone) = (rows.first::<Claimed>(first + 1)?, rows.first(first + 2)?);
    let is_another_spelling = claimed.is_none();
    let Claimed { account_id: account, confirmed, reserved } =
        claimed.unwrap_or(Claimed { account_id: offered, confirmed: 0, reserved: 0 });
    let (confirmed, is_reserved) = (confirmed != 0, reserved != 0);
    Ok(Claim { account, confirmed, is_another_spelling, is_reserved, tombstone })
}

const REPLACE: &str = "
    UPDATE addresses SET account_id = ?3, confirmed = ?4, claimed_at = ?5
    WHERE address_hash = ?1 AND account_id = ?2";

/// Replaces a missing account by `to`. Nothing happens if another one has already taken its place.
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
    let statements = Vec::from_iter(buried.into_iter().chain([(REPLACE, params)]));
    directory.batch(&statements).await.map(drop)
}

// Of two spellings of one mailbox the first confirmation wins.
const CONFIRM: &str = concat!(
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

/// Marks the account as confirmed before it is; `false` when the address or its mailbox has another one by now.
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
    statements.push((CONFIRM, vec![hash.as_str().into(), (&account).into(), now.into(), mailbox]));
    directory.batch(&statements).await?.any(index)
}

// A click on the link proves the mailbox: an unconfirmed registration of the address gives way.
const TAKE: &str = concat!(
    "INSERT INTO addresses (address_hash, account_id, confirmed, claimed_at, mailbox_hash)
     SELECT ?1, ?2, 1, ?3, ",
    OWN_MAILBOX,
    " WHERE ",
    IS_ALLOWED,
    " OR NOT EXISTS (SELECT 1 FROM addresses
        WHERE mailbox_hash = ?4 AND confirmed = 1 AND address_hash <> ?1)
     ON CONFLICT (address_hash) DO UPDATE
       SET account_id = excluded.account_id, confirmed = 1, claimed_at = excluded.claimed_at,
         mailbox_hash = excluded.mailbox_hash, reserved_until = NULL
       WHERE confirmed = 0 OR account_id = excluded.account_id
     RETURNING account_id"
);

/// Enters a further address of an account; `false` when the address or its mailbox has another one.
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
    statements.push((TAKE, vec![hash.as_str().into(), (&account).into(), now.into(), mailbox]));
    directory.batch(&statements).await?.any(index)
}

const UPDATE_RESERVED: &str = "UPDATE addresses SET reserved_until = ?3
    WHERE address_hash = ?1 AND account_id = ?2 AND confirmed = 1 AND reserved_until IS NULL";

/// Reserves an address until a time, so that nobody can use it, and remembers its usage.
pub async fn reserve(
    directory: &Database,
    hash: &AccountHash,
    account: AccountId,
    until: u64,
    tombstone: Option<Tombstone>,
) -> Result<(), Error> {
    let account = account.to_string();
    let address_hash = hash.as_str().to_owned();
    let deleted = tombstone
        .map(|tombstone| Deleted { address_hash, account_id: account.clone(), tombstone })
        .into_iter()
        .collect::<Vec<_>>();
    let deleted = serde_json::to_string(&deleted)
        .map_err(|error| Error::internal(format!("reserved: {error}")))?;
    let mut statements = Vec::from_iter(rekey(hash));
    statements.extend([
        (REMEMBER, vec![(&deleted).into()]),
        (UPDATE_RESERVED, vec![hash.as_str().into(), (&account).into(), until.into()]),
    ]);
    directory.batch(&statements).await.map(drop)
}

const DELETE_CLAIM_OF_ACCOUNT: &str =
    "DELETE FROM addresses WHERE address_hash = ?1 AND account_id = ?2";

/// Forgets an address that is not the account's any more.
pub async fn release(
    directory: &Database,
    hash: &AccountHash,
    account: AccountId,
) -> Result<(), Error> {
    let account = account.to_string();
    let mut statements = Vec::from_iter(rekey(hash));
    statements.push((DELETE_CLAIM_OF_ACCOUNT, vec![hash.as_str().into(), (&account).into()]));
    directory.batch(&statements).await.map(drop)
}

const DELETE_CLAIM: &str =
    "DELETE FROM addresses WHERE address_hash = ?1 AND account_id = ?2 AND confirmed = 0";

/// Takes back a claim whose account wasn't created.
pub async fn forget_claim(
    directory: &Database,
    hash: &AccountHash,
    account: AccountId,
) -> Result<(), Error> {
    let account = account.to_string();
    directory.run((DELETE_CLAIM, vec![hash.as_str().into(), (&account).into()])).await
}

/// `?1` a JSON array of account ids with the hash that they had and the one that they get.
const UPDATE_HASHES: &str = "UPDATE OR IGNORE addresses SET address_hash = j.value ->> 'fresh',
      mailbox_hash = CASE WHEN mailbox_hash IS NULL OR mailbox_hash GLOB '- *' THEN mailbox_hash
        ELSE j.value ->> 'mailbox' END
    FROM json_each(?1) j
    WHERE address_hash = j.value ->> 'outdated' AND account_id = j.value ->> 'id'";

/// Puts accounts under other hashes: `renewed` is a JSON array of objects with `id`, `outdated` and `fresh`.
pub(super) async fn rehash(directory: &Database, renewed: &str) -> Result<(), Error> {
    directory.run((UPDATE_HASHES, vec![renewed.into()])).await
}

/// A deleted account that the directory must forget, with its stored hash.
#[derive(Debug, Serialize, Deserialize)]
pub struct Deleted {
    pub address_hash: String,
    pub account_id: String,
    #[serde(flatten)]
    pub tombstone: Tombstone,
}

/// `?1` a JSON array of [`Deleted`].
const FORGET: &str = "
    DELETE FROM addresses WHERE (address_hash, account_id) IN (
      SELECT value ->> 'address_hash', value ->> 'account_id' FROM json_each(?1))";
const REMEMBER: &str = "
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

/// Forgets deleted accounts and the attempts within them; attempts on their addresses, and their usage, stay.
pub async fn forget(directory: &Database, deleted: &[Deleted]) -> Result<(), Error> {
    let ids = deleted.iter().filter_map(|account| AccountId::parse(&account.account_id));
    let keys = ids.flat_map(|id| [Key::code(id), Key::password(id)]);
    let keys: Vec<String> = keys.map(|key| key.as_str().to_owned()).collect();
    let [deleted, keys] = [serde_json::to_string(deleted), serde_json::to_string(&keys)]
        .map(|json| json.map_err(|error| Error::internal(format!("deleted: {error}"))));
    let (deleted, keys) = (deleted?, keys?);
    let statements: [Statement<'_>; 3] = [
        (REMEMBER, vec![(&deleted).into()]),
        (FORGET, vec![(&deleted).into()]),
        (DELETE_ATTEMPTS, vec![(&keys).into()]),
    ];
    directory.batch(&statements).await.map(drop)
}
