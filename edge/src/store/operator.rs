//! Statements of the Worker that the operator's command (`make admin`) also runs, under a
//! condition of its own. The command reads the statements from `devtools/operator/statements.json`, which a test
//! compares with this file.

use std::collections::BTreeMap;

use constcat::concat;

use super::{
    IS_UNFROZEN,
    accounts::{DELETE_NOTICES, INSERT_TOMBSTONE, ON_CONFLICT_UPDATE_TOMBSTONE, UPDATE_ERASED},
    notices::{deed, notice},
    plans::IN_FORCE,
    recoveries::{INSERT_RECOVERY, IS_RECOVERABLE},
};

// An event precedes its notice, and the notice the row, all under the same condition.
const PENDING: [&str; 2] = deed!("recovery_pending", IS_RECOVERABLE);
const STOPPED: [&str; 2] =
    deed!("recovery_stopped", "id = (SELECT account_id FROM recoveries WHERE account_id = ?1)");

/// Statements by name; `?1` is always the account.
const STATEMENTS: [(&str, &str); 9] = [
    // `?3` today, `?4` now.
    (
        "tombstone",
        concat!(INSERT_TOMBSTONE, "id = ?1 AND ", IS_UNFROZEN, ON_CONFLICT_UPDATE_TOMBSTONE),
    ),
    // `?4` now.
    ("erase", concat!(UPDATE_ERASED, "id = ?1 AND ", IS_UNFROZEN)),
    ("delete_notices", DELETE_NOTICES),
    ("recovery_pending_event", PENDING[0]),
    ("recovery_pending", PENDING[1]),
    ("recover", INSERT_RECOVERY),
    ("recovery_stopped_event", STOPPED[0]),
    ("recovery_stopped", STOPPED[1]),
    // `?2` the new plan.
    (
        "plan_changed",
        concat!(
            "WITH a AS (SELECT * FROM accounts WHERE id = ?1) ",
            notice!("plan_changed", "id = ?1 AND ?2 <> (SELECT ", IN_FORCE, " FROM a)")
        ),
    ),
];

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../devtools/operator/statements.json");

/// With the variable that `make openapi` sets, the test writes the file.
#[test]
fn the_operators_command_runs_the_statements_of_the_worker() {
    let statements = BTreeMap::from(STATEMENTS);
    let generated = serde_json::to_string_pretty(&statements).unwrap() + "\n";
    if std::env::var_os("WRITE_OPENAPI").is_some() {
        std::fs::write(FILE, &generated).unwrap();
    }
    let read = std::fs::read_to_string(FILE).unwrap();
    assert!(read == generated, "statements.json is not up to date: run `make openapi`");
}
