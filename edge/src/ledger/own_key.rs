//! The key that each account has from the beginning.

use constcat::concat;
use serde::Deserialize;

use super::key_use::LAST_DAY;
use crate::{
    cf::database::{Rows, Statement},
    error::Error,
};

macro_rules! own_id {
    () => {
        "'0000000000000000'"
    };
}
pub(crate) use own_id;

pub const OWN_VERSION: &str =
    concat!("(SELECT k.version FROM keys k WHERE k.account_id = a.id AND k.id = ", own_id!(), ")");
pub(super) const OWN_LAST_DAY: &str = concat!(
    "(SELECT ",
    LAST_DAY,
    " FROM keys k WHERE k.account_id = a.id AND k.id = ",
    own_id!(),
    ")"
);

const INSERT_OWN: &str = concat!(
    "INSERT OR IGNORE INTO keys (account_id, id, created_at) SELECT id, ",
    own_id!(),
    ", created_at FROM accounts WHERE id = ?1 AND deleted_at IS NULL"
);

/// The statement that makes an account's own key, unless it is there. It belongs to the batch that makes the account.
pub fn own(account: &str) -> Statement<'_> {
    (INSERT_OWN, vec![account.into()])
}

#[derive(Deserialize)]
struct OwnKey {
    version: u32,
}

const SELECT_OWN: &str =
    concat!("SELECT version FROM keys WHERE account_id = ?1 AND id = ", own_id!());

/// Reads the own key's version, which [`version`] takes from the answer.
pub fn select(account: &str) -> Statement<'_> {
    (SELECT_OWN, vec![account.into()])
}

/// `None` if the account has no key any more.
pub fn version(rows: &Rows, index: usize) -> Result<Option<u32>, Error> {
    Ok(rows.first::<OwnKey>(index)?.map(|key| key.version))
}

pub const DELETE_OF_DELETED: &str = "DELETE FROM keys WHERE account_id = ?1
    AND EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND deleted_at IS NOT NULL)";

#[derive(Deserialize)]
pub struct OwnVersion {
    pub key_version: u32,
}
