//! Finishes a change of an account's address, immediately after the link was used or in the next
//! five-minute run; `store/email_changes.rs` has the steps. The link to the old mailbox is sent
//! last.

use crate::{
    account::{AccountAddress, AccountId},
    app::App,
    cf::{clock, database::Database, log},
    credentials::{
        address_hash::{self, AccountHash},
        mailed_token::MailedToken,
    },
    error::Error,
    mail,
    store::{
        addresses,
        email_changes::{self, EmailChange},
        email_undos,
    },
};

/// Changes handled per run and database.
const CHANGES_MAX: u64 = 50;

/// Continues a change from its current step. Returns the change in its new state; `None` if its
/// account no longer exists.
///
/// # Errors
/// [`Error::unavailable`] when a database fails; the scheduled run continues.
pub async fn advance(app: &App, change: EmailChange) -> Result<Option<EmailChange>, Error> {
    let (database, directory) = (app.databases.of(change.account_id)?, app.databases.directory());
    let (new, account, now) = (hash(app, &change.new_email)?, change.account_id, clock::now());
    let change = if change.state != "moving" {
        Some(change)
    } else if addresses::take(directory, &new, account, now).await? {
        email_changes::move_account(database, &change, &new, now).await?
    } else {
        email_changes::give_up(database, &change).await?
    };
    let Some(change) = change else { return Ok(None) };
    // Addresses that differ only in case have the same hash, and so one row in the directory.
    let current = hash(app, &change.email)?;
    match change.state.as_str() {
        "moved" => {
            let old = hash(app, &change.old_email)?;
            // If the hashes are equal, both addresses share the row: nothing to reserve.
            if old != current {
                let tombstone = email_changes::tombstone(database, &old).await?;
                let until = now.saturating_add(email_changes::UNDO_PERIOD_S);
                addresses::reserve(directory, &old, account, until, tombstone).await?;
            }
        }
        "undone" | "void" => {
            if change.state == "undone" && hash(app, &change.old_email)? == current {
                addresses::take(directory, &current, account, now).await?;
            }
            if new != current {
                addresses::release(directory, &new, account).await?;
            }
        }
        _ => {}
    }
    if change.state != "moved" {
        email_changes::mark_settled(database, &change).await?;
    }
    Ok(Some(change))
}

/// Emails the old mailbox after a completed change, so that its owner can freeze the account or
/// undo the change. If an attempt's result is unknown, the next attempt sends the same link again.
///
/// # Errors
/// [`Error::unavailable`] when a database fails or the mail can't be sent; the scheduled
/// run tries again.
pub async fn tell(app: &App, change: &EmailChange) -> Result<(), Error> {
    let database = app.databases.of(change.account_id)?;
    let token = address_hash::undo_token(&app.config.address_secrets, &change.id);
    let token = MailedToken::new(change.account_id.database(), token);
    if email_undos::set_undo(database, change, &token.hash(), clock::now()).await? {
        let portal_url = &app.config.portal_url;
        let mail = mail::address_changed_away(portal_url, &change.new_email, &token);
        app.mailer.send(mail.to(&change.old_email, app.config.site.contact())).await?;
    }
    email_changes::mark_settled(database, change).await
}

/// Continues the interrupted changes of a database, or of one account.
///
/// # Errors
/// [`Error::unavailable`] when the database fails.
pub async fn finish(
    app: &App,
    database: &Database,
    account: Option<AccountId>,
) -> Result<(), Error> {
    for change in email_changes::select_unsettled(database, account, CHANGES_MAX).await? {
        let finished = async {
            match advance(app, change).await? {
                Some(change) if change.state == "moved" => tell(app, &change).await,
                _ => Ok(()),
            }
        };
        if let Err(error) = finished.await {
            log::failure("a change of address", &error);
        }
    }
    Ok(())
}

fn hash(app: &App, email: &str) -> Result<AccountHash, Error> {
    let address = AccountAddress::parse(email)
        .map_err(|error| Error::internal(format!("a stored address does not parse: {error}")))?;
    Ok(AccountHash::of(&app.config.address_secrets, &address))
}
