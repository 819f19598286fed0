//! The only account of the local environment.

use anyhow::{Context as _, Result, ensure};
use rcpt_tests::{Account, Anonymous};

use super::{mails::Mails, say};

/// Email address of the developer's account, which exists only in the local D1.
const EMAIL: &str = "dev@rcpt.example";
const PASSWORD: &str = "rcpt-local-development";

pub(super) async fn ensure(url: &str, mails: &mut Mails) -> Result<Account> {
    let anonymous = Anonymous::new(url);
    let login = anonymous.login(EMAIL, PASSWORD).await;
    if login.status == 200 {
        say(&format!("signed in as {EMAIL}"));
        return Ok(Account::from_credentials(&anonymous, PASSWORD, &login));
    }
    let registered = anonymous.register(EMAIL, PASSWORD).await;
    ensure!(registered.status == 201, "registering {EMAIL}: {:?}", registered.parts());
    let mail = mails.mailbox.wait_for_mail(EMAIL).await?;
    mails.deliver()?;
    let token = mail.token().context("the confirmation mail holds no link")?;
    let confirmed = anonymous.verify_email(token).await;
    ensure!(confirmed.status == 200, "confirming {EMAIL}: {:?}", confirmed.parts());
    say(&format!("registered and confirmed {EMAIL}"));
    Ok(Account::from_credentials(&anonymous, PASSWORD, &confirmed))
}
