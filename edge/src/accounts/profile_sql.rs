//! An owner's changes of the profile.

use constcat::concat;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    cf::database::Database, credentials::session::Session, error::Error, ledger::IN_SESSION,
};

const UPDATE_DISPLAY_NAME: &str = concat!(
    "UPDATE accounts SET display_name = ?3 WHERE ",
    IN_SESSION,
    " RETURNING email, display_name"
);

/// An account's profile.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
pub struct Profile {
    pub email: String,
    pub display_name: String,
}

pub async fn rename(
    database: &Database,
    session: Session,
    display_name: &str,
) -> Result<Option<Profile>, Error> {
    let (id, session) = session.texts();
    database
        .first((UPDATE_DISPLAY_NAME, vec![(&id).into(), (&session).into(), display_name.into()]))
        .await
}
