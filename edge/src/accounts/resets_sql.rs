//! Resets of an account: the way back. A reset takes back what is open (`changes_sql.rs`): it ends sessions and links,
//! drops what waits, removes passkeys and keys that may be a thief's, and decides which second factor is on: the one
//! whose code was shown (`reset_codes_sql.rs`), or none.

use constcat::concat;
use serde::Deserialize;

use super::{
    changes_sql::{SUSPECT_SINCE, opening},
    reset_codes_sql::{ResetCode, fits},
    sessions_sql::{self, NewSession},
    stops_sql,
    two_factor_sql::IS_SETTLED,
};
use crate::{
    cf::database::{Database, Param, Statement},
    credentials::mailed_token::TokenHash,
    error::Error,
    ledger::{
        BY_RESET_LINK,
        account::{IS_OPEN, SELECT_ACCOUNT, StoredAccount},
        code::Code,
        notices::{deed, told},
        own_key::{OwnVersion, own_id},
    },
};

const SELECT_BY_RESET_TOKEN: &str = concat!(SELECT_ACCOUNT, BY_RESET_LINK);

/// The account of a reset link. The link isn't consumed.
pub async fn by_token(
    database: &Database,
    token: &TokenHash,
    now: u64,
) -> Result<Option<StoredAccount>, Error> {
    database.first((SELECT_BY_RESET_TOKEN, vec![token.as_str().into(), now.into()])).await
}

#[derive(Debug, Deserialize)]
pub struct SuspectKey {
    pub id: String,
    pub at: u64,
}

/// Requires that key `k` of account `accounts.id` may be a thief's. Each sign-in has shown the account's own key, so it is
/// suspect while a change is open.
const IS_SUSPECT: &str = concat!(
    "CASE WHEN k.id <> ",
    own_id!(),
    " THEN max(k.created_at, k.replaced_at) > ",
    SUSPECT_SINCE,
    " ELSE k.replaced_at > ",
    SUSPECT_SINCE,
    " OR EXISTS (SELECT 1 FROM changes c WHERE c.account_id = accounts.id AND ",
    IS_OPEN,
    ") END"
);

const SELECT_SUSPECT_KEYS: &str = concat!(
    "SELECT k.id, max(k.created_at, k.replaced_at) AS at FROM (SELECT id FROM accounts WHERE ",
    BY_RESET_LINK,
    ") accounts JOIN keys k ON k.account_id = accounts.id WHERE ",
    IS_SUSPECT,
    " ORDER BY k.id <> ",
    own_id!(),
    ", at, k.id"
);
const SELECT_PASSKEYS: &str = concat!(
    "SELECT count(*) AS passkeys FROM (SELECT id FROM accounts WHERE ",
    BY_RESET_LINK,
    ") accounts JOIN passkeys p ON p.account_id = accounts.id WHERE p.created_at > ",
    SUSPECT_SINCE
);

#[derive(Deserialize)]
struct SuspectPasskeys {
    passkeys: u32,
}

pub async fn suspects(
    database: &Database,
    token: &TokenHash,
    now: u64,
) -> Result<(Vec<SuspectKey>, u32), Error> {
    let link: Vec<Param<'_>> = vec![token.as_str().into(), now.into()];
    let rows =
        database.batch(&[(SELECT_SUSPECT_KEYS, link.clone()), (SELECT_PASSKEYS, link)]).await?;
    Ok((rows.all(0)?, rows.first::<SuspectPasskeys>(1)?.map_or(0, |count| count.passkeys)))
}

// Parameters of the next statements: `?1` hash of the token, `?2` now, `?3`, `?4` the code. They precede the new password.
const IS_RESETTABLE: &str = concat!(BY_RESET_LINK, " AND ", fits!("?3", "?4"));

/// `?5` a JSON array of the keys that the owner keeps.
const ENDS: &str = concat!(
    "k.id NOT IN (SELECT value FROM json_each(?5)) AND EXISTS (
       SELECT 1 FROM accounts WHERE accounts.id = k.account_id AND (",
    IS_SUSPECT,
    ") AND ",
    IS_RESETTABLE,
    ")"
);
const UPDATE_OWN_KEY: &str = concat!(
    "UPDATE keys AS k SET version = version + 1, previous_until = 0, replaced_at = unixepoch() WHERE k.id = ",
    own_id!(),
    " AND ",
    ENDS
);
const DELETE_KEYS: &str = concat!("DELETE FROM keys AS k WHERE k.id <> ", own_id!(), " AND ", ENDS);
const DELETE_PASSKEYS: &str = concat!(
    "DELETE FROM passkeys WHERE EXISTS (SELECT 1 FROM accounts WHERE accounts.id = passkeys.account_id
       AND passkeys.created_at > ",
    SUSPECT_SINCE,
    " AND ",
    IS_RESETTABLE,
    ")"
);
const INSERT_CODE_USED: [&str; 2] = deed!("recovery_code_used", IS_RESETTABLE);
const INSERT_CHANGED: [&str; 3] = opening!("password_changed", "'password'", IS_RESETTABLE);
const UPDATE_PASSWORD: &str = concat!(
    "UPDATE accounts SET password_hash = ?5, password_at = unixepoch(), reset_at = unixepoch(),
       wrong_codes = CASE ?3 WHEN '' THEN wrong_codes ELSE 0 END
     WHERE ",
    IS_RESETTABLE,
    " RETURNING (SELECT k.version FROM keys k WHERE k.account_id = accounts.id AND k.id = ",
    own_id!(),
    ") AS key_version"
);

// Parameters of the statements after the new password: `?1` account, `?2` the new hash, `?3` the factor whose code was
// shown.
const IS_RESET: &str =
    "EXISTS (SELECT 1 FROM accounts WHERE id = f.account_id AND password_hash = ?2)";
/// A factor that is turned on and never counted begins its three days anew.
const INSERT_SWITCHED: &str = concat!(
    "INSERT INTO changes (account_id, about, kind, deed, at, since)
     SELECT f.account_id, CASE f.id WHEN ?3 THEN 'on ' ELSE 'off ' END || f.id, 'password_changed',
       (SELECT n.deeds FROM notices n WHERE n.account_id = f.account_id AND n.kind = 'password_changed'),
       unixepoch(), unixepoch() + 14 * 86400
     FROM second_factors f WHERE f.account_id = ?1
       AND CASE f.id WHEN ?3 THEN f.off_at IS NOT NULL AND NOT (",
    IS_SETTLED,
    ") ELSE f.off_at IS NULL END AND ",
    IS_RESET,
    " ON CONFLICT (account_id, about) DO UPDATE SET kind = excluded.kind, deed = excluded.deed, at = excluded.at,
        since = excluded.since"
);
const UPDATE_OFF: &str = concat!(
    "UPDATE second_factors AS f SET off_at = unixepoch() WHERE f.account_id = ?1 AND f.off_at IS NULL AND f.id <> ?3 AND ",
    IS_RESET
);
const UPDATE_ON: &str = concat!(
    "UPDATE second_factors AS f SET off_at = NULL WHERE f.account_id = ?1 AND f.id = ?3 AND ",
    IS_RESET
);
const DELETE_OFF: &str = concat!(
    "DELETE FROM changes AS f WHERE f.account_id = ?1 AND f.about = 'off ' || ?3 AND ",
    IS_RESET
);
const UPDATE_STEP: &str = concat!(
    "UPDATE second_factors AS f SET last_step = max(f.last_step, ?4)
     WHERE f.account_id = ?1 AND f.secret = (SELECT secret FROM second_factors WHERE account_id = ?1 AND id = ?3) AND ",
    IS_RESET
);
const DELETE_CODE: &str = concat!(
    "DELETE FROM recovery_codes AS f WHERE f.account_id = ?1 AND f.factor_id = ?3 AND f.hash = ?4 AND ",
    IS_RESET
);

/// `?1` hash of the token, `?2` account, `?3` the account's password hash if the link was used.
const DELETE_USED_LINK: &str = "DELETE FROM reset_links WHERE (hash = ?1 OR next_hash = ?1)
    AND EXISTS (SELECT 1 FROM accounts WHERE id = ?2 AND password_hash = ?3)";

#[derive(Debug)]
pub struct NewReset<'a> {
    pub token: &'a TokenHash,
    pub code: &'a ResetCode,
    pub new_hash: &'a str,
    pub kept_keys: &'a [String],
}

/// Consumes a reset link and its code, and does the reset in one transaction. Returns the version of the account's key;
/// `None` if the link was used, replaced or has expired, or the code doesn't fit any more.
pub async fn reset(
    database: &Database,
    reset: &NewReset<'_>,
    new_session: &NewSession,
    now: u64,
) -> Result<Option<u32>, Error> {
    let NewReset { token, code, new_hash, kept_keys } = *reset;
    let kept = serde_json::to_string(kept_keys)
        .map_err(|error| Error::internal(format!("kept keys: {error}")))?;
    let texts = new_session.texts();
    let id = &texts.account;
    let link = [vec![token.as_str().into(), now.into()], code.params()].concat();
    let with_keys: Vec<Param<'_>> = [link.clone(), vec![(&kept).into()]].concat();
    let mut statements = vec![
        (UPDATE_OWN_KEY, with_keys.clone()),
        (DELETE_KEYS, with_keys),
        (DELETE_PASSKEYS, link.clone()),
    ];
    if !code.recovery.is_empty() {
        statements.extend(told(INSERT_CODE_USED, &link));
    }
    statements.extend(told(INSERT_CHANGED, &link));
    let index = statements.len();
    statements.push((UPDATE_PASSWORD, [link, vec![new_hash.into()]].concat()));
    let after: Vec<Param<'_>> = vec![id.into(), new_hash.into(), (&code.factor).into()];
    statements.extend([INSERT_SWITCHED, UPDATE_OFF].map(|sql| (sql, after.clone())));
    if !code.factor.is_empty() {
        statements.extend([UPDATE_ON, DELETE_OFF].map(|sql| (sql, after.clone())));
        let used: Statement<'_> = match code.step {
            0 => (DELETE_CODE, [after, vec![(&code.recovery).into()]].concat()),
            step => (UPDATE_STEP, [after, vec![step.into()]].concat()),
        };
        statements.push(used);
    }
    statements.extend(stops_sql::drop_waiting(id, new_hash));
    statements.extend([
        stops_sql::end_links(id, new_hash),
        (DELETE_USED_LINK, vec![token.as_str().into(), id.into(), new_hash.into()]),
        sessions_sql::end_of_password(id, new_hash),
    ]);
    statements.extend(new_session.start(&texts, new_hash, &Code::Unasked));
    let rows = database.batch(&statements).await?;
    Ok(rows.first::<OwnVersion>(index)?.map(|row| row.key_version))
}
