//! Finishes deletions, immediately or in the next five-minute run: removes the account from the directory, and then the
//! account's rows.

use crate::{
    cf::{clock, database::Database},
    error::Error,
    store::{
        accounts,
        addresses::{self, DeletedAccount},
        databases::Databases,
        deleted_accounts,
    },
};

/// Removes the directory entries of accounts that were deleted from a database.
///
/// # Errors
/// [`Error::unavailable`] when a database fails; the scheduled run tries again.
pub async fn tell(
    databases: &Databases,
    database: &Database,
    deleted: &[DeletedAccount],
) -> Result<(), Error> {
    addresses::forget(databases.directory(), deleted).await?;
    accounts::unlink_tombstones(database, deleted).await
}

/// Begins the deletions by operators that are due; continues interrupted deletions, and deletions of more rows than a
/// step removes.
///
/// # Errors
/// [`Error::unavailable`] when a database fails.
pub async fn finish(databases: &Databases, database: &Database) -> Result<(), Error> {
    let due = accounts::erase_due(database, clock::now()).await;
    let notices = tell_all(databases, database).await;
    deleted_accounts::remove(database).await.and(notices).and(due)
}

/// Removes directory entries that were left by interrupted deletions, up to a limit.
async fn tell_all(databases: &Databases, database: &Database) -> Result<(), Error> {
    let deleted = accounts::pending_deletions(database).await?;
    if deleted.is_empty() { Ok(()) } else { tell(databases, database, &deleted).await }
}
