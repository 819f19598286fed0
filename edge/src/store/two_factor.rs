//! Two-factor authentication: sealed secrets, accepted steps, recovery codes.

use serde::Deserialize;

use crate::{account::AccountId, caller::SessionCaller, cf::database::Database, error::Error};

#[derive(Deserialize)]
struct Found {}

// The condition makes a step acceptable once, and never after a later one (RFC 6238 §5.2).
const ACCEPT_STEP: &str = "
    UPDATE accounts SET totp_last_step = ?2
    WHERE id = ?1 AND totp_last_step < ?2 AND totp_secret IS NOT NULL
    RETURNING id";

/// Uses up a time step; `false` when it, or a later one, was used before.
///
/// # Errors
/// [`Error::unavailable`] when the database fails.
pub async fn accept_step(
    database: &Database,
    account: AccountId,
    step: u64,
) -> Result<bool, Error> {
    let account = account.to_string();
    let row = database.first::<Found>((ACCEPT_STEP, vec![(&account).into(), step.into()])).await?;
    Ok(row.is_some())
}

const HAS_RECOVERY_CODE: &str =
    "SELECT hash FROM recovery_codes WHERE account_id = ?1 AND hash = ?2";
const USE_RECOVERY_CODE: &str =
    "DELETE FROM recovery_codes WHERE account_id = ?1 AND hash = ?2 RETURNING hash";

/// Whether this recovery code is unused.
///
/// # Errors
/// As [`accept_step`].
pub async fn has_recovery_code(
    database: &Database,
    account: AccountId,
    hash: &str,
) -> Result<bool, Error> {
    recovery_code(database, HAS_RECOVERY_CODE, account, hash).await
}

/// Uses up a recovery code; `false` when it was used before.
///
/// # Errors
/// As [`accept_step`].
pub async fn use_recovery_code(
    database: &Database,
    account: AccountId,
    hash: &str,
) -> Result<bool, Error> {
    recovery_code(database, USE_RECOVERY_CODE, account, hash).await
}

async fn recovery_code(
    database: &Database,
    sql: &'static str,
    account: AccountId,
    hash: &str,
) -> Result<bool, Error> {
    let account = account.to_string();
    let row = database.first::<Found>((sql, vec![(&account).into(), hash.into()])).await?;
    Ok(row.is_some())
}

const PEND: &str = "
    UPDATE accounts SET totp_pending = ?3
    WHERE id = ?1 AND session_version = ?2 AND state = 'confirmed' AND totp_secret IS NULL
    RETURNING id";

/// Keeps a secret until its first valid code; a newer one replaces it. `false` when two-factor is on
/// or the session is over.
///
/// # Errors
/// As [`accept_step`].
pub async fn pend(database: &Database, caller: SessionCaller, sealed: &str) -> Result<bool, Error> {
    let id = caller.account.to_string();
    let params = vec![(&id).into(), caller.version.into(), sealed.into()];
    Ok(database.first::<Found>((PEND, params)).await?.is_some())
}

const ENABLE: &str = "
    UPDATE accounts SET totp_secret = totp_pending, totp_pending = NULL, totp_last_step = ?4
    WHERE id = ?1 AND session_version = ?2 AND state = 'confirmed'
      AND totp_secret IS NULL AND totp_pending = ?3
    RETURNING id";

/// `?4` a JSON array of hashes: one statement whatever their number. Runs before [`ENABLE`] and under
/// its condition, so that of two enablings at once only the first leaves its codes.
const FIRST_RECOVERY_CODES: &str = "
    INSERT INTO recovery_codes (account_id, hash)
    SELECT ?1, value FROM json_each(?4)
    WHERE EXISTS (
      SELECT 1 FROM accounts WHERE id = ?1 AND session_version = ?2 AND state = 'confirmed'
        AND totp_secret IS NULL AND totp_pending = ?3)";

/// Turns two-factor on with the pending secret, its first step used up, and stores the recovery
/// codes' hashes, in one transaction. `false` when the pending secret is another one by now.
///
/// # Errors
/// As [`accept_step`]; then nothing has changed.
pub async fn enable(
    database: &Database,
    caller: SessionCaller,
    pending: &str,
    step: u64,
    hashes: &[String],
) -> Result<bool, Error> {
    let id = caller.account.to_string();
    let hashes = json(hashes)?;
    let version = caller.version.into();
    let rows = database
        .batch(&[
            (FIRST_RECOVERY_CODES, vec![(&id).into(), version, pending.into(), (&hashes).into()]),
            (ENABLE, vec![(&id).into(), version, pending.into(), step.into()]),
        ])
        .await?;
    Ok(rows.first::<Found>(1)?.is_some())
}

const FORGET_RECOVERY_CODES: &str = "DELETE FROM recovery_codes WHERE account_id = ?1";

const ADD_RECOVERY_CODES: &str = "
    INSERT INTO recovery_codes (account_id, hash)
    SELECT ?1, value FROM json_each(?2)
    WHERE EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND totp_secret IS NOT NULL)";

/// Replaces the recovery codes.
///
/// # Errors
/// As [`accept_step`]; then the old ones stay.
pub async fn replace_recovery_codes(
    database: &Database,
    account: AccountId,
    hashes: &[String],
) -> Result<(), Error> {
    let id = account.to_string();
    let hashes = json(hashes)?;
    database
        .batch(&[
            (FORGET_RECOVERY_CODES, vec![(&id).into()]),
            (ADD_RECOVERY_CODES, vec![(&id).into(), (&hashes).into()]),
        ])
        .await
        .map(drop)
}

fn json(hashes: &[String]) -> Result<String, Error> {
    serde_json::to_string(hashes).map_err(|error| Error::internal(format!("hashes: {error}")))
}

const DISABLE: &str = "
    UPDATE accounts SET totp_secret = NULL, totp_pending = NULL
    WHERE id = ?1 AND session_version = ?2 AND state = 'confirmed' AND totp_secret IS NOT NULL
    RETURNING id";

// Only once two-factor is off: where DISABLE found the session over, the codes stay.
const FORGET_USELESS_CODES: &str = "
    DELETE FROM recovery_codes WHERE account_id = ?1
      AND EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND totp_secret IS NULL)";

/// Turns two-factor off and forgets the recovery codes, in one transaction. `false` when it is off or
/// the session is over.
///
/// # Errors
/// As [`accept_step`]; then nothing has changed.
pub async fn disable(database: &Database, caller: SessionCaller) -> Result<bool, Error> {
    let id = caller.account.to_string();
    let rows = database
        .batch(&[
            (DISABLE, vec![(&id).into(), caller.version.into()]),
            (FORGET_USELESS_CODES, vec![(&id).into()]),
        ])
        .await?;
    Ok(rows.first::<Found>(0)?.is_some())
}
