//! Callers that may act for an account: a key or a session, verified within the statement that acts. `?1` account, `?2` and `?3`
//! the credential's text and kind (`Proof::text`, `Proof::kind`).

use constcat::concat;

/// The row of the presented key. It may be missing, and its version may be over.
pub const IS_PRESENTED: &str = "k.account_id = ?1 AND k.id = substr(?2, 1, 16)";

/// Requires that the presented version of key `k` works: it is the present one, or the one before it during a
/// replacement.
pub const VERSION_WORKS: &str = "(substr(?2, 17) = printf('%08x', k.version)
      OR k.previous_until > unixepoch() AND substr(?2, 17) = printf('%08x', k.version - 1))";

/// Requires that the presented key, whose row `k` may be missing, never works again. A version to come, which is there
/// after a restore, isn't over.
pub const IS_OVER: &str = "(k.id IS NULL OR substr(?2, 17) < printf('%08x', k.version)
      AND NOT (k.previous_until > unixepoch() AND substr(?2, 17) = printf('%08x', k.version - 1)))";

pub(super) const SESSION_WORKS: &str =
    "EXISTS (SELECT 1 FROM sessions s WHERE s.id = ?2 AND s.account_id = a.id)";

pub const AUTHORISE: &str = concat!(
    "a.id = ?1 AND a.state = 'confirmed' AND CASE ?3
     WHEN 'key' THEN a.key_active = 1 AND EXISTS (SELECT 1 FROM keys k WHERE ",
    IS_PRESENTED,
    " AND ",
    VERSION_WORKS,
    ") ELSE ",
    SESSION_WORKS,
    " END"
);
