//! The use of each key, in the account's row (`accounts.key_use`): the statement that charges the account charges its
//! key too. An entry has the last day of a charge, the newest version that was charged, and the checks of that day;
//! without a daily limit, it changes only with the first charge of a day or version.

use constcat::concat;

/// A member of the entry of the key with the id `$id` in the account's `$column`; `$absent` if there is no entry.
macro_rules! entry {
    (day, $column:expr, $id:expr) => {
        $crate::ledger::key_use::entry!("0", "0", $column, $id)
    };
    (version, $column:expr, $id:expr) => {
        $crate::ledger::key_use::entry!("1", "''", $column, $id)
    };
    (charged, $column:expr, $id:expr) => {
        $crate::ledger::key_use::entry!("2", "0", $column, $id)
    };
    ($member:literal, $absent:literal, $column:expr, $id:expr) => {
        constcat::concat!(
            "coalesce(",
            $column,
            " ->> ('$.\"' || ",
            $id,
            " || '\"[",
            $member,
            "]'), ",
            $absent,
            ")"
        )
    };
}
pub(crate) use entry;

/// Units charged to key `k` of account `a` on day `?4`.
const KEY_CHARGED: &str = concat!(
    "CASE WHEN ",
    entry!(day, "a.key_use", "k.id"),
    " < ?4 THEN 0 ELSE ",
    entry!(charged, "a.key_use", "k.id"),
    " END"
);

/// Units held by live leases that key `k` took on day `?4`. `?5` is now.
const KEY_HELD: &str = "(SELECT coalesce(sum(l.n_daily + l.n_welcome), 0) FROM leases l
   WHERE l.account_id = k.account_id AND substr(l.key, 1, 16) = k.id AND l.day = ?4 AND l.expires_at > ?5)";

/// Units charged to key `k` of account `a` on day `?4`, and those that its leases hold. `?5` is now.
pub const KEY_USED: &str = concat!("(", KEY_CHARGED, " + ", KEY_HELD, ")");

/// Units that the daily limit of key `k` leaves; NULL without a limit.
pub(super) const KEY_LEFT: &str =
    concat!("CASE WHEN k.daily_limit IS NOT NULL THEN max(0, k.daily_limit - ", KEY_USED, ") END");

/// True if the daily limit of key `k` is used up by charges alone.
pub(super) const KEY_FULL: &str =
    concat!("(k.daily_limit IS NOT NULL AND k.daily_limit <= ", KEY_CHARGED, ")");

/// The last day with a charge to the present version of key `k` of account `a`; 0 if there was none.
pub const LAST_DAY: &str = concat!(
    "CASE ",
    entry!(version, "a.key_use", "k.id"),
    " WHEN printf('%08x', k.version) THEN ",
    entry!(day, "a.key_use", "k.id"),
    " ELSE 0 END"
);

/// The account's `key_use` after `$units` more units of day `$day` for the key with the text `$key`. Units of a day
/// before the key's last one aren't counted any more.
macro_rules! with_more {
    ($key:literal, $day:literal, $units:expr) => {
        constcat::concat!(
            "CASE WHEN instr(key_use, '\"' || substr(",
            $key,
            ", 1, 16) || '\":[' || CAST(",
            $day,
            " AS INTEGER) || ',\"' || substr(",
            $key,
            ", 17) || '\"')
               AND (SELECT k.daily_limit IS NULL FROM keys k
                 WHERE k.account_id = accounts.id AND k.id = substr(",
            $key,
            ", 1, 16)) THEN key_use
             ELSE json_set(key_use, '$.\"' || substr(",
            $key,
            ", 1, 16) || '\"', (SELECT json_array(max(u.day, n.day), max(u.version, substr(",
            $key,
            ", 17)),
               CASE WHEN u.day < n.day THEN n.units WHEN u.day = n.day THEN u.charged + n.units ELSE u.charged END)
             FROM (SELECT CAST(",
            $day,
            " AS INTEGER) AS day, CAST(",
            $units,
            " AS INTEGER) AS units) n, (SELECT ",
            $crate::ledger::key_use::entry!(
                day,
                "key_use",
                constcat::concat!("substr(", $key, ", 1, 16)")
            ),
            " AS day, ",
            $crate::ledger::key_use::entry!(
                version,
                "key_use",
                constcat::concat!("substr(", $key, ", 1, 16)")
            ),
            " AS version, ",
            $crate::ledger::key_use::entry!(
                charged,
                "key_use",
                constcat::concat!("substr(", $key, ", 1, 16)")
            ),
            " AS charged) u)) END"
        )
    };
}
pub(crate) use with_more;
