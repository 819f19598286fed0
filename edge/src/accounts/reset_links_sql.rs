//! Links for a new password, one an account. While a newer link is being mailed, the one before stays valid.

use serde::Deserialize;

use crate::{
    account::AccountId,
    cf::database::{Database, Statement},
    credentials::mailed_token::TokenHash,
    error::Error,
};

const DELETE_LINK: &str = "DELETE FROM reset_links WHERE hash = ?1";

pub(super) fn consume(token: &TokenHash) -> Statement<'_> {
    (DELETE_LINK, vec![token.as_str().into()])
}

/// The account's current link stays valid until the email with the new one has been sent.
const INSERT_NEXT_LINK: &str = "
    INSERT INTO reset_links (hash, account_id, expires_at)
    SELECT ?1, id, ?3 FROM accounts WHERE id = ?2 AND state = 'confirmed'
    ON CONFLICT (account_id) DO UPDATE
      SET next_hash = excluded.hash, next_expires_at = excluded.expires_at";

#[derive(Deserialize)]
struct Recipient {
    email: String,
}

const SELECT_RECIPIENT: &str = "SELECT email FROM accounts WHERE id = ?1 AND state = 'confirmed'";

/// Stores a link, next to an earlier one. Returns the account's own address, to which the email goes: the requested
/// spelling may belong to another mailbox. `None` after the same work if there is no active account.
pub async fn prepare(
    database: &Database,
    id_in_directory: Option<AccountId>,
    link: &TokenHash,
    expires_at: u64,
) -> Result<Option<String>, Error> {
    let account = id_in_directory.map(|id| id.to_string()).unwrap_or_default();
    let insert = vec![link.as_str().into(), (&account).into(), expires_at.into()];
    let statements = [(SELECT_RECIPIENT, vec![(&account).into()]), (INSERT_NEXT_LINK, insert)];
    let recipient = database.batch(&statements).await?.first::<Recipient>(0)?;
    Ok(recipient.map(|recipient| recipient.email))
}

const UPDATE_TO_NEXT: &str = "
    UPDATE reset_links SET hash = next_hash, expires_at = next_expires_at, next_hash = NULL,
      next_expires_at = NULL
    WHERE next_hash = ?1";
const CLEAR_NEXT: &str =
    "UPDATE reset_links SET next_hash = NULL, next_expires_at = NULL WHERE next_hash = ?1";

pub async fn record_sent(database: &Database, link: &TokenHash) -> Result<(), Error> {
    database.run((UPDATE_TO_NEXT, vec![link.as_str().into()])).await
}

pub async fn take_back(database: &Database, link: &TokenHash) -> Result<(), Error> {
    database.batch(&[(CLEAR_NEXT, vec![link.as_str().into()]), consume(link)]).await.map(drop)
}
