//! Sends the emails for forgotten passwords: after the response, or in the runs of the next hour.
//!
//! The token is created just before its email is sent; the previous link works until the email has been accepted.

use std::sync::Arc;

use futures_util::future::try_join;

use super::{
    mail_due_sql::{self, DueMail},
    opt_outs_sql, reset_links_sql,
};
use crate::{
    account::{AccountAddress, AccountId},
    app::App,
    cf::{clock, deferred::Deferred, log},
    credentials::{
        keyed_names::MailboxHash,
        link_token::{self, LinkUse},
        mailed_token::{MailedToken, RESET_TTL_S},
        random,
    },
    error::Error,
    ledger::directory,
    limits::{
        rules::{Gate, Key, MailPurpose, Rule},
        throttle::{Attempt, AttemptOutcome},
    },
    mail,
};

const MAILS_MAX: u64 = 50;

/// Sends a stored email after the response. If it can't be sent, the attempt is refunded, so that
/// the owner can try again.
pub fn soon(app: &Arc<App>, deferred: &Deferred, attempt: Attempt, due: DueMail) {
    let app = Arc::clone(app);
    deferred.after_response(async move {
        if !deliver(&app, &due).await {
            attempt.give_back(app.databases.directory()).await;
        }
    });
}

/// Sends a confirmed account one link a day even if the email budget is used up. It is sent after the response, which
/// mustn't reveal whether the address has an account.
pub fn exempt_soon(app: &Arc<App>, deferred: &Deferred, before: Attempt, address: AccountAddress) {
    let app = Arc::clone(app);
    deferred.after_response(async move {
        before.give_back(app.databases.directory()).await;
        if let Err(error) = exempt(&app, &address).await {
            log::failure("an exempt reset link", &error);
        }
    });
}

async fn exempt(app: &App, address: &AccountAddress) -> Result<(), Error> {
    let directory = app.databases.directory();
    if directory::find_mailbox(directory, address).await?.is_none() {
        return Ok(());
    }
    let throttle = &app.config.throttle;
    let hash = MailboxHash::of(&app.config.address_secrets, address);
    let key = hash.as_str();
    let gates = vec![
        Gate::new(Key::exempt_reset_mail(key), Rule::DAILY),
        Gate::new(Key::mail(MailPurpose::Reset, key), throttle.reset_mail),
        Gate::new(Key::all_exempt_reset_mails(), throttle.all_exempt_reset_mails),
    ];
    let (attempt, now) = (Attempt::new(gates)?, clock::now());
    let admission =
        mail_due_sql::ask(directory, attempt.gates(), attempt.name(), address, now).await?;
    let attempt = match attempt.into_outcome(admission) {
        AttemptOutcome::Admitted(attempt) => attempt,
        AttemptOutcome::Refused { index, before, .. } => {
            before.give_back(app.databases.directory()).await;
            if index == 2 {
                // Operators see this line in the log: docs/operating/watch.md.
                log::failure("mail", &"the ceiling of exempt reset links is reached");
            }
            return Ok(());
        }
    };
    let due = DueMail::of(address);
    if !deliver(app, &due).await {
        attempt.give_back(app.databases.directory()).await;
    }
    Ok(())
}

pub async fn send(app: &App) -> Result<(), Error> {
    for due in mail_due_sql::claim(app.databases.directory(), MAILS_MAX, clock::now()).await? {
        deliver(app, &due).await;
    }
    Ok(())
}

async fn deliver(app: &App, due: &DueMail) -> bool {
    let directory = app.databases.directory();
    let delivery = hand_over(app, &due.email).await;
    let recording = match &delivery {
        Ok(()) => mail_due_sql::handed_over(directory, &due.mailbox).await,
        Err(_) => mail_due_sql::failed(directory, &due.mailbox, clock::now()).await,
    };
    for error in [delivery.as_ref().err(), recording.as_ref().err()].into_iter().flatten() {
        log::failure("a forgotten password", error);
    }
    delivery.is_ok()
}

/// An address without an account gets an email saying so, unless its reader has opted out. The queries are equal with
/// and without an account.
async fn hand_over(app: &App, email: &str) -> Result<(), Error> {
    let address = AccountAddress::parse(email)
        .map_err(|error| Error::internal(format!("a stored address does not parse: {error}")))?;
    let hash = MailboxHash::of(&app.config.address_secrets, &address);
    let directory = app.databases.directory();
    let account = directory::find_mailbox(directory, &address);
    let opted_out = opt_outs_sql::is_opted_out(directory, &hash, clock::now());
    let (account, is_opted_out) = try_join(account, opted_out).await?;
    let database = match account {
        Some(account) => app.databases.of(account)?,
        None => app.databases.of_unknown_address(&hash),
    };
    let number = account.map(AccountId::database).unwrap_or_default();
    let token = MailedToken::new(number, random::bytes()?);
    let link = token.hash();
    let until = clock::now().saturating_add(RESET_TTL_S);
    let recipient = reset_links_sql::prepare(database, account, &link, until).await?;
    let portal_url = &app.config.portal_url;
    let letter = match &recipient {
        Some(recipient) => Some((recipient.as_str(), mail::reset(recipient, portal_url, &token))),
        None if is_opted_out => None,
        None => {
            let opt_out =
                link_token::of(&app.config.address_secrets, LinkUse::OptOut, hash.as_str());
            Some((email, mail::no_account(email, portal_url, &opt_out)))
        }
    };
    let delivery = match &letter {
        Some((to, mail)) => app.mailer.send(mail.to(to, app.config.site.contact())).await,
        None => Ok(()),
    };
    match &delivery {
        Ok(()) => reset_links_sql::record_sent(database, &link).await?,
        Err(_) => reset_links_sql::take_back(database, &link).await?,
    }
    delivery
}
