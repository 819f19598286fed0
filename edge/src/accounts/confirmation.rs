//! Finishes confirmations that were interrupted after the click: `registration_sql.rs` has the steps.

use super::registration_sql;
use crate::{
    cf::{clock, log},
    error::Error,
    ledger::databases::Databases,
};

pub async fn finish(databases: &Databases) -> Result<(), Error> {
    for entered in registration_sql::interrupted(databases.directory()).await? {
        let finished = registration_sql::finish(databases, &entered, None, clock::now()).await;
        if let Err(error) = finished {
            log::failure("a confirmation", &error);
        }
    }
    Ok(())
}
