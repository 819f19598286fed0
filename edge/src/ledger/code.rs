//! The code of a second factor that an action presents: whether it can be used, and its end.

use constcat::concat;

use super::{
    notices::{deed, notice, told},
    security_events::{self, FailedAttempt},
};
use crate::{
    account::AccountId,
    cf::database::{Database, Param, Statement},
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
pub(crate) use code_holds;

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
    pub fn params(&self) -> Vec<Param<'_>> {
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
    pub fn used_up<'a>(&'a self, account: &'a str, session: &'a str) -> Vec<Statement<'a>> {
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
