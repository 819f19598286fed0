//! Stores responses under an `Idempotency-Key`, so that a repeated request isn't charged again
//! (docs/security.md, Q6). The charging statements reject a key that has a stored response or holds a lease.

use constcat::concat;

use super::statements::{REMAINING, WITH_ROOM};

pub(super) const SELECT_STORED_RESPONSE: &str = concat!(
    WITH_ROOM,
    "SELECT k.request, k.answer, 0 AS in_flight, ",
    REMAINING,
    " AS left_over
     FROM room JOIN accounts a ON a.id = room.id JOIN idempotency_keys k ON k.account_id = a.id
     WHERE k.name IN (?9, ?10) AND k.expires_at > ?5
     UNION ALL
     SELECT l.request, '', 1, '' FROM room JOIN leases l ON l.account_id = room.id
     WHERE l.idempotency IN (?9, ?10) AND l.expires_at > ?5"
);

/// `$now`, `$request` and `$answer` are parameters, and `$key` is a parameter or a column. Responses are stored for a
/// day; after 50,000 checks on a day, for an hour: one account mustn't fill a shared database.
macro_rules! keep {
    ($now:literal, $key:literal, $request:literal, $answer:literal, $from:literal) => {
        concat!(
            "INSERT INTO idempotency_keys (account_id, name, request, answer, expires_at) SELECT a.id, ",
            $key,
            ", ",
            $request,
            ", ",
            $answer,
            ", CASE WHEN a.daily_charged > 50000 THEN 3600 ELSE 86400 END + ",
            $now,
            " FROM accounts a ",
            $from,
            " ON CONFLICT (account_id, name) DO UPDATE SET request = excluded.request,
                answer = excluded.answer, expires_at = excluded.expires_at
              WHERE idempotency_keys.expires_at <= ",
            $now
        )
    };
}

/// `?6` name of the charge, `?11` request, `?12` response.
pub(super) const INSERT_RESPONSE_OF_CHARGE: &str =
    keep!("?5", "?9", "?11", "?12", "WHERE a.id = ?1 AND a.last_charge = ?6");

/// `?1` account, `?2` lease, `?3` now, `?7` request, `?9` response. Another request's response stays: this request
/// took its lease when it could not see the other's.
pub(super) const INSERT_RESPONSE_OF_LEASE: &str = keep!(
    "?3",
    "l.idempotency",
    "?7",
    "?9",
    "JOIN leases l ON l.account_id = a.id WHERE a.id = ?1 AND l.id = ?2 AND l.expires_at > ?3"
);
