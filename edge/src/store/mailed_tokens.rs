//! Links mailed to an account, for confirming it and for a new password. An account has at most one of
//! each: a newer one voids the one before.

use serde::Deserialize;

use super::accounts;
use crate::{
    account::AccountId,
    cf::database::{Database, Statement},
    credentials::{address_hash::AccountHash, mailed_token::TokenHash},
    error::Error,
};

/// What a link is for, and which accounts get one.
#[derive(Debug, Clone, Copy)]
pub enum Purpose {
    Confirm,
    Reset,
}

impl Purpose {
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

/// A token to be stored.
#[derive(Debug)]
pub struct NewToken {
    pub purpose: Purpose,
    pub hash: TokenHash,
    /// Unix seconds.
    pub expires_at: u64,
}

/// The link that an account had before a newer one, so that the newer one can be taken back where its
/// mail cannot be handed over.
#[derive(Debug, Deserialize)]
pub struct PreviousLink {
    /// The account's own address, where its mails go: the one that was asked for may differ from it in
    /// ways that make it another mailbox.
    pub email: String,
    hash: Option<String>,
    expires_at: Option<u64>,
}

const PREVIOUS: &str = "
    SELECT a.email, t.hash, t.expires_at FROM accounts a
    LEFT JOIN mailed_tokens t ON t.account_id = a.id AND t.purpose = ?2
    WHERE a.id = ?1 AND a.state = ?3";

const STORE: &str = "
    INSERT INTO mailed_tokens (hash, account_id, purpose, expires_at)
    SELECT ?1, id, ?3, ?5 FROM accounts WHERE id = ?2 AND state = ?4
    ON CONFLICT (account_id, purpose) DO UPDATE
      SET hash = excluded.hash, expires_at = excluded.expires_at";

/// Reads the [`PreviousLink`]; no row where there is no such account in the right state.
pub(super) fn previous(purpose: Purpose, account: &str) -> Statement<'_> {
    (PREVIOUS, vec![account.into(), purpose.as_str().into(), purpose.state().into()])
}

pub(super) fn store<'a>(token: &'a NewToken, account: &'a str) -> Statement<'a> {
    let params = vec![
        token.hash.as_str().into(),
        account.into(),
        token.purpose.as_str().into(),
        token.purpose.state().into(),
        token.expires_at.into(),
    ];
    (STORE, params)
}

/// Selects the account that a reset link belongs to: `?1` hash of the token, `?2` now.
pub(super) const BY_RESET_LINK: &str = "state = 'confirmed' AND id = (
     SELECT account_id FROM mailed_tokens
     WHERE hash = ?1 AND purpose = 'reset' AND expires_at > ?2)";

const CONSUME: &str = "DELETE FROM mailed_tokens WHERE hash = ?1";
const RESTORE: &str = "UPDATE mailed_tokens SET hash = ?2, expires_at = ?3 WHERE hash = ?1";

pub(super) fn consume(token: &TokenHash) -> Statement<'_> {
    (CONSUME, vec![token.as_str().into()])
}

/// Takes a token back: the link before it works again.
pub(super) fn restore<'a>(token: &'a TokenHash, previous: &'a PreviousLink) -> Statement<'a> {
    match (&previous.hash, previous.expires_at) {
        (Some(hash), Some(expires_at)) => {
            (RESTORE, vec![token.as_str().into(), hash.into(), expires_at.into()])
        }
        _ => consume(token),
    }
}

/// Stores the token of a reset link for the account that the directory names for an address; `None` when it
/// names none or one that is not active. The same is done either way.
pub async fn store_reset(
    database: &Database,
    address_hash: &AccountHash,
    named: Option<AccountId>,
    token: &NewToken,
) -> Result<Option<PreviousLink>, Error> {
    let account = named.map(|id| id.to_string()).unwrap_or_default();
    let mut statements = Vec::from_iter(accounts::rekey(address_hash));
    let first = statements.len();
    statements.extend([previous(token.purpose, &account), store(token, &account)]);
    database.batch(&statements).await?.first(first)
}

/// Takes back a reset link whose mail could not be handed over.
pub async fn take_back(
    database: &Database,
    token: &TokenHash,
    previous: &PreviousLink,
) -> Result<(), Error> {
    database.run(restore(token, previous)).await
}
