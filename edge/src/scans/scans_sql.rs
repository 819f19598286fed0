//! Scans: creating, reading, cancelling and deleting them. The transactions that create or end a scan also charge or
//! refund its unit.

/// Condition for a scan to count as concurrent: addresses are missing, are being checked or haven't been tried, or a
/// retry round is running.
macro_rules! is_running {
    ($scan:literal, $now:literal) => {
        constcat::concat!(
            $scan,
            ".received < ",
            $scan,
            ".total OR ",
            $scan,
            ".answered + ",
            $scan,
            ".waiting + (SELECT coalesce(sum(unasked), 0) FROM scan_retries q WHERE q.scan_id = ",
            $scan,
            ".id) < ",
            $scan,
            ".total OR ",
            $scan,
            ".asking_until > ",
            $now
        )
    };
}
use is_running;

mod ending;
mod events;
mod parts;
mod rounds;

pub use ending::{Overdue, close, overdue, rows_of_parts};
pub use events::{Cursor, events_after};
pub use parts::{Comparison, PartState, ScanPart, begin_part, compare_part, finish_part};
pub use rounds::{
    Delta, Miss, Retry, Round, RoundOutcome, RoundPosition, begin_round, hand_over, miss, record,
    set_followed, start_asking,
};

use constcat::concat;
use serde::Deserialize;

use crate::{
    cf::database::{Database, Param, Statement},
    credentials::{idempotency::Idempotent, proof::Caller},
    error::Error,
    ledger::{
        authorise::AUTHORISE,
        charge::{CallerTexts, Charged},
        key_use::with_more,
        plans::IN_FORCE,
        tally::{StatusCounts, VerdictCounts, from_column},
    },
    limits::quota::Day,
};

#[derive(Debug, Deserialize)]
pub struct StoredScan {
    pub id: String,
    pub name: String,
    pub state: String,
    pub details: u8,
    pub total: u32,
    pub received: u32,
    pub answered: u32,
    pub waiting: u32,
    #[serde(deserialize_with = "from_column")]
    pub counts: StatusCounts,
    #[serde(deserialize_with = "from_column")]
    pub by_verdict: VerdictCounts,
    pub created_at: u64,
    pub ended_at: Option<u64>,
    pub previous_at: u64,
    pub previous_answered: u32,
    pub progress_at: u64,
    /// Positions that wait because nobody could be asked about them; set with `due_at`.
    #[serde(default)]
    pub unasked: u32,
    /// Time of the next retry; set if a single scan or a page of scans was read.
    #[serde(default)]
    pub due_at: Option<u64>,
    #[serde(default)]
    pub expected_at: Option<u64>,
    #[serde(default)]
    pub latest_at: Option<u64>,
    /// The remaining allowance in the format of `RateLimit::of_scans`; set if the scan was just created.
    #[serde(default)]
    pub left_over: Option<String>,
}

/// Per account; ended scans are removed after a week.
const STORED_MAX: u32 = 1_000;

/// Selects the account with its scan limits, and whether each of them allows another scan; no row if the caller isn't
/// authorised. `?4` day, `?5` maximum number of stored scans.
const WITH_CALLER: &str = concat!(
    "WITH caller AS (
       SELECT a.id, p.scan_size AS size,
         p.unlimited OR p.daily_scans >
           CASE WHEN a.scans_day < ?4 THEN 0 ELSE a.scans_charged END AS daily,
         a.scan_credits > 0 AS credit,
         p.max_scans > (SELECT count(*) FROM scans s WHERE s.account_id = a.id
           AND s.ended_at IS NULL AND (",
    is_running!("s", "unixepoch()"),
    ")) AND p.max_scans + 3 > (SELECT count(*) FROM scans s WHERE s.account_id = a.id
           AND s.ended_at IS NULL) AS may_run,
         p.max_scans, p.daily_scans,
         ?5 > (SELECT count(*) FROM scans s WHERE s.account_id = a.id) AS may_keep
       FROM accounts a JOIN plans p ON p.name = ",
    IN_FORCE,
    " WHERE ",
    AUTHORISE,
    ") "
);

const INSERT_SCAN: &str = concat!(
    WITH_CALLER,
    "INSERT INTO scans (id, account_id, name, total, details, source, day, created_at,
       window_at, previous_at)
     SELECT ?6, id, ?8, ?7, ?9, CASE WHEN daily THEN 'daily' ELSE 'credit' END, ?4, ?10, ?10,
       ?10
     FROM caller WHERE ?7 <= size AND may_run AND may_keep AND (daily OR credit)"
);

/// `?11` and `?12` names of an `Idempotency-Key`, `?13` and `?14` its request. With a key whose
/// scan was deleted, the same request creates another scan.
const INSERT_SCAN_ONCE: &str = concat!(
    INSERT_SCAN,
    " AND NOT EXISTS (SELECT 1 FROM idempotency_keys k WHERE k.account_id = caller.id
        AND k.name IN (?11, ?12) AND k.expires_at > ?10
        AND (k.request NOT IN (?13, ?14) OR EXISTS (SELECT 1 FROM scans s WHERE s.id = k.answer)))"
);

const SELECT_STORED_RESPONSE: &str = concat!(
    WITH_CALLER,
    "SELECT k.request, k.answer, 0 AS in_flight, '' AS left_over FROM caller
     JOIN idempotency_keys k ON k.account_id = caller.id
     WHERE k.name IN (?11, ?12) AND k.expires_at > ?10
       AND (k.request NOT IN (?13, ?14) OR EXISTS (SELECT 1 FROM scans s WHERE s.id = k.answer))"
);

/// `?1` scan created in this transaction; `?2` name and `?3` request of its key; `?4` expiry.
const INSERT_RESPONSE: &str = "
    INSERT INTO idempotency_keys (account_id, name, request, answer, expires_at)
    SELECT s.account_id, ?2, ?3, s.id, ?4 FROM scans s WHERE s.id = ?1
    ON CONFLICT (account_id, name) DO UPDATE SET
      request = excluded.request, answer = excluded.answer, expires_at = excluded.expires_at";

/// `?1` scan created in this transaction; `?2` the text of the key that creates it, or `''`.
const UPDATE_CHARGE: &str = concat!(
    "UPDATE accounts SET
      scans_charged = CASE WHEN scans_day < s.day THEN 0 ELSE scans_charged END + (s.source = 'daily'),
      scans_day = max(scans_day, s.day),
      key_use = CASE ?2 WHEN '' THEN key_use ELSE ",
    with_more!("?2", "s.day", "0"),
    " END,
      scan_credits = scan_credits - (s.source = 'credit'),
      total_scans = total_scans + 1
    FROM scans s WHERE s.id = ?1 AND accounts.id = s.account_id"
);

const COLUMNS: &str = "s.*,
    (SELECT coalesce(sum(unasked), 0) FROM scan_retries r WHERE r.scan_id = s.id) AS unasked,
    (SELECT min(due_at) FROM scan_retries r WHERE r.scan_id = s.id) AS due_at,
    (SELECT max(expected_at) FROM scan_retries r WHERE r.scan_id = s.id) AS expected_at,
    (SELECT max(latest_at) FROM scan_retries r WHERE r.scan_id = s.id) AS latest_at";

const SELECT_BY_ID: &str = concat!("SELECT ", COLUMNS, " FROM scans s WHERE s.id = ?1");

const SELECT_CREATED: &str = concat!(
    "SELECT s.*, CASE WHEN p.unlimited THEN '' ELSE p.daily_scans || ' '
      || max(0, p.daily_scans - a.scans_charged) || ' ' || a.scan_credits || ' ' || a.scan_credits END
      AS left_over
    FROM scans s JOIN accounts a ON a.id = s.account_id JOIN plans p ON p.name = ",
    IN_FORCE,
    " WHERE s.id = ?1"
);

const SELECT_REFUSAL: &str =
    concat!(WITH_CALLER, "SELECT size, may_run, max_scans, may_keep, daily_scans FROM caller");

#[derive(Debug)]
pub struct NewScan<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub total: u32,
    pub details: bool,
}

#[derive(Debug)]
pub enum ScanRefusal {
    Unauthorised,
    TooLarge {
        size: u32,
    },
    TooMany {
        at_once: u32,
    },
    /// The account already stores the maximum number of scans.
    TooManyKept {
        most: u32,
    },
    UsedUp {
        daily: u32,
    },
}

#[derive(Deserialize)]
struct RefusedScan {
    size: u32,
    may_run: u8,
    max_scans: u32,
    may_keep: u8,
    daily_scans: u32,
}

const KEY_TTL_S: u64 = 24 * 60 * 60;

/// Charges a scan's unit to the daily allowance or else to the credits. A rejection or a lost reply costs a second
/// round trip. For 24 hours, an `Idempotency-Key` creates only one scan, unless that scan is deleted.
pub async fn create(
    database: &Database,
    caller: Caller,
    scan: &NewScan<'_>,
    once: Option<&Idempotent>,
    now: u64,
) -> Result<Result<Charged<StoredScan>, ScanRefusal>, Error> {
    let texts = CallerTexts::of(caller);
    let mut params = texts.params(caller, now);
    params.truncate(4);
    params.push(STORED_MAX.into());
    let why = (SELECT_REFUSAL, params.clone());
    params.extend([
        Param::from(scan.id),
        scan.total.into(),
        scan.name.into(),
        u32::from(scan.details).into(),
        now.into(),
    ]);
    let id: Vec<Param<'_>> = vec![scan.id.into()];
    let key = texts.key(caller).unwrap_or_default();
    let charge = (UPDATE_CHARGE, vec![scan.id.into(), key.into()]);
    let read = (SELECT_CREATED, id.clone());
    let statements = match once {
        None => vec![(INSERT_SCAN, params), charge, read.clone()],
        Some(once) => {
            let (names, requests) = (once.names(), once.requests());
            params.extend(names.iter().chain(requests).map(Param::from));
            let until = now.saturating_add(KEY_TTL_S);
            let stored = vec![(&names[0]).into(), (&requests[0]).into(), until.into()];
            let keep = [id, stored].concat();
            let create = (INSERT_SCAN_ONCE, params.clone());
            vec![
                create,
                charge,
                read.clone(),
                (SELECT_STORED_RESPONSE, params),
                (INSERT_RESPONSE, keep),
            ]
        }
    };
    let rows = match database.batch(&statements).await {
        Ok(rows) => rows,
        // The scan may have been created, with only the reply lost.
        Err(error) => {
            let made = database.first(read).await?.ok_or(error)?;
            return Ok(Ok(Charged::Now(made)));
        }
    };
    if let Some(scan) = rows.first(2)? {
        return Ok(Ok(Charged::Now(scan)));
    }
    if once.is_some()
        && let Some(stored) = rows.first(3)?
    {
        return Ok(Ok(Charged::Before(stored)));
    }
    let why = database.first::<RefusedScan>(why).await?;
    Ok(Err(match why {
        None => ScanRefusal::Unauthorised,
        Some(RefusedScan { size, .. }) if scan.total > size => ScanRefusal::TooLarge { size },
        Some(RefusedScan { may_run: 0, max_scans, .. }) => {
            ScanRefusal::TooMany { at_once: max_scans }
        }
        Some(RefusedScan { may_keep: 0, .. }) => ScanRefusal::TooManyKept { most: STORED_MAX },
        Some(RefusedScan { daily_scans, .. }) => ScanRefusal::UsedUp { daily: daily_scans },
    }))
}

#[derive(Debug)]
pub enum FoundScan<T> {
    Unauthorised,
    /// The account has no such scan.
    Nothing,
    Here(T),
}

const SELECT_AUTHORISED: &str = concat!("SELECT 1 AS one FROM accounts a WHERE ", AUTHORISE);

const SELECT_OWN: &str = concat!(
    "SELECT ",
    COLUMNS,
    " FROM accounts a JOIN scans s ON s.account_id = a.id AND s.id = ?4 WHERE ",
    AUTHORISE
);

fn params<'a>(texts: &'a CallerTexts, caller: Caller) -> Vec<Param<'a>> {
    let mut params = texts.params(caller, 0);
    params.truncate(3);
    params
}

/// `?4` exclusive upper bound of the id, `?5` limit.
const SELECT_SCANS: &str = concat!(
    "SELECT ",
    COLUMNS,
    " FROM accounts a JOIN scans s ON s.account_id = a.id AND s.id < ?4 WHERE ",
    AUTHORISE,
    " ORDER BY s.id DESC LIMIT CAST(?5 AS INTEGER)"
);

pub async fn list(
    database: &Database,
    caller: Caller,
    before: &str,
    limit: u32,
) -> Result<Option<Vec<StoredScan>>, Error> {
    let texts = CallerTexts::of(caller);
    let may = params(&texts, caller);
    let page = [may.clone(), vec![before.into(), limit.into()]].concat();
    let rows = database.batch(&[(SELECT_AUTHORISED, may), (SELECT_SCANS, page)]).await?;
    if rows.any(0)? { rows.all(1).map(Some) } else { Ok(None) }
}

const UPDATE_CANCELLED: &str = concat!(
    "UPDATE scans SET state = 'cancelled', ended_at = ?5, ended_by = ?6, waiting = 0
     WHERE id = ?4 AND ended_at IS NULL AND account_id IN (SELECT a.id FROM accounts a WHERE ",
    AUTHORISE,
    ")"
);

/// Units refunded per day for scans that their owner cancels or deletes. Units lost through the
/// service's own failures are always refunded, and don't count towards this maximum.
const REFUNDS_MAX: u32 = 10;
const NO_REFUND_LIMIT: u32 = u32::MAX;

/// `?1` scan, `?2` name of its ending, `?3` today, `?4` maximum number of refunds per day. Refunds the unit if no
/// address was sent to an origin, or none could be answered; of the daily allowance only while no scan has been charged
/// on a later day.
const UPDATE_REFUND: &str = "
    UPDATE accounts SET
      scan_refunds = CASE WHEN refunds_day < ?3 THEN 0 ELSE scan_refunds END + (?4 <= 10),
      refunds_day = max(refunds_day, ?3),
      scans_charged = scans_charged - (s.source = 'daily' AND scans_day = s.day AND scans_charged > 0),
      scan_credits = scan_credits + (s.source = 'credit')
    FROM scans s
    WHERE s.id = ?1 AND s.ended_by = ?2 AND s.handed = 0 AND accounts.id = s.account_id
      AND (refunds_day < ?3 OR scan_refunds < ?4)";

fn give_back<'a>(scan: &'a str, ending: &'a str, most: u32, now: u64) -> Statement<'a> {
    (UPDATE_REFUND, vec![scan.into(), ending.into(), Day::of(now).number().into(), most.into()])
}

const DELETE_SCAN: &str = concat!(
    "DELETE FROM scans WHERE id = ?4 AND account_id IN (SELECT a.id FROM accounts a WHERE ",
    AUTHORISE,
    ")"
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanAction {
    Show,
    /// Cancels a scan that hasn't ended; an ended scan stays unchanged.
    Cancel,
    /// Removes a scan with its results; a scan that hasn't ended is cancelled first.
    Delete,
    /// Removes a scan that couldn't be started, through no fault of its owner.
    Withdraw,
}

/// Runs the action and returns the scan's new state, or its last one before deletion. `ending` is
/// the name of the cancellation.
pub async fn act(
    database: &Database,
    caller: Caller,
    id: &str,
    deed: ScanAction,
    ending: &str,
    now: u64,
) -> Result<FoundScan<StoredScan>, Error> {
    let texts = CallerTexts::of(caller);
    let may = params(&texts, caller);
    let own = [may.clone(), vec![id.into()]].concat();
    let mut statements: Vec<Statement<'_>> = vec![(SELECT_AUTHORISED, may)];
    if deed != ScanAction::Show {
        let ends = [own.clone(), vec![now.into(), ending.into()]].concat();
        statements.push((UPDATE_CANCELLED, ends));
        if deed == ScanAction::Cancel {
            // A removed scan takes its retries with it.
            statements.push(ending::end_retries(id, ending));
        }
        let most = if deed == ScanAction::Withdraw { NO_REFUND_LIMIT } else { REFUNDS_MAX };
        statements.push(give_back(id, ending, most, now));
    }
    let read = statements.len();
    statements.push((SELECT_OWN, own.clone()));
    if matches!(deed, ScanAction::Delete | ScanAction::Withdraw) {
        statements.push((DELETE_SCAN, own));
    }
    let rows = database.batch(&statements).await?;
    Ok(match rows.first(read)? {
        Some(scan) => FoundScan::Here(scan),
        None if rows.any(0)? => FoundScan::Nothing,
        None => FoundScan::Unauthorised,
    })
}

const SELECT_RESULTS: &str = concat!(
    "SELECT r.part, r.results FROM accounts a JOIN scans s ON s.account_id = a.id AND s.id = ?4
     JOIN scan_results r ON r.scan_id = s.id AND r.part BETWEEN ?5 AND ?6 WHERE ",
    AUTHORISE,
    " ORDER BY r.part, r.round, r.slot"
);

#[derive(Debug, Deserialize)]
pub struct ResultRow {
    pub part: u32,
    pub results: String,
}

pub async fn results(
    database: &Database,
    caller: Caller,
    id: &str,
    parts: (u32, u32),
) -> Result<FoundScan<(StoredScan, Vec<ResultRow>)>, Error> {
    let texts = CallerTexts::of(caller);
    let may = params(&texts, caller);
    let own = [may.clone(), vec![id.into()]].concat();
    let page = [own.clone(), vec![parts.0.into(), parts.1.into()]].concat();
    let rows = database
        .batch(&[(SELECT_AUTHORISED, may), (SELECT_OWN, own), (SELECT_RESULTS, page)])
        .await?;
    Ok(match rows.first(1)? {
        Some(scan) => FoundScan::Here((scan, rows.all(2)?)),
        None if rows.any(0)? => FoundScan::Nothing,
        None => FoundScan::Unauthorised,
    })
}
