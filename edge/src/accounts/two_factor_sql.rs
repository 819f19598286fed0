//! Two-factor authentication: each second factor is a row with a sealed secret, its last accepted step and recovery
//! codes. One that is off stays while a reset can take that back.

use constcat::concat;

use super::changes_sql::{change, opened, opening};
use crate::{
    cf::database::{Database, Param},
    credentials::session::Session,
    error::Error,
    ledger::{
        IN_SESSION,
        code::{Code, code_holds},
        notices::told,
    },
};

/// Second factors that an account can turn on in three days: each is accepted at a reset, and none pushes another out.
/// A reset begins the count anew.
pub const FACTORS_MAX: u32 = 5;

const FACTOR_ON: &str =
    "(SELECT f.id FROM second_factors f WHERE f.account_id = accounts.id AND f.off_at IS NULL)";

const HAS_ROOM: &str = "5 > (SELECT count(*) FROM second_factors f WHERE f.account_id = accounts.id
    AND f.on_at > max(accounts.reset_at, unixepoch() - 3 * 86400))";

/// Requires that factor `f` has been on for three days, or had been when it was turned off.
pub(super) const IS_SETTLED: &str =
    "NOT EXISTS (SELECT 1 FROM changes c WHERE c.account_id = f.account_id
    AND c.about = 'on ' || f.id AND c.since > coalesce(f.off_at, unixepoch()) - 3 * 86400)";

const UPDATE_PENDING: &str = concat!(
    "UPDATE accounts SET totp_pending = ?3 WHERE ",
    FACTOR_ON,
    " IS NULL AND ",
    IN_SESSION,
    " RETURNING id"
);

/// Stores a secret until its first valid code; a newer secret replaces it. Returns `false` if
/// two-factor is on or the session has ended.
pub async fn pend(database: &Database, session: Session, sealed: &str) -> Result<bool, Error> {
    let (id, session) = session.texts();
    database.any((UPDATE_PENDING, vec![(&id).into(), (&session).into(), sealed.into()])).await
}

#[derive(Debug)]
pub struct NewFactor<'a> {
    pub id: &'a str,
    pub step: u64,
    pub hashes: &'a [String],
}

const IS_ENABLEABLE: &str =
    concat!(FACTOR_ON, " IS NULL AND totp_pending = ?3 AND ", HAS_ROOM, " AND ", IN_SESSION);
const INSERT_ENABLED: [&str; 3] = opening!("two_factor_on", "'on ' || ?4", IS_ENABLEABLE);
const INSERT_FACTOR: &str = concat!(
    "INSERT INTO second_factors (account_id, id, secret, on_at, last_step)
     SELECT id, ?4, totp_pending, unixepoch(), ?5 FROM accounts WHERE ",
    IS_ENABLEABLE,
    " RETURNING id"
);

// The following statements do nothing unless the new factor was stored. `?1` account, `?2` the new factor.
const CLEAR_PENDING: &str = "UPDATE accounts SET totp_pending = NULL WHERE id = ?1
    AND EXISTS (SELECT 1 FROM second_factors WHERE account_id = ?1 AND id = ?2)";
/// `?3` a JSON array of hashes: one statement for any number.
const INSERT_CODES: &str = "INSERT INTO recovery_codes (account_id, factor_id, hash)
    SELECT f.account_id, f.id, j.value FROM second_factors f JOIN json_each(?3) j
    WHERE f.account_id = ?1 AND f.id = ?2";
/// Ends all sessions but `?3`: they haven't presented a code.
const DELETE_OTHER_SESSIONS: &str = "
    DELETE FROM sessions WHERE account_id = ?1 AND id <> ?3
      AND EXISTS (SELECT 1 FROM second_factors WHERE account_id = ?1 AND id = ?2)";

/// Turns two-factor on with the pending secret, consumes its first step, stores the recovery codes' hashes and ends the
/// other sessions, in one transaction. Returns `false` if the pending secret has been replaced or enabled, too many
/// factors were turned on, or the session has ended.
pub async fn enable(
    database: &Database,
    session: Session,
    pending: &str,
    new: &NewFactor<'_>,
) -> Result<bool, Error> {
    let (id, session) = session.texts();
    let hashes = json(new.hashes)?;
    let deed: Vec<Param<'_>> = vec![(&id).into(), (&session).into(), pending.into()];
    let factor: Vec<Param<'_>> = vec![(&id).into(), new.id.into()];
    let mut statements = Vec::from(opened(INSERT_ENABLED, &deed, new.id.into()));
    statements.extend([
        (INSERT_FACTOR, [deed, vec![new.id.into(), new.step.into()]].concat()),
        (CLEAR_PENDING, factor.clone()),
        (INSERT_CODES, [factor.clone(), vec![(&hashes).into()]].concat()),
        (DELETE_OTHER_SESSIONS, [factor, vec![(&session).into()]].concat()),
    ]);
    database.batch(&statements).await?.any(3)
}

/// `?3`, `?4` the code. Requires the session and the code.
const IS_REPLACEABLE: &str = concat!(
    FACTOR_ON,
    " IS NOT NULL AND ",
    HAS_ROOM,
    " AND ",
    code_holds!("?3", "?4"),
    " AND ",
    IN_SESSION
);
const INSERT_CODES_REPLACED: [&str; 3] =
    opening!("recovery_codes_replaced", "'on ' || ?5", IS_REPLACEABLE);
const INSERT_FORMER_OFF: &str =
    change!("recovery_codes_replaced", concat!("'off ' || ", FACTOR_ON), IS_REPLACEABLE);

/// `?1` account, `?2` the new factor, which the change that was just opened names. The former row keeps its codes.
const UPDATE_FORMER: &str =
    "UPDATE second_factors SET off_at = unixepoch() WHERE account_id = ?1 AND off_at IS NULL AND id <> ?2
       AND EXISTS (SELECT 1 FROM changes c WHERE c.account_id = ?1 AND c.about = 'on ' || ?2)
     RETURNING id";
/// `?3` the former factor: the new row has the same secret and other codes.
const INSERT_WITH_SECRET: &str =
    "INSERT INTO second_factors (account_id, id, secret, on_at, last_step)
    SELECT account_id, ?2, secret, unixepoch(), last_step FROM second_factors
    WHERE account_id = ?1 AND id = ?3 AND off_at IS NOT NULL
      AND EXISTS (SELECT 1 FROM changes c WHERE c.account_id = ?1 AND c.about = 'on ' || ?2)";

/// Replaces the recovery codes of factor `former` and consumes the presented code; `false` if two-factor is off, too many
/// factors were turned on, the session has ended or the code was already used.
pub async fn replace_recovery_codes(
    database: &Database,
    session: Session,
    code: &Code,
    former: &str,
    new: &NewFactor<'_>,
) -> Result<bool, Error> {
    let (id, session) = session.texts();
    let hashes = json(new.hashes)?;
    let caller = [vec![(&id).into(), (&session).into()], code.params()].concat();
    let factor: Vec<Param<'_>> = vec![(&id).into(), new.id.into()];
    let mut statements = Vec::from(opened(INSERT_CODES_REPLACED, &caller, new.id.into()));
    statements.extend([
        (INSERT_FORMER_OFF, caller),
        (UPDATE_FORMER, factor.clone()),
        (INSERT_WITH_SECRET, [factor.clone(), vec![former.into()]].concat()),
        (INSERT_CODES, [factor, vec![(&hashes).into()]].concat()),
    ]);
    statements.append(&mut code.used_up(&id, &session));
    database.batch(&statements).await?.any(4)
}

fn json(hashes: &[String]) -> Result<String, Error> {
    serde_json::to_string(hashes).map_err(|error| Error::internal(format!("hashes: {error}")))
}

const IS_DISABLEABLE: &str =
    concat!(FACTOR_ON, " IS NOT NULL AND ", code_holds!("?3", "?4"), " AND ", IN_SESSION);
const INSERT_DISABLED: [&str; 3] =
    opening!("two_factor_off", concat!("'off ' || ", FACTOR_ON), IS_DISABLEABLE);
const UPDATE_OFF: &str = concat!(
    "UPDATE second_factors SET off_at = unixepoch()
     WHERE account_id = ?1 AND off_at IS NULL AND EXISTS (SELECT 1 FROM accounts WHERE ",
    IS_DISABLEABLE,
    ") RETURNING id"
);

/// Turns two-factor off. Its row and codes stay while a reset can take this back. Returns `false` if two-factor is off,
/// the session has ended or the code was already used.
pub async fn disable(database: &Database, session: Session, code: &Code) -> Result<bool, Error> {
    let (id, session) = session.texts();
    let deed = [vec![(&id).into(), (&session).into()], code.params()].concat();
    let mut statements = Vec::from(told(INSERT_DISABLED, &deed));
    statements.push((UPDATE_OFF, deed));
    statements.append(&mut code.used_up(&id, &session));
    database.batch(&statements).await?.any(3)
}
