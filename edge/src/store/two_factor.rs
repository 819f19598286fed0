//! Two-factor authentication: each second factor is a row with a sealed secret, its last accepted step and recovery
//! codes. One that is off stays while a reset can take that back.

use constcat::concat;

use super::{
    IN_SESSION,
    changes::{change, opened, opening},
    notices::{deed, notice, told},
    security_events::{self, FailedAttempt},
};
use crate::{
    account::AccountId,
    cf::database::{Database, Param, Statement},
    credentials::session::Session,
    error::Error,
    mail::AccountEvent,
};

/// Second factors that an account can turn on in three days: each is accepted at a reset, and none pushes another out.
/// A reset begins the count anew.
pub const FACTORS_MAX: u32 = 5;

/// The id of account `accounts.id`'s second factor that is on; NULL while there is none.
const FACTOR_ON: &str =
    "(SELECT f.id FROM second_factors f WHERE f.account_id = accounts.id AND f.off_at IS NULL)";

/// Second factors that account `a` has turned on in three days and since its last reset.
pub(super) const RECENT_FACTORS: &str =
    "(SELECT count(*) FROM second_factors f WHERE f.account_id = a.id
    AND f.on_at > max(a.reset_at, unixepoch() - 3 * 86400))";
const HAS_ROOM: &str = "5 > (SELECT count(*) FROM second_factors f WHERE f.account_id = accounts.id
    AND f.on_at > max(accounts.reset_at, unixepoch() - 3 * 86400))";

/// Requires that factor `f` has been on for three days, or had been when it was turned off.
pub(super) const IS_SETTLED: &str =
    "NOT EXISTS (SELECT 1 FROM changes c WHERE c.account_id = f.account_id
    AND c.about = 'on ' || f.id AND c.since > coalesce(f.off_at, unixepoch()) - 3 * 86400)";

/// The code presented for an action, which the action's own batch consumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Code {
    /// The action requires no code.
    Unasked,
    /// Two-factor was off when the account was read, and must still be off.
    Off,
    /// Time step of a factor's code; each is accepted once, and never after a later one (RFC 6238 §5.2).
    Step { factor: String, step: u64 },
    /// Hash of a recovery code.
    Recovery(String),
}

/// Selects the account if the code can still be used: `$text` and `$step` name the parameters from [`Code::params`].
macro_rules! code_holds {
    ($text:literal, $step:literal) => {
        constcat::concat!(
            " CASE WHEN ",
            $text,
            " = '*' THEN true
               WHEN ",
            $step,
            " > 0 THEN EXISTS (SELECT 1 FROM second_factors f WHERE f.account_id = accounts.id AND f.off_at IS NULL
                 AND f.id = ",
            $text,
            " AND f.last_step < ",
            $step,
            ")
               WHEN ",
            $text,
            " <> '' THEN EXISTS (SELECT 1 FROM second_factors f
                 JOIN recovery_codes r ON r.account_id = f.account_id AND r.factor_id = f.id
                 WHERE f.account_id = accounts.id AND f.off_at IS NULL AND r.hash = ",
            $text,
            ")
               ELSE NOT EXISTS (SELECT 1 FROM second_factors f WHERE f.account_id = accounts.id AND f.off_at IS NULL) END "
        )
    };
}
pub(super) use code_holds;

const IS_USED_UP: &str =
    "id = ?1 AND EXISTS (SELECT 1 FROM sessions WHERE id = ?2 AND account_id = ?1)";
/// `?4` step. Rows with the same secret share their steps: new recovery codes make a new row.
const UPDATE_STEP: &str = concat!(
    "UPDATE second_factors SET last_step = max(last_step, ?4) WHERE account_id = ?1
       AND secret = (SELECT secret FROM second_factors WHERE account_id = ?1 AND id = ?3)
       AND EXISTS (SELECT 1 FROM accounts WHERE ",
    IS_USED_UP,
    ")"
);
const CLEAR_WRONG_CODES: &str =
    concat!("UPDATE accounts SET wrong_codes = 0 WHERE wrong_codes > 0 AND ", IS_USED_UP);
const INSERT_CODE_USED: [&str; 2] = deed!(
    "recovery_code_used",
    "EXISTS (SELECT 1 FROM recovery_codes WHERE account_id = ?1 AND hash = ?3) AND ",
    IS_USED_UP
);
const DELETE_RECOVERY_CODE: &str = concat!(
    "DELETE FROM recovery_codes WHERE account_id = ?1 AND hash = ?3 AND EXISTS (SELECT 1 FROM accounts WHERE ",
    IS_USED_UP,
    ")"
);

impl Code {
    pub(super) fn params(&self) -> Vec<Param<'_>> {
        let (text, step) = match self {
            Self::Unasked => ("*", 0),
            Self::Off => ("", 0),
            Self::Step { factor, step } => (factor.as_str(), *step),
            Self::Recovery(hash) => (hash.as_str(), 0),
        };
        vec![text.into(), step.into()]
    }

    /// Consumes the code if this session is alive: the one that the action has started, or the requesting one. The
    /// statements follow the action's own in its batch.
    pub(super) fn used_up<'a>(&'a self, account: &'a str, session: &'a str) -> Vec<Statement<'a>> {
        let params = |code: Param<'a>| vec![account.into(), session.into(), code];
        match self {
            Self::Unasked | Self::Off => Vec::new(),
            Self::Step { factor, step } => vec![
                (UPDATE_STEP, [params(factor.into()), vec![(*step).into()]].concat()),
                (CLEAR_WRONG_CODES, vec![account.into(), session.into()]),
            ],
            Self::Recovery(hash) => {
                let mut statements = Vec::from(told(INSERT_CODE_USED, &params(hash.into())));
                statements.push((DELETE_RECOVERY_CODE, params(hash.into())));
                statements
            }
        }
    }
}

const INSERT_WRONG_CODES_NOTICE: &str = notice!("wrong_codes", "id = ?1 AND wrong_codes % 10 = 9");

const UPDATE_WRONG_CODES: &str = "UPDATE accounts SET wrong_codes = wrong_codes + 1 WHERE id = ?1";

pub async fn count_wrong_code(
    database: &Database,
    account: AccountId,
    deed: &AccountEvent,
) -> Result<(), Error> {
    let account = account.to_string();
    let params = vec![(&account).into()];
    let event = security_events::failed(&account, FailedAttempt::Code, deed);
    database
        .batch(&[(INSERT_WRONG_CODES_NOTICE, params.clone()), (UPDATE_WRONG_CODES, params), event])
        .await
        .map(drop)
}

const UPDATE_SEAL: &str =
    "UPDATE second_factors SET secret = ?3 WHERE account_id = ?1 AND secret = ?2";

pub async fn reseal(
    database: &Database,
    account: AccountId,
    outdated: &str,
    fresh: &str,
) -> Result<(), Error> {
    let account = account.to_string();
    database.run((UPDATE_SEAL, vec![(&account).into(), outdated.into(), fresh.into()])).await
}

const SELECT_RECOVERY_CODE: &str = "SELECT r.hash FROM second_factors f
    JOIN recovery_codes r ON r.account_id = f.account_id AND r.factor_id = f.id
    WHERE f.account_id = ?1 AND f.off_at IS NULL AND r.hash = ?2";

pub async fn is_recovery_code(
    database: &Database,
    account: AccountId,
    hash: &str,
) -> Result<bool, Error> {
    let account = account.to_string();
    database.any((SELECT_RECOVERY_CODE, vec![(&account).into(), hash.into()])).await
}

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
