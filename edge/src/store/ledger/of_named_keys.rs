//! The ledger's statements for named keys: authorised by the key's own row, and also limited by its daily limit. The
//! statements for first keys and sessions stay constants.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use constcat::concat;

use super::statements::{ALL_CHARGED, IS_UNANSWERED, WITH_ROOM};
use crate::{
    credentials::proof::Caller,
    store::named_keys::{FIRST_KEY_HOLDS, KEY_UNITS_HELD, NAMED_KEY_HOLDS},
};

/// Limits the account's remaining units to those of the key, counting the daily allowance first. A
/// key without a limit has two billion left, more than any account has. Placed
/// after the account's limit, `of_account`, in the statement.
const WITH_KEY_ROOM: &str = concat!(
    ", of_key AS (
       SELECT k.daily_limit, coalesce(k.daily_limit <= CASE WHEN k.day < ?4 THEN 0 ELSE k.charged END, 0) AS full,
         CASE WHEN k.daily_limit IS NULL THEN 2000000000 ELSE max(0, k.daily_limit
           - CASE WHEN k.day < ?4 THEN 0 ELSE k.charged END - ",
    KEY_UNITS_HELD,
    ") END AS units
       FROM named_keys k WHERE k.account_id = ?1 AND k.id = substr(?2, 1, 16)
     ), room AS (
       SELECT r.id, min(r.daily, k.units) AS daily, min(r.welcome, k.units - min(r.daily, k.units)) AS welcome,
         r.full OR k.full AS full, r.max_in_flight, r.welcome_checks,
         k.units < r.daily + r.welcome AS by_key, CASE WHEN k.units < r.daily + r.welcome THEN k.daily_limit ELSE r.allowance END AS allowance
       FROM of_account r JOIN of_key k
     ) "
);

/// Texts of the first key's statements that differ for named keys, each with its replacement.
const EXCHANGES: [[&str; 2]; 3] = [
    [FIRST_KEY_HOLDS, NAMED_KEY_HOLDS],
    ["INSERT INTO leases (", "INSERT INTO leases (key_id, "],
    ["SELECT ?6, room.id,", "SELECT substr(?2, 1, 16), ?6, room.id,"],
];

/// Statements for named keys, by address and length of the first key's statement. Each statement of the ledger has at
/// most one entry.
static TEXTS: Mutex<BTreeMap<(usize, usize), &'static str>> = Mutex::new(BTreeMap::new());

pub(super) fn for_caller(caller: Caller, sql: &'static str) -> &'static str {
    if caller.proof.named_key().is_none() {
        return sql;
    }
    // Never contended: an isolate has one thread and holds no lock across an await.
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (sql.as_ptr().addr(), sql.len());
    texts.entry(key).or_insert_with(|| Box::leak(for_named_keys(sql).into_boxed_str()))
}

/// If a replacement were missed, the statement would take the key for a session and reject the caller.
fn for_named_keys(sql: &str) -> String {
    let rest = sql.strip_prefix(WITH_ROOM).unwrap_or_default();
    let of_account = WITH_ROOM.replacen("WITH room AS (", "WITH of_account AS (", 1);
    let text = [of_account.trim_end(), WITH_KEY_ROOM, rest].concat();
    EXCHANGES.iter().fold(text, |text, [from, to]| text.replacen(from, to, 1))
}

/// Counts a unit for the key after the account's charge named `?6`. Without a limit of the key,
/// only the first unit of a day is counted, to record the last day of use. `?1` account, `?2` key,
/// `?4` day.
pub(super) const UPDATE_KEY_CHARGE: &str = "UPDATE named_keys SET
      charged = CASE WHEN day < ?4 THEN 0 ELSE charged END + 1, day = max(day, ?4), last_charge = ?6
    WHERE account_id = ?1 AND id = substr(?2, 1, 16) AND last_charge <> ?6
      AND (daily_limit IS NOT NULL OR day < ?4)
      AND EXISTS (SELECT 1 FROM accounts a WHERE a.id = ?1 AND a.last_charge = ?6)";

/// Counts a lease's units for its key: runs after `UPDATE_SETTLEMENT`, with its parameters and under its conditions. A lease taken on the previous day isn't counted if the key
/// already has a charge on a newer day.
pub(super) const UPDATE_KEY_SETTLEMENT: &str = concat!(
    "UPDATE named_keys SET
      charged = CASE
        WHEN named_keys.day < l.day THEN l.units
        WHEN named_keys.day = l.day THEN charged + l.units
        ELSE charged END,
      day = max(named_keys.day, l.day)
    FROM (SELECT l.account_id, l.key_id, l.day, ",
    ALL_CHARGED,
    " AS units FROM leases l WHERE l.account_id = ?1 AND l.id = ?2 AND l.expires_at > ?3) l
    WHERE named_keys.account_id = l.account_id AND named_keys.id = l.key_id
      AND (daily_limit IS NOT NULL OR named_keys.day < l.day) AND ",
    IS_UNANSWERED
);

#[cfg(test)]
mod tests {
    use super::{EXCHANGES, for_named_keys};
    use crate::store::ledger::{
        idempotent::SELECT_STORED_RESPONSE,
        statements::{
            INSERT_LEASE, INSERT_LEASE_ONCE, SELECT_REFUSAL, SELECT_USAGE, UPDATE_CHARGE,
            UPDATE_CHARGE_ONCE,
        },
    };

    #[test]
    fn every_statement_on_a_caller_s_behalf_has_its_form_for_named_keys() {
        let [[_, authorised], [_, into], [_, selected]] = EXCHANGES;
        for sql in [
            UPDATE_CHARGE,
            UPDATE_CHARGE_ONCE,
            INSERT_LEASE,
            INSERT_LEASE_ONCE,
            SELECT_STORED_RESPONSE,
            SELECT_REFUSAL,
            SELECT_USAGE,
        ] {
            let text = for_named_keys(sql);
            assert!(text.contains(authorised) && text.contains("of_account r"), "{text}");
            assert_eq!(text.matches("room AS (").count(), 1, "{text}");
            let takes_a_lease = sql.contains("INSERT INTO leases");
            assert_eq!(text.contains(into) && text.contains(selected), takes_a_lease, "{text}");
        }
    }
}
