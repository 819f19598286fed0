//! The codes that a reset or a stop accepts: of any second factor that is on, or that was on within three days.
//!
//! A second factor counts once it has been on for three days, and until it has been off for three. While one counts, a
//! reset and a stop need a code.

use constcat::concat;
use serde::Deserialize;

use super::two_factor_sql::IS_SETTLED;
use crate::{
    account::AccountId,
    cf::database::{Database, Param},
    error::Error,
    ledger::account::{SELECT_BY_ID, StoredAccount},
};

/// Requires that factor `f` is on or was on within three days: a reset accepts its codes.
pub(super) const IS_KEPT: &str =
    "(f.off_at IS NULL OR EXISTS (SELECT 1 FROM changes c WHERE c.account_id = f.account_id
       AND c.about = 'off ' || f.id AND c.since > unixepoch() - 3 * 86400))";

pub(super) const COUNTS: &str = concat!(IS_SETTLED, " AND ", IS_KEPT);

/// The code presented for a reset or a stop, which accept a code that a sign-in has used: the emailed link is a second
/// proof.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResetCode {
    /// The factor whose code was presented; empty without a code.
    pub factor: String,
    /// Step of an authenticator's code, or 0.
    pub step: u64,
    /// Hash of a recovery code, or empty.
    pub recovery: String,
}

impl ResetCode {
    pub(super) fn params(&self) -> Vec<Param<'_>> {
        vec![(&self.factor).into(), (&self.recovery).into()]
    }
}

/// Selects the account if the code fits: `$factor` and `$recovery` name the parameters from [`ResetCode::params`].
macro_rules! fits {
    ($factor:literal, $recovery:literal) => {
        constcat::concat!(
            " CASE WHEN ",
            $factor,
            " = '' THEN NOT EXISTS (SELECT 1 FROM second_factors f WHERE f.account_id = accounts.id AND ",
            $crate::accounts::reset_codes_sql::COUNTS,
            ") ELSE EXISTS (SELECT 1 FROM second_factors f WHERE f.account_id = accounts.id AND f.id = ",
            $factor,
            " AND ",
            $crate::accounts::reset_codes_sql::IS_KEPT,
            " AND (",
            $recovery,
            " = '' OR EXISTS (SELECT 1 FROM recovery_codes r
                 WHERE r.account_id = f.account_id AND r.factor_id = f.id AND r.hash = ",
            $recovery,
            "))) END "
        )
    };
}
pub(super) use fits;

#[derive(Debug, Deserialize)]
pub struct KeptFactor {
    pub id: String,
    pub secret: String,
    pub counts: u8,
    /// Whether the presented recovery code is one of its unused ones.
    pub has_code: u8,
}

/// The oldest first: if a code fits several rows, that one is meant. Else a thief's recovery codes would stay.
const SELECT_KEPT: &str = concat!(
    "SELECT f.id, f.secret, ",
    COUNTS,
    " AS counts, EXISTS (SELECT 1 FROM recovery_codes r
         WHERE r.account_id = f.account_id AND r.factor_id = f.id AND r.hash = ?2) AS has_code
     FROM second_factors f WHERE f.account_id = ?1 AND ",
    IS_KEPT,
    " ORDER BY f.on_at, f.id"
);

/// The factors of an account whose codes a reset accepts, and the account. `recovery` is the hash of a presented recovery
/// code, or empty.
pub async fn factors(
    database: &Database,
    account: AccountId,
    recovery: &str,
) -> Result<Option<(StoredAccount, Vec<KeptFactor>)>, Error> {
    let id = account.to_string();
    let kept = (SELECT_KEPT, vec![(&id).into(), recovery.into()]);
    let rows = database.batch(&[(SELECT_BY_ID, vec![(&id).into()]), kept]).await?;
    rows.first(0)?.map(|account| Ok((account, rows.all(1)?))).transpose()
}
