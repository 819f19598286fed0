//! Finding and replacing what was made under an older secret.

use serde::Deserialize;

use crate::{
    account::AccountId, cf::database::Database, credentials::address_hash::AddressHash,
    error::Error,
};

#[derive(Debug, Deserialize)]
pub struct Addressed {
    pub id: AccountId,
    pub email: String,
    pub address_hash: String,
}

// Each round of the schedule; two statements an account stay far below D1's limits.
const ADDRESSES: &str = "SELECT id, email, address_hash FROM accounts WHERE address_kid < ?1 OR address_kid > ?1 LIMIT 100";

pub async fn addresses_not_under(database: &Database, kid: &str) -> Result<Vec<Addressed>, Error> {
    database.batch(&[(ADDRESSES, vec![kid.into()])]).await?.all(0)
}

const MOVE: &str =
    "UPDATE OR IGNORE accounts SET address_hash = ?2, address_kid = ?3 WHERE id = ?1";

pub async fn move_address(
    database: &Database,
    account: AccountId,
    hash: &str,
    kid: &str,
) -> Result<(), Error> {
    let account = account.to_string();
    database.run((MOVE, vec![(&account).into(), hash.into(), kid.into()])).await
}

const REKEY: &str = "UPDATE OR IGNORE accounts SET address_hash = ?1 WHERE address_hash = ?2";
const REKEY_TOMBSTONE: &str =
    "UPDATE OR REPLACE tombstones SET address_hash = ?1 WHERE address_hash = ?2";

/// Brings an address that is still under an older secret under the current one, before it is looked up.
/// Costs nothing unless there are two secrets.
pub async fn rekey(database: &Database, hash: &AddressHash) -> Result<(), Error> {
    let params = |older| vec![(&hash.current).into(), older];
    let statements: Vec<_> = hash
        .older
        .iter()
        .flat_map(|older| [(REKEY, params(older.into())), (REKEY_TOMBSTONE, params(older.into()))])
        .collect();
    if statements.is_empty() {
        return Ok(());
    }
    database.batch(&statements).await.map(drop)
}

#[derive(Debug, Deserialize)]
pub struct Sealed {
    pub id: AccountId,
    pub totp_secret: String,
}

/// `?1` and `?2` the ends of what is under the current secret: `kid.` and `kid/`, the character after.
const SEALED: &str = "
    SELECT id, totp_secret FROM accounts
    WHERE totp_secret IS NOT NULL AND (totp_secret < ?1 OR totp_secret >= ?2) LIMIT 100";

pub async fn totp_secrets_not_under(database: &Database, kid: &str) -> Result<Vec<Sealed>, Error> {
    let (from, to) = (format!("{kid}."), format!("{kid}/"));
    database.batch(&[(SEALED, vec![(&from).into(), (&to).into()])]).await?.all(0)
}

// Only while it is the one that was opened.
const RESEAL: &str = "UPDATE accounts SET totp_secret = ?3 WHERE id = ?1 AND totp_secret = ?2";

pub async fn replace_totp_secret(
    database: &Database,
    account: AccountId,
    old: &str,
    new: &str,
) -> Result<(), Error> {
    let account = account.to_string();
    database.run((RESEAL, vec![(&account).into(), old.into(), new.into()])).await
}
