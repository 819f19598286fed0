//! Carries out changes of accounts' addresses that are due; `store/email_changes.rs` has the steps. The old mailbox gets
//! the last email, without a link.

use crate::{
    account::AccountAddress,
    app::App,
    cf::{clock, database::Database, log},
    credentials::address_hash::AccountHash,
    error::Error,
    mail,
    store::{
        addresses,
        email_changes::{self, EmailChange},
    },
};

/// Changes handled per run and database.
const CHANGES_MAX: u64 = 50;

/// Continues the changes of a database that are due, and once more makes the directory equal a day after each.
///
/// # Errors
/// [`Error::unavailable`] when the database fails.
pub async fn finish(app: &App, database: &Database) -> Result<(), Error> {
    for change in email_changes::claim(database, CHANGES_MAX).await? {
        if let Err(error) = advance(app, database, change).await {
            log::failure("a change of address", &error);
        }
    }
    Ok(())
}

async fn advance(app: &App, database: &Database, change: EmailChange) -> Result<(), Error> {
    let (directory, account, now) = (app.databases.directory(), change.account_id, clock::now());
    let change = if change.state == "moving" {
        let new = hash(app, &change.new_email)?;
        let done = if addresses::take(directory, &new, account, now).await? {
            email_changes::move_account(database, &change, &new, now).await?
        } else {
            email_changes::give_up(database, &change).await?
        };
        let Some(done) = done else { return Ok(()) };
        done
    } else {
        change
    };
    if change.is_closed != 0 {
        addresses::forget_all(directory, account).await?;
        return email_changes::settle(database, &change).await;
    }
    let current = hash(app, &change.email)?;
    let old = if change.old_email.is_empty() { None } else { Some(hash(app, &change.old_email)?) };
    if let Some(old) = &old
        && let Some(tombstone) = email_changes::tombstone(database, old).await?
    {
        addresses::store_usage(directory, old, account, tombstone).await?;
    }
    addresses::make_equal(directory, &current, account).await?;
    email_changes::settle(database, &change).await?;
    if !change.old_email.is_empty() {
        let mail = mail::address_changed_away(&app.config.portal_url);
        app.mailer.send(mail.to(&change.old_email, app.config.site.contact())).await?;
        email_changes::record_mail(database, &change).await?;
    }
    Ok(())
}

fn hash(app: &App, email: &str) -> Result<AccountHash, Error> {
    let address = AccountAddress::parse(email)
        .map_err(|error| Error::internal(format!("a stored address does not parse: {error}")))?;
    Ok(AccountHash::of(&app.config.address_secrets, &address))
}
