//! Mailboxes whose readers have opted out of emails caused by others: throttle buckets that drain when the opt-out
//! ends.

use crate::{
    cf::database::Database, credentials::keyed_names::MailboxHash, error::Error, limits::rules::Key,
};

const OPT_OUT_S: u64 = 30 * 24 * 60 * 60;

const INSERT_OPT_OUT: &str = "
    INSERT INTO throttles (key, drained_at, last_attempt) VALUES (?1, ?2, '')
    ON CONFLICT (key) DO UPDATE SET drained_at = excluded.drained_at";

pub async fn opt_out(directory: &Database, mailbox_hash: &str, now: u64) -> Result<(), Error> {
    let key = Key::opt_out(mailbox_hash);
    let params = vec![key.as_str().into(), now.saturating_add(OPT_OUT_S).into()];
    directory.run((INSERT_OPT_OUT, params)).await
}

const SELECT_OPT_OUT: &str =
    "SELECT 1 AS opted_out FROM throttles WHERE key IN (?1, ?2) AND drained_at > ?3";

/// True if an address's mailbox has opted out, under either secret during a replacement.
pub async fn is_opted_out(
    directory: &Database,
    hash: &MailboxHash,
    now: u64,
) -> Result<bool, Error> {
    let [current, other] = hash.live().map(Key::opt_out);
    let params = vec![current.as_str().into(), other.as_str().into(), now.into()];
    directory.any((SELECT_OPT_OUT, params)).await
}
