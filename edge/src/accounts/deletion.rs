//! The second step of a deletion, immediately and in the runs of the next day: the directory forgets the account, and
//! its rows go. The first is a batch of `closing_sql.rs`.

use rcpt_shared::KeyRing;

use super::{closing_sql, deletion_sql};
use crate::{
    account::AccountId,
    cf::{clock, database::Database},
    error::Error,
    ledger::{
        databases::Databases,
        directory::{self, Owner},
    },
};

pub async fn forget(
    databases: &Databases,
    secrets: &KeyRing,
    closed: &[AccountId],
) -> Result<(), Error> {
    let owners = closed.iter().map(|&id| Owner { id, address: String::new() });
    let owners = Vec::from_iter(owners);
    directory::make_equal(databases.directory(), secrets, &owners, clock::now()).await
}

/// Begins the deletions by operators that are due; repeats the directory's step for accounts that were closed within a
/// day, and continues deletions of more rows than a step removes.
pub async fn finish(
    databases: &Databases,
    secrets: &KeyRing,
    database: &Database,
) -> Result<(), Error> {
    let due = closing_sql::erase_due(database, clock::now()).await;
    let forgotten = forget_all(databases, secrets, database).await;
    deletion_sql::remove(database).await.and(forgotten).and(due)
}

async fn forget_all(
    databases: &Databases,
    secrets: &KeyRing,
    database: &Database,
) -> Result<(), Error> {
    let closed = closing_sql::closed(database).await?;
    if closed.is_empty() {
        return Ok(());
    }
    forget(databases, secrets, &closed).await?;
    closing_sql::forget_closed(database, &closed, clock::now()).await
}
