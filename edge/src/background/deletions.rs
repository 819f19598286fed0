//! Finishes a deletion, right after it or else every five minutes: the directory forgets the account, and the rows that
//! belong to it are removed.

use crate::{
    cf::database::Database,
    error::Error,
    store::{
        accounts,
        addresses::{self, Deleted},
        databases::Databases,
        deleted_accounts,
    },
};

/// Makes the directory forget accounts that were deleted in a database.
///
/// # Errors
/// [`Error::unavailable`] when a database fails; the scheduled run tries again.
pub async fn tell(
    databases: &Databases,
    database: &Database,
    deleted: &[Deleted],
) -> Result<(), Error> {
    addresses::forget(databases.directory(), deleted).await?;
    accounts::told(database, deleted).await
}

/// Continues interrupted deletions, and those with more rows than a step removes.
///
/// # Errors
/// [`Error::unavailable`] when a database fails.
pub async fn finish(databases: &Databases, database: &Database) -> Result<(), Error> {
    let notices = tell_all(databases, database).await;
    deleted_accounts::remove(database).await.and(notices)
}

/// Passes deletions on to the directory that it hasn't received yet.
///
/// # Errors
/// [`Error::unavailable`] when a database fails.
async fn tell_all(databases: &Databases, database: &Database) -> Result<(), Error> {
    let deleted = accounts::untold(database).await?;
    if deleted.is_empty() { Ok(()) } else { tell(databases, database, &deleted).await }
}
