//! Mails the notices that are due: right after the deed, and else every five minutes.

use std::sync::Arc;

use crate::{
    account::AccountId,
    app::App,
    cf::{clock, deferred::Deferred, log},
    error::Error,
    mail::Deed,
    store,
};

/// Mails the notices of an account once the answer has left. The scheduled run makes up for a failure.
pub fn soon(app: &Arc<App>, deferred: &Deferred, account: AccountId, deed: Deed) {
    let app = Arc::clone(app);
    deferred.after_response(async move {
        let noted = store::notices::note(&app.database, account, &deed).await;
        if let Err(error) = noted.and(send(&app, Some(account)).await) {
            log::failure("notices", &error);
        }
    });
}

/// Mails what is due, of one account or of all. A mail that cannot be handed over stays due.
///
/// # Errors
/// [`Error::unavailable`] when the database fails.
pub async fn send(app: &App, account: Option<AccountId>) -> Result<(), Error> {
    for notice in store::notices::claim(&app.database, account, clock::now()).await? {
        let deed = notice.last_deed();
        let mail = notice.kind.mail(&app.config.portal_url, &notice.display_name, deed.as_ref());
        match app.mailer.send(mail.to(&notice.email)).await {
            Ok(()) => store::notices::sent(&app.database, &notice, clock::now()).await?,
            Err(error) => log::failure("notice", &error),
        }
    }
    Ok(())
}
