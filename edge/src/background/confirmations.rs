//! Finishes confirmations that were interrupted after the click: `store/registrations.rs` has the steps.

use crate::{
    cf::{clock, log},
    error::Error,
    store::{databases::Databases, registrations},
};

pub async fn finish(databases: &Databases) -> Result<(), Error> {
    for entered in registrations::interrupted(databases.directory()).await? {
        let finished = registrations::finish(databases, &entered, None, clock::now()).await;
        if let Err(error) = finished {
            log::failure("a confirmation", &error);
        }
    }
    Ok(())
}
