//! Two-factor authentication: sealed secrets, accepted steps, recovery codes.

use constcat::concat;

use super::{IN_SESSION, notices::notice};
use crate::{
    account::AccountId, cf::database::Database, credentials::session::Session, error::Error,
};

// The condition makes a step acceptable once, and never after a later one (RFC 6238 §5.2).
const ACCEPT_STEP: &str = "
    UPDATE accounts SET totp_last_step = ?2, wrong_codes = 0
    WHERE id = ?1 AND totp_last_step < ?2 AND totp_secret IS NOT NULL
    RETURNING id";

/// Uses up a time step; `false` when it, or a later one, was used before.
pub async fn accept_step(
    database: &Database,
    account: AccountId,
    step: u64,
) -> Result<bool, Error> {
    let account = account.to_string();
    database.any((ACCEPT_STEP, vec![(&account).into(), step.into()])).await
}

// Every tenth: a person who mistypes is not told of.
const MANY_WRONG: &str = notice!("wrong_codes", "id = ?1 AND wrong_codes % 10 = 9");

const WRONG: &str = "UPDATE accounts SET wrong_codes = wrong_codes + 1 WHERE id = ?1";

/// Counts a wrong code; every tenth in a row leaves a notice to the owner.
pub async fn count_wrong_code(database: &Database, account: AccountId) -> Result<(), Error> {
    let account = account.to_string();
    let params = vec![(&account).into()];
    database.batch(&[(MANY_WRONG, params.clone()), (WRONG, params)]).await.map(drop)
}

const RECOVERY_CODE_USED: &str = notice!(
    "recovery_code_used",
    "id = ?1 AND EXISTS (SELECT 1 FROM recovery_codes WHERE account_id = ?1 AND hash = ?2)"
);
// Only if the secret has not been replaced in the meantime.
const RESEAL: &str = "UPDATE accounts SET totp_secret = ?3 WHERE id = ?1 AND totp_secret = ?2";

/// Replaces a seal that was made under a secret that is going.
pub async fn reseal(
    database: &Database,
    account: AccountId,
    outdated: &str,
    fresh: &str,
) -> Result<(), Error> {
    let account = account.to_string();
    database.run((RESEAL, vec![(&account).into(), outdated.into(), fresh.into()])).await
}

const USE_RECOVERY_CODE: &str =
    "DELETE FROM recovery_codes WHERE account_id = ?1 AND hash = ?2 RETURNING hash";

/// Uses up a recovery code; `false` when it was used before.
pub async fn use_recovery_code(
    database: &Database,
    account: AccountId,
    hash: &str,
) -> Result<bool, Error> {
    let account = account.to_string();
    let params = vec![(&account).into(), hash.into()];
    let rows = database
        .batch(&[(RECOVERY_CODE_USED, params.clone()), (USE_RECOVERY_CODE, params)])
        .await?;
    rows.any(1)
}

const PEND: &str = concat!(
    "UPDATE accounts SET totp_pending = ?3 WHERE totp_secret IS NULL AND ",
    IN_SESSION,
    " RETURNING id"
);

/// Keeps a secret until its first valid code; a newer one replaces it. `false` when two-factor is on
/// or the session is over.
pub async fn pend(database: &Database, session: Session, sealed: &str) -> Result<bool, Error> {
    let (id, session) = session.texts();
    database.any((PEND, vec![(&id).into(), (&session).into(), sealed.into()])).await
}

const ENABLE: &str = concat!(
    "UPDATE accounts SET totp_secret = totp_pending, totp_pending = NULL, totp_last_step = ?4
     WHERE totp_secret IS NULL AND totp_pending = ?3 AND ",
    IN_SESSION,
    " RETURNING id"
);

const ON: &str =
    notice!("two_factor_on", "totp_secret IS NULL AND totp_pending = ?3 AND ", IN_SESSION);

/// `?4` a JSON array of hashes: one statement whatever their number. Runs before [`ENABLE`] and under
/// its condition, so that of two enablings at once only the first leaves its codes.
const FIRST_RECOVERY_CODES: &str = concat!(
    "INSERT INTO recovery_codes (account_id, hash)
     SELECT ?1, value FROM json_each(?4)
     WHERE EXISTS (
       SELECT 1 FROM accounts WHERE totp_secret IS NULL AND totp_pending = ?3 AND ",
    IN_SESSION,
    ")"
);

/// The other sessions have not shown a code. `?3` the secret that is on by now.
const END_OTHER_SESSIONS: &str = "
    DELETE FROM sessions WHERE account_id = ?1 AND id <> ?2
      AND EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND totp_secret = ?3)";

/// Turns two-factor on with the pending secret, its first step used up, and stores the recovery codes'
/// hashes and ends the other sessions, in one transaction. `false` when the pending secret is another one
/// by now.
pub async fn enable(
    database: &Database,
    session: Session,
    pending: &str,
    step: u64,
    hashes: &[String],
) -> Result<bool, Error> {
    let (id, session) = session.texts();
    let hashes = json(hashes)?;
    let rows = database
        .batch(&[
            (ON, vec![(&id).into(), (&session).into(), pending.into()]),
            (
                FIRST_RECOVERY_CODES,
                vec![(&id).into(), (&session).into(), pending.into(), (&hashes).into()],
            ),
            (ENABLE, vec![(&id).into(), (&session).into(), pending.into(), step.into()]),
            (END_OTHER_SESSIONS, vec![(&id).into(), (&session).into(), pending.into()]),
        ])
        .await?;
    rows.any(2)
}

/// Both under the condition of the session.
const FORGET_RECOVERY_CODES: &str = concat!(
    "DELETE FROM recovery_codes WHERE account_id = ?1 AND EXISTS (
       SELECT 1 FROM accounts WHERE totp_secret IS NOT NULL AND ",
    IN_SESSION,
    ")"
);

const ADD_RECOVERY_CODES: &str = concat!(
    "INSERT INTO recovery_codes (account_id, hash)
     SELECT ?1, value FROM json_each(?3)
     WHERE EXISTS (SELECT 1 FROM accounts WHERE totp_secret IS NOT NULL AND ",
    IN_SESSION,
    ") RETURNING hash"
);

const CODES_REPLACED: &str =
    notice!("recovery_codes_replaced", "totp_secret IS NOT NULL AND ", IN_SESSION);

/// Replaces the recovery codes; `false` when two-factor is off or the session is over.
pub async fn replace_recovery_codes(
    database: &Database,
    session: Session,
    hashes: &[String],
) -> Result<bool, Error> {
    let (id, session) = session.texts();
    let hashes = json(hashes)?;
    let rows = database
        .batch(&[
            (CODES_REPLACED, vec![(&id).into(), (&session).into()]),
            (FORGET_RECOVERY_CODES, vec![(&id).into(), (&session).into()]),
            (ADD_RECOVERY_CODES, vec![(&id).into(), (&session).into(), (&hashes).into()]),
        ])
        .await?;
    rows.any(2)
}

fn json(hashes: &[String]) -> Result<String, Error> {
    serde_json::to_string(hashes).map_err(|error| Error::internal(format!("hashes: {error}")))
}

const DISABLE: &str = concat!(
    "UPDATE accounts SET totp_secret = NULL, totp_pending = NULL
     WHERE totp_secret IS NOT NULL AND ",
    IN_SESSION,
    " RETURNING id"
);

const OFF: &str = notice!("two_factor_off", "totp_secret IS NOT NULL AND ", IN_SESSION);

// Only once two-factor is off: where DISABLE found the session over, the codes stay.
const FORGET_USELESS_CODES: &str = "
    DELETE FROM recovery_codes WHERE account_id = ?1
      AND EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND totp_secret IS NULL)";

/// Turns two-factor off and forgets the recovery codes, in one transaction. `false` when it is off or
/// the session is over.
pub async fn disable(database: &Database, session: Session) -> Result<bool, Error> {
    let (id, session) = session.texts();
    let rows = database
        .batch(&[
            (OFF, vec![(&id).into(), (&session).into()]),
            (DISABLE, vec![(&id).into(), (&session).into()]),
            (FORGET_USELESS_CODES, vec![(&id).into()]),
        ])
        .await?;
    rows.any(1)
}
