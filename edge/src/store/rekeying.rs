//! Renews everything that was hashed or sealed under a retiring secret. Sign-in and similar operations renew the
//! accounts they use; this run renews all others, so that the old secret can be removed.

use rcpt_shared::KeyRing;
use serde::{Deserialize, Serialize};

use super::addresses;
use crate::{
    account::{AccountAddress, AccountId},
    cf::database::Database,
    credentials::{address_hash::AccountHash, random, totp::TotpSecret},
    error::Error,
};

/// Accounts per statement, and statements of a kind per run: 50,000 accounts every five minutes.
const ROUND_ROWS: u64 = 500;
const ROUNDS_MAX: usize = 100;

/// `?1` start of a secret's range in the index, `?2` its end, `?3` row limit.
///
/// Selects all hashes except those under the signing secret. The address is known, so it can be hashed again even if
/// the old secret is lost.
const SELECT_OTHER_HASHES: &str = "SELECT id, address_hash AS outdated, email AS text FROM accounts
    WHERE (address_hash < ?1 OR address_hash >= ?2) AND deleted_at IS NULL LIMIT CAST(?3 AS INTEGER)";
/// A seal can only be opened while its secret exists.
const SELECT_SEALS: &str =
    "SELECT account_id AS id, secret AS outdated, secret AS text FROM second_factors
    WHERE secret >= ?1 AND secret < ?2 LIMIT CAST(?3 AS INTEGER)";

/// `?1` a JSON array of [`Renewed`].
const UPDATE_HASHES: &str = "UPDATE OR IGNORE accounts SET address_hash = j.value ->> 'fresh'
    FROM json_each(?1) j WHERE accounts.id = j.value ->> 'id'";
const UPDATE_SEALS: &str = "UPDATE second_factors SET secret = j.value ->> 'fresh'
    FROM json_each(?1) j
    WHERE account_id = j.value ->> 'id' AND secret = j.value ->> 'outdated'";

/// `outdated` is a hash or a seal. `text` is the address that was hashed, or the seal itself.
#[derive(Deserialize)]
struct Outdated {
    id: AccountId,
    outdated: String,
    text: String,
}

#[derive(Serialize)]
struct Renewed {
    id: String,
    outdated: String,
    fresh: String,
    /// Hash of the address's mailbox; empty for a seal.
    mailbox: String,
}

/// Renews the hashes and seals of one database's accounts under the signing secrets. Returns the
/// failures with their columns; the next run continues.
pub async fn run(
    directory: &Database,
    database: &Database,
    address_secrets: &KeyRing,
    totp_secrets: &KeyRing,
) -> Vec<(&'static str, Error)> {
    let hash = |account: &Outdated| {
        let address = AccountAddress::parse(&account.text).ok()?;
        let hash = AccountHash::of(address_secrets, &address);
        Some((hash.as_str().to_owned(), hash.mailbox().to_owned()))
    };
    let seal = |account: &Outdated| {
        let secret = TotpSecret::open(totp_secrets, account.id, &account.text).ok()?;
        let sealed = secret.seal(totp_secrets, account.id, random::bytes().ok()?).ok()?;
        Some((sealed, String::new()))
    };
    let (signing, _) = address_secrets.signing();
    let hashes =
        renew(Some(directory), database, signing, [SELECT_OTHER_HASHES, UPDATE_HASHES], &hash)
            .await;
    let seals = match totp_secrets.kids().nth(1) {
        Some(other) => renew(None, database, other, [SELECT_SEALS, UPDATE_SEALS], &seal).await,
        None => Ok(()),
    };
    let done = [("address_hash", hashes), ("second_factors", seals)];
    done.into_iter().filter_map(|(column, done)| Some((column, done.err()?))).collect()
}

/// The directory comes first, so that an interrupted renewal is selected again.
async fn renew(
    directory: Option<&Database>,
    database: &Database,
    kid: &str,
    [find, change]: [&'static str; 2],
    fresh: &dyn Fn(&Outdated) -> Option<(String, String)>,
) -> Result<(), Error> {
    // `/` follows `.`, the character after a kid.
    let (from, to) = (format!("{kid}."), format!("{kid}/"));
    for _ in 0..ROUNDS_MAX {
        let params = vec![(&from).into(), (&to).into(), ROUND_ROWS.into()];
        let outdated: Vec<Outdated> = database.batch(&[(find, params)]).await?.all(0)?;
        if outdated.is_empty() {
            break;
        }
        let row_count = outdated.len() as u64;
        let renewed: Vec<_> = outdated
            .into_iter()
            .filter_map(|account| {
                let (fresh, mailbox) = fresh(&account)?;
                let (id, outdated) = (account.id.to_string(), account.outdated);
                Some(Renewed { id, outdated, fresh, mailbox })
            })
            .collect();
        let renewed = serde_json::to_string(&renewed)
            .map_err(|error| Error::internal(format!("renewed: {error}")))?;
        if let Some(directory) = directory {
            addresses::rehash(directory, &renewed).await?;
        }
        database.run((change, vec![(&renewed).into()])).await?;
        if row_count < ROUND_ROWS {
            break;
        }
    }
    Ok(())
}
