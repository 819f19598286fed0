//! Mailboxes whose readers want no emails caused by strangers, in the directory's database: each is a bucket that
//! drains at its end, so housekeeping removes it with the others.

use crate::{
    cf::database::Database, credentials::address_hash::AccountHash, error::Error,
    limits::rules::Key,
};

/// Seconds for which an opt-out holds.
const LIFETIME: u64 = 30 * 24 * 60 * 60;

const OPT_OUT: &str = "
    INSERT INTO throttles (key, drained_at, last_attempt) VALUES (?1, ?2, '')
    ON CONFLICT (key) DO UPDATE SET drained_at = excluded.drained_at";

/// Opts a mailbox out for thirty days from now.
///
/// # Errors
/// [`Error::unavailable`] when the directory fails.
pub async fn opt_out(directory: &Database, mailbox_hash: &str, now: u64) -> Result<(), Error> {
    let key = Key::opt_out(mailbox_hash);
    let params = vec![key.as_str().into(), now.saturating_add(LIFETIME).into()];
    directory.run((OPT_OUT, params)).await
}

const IS_OPTED_OUT: &str =
    "SELECT 1 AS opted_out FROM throttles WHERE key IN (?1, ?2) AND drained_at > ?3";

/// Returns whether the mailbox of an address has opted out, under either secret while there are two.
///
/// # Errors
/// [`Error::unavailable`] when the directory fails.
pub async fn is_opted_out(
    directory: &Database,
    hash: &AccountHash,
    now: u64,
) -> Result<bool, Error> {
    let current = Key::opt_out(hash.mailbox());
    let other = Key::opt_out(hash.other_mailbox().unwrap_or_else(|| hash.mailbox()));
    let params = vec![current.as_str().into(), other.as_str().into(), now.into()];
    directory.any((IS_OPTED_OUT, params)).await
}
