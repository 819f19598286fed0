//! The end of a key by the finder of a leaked one.

use constcat::concat;

use crate::{
    cf::database::{Database, Param},
    credentials::proof::Caller,
    error::Error,
    ledger::{
        authorise::{IS_PRESENTED, VERSION_WORKS},
        notices::{deed, told},
        own_key::own_id,
    },
};

const INSERT_KEY_ENDED: [&str; 2] = deed!(
    "key_ended_itself",
    "id = ?1 AND state = 'confirmed' AND EXISTS (SELECT 1 FROM keys k WHERE ",
    IS_PRESENTED,
    " AND ",
    VERSION_WORKS,
    ")"
);
const IS_PRESENT_VERSION: &str = "substr(?2, 17) = printf('%08x', k.version)";
/// The version before ends alone. The own key's present version ends with the one before it, by the next version.
const UPDATE_PRESENTED: &str = concat!(
    "UPDATE keys AS k SET version = version + (",
    IS_PRESENT_VERSION,
    "), previous_until = 0 WHERE ",
    IS_PRESENTED,
    " AND ",
    VERSION_WORKS,
    " AND (k.id = ",
    own_id!(),
    " OR NOT ",
    IS_PRESENT_VERSION,
    ") RETURNING id"
);
const DELETE_PRESENTED: &str = concat!(
    "DELETE FROM keys AS k WHERE ",
    IS_PRESENTED,
    " AND ",
    IS_PRESENT_VERSION,
    " AND k.id <> ",
    own_id!(),
    " RETURNING id"
);

/// Ends the presented version of a key, and the one before it: the own key by its next version, any other key for good.
/// True if the presented version worked.
pub async fn end_itself(database: &Database, caller: Caller) -> Result<bool, Error> {
    let (account, shown) = (caller.account.to_string(), caller.proof.text());
    let params: Vec<Param<'_>> = vec![(&account).into(), (&shown).into()];
    let [event, notice] = told(INSERT_KEY_ENDED, &params);
    let ends = [UPDATE_PRESENTED, DELETE_PRESENTED].map(|sql| (sql, params.clone()));
    let rows = database.batch(&[&[event, notice], ends.as_slice()].concat()).await?;
    Ok(rows.any(2)? || rows.any(3)?)
}
