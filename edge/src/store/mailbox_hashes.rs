//! Mailbox hashes of the accounts that `admin directory --mend` has entered, so that another spelling can't be
//! registered (docs/security.md, B8). The directory has no addresses, so they are read from the accounts' databases.

use std::collections::BTreeMap;

use rcpt_shared::KeyRing;
use serde::{Deserialize, Serialize};

use super::databases::Databases;
use crate::{
    account::{AccountAddress, AccountId},
    credentials::address_hash::AccountHash,
    error::Error,
};

/// Addresses per round and rounds per run: 5,000 accounts every five minutes.
const ROUND_ROWS: u64 = 500;
const ROUNDS_MAX: usize = 10;

const SELECT_MISSING: &str = "SELECT address_hash, account_id FROM addresses
    WHERE confirmed = 1 AND mailbox_hash IS NULL LIMIT CAST(?1 AS INTEGER)";

#[derive(Deserialize)]
struct Missing {
    address_hash: String,
    account_id: AccountId,
}

/// `?1` a JSON array of account ids.
const SELECT_EMAILS: &str = "SELECT id, email FROM accounts
    WHERE id IN (SELECT value FROM json_each(?1)) AND deleted_at IS NULL";

#[derive(Deserialize)]
struct Owner {
    id: AccountId,
    email: String,
}

/// `?1` a JSON array of [`FoundAddress`]. If two accounts share a mailbox, only one account gets its
/// hash.
const UPDATE_MAILBOX: &str =
    "UPDATE OR IGNORE addresses SET mailbox_hash = j.value ->> 'mailbox_hash'
    FROM json_each(?1) j
    WHERE address_hash = j.value ->> 'address_hash' AND confirmed = 1 AND mailbox_hash IS NULL";
/// Marks the remaining rows, so that no run selects them again: no hash begins with this prefix.
const UPDATE_REST: &str = "UPDATE addresses SET mailbox_hash = '- ' || address_hash
    FROM json_each(?1) j
    WHERE address_hash = j.value ->> 'address_hash' AND confirmed = 1 AND mailbox_hash IS NULL";

#[derive(Serialize)]
struct FoundAddress<'a> {
    address_hash: &'a str,
    mailbox_hash: Option<String>,
}

/// Computes missing hashes, up to a limit; the next run continues.
pub async fn fill(databases: &Databases, secrets: &KeyRing) -> Result<(), Error> {
    for _ in 0..ROUNDS_MAX {
        let directory = databases.directory();
        let missing: Vec<Missing> =
            directory.batch(&[(SELECT_MISSING, vec![ROUND_ROWS.into()])]).await?.all(0)?;
        if missing.is_empty() {
            break;
        }
        let hashes = mailboxes(databases, &missing, secrets).await?;
        let hash_rows = missing.iter().map(|row| FoundAddress {
            address_hash: &row.address_hash,
            mailbox_hash: hashes.get(&row.account_id.as_u64()).cloned(),
        });
        let hash_json = json(&hash_rows.collect::<Vec<_>>())?;
        let params = || vec![(&hash_json).into()];
        directory.batch(&[(UPDATE_MAILBOX, params()), (UPDATE_REST, params())]).await?;
    }
    Ok(())
}

/// By account id; missing accounts are left out.
async fn mailboxes(
    databases: &Databases,
    missing: &[Missing],
    secrets: &KeyRing,
) -> Result<BTreeMap<u64, String>, Error> {
    let mut ids: BTreeMap<u8, Vec<String>> = BTreeMap::new();
    for Missing { account_id, .. } in missing {
        ids.entry(account_id.database()).or_default().push(account_id.to_string());
    }
    let mut hashes = BTreeMap::new();
    for ids in ids.into_values() {
        let Some(database) = ids.first().and_then(|id| AccountId::parse(id)) else { continue };
        let ids = json(&ids)?;
        let owners = [(SELECT_EMAILS, vec![(&ids).into()])];
        let owners: Vec<Owner> = databases.of(database)?.batch(&owners).await?.all(0)?;
        hashes.extend(owners.into_iter().filter_map(|owner| {
            let address = AccountAddress::parse(&owner.email).ok()?;
            let hash = AccountHash::of(secrets, &address);
            Some((owner.id.as_u64(), hash.mailbox().to_owned()))
        }));
    }
    Ok(hashes)
}

fn json(rows: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(rows).map_err(|error| Error::internal(format!("mailboxes: {error}")))
}
