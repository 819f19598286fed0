//! The statements of the ledger. Where an `Idempotency-Key` matters there are two of one text: the one for a request
//! with a key also demands that the key is new. Without a key that question would cost each check 0.1 ms of D1.

use constcat::concat;

use crate::store::plans::IN_FORCE;

/// `?1` account, `?2` version of the key or the session, `?3` which of the two, `?4` day, `?5` now. One row
/// if the caller is authorised; `daily` and `welcome` say whether a unit may be taken from there, `full`
/// whether charges alone have used up both.
pub(super) const WITH_ROOM: &str = concat!(
    "WITH room AS (
       SELECT a.id,
         p.unlimited OR p.daily_checks >
           CASE WHEN a.day < ?4 THEN 0 ELSE a.daily_charged END
           + (SELECT count(*) FROM leases l WHERE l.account_id = a.id
              AND l.source = 'daily' AND l.day = ?4 AND l.expires_at > ?5) AS daily,
         a.welcome_left >
           (SELECT count(*) FROM leases l WHERE l.account_id = a.id
            AND l.source = 'welcome' AND l.expires_at > ?5) AS welcome,
         NOT p.unlimited AND a.welcome_left = 0 AND a.day >= ?4
           AND a.daily_charged >= p.daily_checks AS full,
         p.max_in_flight, p.daily_checks AS allowance
       FROM accounts a JOIN plans p ON p.name = ",
    IN_FORCE,
    " WHERE a.id = ?1 AND a.state = 'confirmed' AND CASE ?3
         WHEN 'key' THEN a.key_active = 1 AND a.key_version = ?2
         ELSE EXISTS (SELECT 1 FROM sessions s WHERE s.id = ?2 AND s.account_id = a.id)
         END) "
);

/// What is left to the account `a`, in the words that `RateLimit::of_checks` reads, leases subtracted; empty where
/// nothing limits. One text, because each column costs a crossing.
pub(super) const LEFT: &str = concat!(
    "(SELECT CASE WHEN p.unlimited THEN '' ELSE p.daily_checks || ' ' || max(0, p.daily_checks
     - CASE WHEN a.day < ?4 THEN 0 ELSE a.daily_charged END
     - (SELECT count(*) FROM leases l WHERE l.account_id = a.id
        AND l.source = 'daily' AND l.day = ?4 AND l.expires_at > ?5))
     || ' ' || p.welcome_checks || ' ' || max(0, a.welcome_left
     - (SELECT count(*) FROM leases l WHERE l.account_id = a.id
        AND l.source = 'welcome' AND l.expires_at > ?5)) END
   FROM plans p WHERE p.name = ",
    IN_FORCE,
    ")"
);

/// Demands that the key of the request (`?8`, or `?9` under the secret before) has no answer and holds no lease.
const AND_KEY_IS_NEW: &str =
    " AND NOT EXISTS (SELECT 1 FROM idempotency_keys k WHERE k.account_id = room.id
        AND k.name IN (?8, ?9) AND k.expires_at > ?5)
      AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.account_id = room.id
        AND l.idempotency IN (?8, ?9) AND l.expires_at > ?5)";

/// Takes a unit of the room there is. `?6` the name of this charge.
const TAKE_UNIT: &str = concat!(
    WITH_ROOM,
    "UPDATE accounts SET
       previous_day = CASE WHEN day < ?4 THEN day ELSE previous_day END,
       previous_charged = CASE WHEN day < ?4 THEN daily_charged ELSE previous_charged END,
       daily_charged = CASE WHEN day < ?4 THEN 0 ELSE daily_charged END + room.daily,
       welcome_left = welcome_left - (1 - room.daily),
       day = max(day, ?4),
       key_day = CASE ?3 WHEN 'key' THEN max(key_day, ?4) ELSE key_day END,
       last_charge = ?6
     FROM room
     WHERE accounts.id = room.id AND (room.daily OR room.welcome)
       AND accounts.last_charge <> ?6"
);
// Read again by its id: a day just set is not yet an integer in RETURNING, and less than itself.
const RETURNING_LEFT: &str =
    concat!(" RETURNING (SELECT ", LEFT, " FROM accounts a WHERE a.id = accounts.id) AS left_over");

pub(super) const CHARGE: &str = concat!(TAKE_UNIT, RETURNING_LEFT);
/// `?7` is not used.
pub(super) const CHARGE_ONCE: &str = concat!(TAKE_UNIT, AND_KEY_IS_NEW, RETURNING_LEFT);

/// Holds a unit of the room there is. `?6` lease, `?7` when it expires.
const HOLD_UNIT: &str = concat!(
    WITH_ROOM,
    "INSERT INTO leases (id, account_id, day, source, expires_at, idempotency)
     SELECT ?6, room.id, ?4, CASE WHEN room.daily THEN 'daily' ELSE 'welcome' END, ?7, "
);
const WHILE_FEW_ARE_HELD: &str =
    " FROM room WHERE (room.daily OR room.welcome) AND room.max_in_flight >
       (SELECT count(*) FROM leases l WHERE l.account_id = room.id AND l.expires_at > ?5)";
const RETURNING_PLAN_AND_LEFT: &str = concat!(
    " RETURNING (SELECT ",
    IN_FORCE,
    " <> 'free' FROM accounts a WHERE a.id = leases.account_id) AS paying, (SELECT ",
    LEFT,
    " FROM accounts a WHERE a.id = leases.account_id) AS left_over"
);

pub(super) const LEASE: &str =
    concat!(HOLD_UNIT, "NULL", WHILE_FEW_ARE_HELD, RETURNING_PLAN_AND_LEFT);
pub(super) const LEASE_ONCE: &str =
    concat!(HOLD_UNIT, "?8", WHILE_FEW_ARE_HELD, AND_KEY_IS_NEW, RETURNING_PLAN_AND_LEFT);

/// `?1` account, `?2` the name of a charge.
pub(super) const CHARGED: &str =
    "SELECT '' AS left_over FROM accounts WHERE id = ?1 AND last_charge = ?2";

/// No row: there is no such account any more.
pub(super) const WHY: &str = concat!(
    WITH_ROOM,
    "SELECT ?3 = 'key' AND a.key_version > ?2 AS replaced, room.id IS NOT NULL AS authorised,
       coalesce(room.daily OR room.welcome, 0) AS has_room, coalesce(room.full, 0) AS full,
       coalesce(room.allowance, 0) AS allowance
     FROM accounts a LEFT JOIN room ON room.id = a.id WHERE a.id = ?1"
);

pub(super) const USAGE: &str = concat!(
    WITH_ROOM,
    "SELECT p.name AS plan, p.unlimited, p.daily_checks, p.welcome_checks, p.daily_scans, a.scan_credits,
       CASE WHEN a.scans_day < ?4 THEN 0 ELSE a.scans_charged END AS scans_used,
       a.total_scans, a.completed_scans, p.scan_size,
       CASE WHEN a.day < ?4 THEN 0 ELSE a.daily_charged END
       + (SELECT count(*) FROM leases l WHERE l.account_id = a.id
          AND l.source = 'daily' AND l.day = ?4 AND l.expires_at > ?5) AS checks_used,
       a.welcome_left
       - (SELECT count(*) FROM leases l WHERE l.account_id = a.id
          AND l.source = 'welcome' AND l.expires_at > ?5) AS welcome_left
     FROM room JOIN accounts a ON a.id = room.id JOIN plans p ON p.name = ",
    IN_FORCE
);

/// `?1` account, `?2` lease, `?3` now, `?4` version of the key that took it. Charges the day the lease was taken on: the
/// current day's counter, a new day's first charge, or the day before's. An expired lease charges nothing, and neither
/// does a key that was answered meanwhile: clocks of two Workers may differ about when a lease ends.
pub(super) const SETTLE: &str = "
    UPDATE accounts SET
      previous_day = CASE
        WHEN accounts.day < l.day THEN accounts.day
        WHEN accounts.day > l.day THEN max(previous_day, l.day)
        ELSE previous_day END,
      previous_charged = CASE
        WHEN accounts.day < l.day THEN daily_charged
        WHEN accounts.day > l.day AND previous_day = l.day
          THEN previous_charged + (l.source = 'daily')
        -- The day of the lease had no charge until now.
        WHEN accounts.day > l.day AND previous_day < l.day THEN (l.source = 'daily')
        ELSE previous_charged END,
      daily_charged = CASE
        WHEN accounts.day < l.day THEN (l.source = 'daily')
        WHEN accounts.day = l.day THEN daily_charged + (l.source = 'daily')
        ELSE daily_charged END,
      welcome_left = welcome_left - (l.source = 'welcome'),
      day = max(accounts.day, l.day),
      key_day = CASE key_version WHEN ?4 THEN max(key_day, l.day) ELSE key_day END
    FROM leases l
    WHERE l.account_id = ?1 AND l.id = ?2 AND l.expires_at > ?3 AND accounts.id = l.account_id
      AND NOT EXISTS (SELECT 1 FROM idempotency_keys k WHERE k.account_id = ?1
        AND k.name = l.idempotency AND k.expires_at > ?3)
    RETURNING accounts.id";

pub(super) const END_LEASE: &str = "DELETE FROM leases WHERE account_id = ?1 AND id = ?2";
