//! Leaky buckets (docs/trust.md, A3), in D1 so that they hold across data centres.
//!
//! An attempt is counted *before* it is evaluated, in one transaction, so that a thousand attempts at
//! once are no better than a thousand in turn. A bucket is one number: when it will have drained. Each
//! attempt moves that on by the rule's interval, and is refused where it would be too far ahead.

use serde::Deserialize;

use crate::{
    cf::database::{Database, Statement},
    error::Error,
    throttle::{Key, Rule},
};

/// `?1` key, `?2` attempt, `?3` now, `?4` attempts that fit, `?5` seconds in which one drains, `?6` key
/// that must have admitted this attempt before, or `''`.
const ADMIT: &str = "
    INSERT INTO throttles (key, drained_at, last_attempt)
    SELECT ?1, ?3 + ?5, ?2
    WHERE ?6 = '' OR EXISTS (SELECT 1 FROM throttles WHERE key = ?6 AND last_attempt = ?2)
    ON CONFLICT (key) DO UPDATE SET
      drained_at = max(drained_at, ?3) + ?5, last_attempt = ?2
    WHERE drained_at <= ?3 + (?4 - 1) * ?5";

const LOOK: &str = "SELECT last_attempt, drained_at FROM throttles WHERE key = ?1";

const CLEAR: &str = "DELETE FROM throttles WHERE key = ?1";

const REFUND: &str = "UPDATE throttles SET drained_at = drained_at - ?2 WHERE key = ?1";

#[derive(Deserialize)]
struct Row {
    last_attempt: String,
    drained_at: u64,
}

/// Whether an attempt may be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Admitted,
    /// Refused by the key at this index, for so many seconds.
    Wait {
        index: usize,
        seconds: u64,
    },
}

impl Admission {
    /// # Errors
    /// [`Error::throttled`] unless it was admitted.
    pub fn or_throttled(self) -> Result<(), Error> {
        match self {
            Self::Admitted => Ok(()),
            Self::Wait { seconds, .. } => Err(Error::throttled(seconds)),
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
        let params = vec![
            key.as_str().into(),
            attempt.into(),
            now.into(),
            rule.burst.into(),
            rule.interval.into(),
            before.into(),
        ];
        statements.push((ADMIT, params));
        before = key.as_str();
    }
    for (key, _) in keys {
        statements.push((LOOK, vec![key.as_str().into()]));
    }
    let rows = database.batch(&statements).await?;
    for (index, (_, rule)) in keys.iter().enumerate() {
        match rows.first::<Row>(keys.len() + index)? {
            Some(row) if row.last_attempt == attempt => {}
            Some(row) => {
                let seconds = rule.wait(row.drained_at, now);
                return Ok(Admission::Wait { index, seconds });
            }
            None => return Err(Error::internal("an attempt was neither admitted nor refused")),
        }
    }
    Ok(Admission::Admitted)
}

/// After a success: forgets the attempts under `cleared`, takes one back under `refunded`; what others
/// did from the same network stays counted.
pub async fn succeeded(
    database: &Database,
    cleared: &[&Key],
    refunded: &[(&Key, Rule)],
) -> Result<(), Error> {
    let clear = cleared.iter().map(|key| (CLEAR, vec![key.as_str().into()]));
    let refund = refunded
        .iter()
        .map(|(key, rule)| (REFUND, vec![key.as_str().into(), rule.interval.into()]));
    let statements: Vec<Statement<'_>> = clear.chain(refund).collect();
    database.batch(&statements).await.map(drop)
}
