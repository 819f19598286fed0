//! Tells the directory of deleted accounts: right after the deletion, and else every five minutes.

use crate::{
    cf::database::Database,
    error::Error,
    store::{
        accounts,
        addresses::{self, Deleted},
        databases::Databases,
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

/// Tells it of those that it has not heard of yet.
///
/// # Errors
/// [`Error::unavailable`] when a database fails.
pub async fn tell_all(databases: &Databases, database: &Database) -> Result<(), Error> {
    let deleted = accounts::untold(database).await?;
    if deleted.is_empty() { Ok(()) } else { tell(databases, database, &deleted).await }
}
