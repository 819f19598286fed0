//! Two-factor authentication: sealed secrets, accepted steps, recovery codes.

use constcat::concat;

use super::{
    IN_SESSION, IS_UNFROZEN,
    former_credentials::set_aside,
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

/// The code presented for an action, which the action's own batch consumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Code {
    /// The action requires no code.
    Unasked,
    /// Two-factor was off when the account was read, and must still be off.
    Off,
    /// Time step of an authenticator's code; each is accepted once, and never after a later one
    /// (RFC 6238 §5.2).
    Step(u64),
    /// Hash of a recovery code.
    Recovery(String),
}

/// Selects the account if the code can still be used: `$recovery` and `$step` name the parameters
/// from [`Code::params`].
macro_rules! code_holds {
    ($recovery:literal, $step:literal) => {
        constcat::concat!(
            " CASE WHEN ",
            $recovery,
            " = '*' THEN true
               WHEN ",
            $step,
            " > 0 THEN totp_secret IS NOT NULL AND totp_last_step < ",
            $step,
            "
               WHEN ",
            $recovery,
            " <> '' THEN EXISTS (SELECT 1 FROM recovery_codes r
                 WHERE r.account_id = accounts.id AND r.hash = ",
            $recovery,
            ")
               ELSE totp_secret IS NULL END "
        )
    };
}
pub(super) use code_holds;

/// `?1` account, `?2` session, `?3` the code, `?4` whether a frozen account's code isn't used up.
const IS_USED_UP: &str = concat!(
    "id = ?1 AND (?4 = 0 OR ",
    IS_UNFROZEN,
    ") AND EXISTS (SELECT 1 FROM sessions WHERE id = ?2 AND account_id = ?1)"
);
const UPDATE_STEP: &str = concat!(
    "UPDATE accounts SET totp_last_step = max(totp_last_step, ?3), wrong_codes = 0
     WHERE totp_secret IS NOT NULL AND ",
    IS_USED_UP
);
const INSERT_CODE_USED: [&str; 2] = deed!(
    "recovery_code_used",
    "EXISTS (SELECT 1 FROM recovery_codes WHERE account_id = ?1 AND hash = ?3) AND ",
    IS_USED_UP
);
const DELETE_RECOVERY_CODE: &str = concat!(
    "DELETE FROM recovery_codes WHERE account_id = ?1 AND hash = ?3
     AND EXISTS (SELECT 1 FROM accounts WHERE ",
    IS_USED_UP,
    ")"
);

impl Code {
    pub(super) fn params(&self) -> Vec<Param<'_>> {
        let (recovery, step) = match self {
            Self::Unasked => ("*", 0),
            Self::Off => ("", 0),
            Self::Step(step) => ("", *step),
            Self::Recovery(hash) => (hash.as_str(), 0),
        };
        vec![recovery.into(), step.into()]
    }

    /// Consumes the code if this session is alive: the one that the action has started, or the requesting one. The
    /// statements follow the action's own in its batch.
    pub(super) fn used_up<'a>(&'a self, account: &'a str, session: &'a str) -> Vec<Statement<'a>> {
        self.statements(account, session, false)
    }

    /// Like [`used_up`](Self::used_up), for an action that a freeze stops: it keeps the code, too.
    pub(super) fn used_up_unless_frozen<'a>(
        &'a self,
        account: &'a str,
        session: &'a str,
    ) -> Vec<Statement<'a>> {
        self.statements(account, session, true)
    }

    fn statements<'a>(
        &'a self,
        account: &'a str,
        session: &'a str,
        unless_frozen: bool,
    ) -> Vec<Statement<'a>> {
        let params = |code: Param<'a>| {
            vec![account.into(), session.into(), code, u32::from(unless_frozen).into()]
        };
        match self {
            Self::Unasked | Self::Off => Vec::new(),
            Self::Step(step) => vec![(UPDATE_STEP, params((*step).into()))],
            Self::Recovery(hash) => {
                let mut statements = Vec::from(told(INSERT_CODE_USED, &params(hash.into())));
                statements.push((DELETE_RECOVERY_CODE, params(hash.into())));
                statements
            }
        }
    }
}

// Only every tenth wrong code stores a notice: a single typing mistake causes none.
const INSERT_WRONG_CODES_NOTICE: &str = notice!("wrong_codes", "id = ?1 AND wrong_codes % 10 = 9");

const UPDATE_WRONG_CODES: &str = "UPDATE accounts SET wrong_codes = wrong_codes + 1 WHERE id = ?1";

/// Counts a wrong code; every tenth since the last accepted authenticator code stores a notice to the owner.
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

// Changes nothing if the secret was replaced in the meantime.
const UPDATE_SEAL: &str = "UPDATE accounts SET totp_secret = ?3 WHERE id = ?1 AND totp_secret = ?2";

/// Replaces a seal made under a retiring secret.
pub async fn reseal(
    database: &Database,
    account: AccountId,
    outdated: &str,
    fresh: &str,
) -> Result<(), Error> {
    let account = account.to_string();
    database.run((UPDATE_SEAL, vec![(&account).into(), outdated.into(), fresh.into()])).await
}

const SELECT_RECOVERY_CODE: &str =
    "SELECT hash FROM recovery_codes WHERE account_id = ?1 AND hash = ?2";

/// True if this is an unused recovery code. The code isn't consumed.
pub async fn is_recovery_code(
    database: &Database,
    account: AccountId,
    hash: &str,
) -> Result<bool, Error> {
    let account = account.to_string();
    database.any((SELECT_RECOVERY_CODE, vec![(&account).into(), hash.into()])).await
}

const UPDATE_PENDING: &str = concat!(
    "UPDATE accounts SET totp_pending = ?3 WHERE totp_secret IS NULL AND ",
    IN_SESSION,
    " RETURNING id"
);

/// Stores a secret until its first valid code; a newer secret replaces it. Returns `false` if
/// two-factor is on or the session has ended.
pub async fn pend(database: &Database, session: Session, sealed: &str) -> Result<bool, Error> {
    let (id, session) = session.texts();
    database.any((UPDATE_PENDING, vec![(&id).into(), (&session).into(), sealed.into()])).await
}

const IS_ENABLEABLE: &str =
    concat!("totp_secret IS NULL AND totp_pending = ?3 AND ", IS_UNFROZEN, " AND ", IN_SESSION);
const INSERT_ENABLED: [&str; 2] = deed!("two_factor_on", IS_ENABLEABLE);
const SET_ASIDE_WITHOUT_SECRET: [&str; 2] = set_aside!(IS_ENABLEABLE);
const UPDATE_ENABLED: &str = concat!(
    "UPDATE accounts SET totp_secret = totp_pending, totp_pending = NULL, totp_last_step = ?4 WHERE ",
    IS_ENABLEABLE,
    " RETURNING id"
);

/// `?4` a JSON array of hashes: one statement for any number. Runs before [`UPDATE_ENABLED`] and under its condition,
/// so that only the first of two concurrent requests stores its codes.
const INSERT_FIRST_CODES: &str = concat!(
    "INSERT INTO recovery_codes (account_id, hash)
     SELECT ?1, value FROM json_each(?4)
     WHERE EXISTS (SELECT 1 FROM accounts WHERE ",
    IS_ENABLEABLE,
    ")"
);

/// Ends the other sessions, which haven't presented a code. `?3` is the newly enabled secret.
const DELETE_OTHER_SESSIONS: &str = "
    DELETE FROM sessions WHERE account_id = ?1 AND id <> ?2
      AND EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND totp_secret = ?3)";

/// Enables two-factor with the pending secret, consumes its first step, stores the recovery codes'
/// hashes and ends the other sessions, in one transaction. Returns `false` if the pending secret
/// has been replaced or enabled, the session has ended or the account is frozen.
pub async fn enable(
    database: &Database,
    session: Session,
    pending: &str,
    step: u64,
    hashes: &[String],
) -> Result<bool, Error> {
    let (id, session) = session.texts();
    let hashes = json(hashes)?;
    let deed: Vec<Param<'_>> = vec![(&id).into(), (&session).into(), pending.into()];
    let mut statements =
        [INSERT_ENABLED, SET_ASIDE_WITHOUT_SECRET].map(|two| told(two, &deed)).concat();
    statements.push((INSERT_FIRST_CODES, [deed.clone(), vec![(&hashes).into()]].concat()));
    let index = statements.len();
    statements.push((UPDATE_ENABLED, [deed.clone(), vec![step.into()]].concat()));
    statements.push((DELETE_OTHER_SESSIONS, deed));
    database.batch(&statements).await?.any(index)
}

/// Requires the session and the code, like the next statement.
const INSERT_CODES_REPLACED: [&str; 2] = deed!(
    "recovery_codes_replaced",
    "totp_secret IS NOT NULL AND ",
    code_holds!("?3", "?4"),
    " AND ",
    IN_SESSION
);

/// A presented recovery code is removed with the previous codes.
const INSERT_RECOVERY_CODES: &str = concat!(
    "INSERT INTO recovery_codes (account_id, hash)
     SELECT ?1, value FROM json_each(?5)
     WHERE EXISTS (SELECT 1 FROM accounts WHERE totp_secret IS NOT NULL AND ",
    code_holds!("?3", "?4"),
    " AND ",
    IN_SESSION,
    ") RETURNING hash"
);

/// `?2` the new hashes: nothing is deleted unless they were added.
const DELETE_OLDER_CODES: &str = "
    DELETE FROM recovery_codes WHERE account_id = ?1
      AND hash NOT IN (SELECT value FROM json_each(?2))
      AND EXISTS (SELECT 1 FROM recovery_codes n JOIN json_each(?2) j ON j.value = n.hash
        WHERE n.account_id = ?1)";

/// Replaces the recovery codes and consumes the presented code; `false` if two-factor is off, the
/// session has ended or the code was already used.
pub async fn replace_recovery_codes(
    database: &Database,
    session: Session,
    code: &Code,
    hashes: &[String],
) -> Result<bool, Error> {
    let (id, session) = session.texts();
    let hashes = json(hashes)?;
    let deed = [vec![(&id).into(), (&session).into()], code.params()].concat();
    let mut statements = Vec::from(told(INSERT_CODES_REPLACED, &deed));
    statements.push((INSERT_RECOVERY_CODES, [deed, vec![(&hashes).into()]].concat()));
    statements.append(&mut code.used_up(&id, &session));
    statements.push((DELETE_OLDER_CODES, vec![(&id).into(), (&hashes).into()]));
    database.batch(&statements).await?.any(2)
}

fn json(hashes: &[String]) -> Result<String, Error> {
    serde_json::to_string(hashes).map_err(|error| Error::internal(format!("hashes: {error}")))
}

const IS_DISABLEABLE: &str = concat!(
    "totp_secret IS NOT NULL AND ",
    code_holds!("?3", "?4"),
    " AND ",
    IS_UNFROZEN,
    " AND ",
    IN_SESSION
);
const INSERT_DISABLED: [&str; 2] = deed!("two_factor_off", IS_DISABLEABLE);
const SET_ASIDE_WITH_SECRET: [&str; 2] = set_aside!(IS_DISABLEABLE);
const UPDATE_DISABLED: &str = concat!(
    "UPDATE accounts SET totp_secret = NULL, totp_pending = NULL WHERE ",
    IS_DISABLEABLE,
    " RETURNING id"
);

// Deletes nothing while two-factor is on: if `UPDATE_DISABLED` found no live session, the codes stay.
const DELETE_USELESS_CODES: &str = "
    DELETE FROM recovery_codes WHERE account_id = ?1
      AND EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND totp_secret IS NULL)";

/// Disables two-factor and removes the recovery codes, in one transaction. Returns `false` if
/// two-factor is off, the session has ended, the code was already used or the account is frozen.
pub async fn disable(database: &Database, session: Session, code: &Code) -> Result<bool, Error> {
    let (id, session) = session.texts();
    let deed = [vec![(&id).into(), (&session).into()], code.params()].concat();
    let mut statements =
        [INSERT_DISABLED, SET_ASIDE_WITH_SECRET].map(|two| told(two, &deed)).concat();
    let index = statements.len();
    statements.push((UPDATE_DISABLED, deed));
    statements.append(&mut code.used_up_unless_frozen(&id, &session));
    statements.push((DELETE_USELESS_CODES, vec![(&id).into()]));
    database.batch(&statements).await?.any(index)
}
