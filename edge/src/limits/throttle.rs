//! Leaky buckets (docs/security.md, A3), in D1 so that they hold across data centres.
//!
//! An attempt is counted *before* it is evaluated, in one transaction, so that concurrent attempts gain nothing. A
//! bucket is the time at which it will have drained. Each attempt moves it by the rule's interval, and is rejected if
//! it would be too far in the future.

use serde::Deserialize;

use super::rules::{Gate, Key};
use crate::{
    cf::{
        database::{Database, Statement},
        log,
    },
    credentials::random,
    error::Error,
};

/// `?1` key, `?2` attempt, `?3` now, `?4` capacity in attempts, `?5` seconds until one drains, `?6`
/// key that must have admitted this attempt before, or `''`. `?7` key of the party for the reserve,
/// or `''`, and `?8` capacity for a party that has already used an attempt.
const UPSERT_THROTTLE: &str = "
    INSERT INTO throttles (key, drained_at, last_attempt)
    SELECT ?1, ?3 + ?5, ?2
    WHERE ?6 = '' OR EXISTS (SELECT 1 FROM throttles WHERE key = ?6 AND last_attempt = ?2)
    ON CONFLICT (key) DO UPDATE SET
      drained_at = max(drained_at, ?3) + ?5, last_attempt = ?2
    WHERE drained_at <= ?3 + (CASE WHEN EXISTS (
        SELECT 1 FROM throttles party WHERE party.key = ?7 AND party.drained_at > ?3)
      THEN ?8 ELSE ?4 END - 1) * ?5";

const SELECT_THROTTLE: &str = "SELECT last_attempt, drained_at FROM throttles WHERE key = ?1";

const UPDATE_THROTTLE: &str = "UPDATE throttles SET drained_at = drained_at - ?2 WHERE key = ?1";

/// Deletes the party's mark only if this attempt set it.
const DELETE_RESERVE: &str = "DELETE FROM throttles WHERE key = ?1 AND last_attempt = ?2";

#[derive(Deserialize)]
struct BucketRow {
    last_attempt: String,
    drained_at: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Admitted,
    /// Rejected by the gate at this index, for `seconds` from now.
    Wait {
        index: usize,
        seconds: u64,
    },
}

fn admission<'a>(
    gate: &'a Gate,
    attempt: &'a str,
    now: u64,
    before: Option<&'a Key>,
) -> Statement<'a> {
    let params = vec![
        gate.key.as_str().into(),
        attempt.into(),
        now.into(),
        gate.rule.burst.into(),
        gate.rule.interval.into(),
        before.map(Key::as_str).unwrap_or_default().into(),
        gate.reserve.as_ref().map(|reserve| reserve.key.as_str()).unwrap_or_default().into(),
        gate.rule.unreserved().into(),
    ];
    (UPSERT_THROTTLE, params)
}

/// Counts the attempt named `attempt` at the gates, one after the other. A gate counts it only if
/// all earlier gates admitted it, so that a throttled network can't use up an account's attempts.
pub async fn admit(
    database: &Database,
    gates: &[Gate],
    attempt: &str,
    now: u64,
) -> Result<Admission, Error> {
    admit_and(database, gates, attempt, now, None).await
}

/// Like [`admit`], and runs `then` in the same transaction; `then` must check for itself if the
/// last gate has admitted the attempt.
pub async fn admit_and(
    database: &Database,
    gates: &[Gate],
    attempt: &str,
    now: u64,
    then: Option<Statement<'_>>,
) -> Result<Admission, Error> {
    let mut statements: Vec<Statement<'_>> =
        gates.iter().map(|gate| (SELECT_THROTTLE, vec![gate.key.as_str().into()])).collect();
    let mut before = None;
    let mut counted = Vec::with_capacity(gates.len().saturating_mul(2));
    for gate in gates {
        counted.push(admission(gate, attempt, now, before));
        before = Some(&gate.key);
        let reserve = gate.reserve.as_deref();
        counted.extend(reserve.map(|reserve| admission(reserve, attempt, now, before)));
    }
    let looks = counted.len();
    counted.append(&mut statements);
    counted.extend(then);
    let rows = database.batch(&counted).await?;
    for (index, gate) in gates.iter().enumerate() {
        match rows.first::<BucketRow>(looks.saturating_add(index))? {
            Some(row) if row.last_attempt == attempt => {}
            Some(row) => {
                let seconds = gate.wait(row.drained_at, now);
                return Ok(Admission::Wait { index, seconds });
            }
            None => return Err(Error::internal("an attempt was neither admitted nor refused")),
        }
    }
    Ok(Admission::Admitted)
}

/// Other attempts stay counted.
async fn give_back(database: &Database, gates: &[Gate], attempt: &str) -> Result<(), Error> {
    let counted = gates
        .iter()
        .map(|gate| (UPDATE_THROTTLE, vec![gate.key.as_str().into(), gate.rule.interval.into()]));
    let reserves = gates.iter().filter_map(|gate| gate.reserve.as_deref());
    let reserves =
        reserves.map(|gate| (DELETE_RESERVE, vec![gate.key.as_str().into(), attempt.into()]));
    let statements: Vec<Statement<'_>> = counted.chain(reserves).collect();
    database.batch(&statements).await.map(drop)
}

pub struct Attempt {
    name: String,
    gates: Vec<Gate>,
}

pub enum AttemptOutcome {
    Admitted(Attempt),
    Refused {
        index: usize,
        /// Seconds until the attempt fits.
        seconds: u64,
        /// The attempt as counted by the gates before the rejecting one.
        before: Attempt,
    },
}

impl Attempt {
    pub async fn count(directory: &Database, gates: Vec<Gate>, now: u64) -> Result<Self, Error> {
        match Self::try_count(directory, gates, now).await? {
            AttemptOutcome::Admitted(attempt) => Ok(attempt),
            AttemptOutcome::Refused { seconds, .. } => Err(Error::throttled(seconds)),
        }
    }

    pub async fn try_count(
        directory: &Database,
        gates: Vec<Gate>,
        now: u64,
    ) -> Result<AttemptOutcome, Error> {
        let attempt = Self::new(gates)?;
        let admission = admit(directory, &attempt.gates, &attempt.name, now).await?;
        Ok(attempt.into_outcome(admission))
    }

    pub fn new(gates: Vec<Gate>) -> Result<Self, Error> {
        Ok(Self { name: random::identifier()?, gates })
    }

    pub fn into_outcome(mut self, admission: Admission) -> AttemptOutcome {
        match admission {
            Admission::Admitted => AttemptOutcome::Admitted(self),
            Admission::Wait { index, seconds } => {
                self.gates.truncate(index);
                AttemptOutcome::Refused { index, seconds, before: self }
            }
        }
    }

    /// The name that identifies the attempt at each gate.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn gates(&self) -> &[Gate] {
        &self.gates
    }

    pub fn split_first(mut self) -> (Self, Self) {
        let others = self.gates.split_off(self.gates.len().min(1));
        let others = Self { name: self.name.clone(), gates: others };
        (self, others)
    }

    /// Because the attempt succeeded or wasn't evaluated. Other attempts stay counted, so that others can't observe the
    /// owner's success at a limit (docs/security.md, B1). A failure is only logged, because the bucket drains.
    pub async fn give_back(&self, directory: &Database) {
        if self.gates.is_empty() {
            return;
        }
        if let Err(error) = give_back(directory, &self.gates, &self.name).await {
            log::failure("giving an attempt back", &error);
        }
    }
}
