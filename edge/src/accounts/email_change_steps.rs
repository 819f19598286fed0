//! Carries out changes of accounts' addresses that are due (`email_change_sql.rs`). The old mailbox gets the last email,
//! without a link.

use super::email_change_sql::{self, EmailChange};
use crate::{
    account::AccountAddress,
    app::App,
    cf::{clock, database::Database, log},
    error::Error,
    ledger::directory::{self, Owner},
    mail,
};

const CHANGES_MAX: u64 = 50;

pub async fn finish(app: &App, database: &Database) -> Result<(), Error> {
    for change in email_change_sql::claim(database, CHANGES_MAX).await? {
        if let Err(error) = advance(app, database, change).await {
            log::failure("a change of address", &error);
        }
    }
    Ok(())
}

async fn advance(app: &App, database: &Database, change: EmailChange) -> Result<(), Error> {
    let (directory, account) = (app.databases.directory(), change.account_id);
    let change = if change.state == "moving" {
        let done = if directory::add(directory, &address(&change.new_email)?, account).await? {
            email_change_sql::move_account(database, &change).await?
        } else {
            email_change_sql::give_up(database, &change).await?
        };
        // Of a deleted account the directory forgets every row.
        let Some(done) = done else { return Ok(()) };
        done
    } else {
        change
    };
    let owner = Owner { id: account, address: address(&change.email)?.folded() };
    let secrets = &app.config.address_secrets;
    directory::make_equal(directory, secrets, &[owner], clock::now()).await?;
    email_change_sql::settle(database, &change).await?;
    if !change.old_email.is_empty() {
        let mail = mail::address_changed_away(&app.config.portal_url);
        app.mailer.send(mail.to(&change.old_email, app.config.site.contact())).await?;
        email_change_sql::record_mail(database, &change).await?;
    }
    Ok(())
}

fn address(email: &str) -> Result<AccountAddress, Error> {
    AccountAddress::parse(email)
        .map_err(|error| Error::internal(format!("a stored address does not parse: {error}")))
}
