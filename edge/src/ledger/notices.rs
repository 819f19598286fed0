//! The outbox of notices to account owners.

use serde::Deserialize;

use crate::{
    account::AccountId,
    cf::database::{Database, Param, Statement},
    error::Error,
    mail::{AccountEvent, Notice},
};

struct Budget {
    /// Seconds between two emails: the later email covers all events since.
    pause: u64,
    /// Maximum number of emails per day; all may come in a burst, separated by the pause.
    per_day: u64,
}

const HOUR_S: u64 = 60 * 60;
const DAY_S: u64 = 24 * HOUR_S;

const fn budget(kind: Notice) -> Budget {
    match kind {
        // Wrong codes aren't caused by the owner and may recur for weeks.
        Notice::WrongCodes => Budget { pause: DAY_S, per_day: 1 },
        Notice::KeyReplaced | Notice::WebhookChanged => Budget { pause: HOUR_S, per_day: 10 },
        // Somebody who cleans lists ends several in a row.
        Notice::ScanEnded => Budget { pause: 10 * 60, per_day: 30 },
        // Any other event may be a step of an account takeover, so its email has no pause.
        _ => Budget { pause: 0, per_day: 5 },
    }
}

/// The delay doubles after each retry.
const FIRST_RETRY_S: u64 = 5 * 60;
/// Attempts span about two weeks: the platform stops sending to a mailbox that rejects for longer.
const ATTEMPTS_MAX: u64 = 13;

/// The statement precedes the deed's in the batch, under the same condition.
macro_rules! notice {
    ($kind:literal, $($condition:expr),+) => {
        constcat::concat!(
            "INSERT INTO notices (account_id, kind, due_at, happened_at)
             SELECT id, '", $kind, "', unixepoch(), unixepoch() FROM accounts WHERE ",
            $($condition,)+
            " ON CONFLICT (account_id, kind) DO UPDATE
               SET deeds = deeds + 1, attempts = 0, due_at = max(due_at, excluded.due_at),
                 happened_at = excluded.happened_at, browser = '', country = ''"
        )
    };
}
pub(crate) use notice;

/// The two statements for a deed that could be a step of a takeover: a security event and a [`notice!`]. The event is
/// first, because some conditions depend on the notices.
macro_rules! deed {
    ($kind:literal, $($condition:expr),+) => {
        [
            $crate::ledger::security_events::event!($kind, "''", "''", $($condition),+),
            $crate::ledger::notices::notice!($kind, $($condition),+),
        ]
    };
}
pub(crate) use deed;

/// The statements of a [`deed!`] precede the deed's own in its batch.
pub fn told<'a, const N: usize>(
    deed: [&'static str; N],
    params: &[Param<'a>],
) -> [Statement<'a>; N] {
    deed.map(|sql| (sql, params.to_vec()))
}

#[derive(Debug, Deserialize)]
pub struct DueNotices {
    pub account_id: AccountId,
    pub kind: Notice,
    #[serde(rename = "deeds")]
    pub events: u64,
    /// Number of events that earlier emails have covered.
    #[serde(rename = "told")]
    pub announced_events: u64,
    pub email: String,
    happened_at: i64,
    browser: String,
    country: String,
}

impl DueNotices {
    /// The last event; `None` if its time wasn't recorded. An unknown browser or country is empty.
    pub fn last_event(&self) -> Option<AccountEvent> {
        (self.happened_at > 0).then(|| AccountEvent {
            at: self.happened_at,
            browser: self.browser.clone(),
            country: self.country.clone(),
        })
    }
}

/// `?1` account, `?2` time, `?3` browser, `?4` country. Events more than a minute older belong to
/// another request.
const UPDATE_EVENTS_PLACE: &str = "
    UPDATE security_events SET browser = ?3, country = ?4
    WHERE account_id = ?1 AND class = 'deed' AND (kind, name) IN (
      SELECT kind, date(happened_at, 'unixepoch') FROM notices
      WHERE account_id = ?1 AND noted < deeds AND happened_at >= ?2 - 60)";
const UPDATE_PLACE: &str = "
    UPDATE notices SET browser = ?3, country = ?4, noted = deeds
    WHERE account_id = ?1 AND noted < deeds AND happened_at >= ?2 - 60";

pub async fn note(
    database: &Database,
    account: AccountId,
    event: &AccountEvent,
) -> Result<(), Error> {
    let account = account.to_string();
    let at = u64::try_from(event.at).unwrap_or_default();
    let place = [(&account).into(), at.into(), (&event.browser).into(), (&event.country).into()];
    database.batch(&told([UPDATE_EVENTS_PLACE, UPDATE_PLACE], &place)).await.map(drop)
}

/// `?1` now, `?2` account or `''` for all, `?3` first retry, `?4` maximum number of attempts, `?5` row limit.
const CLAIM_NOTICES: &str = "
    UPDATE notices SET attempts = attempts + 1, due_at = ?1 + (?3 << min(attempts, 12))
    WHERE (account_id, kind) IN (
      SELECT account_id, kind FROM notices
      WHERE due_at <= ?1 AND deeds > told AND attempts < ?4 AND (?2 = '' OR account_id = ?2)
      ORDER BY due_at LIMIT ?5)
    RETURNING account_id, kind, deeds, told, happened_at, browser, country,
      (SELECT email FROM accounts WHERE id = account_id) AS email";

/// Claims due notices, of one account or all, up to a limit. Each notice becomes due again by itself, with growing
/// delays, until it is reported as sent.
pub async fn claim(
    database: &Database,
    account: Option<AccountId>,
    most: u64,
    now: u64,
) -> Result<Vec<DueNotices>, Error> {
    let account = account.map(|id| id.to_string()).unwrap_or_default();
    let params =
        vec![now.into(), (&account).into(), FIRST_RETRY_S.into(), ATTEMPTS_MAX.into(), most.into()];
    database.batch(&[(CLAIM_NOTICES, params)]).await?.all(0)
}

/// `?4` now, `?5` seconds between emails, `?6` seconds until an email drains, `?7` burst.
const UPDATE_SENT: &str = "
    UPDATE notices SET told = max(told, ?3), told_at = ?4, attempts = 0,
      drained_at = max(drained_at, ?4) + ?6,
      due_at = max(?4 + ?5, max(drained_at, ?4) + ?6 - (?7 - 1) * ?6)
    WHERE account_id = ?1 AND kind = ?2";

/// The three days of the changes that an email reports begin, unless they count already. `?3` number of deeds.
const UPDATE_CHANGES: &str = "UPDATE changes SET since = unixepoch()
    WHERE account_id = ?1 AND kind = ?2 AND deed <= ?3 AND since > unixepoch()";

pub async fn record_delivery(
    database: &Database,
    notice: &DueNotices,
    now: u64,
) -> Result<(), Error> {
    let account = notice.account_id.to_string();
    let Budget { pause, per_day } = budget(notice.kind);
    let deeds: Vec<Param<'_>> =
        vec![(&account).into(), notice.kind.as_str().into(), notice.events.into()];
    let pace: Vec<Param<'_>> =
        vec![now.into(), pause.into(), (DAY_S / per_day).into(), per_day.into()];
    let mut statements = vec![(UPDATE_SENT, [deeds.clone(), pace].concat())];
    if notice.kind.is_of_change() || notice.kind == Notice::RecoveryPending {
        statements.push((UPDATE_CHANGES, deeds));
    }
    database.batch(&statements).await.map(drop)
}
