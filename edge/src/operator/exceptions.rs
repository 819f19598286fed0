//! Addresses that may have an account beside another spelling of their mailbox.

use axum::response::Response;
use serde::Serialize;

use super::deed::{Deed, Done};
use crate::{account::AccountAddress, app::App, error::Error};

/// The record has neither address nor account: there is no account yet.
const INSERT_RECORD: &str = "INSERT INTO operator_actions (id, at, operator, action, value, reason)
     VALUES (?1, unixepoch(), ?2, ?3, ?5, ?4)";
const INSERT_ALLOWED: &str =
    "INSERT OR REPLACE INTO allowed_addresses (address, allowed_at) VALUES (?1, unixepoch())";

#[derive(Serialize)]
struct Allowed<'a> {
    allowed: &'a str,
}

/// Allows one registration of this very address, within thirty days.
pub async fn allow(app: &App, deed: &Deed<'_>, email: &str) -> Result<Response, Error> {
    let address = AccountAddress::read(email)
        .map_err(|_| Error::invalid_email("This isn't an email address."))?;
    let folded = address.folded();
    let statements =
        [(INSERT_RECORD, deed.params("").to_vec()), (INSERT_ALLOWED, vec![(&folded).into()])];
    let applied = deed.run(app.databases.directory(), &statements).await?.is_some();
    Ok(Done { applied, after: Allowed { allowed: address.as_given() } }.into_response())
}
