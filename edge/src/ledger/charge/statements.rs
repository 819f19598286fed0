//! The ledger's statements. Those for requests with an `Idempotency-Key` also require that the key is new, which costs
//! 0.1 ms of D1.

use constcat::concat;

use crate::ledger::{
    authorise::{IS_OVER, IS_PRESENTED, SESSION_WORKS, VERSION_WORKS},
    key_use::{KEY_FULL, KEY_LEFT, with_more},
    plans::IN_FORCE,
    usage_days::DAYS_WITH_PREVIOUS,
};

/// Units of the daily allowance, welcome checks, and all units held by lease `l`.
macro_rules! daily_units {
    () => {
        "l.n_daily"
    };
}
macro_rules! welcome_units {
    () => {
        "l.n_welcome"
    };
}
macro_rules! all_units {
    () => {
        "(l.n_daily + l.n_welcome)"
    };
}

/// Units of the daily allowance of day `?4` held by live leases of account `a`. `?5` is now.
pub const DAILY_HELD: &str = concat!(
    "(SELECT coalesce(sum(",
    daily_units!(),
    "), 0) FROM leases l WHERE l.account_id = a.id AND l.day = ?4 AND l.expires_at > ?5)"
);
/// Welcome checks held by live leases of account `a`. `?5` is now.
pub const WELCOME_HELD: &str = concat!(
    "(SELECT coalesce(sum(",
    welcome_units!(),
    "), 0) FROM leases l WHERE l.account_id = a.id AND l.expires_at > ?5)"
);

/// Units that day `?4` leaves of the daily allowance and of the welcome checks of account `a` with plan `p`, without
/// leased units. `?5` is now.
const DAILY_LEFT: &str = concat!(
    "max(0, p.daily_checks - CASE WHEN a.day < ?4 THEN 0 ELSE a.daily_charged END - ",
    DAILY_HELD,
    ")"
);
const WELCOME_LEFT: &str = concat!("max(0, a.welcome_left - ", WELCOME_HELD, ")");

/// Account `a` of the presented key `k`, which may be missing, with its plan `p`. `?1` account, `?2` and `?3` the
/// credential's text and kind.
const FROM_PRESENTED: &str = concat!(
    "FROM accounts a JOIN plans p ON p.name = ",
    IN_FORCE,
    " LEFT JOIN keys k ON ?3 = 'key' AND ",
    IS_PRESENTED,
    " WHERE a.id = ?1"
);

/// Parameters of [`FROM_PRESENTED`], `?4` day, `?5` now. One row if the caller is authorised: `daily` and `welcome` are
/// the available units, within the key's limit. `full` says if charges alone have used them up. An unlimited plan has a
/// billion left. A test key costs nothing.
pub(super) const WITH_ROOM: &str = concat!(
    "WITH of_account AS MATERIALIZED (
       SELECT a.id, CASE WHEN p.unlimited THEN 1000000000 ELSE ",
    DAILY_LEFT,
    " END AS daily, ",
    WELCOME_LEFT,
    " AS welcome, NOT p.unlimited AND a.welcome_left = 0 AND a.day >= ?4
           AND a.daily_charged >= p.daily_checks AS full,
         p.max_in_flight, p.daily_checks, p.welcome_checks, k.daily_limit, ",
    KEY_LEFT,
    " AS of_key, ",
    KEY_FULL,
    " AS key_full ",
    FROM_PRESENTED,
    " AND a.state = 'confirmed' AND CASE ?3 WHEN 'key' THEN a.key_active = 1 AND ",
    VERSION_WORKS,
    " ELSE ",
    SESSION_WORKS,
    " END),
     room AS (
       SELECT id, min(daily, coalesce(of_key, daily)) AS daily,
         min(welcome, coalesce(of_key - min(daily, of_key), welcome)) AS welcome,
         full OR key_full AS full, max_in_flight, welcome_checks,
         coalesce(of_key < daily + welcome, 0) AS by_key,
         CASE WHEN of_key < daily + welcome THEN daily_limit ELSE daily_checks END AS allowance
       FROM of_account) "
);

/// Units that account `a` has left, in the format of `RateLimit::of_checks`; empty if nothing is limited. If its
/// presented key has less, this comes first, and a bar. One text, because passing each column to wasm costs time.
pub(super) const REMAINING: &str = concat!(
    "(SELECT CASE WHEN k.daily_limit IS NOT NULL AND ",
    KEY_LEFT,
    " < CASE WHEN p.unlimited THEN 1000000000 ELSE ",
    DAILY_LEFT,
    " + ",
    WELCOME_LEFT,
    " END THEN k.daily_limit || ' ' || ",
    KEY_LEFT,
    " || ' |' ELSE '' END || CASE WHEN p.unlimited THEN '' ELSE p.daily_checks || ' ' || ",
    DAILY_LEFT,
    " || ' ' || p.welcome_checks || ' ' || ",
    WELCOME_LEFT,
    " END FROM plans p LEFT JOIN keys k ON ?3 = 'key' AND ",
    IS_PRESENTED,
    " WHERE p.name = ",
    IN_FORCE,
    ")"
);

/// Requires that the request's key (`?9`, or `?10` under the previous secret) has no response and
/// holds no lease.
const AND_KEY_IS_NEW: &str =
    " AND NOT EXISTS (SELECT 1 FROM idempotency_keys k WHERE k.account_id = room.id
        AND k.name IN (?9, ?10) AND k.expires_at > ?5)
      AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.account_id = room.id
        AND l.idempotency IN (?9, ?10) AND l.expires_at > ?5)";

/// `?6` is the name of this charge.
const UPDATE_UNIT: &str = concat!(
    WITH_ROOM,
    "UPDATE accounts SET
       previous_day = CASE WHEN day < ?4 THEN day ELSE previous_day END,
       previous_charged = CASE WHEN day < ?4 THEN daily_charged ELSE previous_charged END,
       previous_welcome = CASE WHEN day < ?4 THEN welcome_left ELSE previous_welcome END,
       days = CASE WHEN day < ?4 AND previous_day > 0 THEN ",
    DAYS_WITH_PREVIOUS,
    " ELSE days END,
       daily_charged = CASE WHEN day < ?4 THEN 0 ELSE daily_charged END + (room.daily > 0),
       welcome_left = welcome_left - (room.daily = 0),
       day = max(day, ?4),
       key_use = CASE ?3 WHEN 'key' THEN ",
    with_more!("?2", "?4", "1"),
    " ELSE key_use END,
       last_charge = ?6
     FROM room
     WHERE accounts.id = room.id AND room.daily + room.welcome > 0
       AND accounts.last_charge <> ?6"
);
// The row is read again by its id: within RETURNING, a day that was just set isn't an integer and compares as less than
// itself.
const RETURNING_REMAINING: &str = concat!(
    " RETURNING (SELECT ",
    REMAINING,
    " FROM accounts a WHERE a.id = accounts.id) AS left_over"
);

pub(super) const UPDATE_CHARGE: &str = concat!(UPDATE_UNIT, RETURNING_REMAINING);
/// `?7` and `?8` are unused.
pub(super) const UPDATE_CHARGE_ONCE: &str =
    concat!(UPDATE_UNIT, AND_KEY_IS_NEW, RETURNING_REMAINING);

/// Reserves `?8` available units, of the daily allowance first. `?6` lease, `?7` its expiry.
const INSERT_UNITS: &str = concat!(
    WITH_ROOM,
    "INSERT INTO leases (id, account_id, key, day, expires_at, n_daily, n_welcome, idempotency, request)
     SELECT ?6, room.id, CASE ?3 WHEN 'key' THEN ?2 END, ?4, ?7, min(?8, room.daily), ?8 - min(?8, room.daily), "
);
/// However many units a lease has, it counts as at most the plan's maximum number of concurrent
/// checks.
const WHERE_FEW_LEASES: &str = concat!(
    " FROM room WHERE room.daily + room.welcome >= ?8 AND room.max_in_flight - min(?8, room.max_in_flight) >=
       (SELECT coalesce(sum(min(",
    all_units!(),
    ", room.max_in_flight)), 0) FROM leases l WHERE l.account_id = room.id AND l.expires_at > ?5)"
);
const RETURNING_PLAN_AND_REMAINING: &str = concat!(
    " RETURNING (SELECT ",
    IN_FORCE,
    " <> 'free' FROM accounts a WHERE a.id = leases.account_id) AS paying, (SELECT ",
    REMAINING,
    " FROM accounts a WHERE a.id = leases.account_id) AS left_over"
);

pub(super) const INSERT_LEASE: &str =
    concat!(INSERT_UNITS, "NULL, NULL", WHERE_FEW_LEASES, RETURNING_PLAN_AND_REMAINING);
pub(super) const INSERT_LEASE_ONCE: &str = concat!(
    INSERT_UNITS,
    "?9, ?11",
    WHERE_FEW_LEASES,
    AND_KEY_IS_NEW,
    RETURNING_PLAN_AND_REMAINING
);

pub(super) const SELECT_CHARGE: &str =
    "SELECT '' AS left_over FROM accounts WHERE id = ?1 AND last_charge = ?2";

/// No row if the account no longer exists. `is_over` says that the key never works again.
pub(super) const SELECT_REFUSAL: &str = concat!(
    WITH_ROOM,
    "SELECT ?3 = 'key' AND ",
    IS_OVER,
    " AS is_over, room.id IS NOT NULL AS authorised,
       coalesce(room.daily, 0) AS daily, coalesce(room.welcome, 0) AS welcome, coalesce(room.full, 0) AS full,
       coalesce(room.allowance, 0) AS allowance, coalesce(room.welcome_checks, 0) AS welcome_checks,
       coalesce(room.by_key, 0) AS by_key ",
    "FROM accounts a LEFT JOIN room ON room.id = a.id
     LEFT JOIN keys k ON ?3 = 'key' AND ",
    IS_PRESENTED,
    " WHERE a.id = ?1"
);

pub(super) const SELECT_USAGE: &str = concat!(
    WITH_ROOM,
    "SELECT p.name AS plan, p.unlimited, p.daily_checks, p.welcome_checks, p.daily_scans, a.scan_credits,
       CASE WHEN a.scans_day < ?4 THEN 0 ELSE a.scans_charged END AS scans_used,
       a.total_scans, a.completed_scans, p.scan_size,
       CASE WHEN a.day < ?4 THEN 0 ELSE a.daily_charged END + ",
    DAILY_HELD,
    " AS checks_used, a.welcome_left - ",
    WELCOME_HELD,
    " AS welcome_left
     FROM room JOIN accounts a ON a.id = room.id JOIN plans p ON p.name = ",
    IN_FORCE
);

macro_rules! due {
    () => {
        "max(0, ?4 - l.n_charged)"
    };
}
/// Of these, the units of the daily allowance, which come first, and the welcome checks.
const DAILY_CHARGED: &str = concat!("min(", due!(), ", ", daily_units!(), ")");
const WELCOME_CHARGED: &str =
    concat!("min(", due!(), " - min(", due!(), ", ", daily_units!(), "), ", welcome_units!(), ")");
const ALL_CHARGED: &str = concat!("min(", due!(), ", ", all_units!(), ")");

/// Requires that this request has no stored response: `?5` and `?6` names of its `Idempotency-Key`, `?7` and `?8` its
/// hashes; empty without a key. Another request's response doesn't pay for this one.
const IS_UNANSWERED: &str = "NOT EXISTS (SELECT 1 FROM idempotency_keys k WHERE k.account_id = ?1
       AND k.name IN (?5, ?6) AND k.request IN (?7, ?8) AND k.expires_at > ?3)";

/// `?1` account, `?2` lease, `?3` now, `?4` units to charge in total; the others become free when the transaction ends
/// the lease. Charges the day on which the lease was taken. An expired lease charges nothing. Neither does a request
/// that got a stored response meanwhile, because the clocks of two Workers may disagree.
pub(super) const UPDATE_SETTLEMENT: &str = concat!(
    "UPDATE accounts SET
      previous_day = CASE
        WHEN accounts.day < l.day THEN accounts.day
        WHEN accounts.day > l.day THEN max(previous_day, l.day)
        ELSE previous_day END,
      previous_charged = CASE
        WHEN accounts.day < l.day THEN daily_charged
        WHEN accounts.day > l.day AND previous_day = l.day THEN previous_charged + l.daily
        -- The day of the lease had no charge until now.
        WHEN accounts.day > l.day AND previous_day < l.day THEN l.daily
        ELSE previous_charged END,
      previous_welcome = CASE
        WHEN accounts.day < l.day OR accounts.day > l.day AND previous_day < l.day THEN welcome_left
        ELSE previous_welcome END,
      days = CASE
        WHEN previous_day > 0 AND (accounts.day < l.day OR accounts.day > l.day AND previous_day < l.day) THEN ",
    DAYS_WITH_PREVIOUS,
    " ELSE days END,
      daily_charged = CASE
        WHEN accounts.day < l.day THEN l.daily
        WHEN accounts.day = l.day THEN daily_charged + l.daily
        ELSE daily_charged END,
      welcome_left = welcome_left - l.welcome,
      day = max(accounts.day, l.day),
      key_use = CASE WHEN l.key IS NULL THEN key_use ELSE ",
    with_more!("l.key", "l.day", "l.units"),
    " END
    FROM (SELECT l.account_id, l.day, l.key, ",
    ALL_CHARGED,
    " AS units, ",
    DAILY_CHARGED,
    " AS daily, ",
    WELCOME_CHARGED,
    " AS welcome FROM leases l WHERE l.account_id = ?1 AND l.id = ?2 AND l.expires_at > ?3) l
    WHERE accounts.id = l.account_id AND ",
    IS_UNANSWERED,
    " RETURNING accounts.id"
);

/// Takes the units from the lease that `UPDATE_SETTLEMENT` has just charged, under the same conditions: a repetition
/// charges nothing more.
pub(super) const UPDATE_LEASE: &str = concat!(
    "UPDATE leases AS l SET n_daily = n_daily - ",
    DAILY_CHARGED,
    ", n_welcome = n_welcome - ",
    WELCOME_CHARGED,
    ", n_charged = max(n_charged, ?4)
     WHERE account_id = ?1 AND id = ?2 AND expires_at > ?3 AND ",
    IS_UNANSWERED
);

pub(super) const DELETE_LEASE: &str = "DELETE FROM leases WHERE account_id = ?1 AND id = ?2";
