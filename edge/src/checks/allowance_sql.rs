//! Records the events about used daily checks. The notice is the mark: its kind isn't written again within a week of
//! its last event.

use constcat::concat;

use crate::{
    account::AccountId,
    cf::database::{Database, Param},
    error::Error,
    ledger::plans::IN_FORCE,
    limits::quota::Day,
};

/// `?1` account, `?2` now, `?3` day. One row if the account has reached a mark and its owner wasn't told within a week.
/// Only what is charged counts, not what leases hold.
const WITH_UNTOLD: &str = concat!(
    "WITH untold AS (
       SELECT a.id, a.allowance_mail AS is_mailed, p.daily_checks AS daily, a.daily_charged AS used,
         CASE WHEN a.daily_charged < p.daily_checks THEN 'nearly_used' ELSE 'used_up' END AS mark
       FROM accounts a JOIN plans p ON p.name = ",
    IN_FORCE,
    " WHERE a.id = ?1 AND a.state = 'confirmed' AND a.welcome_left = 0 AND a.day = ?3
         AND NOT p.unlimited AND p.daily_checks > 0 AND a.daily_charged * 5 >= p.daily_checks * 4
         AND NOT EXISTS (SELECT 1 FROM notices n WHERE n.account_id = a.id AND n.happened_at > ?2 - 604800
           AND n.kind = 'allowance_' || CASE WHEN a.daily_charged < p.daily_checks THEN 'nearly_used' ELSE 'used_up' END)) "
);

/// `?4` name. Precedes the notice, which ends the condition. An account has at most 1,000 waiting deliveries.
const INSERT_DELIVERY: &str = concat!(
    WITH_UNTOLD,
    "INSERT INTO webhook_deliveries (account_id, id, kind, created_at, total, answered)
     SELECT u.id, 'msg_' || ?4, 'allowance.' || u.mark, ?2, u.daily, u.used
     FROM untold u JOIN webhooks w ON w.account_id = u.id
     WHERE 1000 > (SELECT count(*) FROM webhook_deliveries d
       WHERE d.account_id = u.id AND d.state = 'pending')"
);

/// An email that is switched off counts as sent. The event has no browser and no country.
const UPSERT_NOTICE: &str = concat!(
    WITH_UNTOLD,
    "INSERT INTO notices (account_id, kind, due_at, happened_at, noted, told)
     SELECT u.id, 'allowance_' || u.mark, ?2, ?2, 1, 1 - u.is_mailed FROM untold u WHERE true
     ON CONFLICT (account_id, kind) DO UPDATE SET deeds = deeds + 1, noted = deeds + 1, attempts = 0,
       told = CASE excluded.told WHEN 1 THEN deeds + 1 ELSE told END, due_at = excluded.due_at,
       happened_at = excluded.happened_at
     RETURNING account_id"
);

/// Records the email and the event that are due at `now` (Unix seconds). `name` is the event's. The result says if any
/// were.
pub async fn mark(
    database: &Database,
    account: AccountId,
    name: &str,
    now: u64,
) -> Result<bool, Error> {
    let account = account.to_string();
    let params: Vec<Param<'_>> = vec![(&account).into(), now.into(), Day::of(now).number().into()];
    let named = [params.clone(), vec![name.into()]].concat();
    database.batch(&[(INSERT_DELIVERY, named), (UPSERT_NOTICE, params)]).await?.any(1)
}
