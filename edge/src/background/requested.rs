//! Confirmation links requested by an operator (`make admin`, `resend`).

use crate::{
    app::App,
    cf::{clock, database::Database, log},
    credentials::{
        mailed_token::{CONFIRMATION_TTL_S, MailedToken},
        random,
    },
    error::Error,
    mail,
    store::{
        mailed_tokens::{NewToken, TokenPurpose},
        registrations,
    },
};

/// Emails sent per run and database; others wait for the next run.
const MAILS_MAX: u64 = 50;

/// Emails a new link to each account of a database for which the operator requested one. An email
/// that can't be sent is logged, and the operator can request it again.
///
/// # Errors
/// [`Error::unavailable`] when the database fails.
pub async fn send(app: &App, database: &Database) -> Result<(), Error> {
    for account in registrations::take_requested(database, MAILS_MAX).await? {
        let token = MailedToken::new(account.id.database(), random::bytes()?);
        let new_token = NewToken {
            purpose: TokenPurpose::Confirm,
            hash: token.hash(),
            expires_at: clock::now().saturating_add(CONFIRMATION_TTL_S),
        };
        registrations::renew_link(database, account.id, &new_token).await?;
        let mail = mail::confirm(&account.email, &app.config.portal_url, &token);
        if let Err(error) =
            app.mailer.send(mail.to(&account.email, app.config.site.contact())).await
        {
            log::failure("requested confirmation", &error);
        }
    }
    Ok(())
}
