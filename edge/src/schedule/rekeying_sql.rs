//! Renews the seals of second factors under another secret than the one that signs, so that the old one can be deleted.

use rcpt_shared::KeyRing;
use serde::{Deserialize, Serialize};

use crate::{
    account::AccountId,
    cf::database::Database,
    credentials::{random, totp::TotpSecret},
    error::Error,
};

/// Accounts per statement, and statements of a kind per run: 50,000 accounts every five minutes.
const ROUND_ROWS: usize = 500;
const ROUNDS_MAX: usize = 100;

/// `?1` start of a secret's range in the index, `?2` its end. A seal can only be opened while its secret exists.
const SELECT_SEALS: &str = "SELECT account_id AS id, secret AS outdated FROM second_factors
    WHERE secret >= ?1 AND secret < ?2 LIMIT 500";
const UPDATE_SEALS: &str = "UPDATE second_factors SET secret = j.value ->> 'fresh'
    FROM json_each(?1) j
    WHERE account_id = j.value ->> 'id' AND secret = j.value ->> 'outdated'";

#[derive(Deserialize)]
struct Outdated {
    id: AccountId,
    outdated: String,
}

#[derive(Serialize)]
struct Renewed {
    id: AccountId,
    outdated: String,
    fresh: String,
}

pub async fn run(database: &Database, secrets: &KeyRing) -> Result<(), Error> {
    let mut rounds = 0..ROUNDS_MAX;
    for id in secrets.ids().skip(1) {
        // `/` follows `.`, the character after an id.
        let (from, to) = (format!("{id}."), format!("{id}/"));
        while rounds.next().is_some() {
            let params = vec![(&from).into(), (&to).into()];
            let outdated: Vec<Outdated> =
                database.batch(&[(SELECT_SEALS, params)]).await?.all(0)?;
            let row_count = outdated.len();
            if row_count == 0 {
                break;
            }
            let renewed = outdated.into_iter().filter_map(|Outdated { id, outdated }| {
                let secret = TotpSecret::open(secrets, id, &outdated).ok()?;
                let fresh = secret.seal(secrets, id, random::bytes().ok()?).ok()?;
                Some(Renewed { id, outdated, fresh })
            });
            let renewed = serde_json::to_string(&Vec::from_iter(renewed))
                .map_err(|error| Error::internal(format!("renewed: {error}")))?;
            database.run((UPDATE_SEALS, vec![(&renewed).into()])).await?;
            if row_count < ROUND_ROWS {
                break;
            }
        }
    }
    Ok(())
}
