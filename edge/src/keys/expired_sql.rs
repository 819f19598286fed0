//! Removes expired idempotency keys. An index on the expiry would cost a row for each stored key, so a cursor scans the
//! primary key, in ranges that block the only writer briefly.

use std::time::Duration;

use serde::Deserialize;

use crate::{
    cf::{
        clock,
        database::{Database, Param},
    },
    error::Error,
};

/// Maximum number of ranges per run, a million keys: each takes two of the thousand statements that
/// the platform allows an invocation.
const RANGES_MAX: usize = 100;
const RUN_MS_MAX: u64 = 10_000;
const PAUSE_MIN: Duration = Duration::from_millis(2);

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct KeyPosition {
    account_id: String,
    name: String,
}

impl KeyPosition {
    fn start() -> Self {
        Self { account_id: String::new(), name: String::new() }
    }

    /// After all accounts, whose ids consist of hexadecimal digits.
    fn end() -> Self {
        Self { account_id: "g".to_owned(), name: String::new() }
    }

    fn params(&self) -> Vec<Param<'_>> {
        vec![(&self.account_id).into(), (&self.name).into()]
    }
}

const SELECT_CURSOR: &str =
    "SELECT keys_read_in AS account_id, keys_read_to AS name FROM this_database";

const UPDATE_CURSOR: &str = "UPDATE this_database SET keys_read_in = ?1, keys_read_to = ?2";

/// No row if fewer than 10,000 keys follow.
const SELECT_RANGE_END: &str = "SELECT account_id, name FROM idempotency_keys
    WHERE (account_id, name) > (?1, ?2) ORDER BY account_id, name LIMIT 1 OFFSET 9999";

/// `?1`, `?2` position before the range, `?3`, `?4` its last position, `?5` now.
const DELETE_EXPIRED: &str = "DELETE FROM idempotency_keys
    WHERE (account_id, name) > (?1, ?2) AND (account_id, name) <= (?3, ?4) AND expires_at <= ?5";

/// Removes keys that have expired by `now` (Unix seconds). Starts where the last run ended, and
/// stops when all keys have been read or a limit is reached.
pub async fn remove(database: &Database, now: u64) -> Result<(), Error> {
    let begun = clock::now_ms();
    let cursor = database.first::<KeyPosition>((SELECT_CURSOR, Vec::new())).await?;
    let cursor = cursor.unwrap_or_else(KeyPosition::start);
    let mut position = cursor.clone();
    let mut end = database.first::<KeyPosition>((SELECT_RANGE_END, position.params())).await?;
    for _ in 0..RANGES_MAX {
        let range_begun = clock::now_ms();
        let range_end = end.clone().unwrap_or_else(KeyPosition::end);
        let range = [position.params(), range_end.params(), vec![now.into()]].concat();
        let next = (SELECT_RANGE_END, range_end.params());
        let rows = database.batch(&[(DELETE_EXPIRED, range), next]).await?;
        if end.is_none() {
            position = KeyPosition::start();
            break;
        }
        end = rows.first(1)?;
        position = range_end;
        let now_ms = clock::now_ms();
        if now_ms.saturating_sub(begun) > RUN_MS_MAX {
            break;
        }
        // Pauses after each range, so that the database can run other queries.
        let took = Duration::from_millis(now_ms.saturating_sub(range_begun));
        clock::sleep(took.max(PAUSE_MIN)).await;
    }
    if position == cursor { Ok(()) } else { database.run((UPDATE_CURSOR, position.params())).await }
}
