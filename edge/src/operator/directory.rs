//! After a restore the directory may lack an account, or have it under another address. `tools/admin directory --mend`
//! finds these accounts.

use axum::response::Response;
use serde::Serialize;

use super::{
    deed::{Deed, Done},
    overview,
};
use crate::{
    account::{AccountAddress, AccountId},
    app::App,
    cf::clock,
    error::Error,
    ledger::directory::{self, Owner},
};

/// Accounts of one call.
const ACCOUNTS_MAX: usize = 50;

const INSERT_RECORD: &str = "INSERT INTO operator_actions (id, at, operator, action, value, reason)
     VALUES (?1, unixepoch(), ?2, ?3, ?5, ?4)";

/// The ids of accounts that are in the directory now, and of those whose address or mailbox is another account's.
#[derive(Serialize, Default)]
struct EnteredAccounts {
    entered: Vec<String>,
    collide: Vec<String>,
}

/// Makes the directory's rows of each of these accounts its one address, where that is free. The record comes last: a call
/// that was cut off can be sent again.
pub async fn enter(app: &App, deed: &Deed<'_>, ids: &[String]) -> Result<Response, Error> {
    if ids.len() > ACCOUNTS_MAX {
        return Err(Error::invalid_body(format!("accounts: at most {ACCOUNTS_MAX}.")));
    }
    let (directory, secrets) = (app.databases.directory(), &app.config.address_secrets);
    let mut after = EnteredAccounts::default();
    for text in ids {
        let id = AccountId::parse(text).ok_or_else(Error::no_such_account)?;
        let account = overview::of(app, app.databases.of(id)?, id).await?;
        let address = AccountAddress::parse(&account.email)
            .map_err(|error| Error::internal(format!("a stored address: {error}")))?;
        if directory::add(directory, &address, id).await? {
            let owner = Owner { id, address: address.folded() };
            directory::make_equal(directory, secrets, &[owner], clock::now()).await?;
            after.entered.push(text.clone());
        } else {
            after.collide.push(text.clone());
        }
    }
    let count = after.entered.len().to_string();
    let record = [(INSERT_RECORD, deed.params(&count).to_vec())];
    let applied = deed.run(directory, &record).await?.is_some();
    Ok(Done { applied, after }.into_response())
}
