//! Growing waits between attempts (docs/trust.md, A3), in D1 so that they hold across data centres.
//!
//! An attempt is counted *before* it is evaluated, in one transaction, so that a thousand attempts at
//! once are no better than a thousand in turn. After the free ones, the wait doubles with each attempt
//! up to a limit, and is forgotten after a time of quiet.

use serde::Deserialize;

use crate::{
    cf::database::{Database, Param, Statement},
    error::Error,
    throttle::{Key, Rule},
};

/// `?1` key, `?2` attempt, `?3` now, `?4` free attempts, `?5` longest wait, `?6` time to forget,
/// `?7` key that must have admitted this attempt before, or `''`.
const ADMIT: &str = "
    INSERT INTO throttles (key, attempts, next_allowed_at, last_attempt, expires_at)
    SELECT ?1, 1, ?3, ?2, ?3 + ?6
    WHERE ?7 = '' OR EXISTS (SELECT 1 FROM throttles WHERE key = ?7 AND last_attempt = ?2)
    ON CONFLICT (key) DO UPDATE SET
      attempts = CASE WHEN expires_at <= ?3 THEN 1 ELSE attempts + 1 END,
      next_allowed_at = CASE
        WHEN expires_at > ?3 AND attempts >= ?4
          THEN ?3 + min(?5, 1 << CAST(min(attempts + 1 - ?4, 20) AS INTEGER))
        ELSE ?3 END,
      last_attempt = ?2,
      expires_at = ?3 + ?6
    WHERE next_allowed_at <= ?3 OR expires_at <= ?3";

const LOOK: &str = "SELECT last_attempt, next_allowed_at FROM throttles WHERE key = ?1";

const CLEAR: &str = "DELETE FROM throttles WHERE key = ?1";

/// Takes back one attempt that turned out well; what others did from the same network stays counted.
const REFUND: &str = "
    UPDATE throttles SET attempts = max(0, attempts - 1), next_allowed_at = ?2 WHERE key = ?1";

#[derive(Deserialize)]
struct Row {
    last_attempt: String,
    next_allowed_at: u64,
}

/// Whether an attempt may be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Admitted,
    /// Seconds until one may be.
    Wait(u64),
}

impl Admission {
    /// # Errors
    /// [`Error::throttled`] unless it was admitted.
    pub fn or_throttled(self) -> Result<(), Error> {
        match self {
            Self::Admitted => Ok(()),
            Self::Wait(seconds) => Err(Error::throttled(seconds)),
        }
    }
}

/// Counts one attempt, named `attempt`, under each key in turn. A key is counted only if the ones
/// before it admitted the attempt, so that a network that has to wait cannot make an account wait.
pub async fn admit(
    database: &Database,
    keys: &[(Key, Rule)],
    attempt: &str,
    now: u64,
) -> Result<Admission, Error> {
    let mut statements: Vec<Statement<'_>> = Vec::with_capacity(keys.len() * 2);
    let mut before = "";
    for (key, rule) in keys {
        statements.push((ADMIT, admission(key, *rule, attempt, now, before)));
        before = key.as_str();
    }
    for (key, _) in keys {
        statements.push((LOOK, vec![key.as_str().into()]));
    }
    let rows = database.batch(&statements).await?;
    for index in keys.len()..statements.len() {
        match rows.first::<Row>(index)? {
            Some(row) if row.last_attempt == attempt => {}
            Some(row) => {
                return Ok(Admission::Wait(row.next_allowed_at.saturating_sub(now).max(1)));
            }
            None => return Err(Error::internal("an attempt was neither admitted nor refused")),
        }
    }
    Ok(Admission::Admitted)
}

fn admission<'a>(
    key: &'a Key,
    rule: Rule,
    attempt: &'a str,
    now: u64,
    before: &'a str,
) -> Vec<Param<'a>> {
    vec![
        key.as_str().into(),
        attempt.into(),
        now.into(),
        rule.free_attempts.into(),
        rule.longest_wait.into(),
        rule.forget_after.into(),
        before.into(),
    ]
}

/// After a success: forgets the attempts under `cleared`, takes one back under `refunded`.
pub async fn succeeded(
    database: &Database,
    cleared: &[&Key],
    refunded: &[&Key],
    now: u64,
) -> Result<(), Error> {
    let clear = cleared.iter().map(|key| (CLEAR, vec![key.as_str().into()]));
    let refund = refunded.iter().map(|key| (REFUND, vec![key.as_str().into(), now.into()]));
    let statements: Vec<Statement<'_>> = clear.chain(refund).collect();
    database.batch(&statements).await.map(drop)
}
