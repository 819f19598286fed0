//! Links mailed to an account, for its confirmation and for a new password. An account has at most
//! one valid link of each kind. While a newer reset link is being mailed, the previous one stays valid.

use serde::Deserialize;

use super::accounts;
use crate::{
    account::AccountId,
    cf::database::{Database, Statement},
    credentials::{address_hash::AccountHash, mailed_token::TokenHash},
    error::Error,
};

/// Purpose of a link; it decides which accounts may get one.
#[derive(Debug, Clone, Copy)]
pub enum TokenPurpose {
    Confirm,
    Reset,
}

impl TokenPurpose {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Confirm => "confirm",
            Self::Reset => "reset",
        }
    }

    const fn state(self) -> &'static str {
        match self {
            Self::Confirm => "unconfirmed",
            Self::Reset => "confirmed",
        }
    }
}

/// A mailed link's token to store: its purpose, hash and expiry.
#[derive(Debug)]
pub struct NewToken {
    pub purpose: TokenPurpose,
    pub hash: TokenHash,
    /// Expiry in Unix seconds.
    pub expires_at: u64,
}

/// A link that a newer link has replaced; restored if the newer link's email can't be sent.
#[derive(Debug, Deserialize)]
pub struct PreviousLink {
    hash: Option<String>,
    expires_at: Option<u64>,
}

const SELECT_PREVIOUS: &str = "
    SELECT t.hash, t.expires_at FROM accounts a
    LEFT JOIN mailed_tokens t ON t.account_id = a.id AND t.purpose = ?2
    WHERE a.id = ?1 AND a.state = ?3";

const INSERT_TOKEN: &str = "
    INSERT INTO mailed_tokens (hash, account_id, purpose, expires_at)
    SELECT ?1, id, ?3, ?5 FROM accounts WHERE id = ?2 AND state = ?4
    ON CONFLICT (account_id, purpose) DO UPDATE
      SET hash = excluded.hash, expires_at = excluded.expires_at";

/// No row if the account isn't in the state that the purpose requires.
pub(super) fn previous(purpose: TokenPurpose, account: &str) -> Statement<'_> {
    (SELECT_PREVIOUS, vec![account.into(), purpose.as_str().into(), purpose.state().into()])
}

pub(super) fn store<'a>(token: &'a NewToken, account: &'a str) -> Statement<'a> {
    let params = vec![
        token.hash.as_str().into(),
        account.into(),
        token.purpose.as_str().into(),
        token.purpose.state().into(),
        token.expires_at.into(),
    ];
    (INSERT_TOKEN, params)
}

const DELETE_TOKEN: &str = "DELETE FROM mailed_tokens WHERE hash = ?1";
const UPDATE_TOKEN: &str = "UPDATE mailed_tokens SET hash = ?2, expires_at = ?3 WHERE hash = ?1";

pub(super) fn consume(token: &TokenHash) -> Statement<'_> {
    (DELETE_TOKEN, vec![token.as_str().into()])
}

pub(super) fn restore<'a>(token: &'a TokenHash, previous: &'a PreviousLink) -> Statement<'a> {
    match (&previous.hash, previous.expires_at) {
        (Some(hash), Some(expires_at)) => {
            (UPDATE_TOKEN, vec![token.as_str().into(), hash.into(), expires_at.into()])
        }
        _ => consume(token),
    }
}

/// The account's current link stays valid until the email with the new one has been sent.
const INSERT_NEXT_TOKEN: &str = "
    INSERT INTO mailed_tokens (hash, account_id, purpose, expires_at)
    SELECT ?1, id, ?3, ?5 FROM accounts WHERE id = ?2 AND state = ?4
    ON CONFLICT (account_id, purpose) DO UPDATE
      SET next_hash = excluded.hash, next_expires_at = excluded.expires_at";

#[derive(Deserialize)]
struct Recipient {
    email: String,
}

const SELECT_RECIPIENT: &str = "SELECT email FROM accounts WHERE id = ?1 AND state = 'confirmed'";

/// Stores the token of a reset link, next to an earlier one, for the account that the directory has
/// for an address. Returns the account's own address, to which the email goes: the requested
/// spelling may belong to another mailbox. Returns `None` after the same work if there is no active
/// account.
pub async fn prepare_reset(
    database: &Database,
    address_hash: &AccountHash,
    id_in_directory: Option<AccountId>,
    token: &NewToken,
) -> Result<Option<String>, Error> {
    let account = id_in_directory.map(|id| id.to_string()).unwrap_or_default();
    let mut statements = Vec::from_iter(accounts::rekey(address_hash));
    let first = statements.len();
    let (_, params) = store(token, &account);
    statements.extend([(SELECT_RECIPIENT, vec![(&account).into()]), (INSERT_NEXT_TOKEN, params)]);
    let recipient = database.batch(&statements).await?.first::<Recipient>(first)?;
    Ok(recipient.map(|recipient| recipient.email))
}

const UPDATE_TO_NEXT: &str = "
    UPDATE mailed_tokens SET hash = next_hash, expires_at = next_expires_at, next_hash = NULL,
      next_expires_at = NULL
    WHERE next_hash = ?1";
const CLEAR_NEXT: &str =
    "UPDATE mailed_tokens SET next_hash = NULL, next_expires_at = NULL WHERE next_hash = ?1";

/// Records that the email with this reset link was sent, and invalidates the previous link.
pub async fn record_sent(database: &Database, token: &TokenHash) -> Result<(), Error> {
    database.run((UPDATE_TO_NEXT, vec![token.as_str().into()])).await
}

/// Removes a reset link whose email couldn't be sent.
pub async fn take_back(database: &Database, token: &TokenHash) -> Result<(), Error> {
    database.batch(&[(CLEAR_NEXT, vec![token.as_str().into()]), consume(token)]).await.map(drop)
}
