//! The guard's policies, one per account, and the number of sign-ups they rejected. Neither contains an address.

use constcat::concat;
use serde::Deserialize;

use super::{
    IN_SESSION,
    ledger::CallerTexts,
    scans::AUTHORISE,
    security_events::{device, event},
};
use crate::{
    account::AccountId,
    cf::database::{Database, Param, Statement},
    credentials::{guard_hook::GuardHook, proof::Caller, session::Session},
    error::Error,
    limits::quota::Day,
    mail::AccountEvent,
};

/// Days for which rejections are stored.
const REFUSAL_DAYS: u64 = 30;

/// Returns the first day, from 1970-01-01, whose rejections are stored at `now`.
pub(super) fn first_day(now: u64) -> u64 {
    Day::of(now).number().saturating_sub(REFUSAL_DAYS)
}

/// A policy as it is stored; the lists are JSON.
#[derive(Debug, Clone, Deserialize)]
pub struct StoredPolicy {
    pub account_id: AccountId,
    pub refuse: String,
    pub allow_domains: String,
    pub block_domains: String,
    pub deadline_ms: u64,
    pub daily: u32,
    pub hook_version: u32,
    /// Unix seconds until which the previous version works.
    pub previous_until: u64,
    /// Version of the account's API key.
    pub key_version: u32,
}

/// Rejections for one reason on one day.
#[derive(Debug, Deserialize)]
pub struct RefusalCount {
    /// Days since 1970-01-01, UTC.
    pub day: u64,
    pub reason: String,
    pub count: u64,
}

// Default policy.
const DEFAULT_REFUSE: &str = "'[\"invalid\",\"undeliverable\",\"disposable\"]'";
const DEFAULT_DEADLINE_MS: &str = "2000";
const DEFAULT_DAILY: &str = "1000";

/// Columns of policy `g` of account `a`.
const SELECT_POLICY: &str = concat!(
    "SELECT a.id AS account_id, coalesce(g.refuse, ",
    DEFAULT_REFUSE,
    ") AS refuse, coalesce(g.allow_domains, '[]') AS allow_domains,
       coalesce(g.block_domains, '[]') AS block_domains, coalesce(g.deadline_ms, ",
    DEFAULT_DEADLINE_MS,
    ") AS deadline_ms, coalesce(g.daily, ",
    DEFAULT_DAILY,
    ") AS daily, coalesce(g.hook_version, 1) AS hook_version, coalesce(g.previous_until, 0) AS previous_until,
       a.key_version
     FROM accounts a LEFT JOIN guard_policies g ON g.account_id = a.id "
);
const SELECT_AUTHORISED: &str = concat!(SELECT_POLICY, "WHERE ", AUTHORISE);
const SELECT_IN_SESSION: &str =
    concat!(SELECT_POLICY, "WHERE a.id IN (SELECT id FROM accounts WHERE ", IN_SESSION, ")");
const SELECT_OF_HOOK: &str = concat!(SELECT_POLICY, "WHERE a.id = ?1 AND a.state = 'confirmed'");

/// Inserts the default policy if the account has none; a condition and the conflict clause must follow.
const INSERT_DEFAULTS: &str = concat!(
    "INSERT INTO guard_policies (account_id, refuse, allow_domains, block_domains, deadline_ms, daily)
     SELECT id, ",
    DEFAULT_REFUSE,
    ", '[]', '[]', ",
    DEFAULT_DEADLINE_MS,
    ", ",
    DEFAULT_DAILY,
    " FROM accounts WHERE "
);
const INSERT_IN_SESSION: &str =
    concat!(INSERT_DEFAULTS, IN_SESSION, " ON CONFLICT (account_id) DO NOTHING");
const INSERT_OF_HOOK: &str =
    concat!(INSERT_DEFAULTS, "id = ?1 AND state = 'confirmed' ON CONFLICT (account_id) DO NOTHING");

/// `?3` to `?5` lists, or `''` for no change; `?6` deadline, 0 for no change; `?7` daily calls, or
/// `''` for no change.
const UPDATE_POLICY: &str = concat!(
    "UPDATE guard_policies SET refuse = CASE ?3 WHEN '' THEN refuse ELSE ?3 END,
       allow_domains = CASE ?4 WHEN '' THEN allow_domains ELSE ?4 END,
       block_domains = CASE ?5 WHEN '' THEN block_domains ELSE ?5 END,
       deadline_ms = CASE WHEN ?6 = 0 THEN deadline_ms ELSE ?6 END,
       daily = CASE WHEN ?7 = '' THEN daily ELSE CAST(?7 AS INTEGER) END
     WHERE account_id IN (SELECT id FROM accounts WHERE ",
    IN_SESSION,
    ")"
);

/// `?3` time until which the previous version works.
const UPDATE_HOOK_VERSION: &str = concat!(
    "UPDATE guard_policies SET hook_version = hook_version + 1, previous_until = ?3
     WHERE account_id IN (SELECT id FROM accounts WHERE ",
    IN_SESSION,
    ")"
);

/// `?3` first day.
const SELECT_REFUSALS: &str = concat!(
    "SELECT day, reason, count FROM guard_refusals WHERE day >= ?3
       AND account_id IN (SELECT id FROM accounts WHERE ",
    IN_SESSION,
    ") ORDER BY day DESC, reason"
);

/// Counts a call with version `?2` of account `?1`'s hook on day `?3`, at time `?4`. Returns no row if the
/// day's calls are used up or this version of the hook no longer works.
const UPDATE_HOOK_CALLS: &str = "UPDATE guard_policies SET
       hook_calls = CASE WHEN hook_day < ?3 THEN 1 ELSE hook_calls + 1 END, hook_day = max(hook_day, ?3)
     WHERE account_id = ?1 AND (hook_version = ?2 OR hook_version = ?2 + 1 AND previous_until > ?4)
       AND (CASE WHEN hook_day < ?3 THEN 0 ELSE hook_calls END) < daily
     RETURNING account_id";

/// `?2` day, `?3` reason.
const INSERT_REFUSAL: &str = "INSERT INTO guard_refusals (account_id, day, reason, count)
     SELECT id, ?2, ?3, 1 FROM accounts WHERE id = ?1 AND deleted_at IS NULL
     ON CONFLICT (account_id, day, reason) DO UPDATE SET count = count + 1";

/// A change of a policy. `None` means no change.
#[derive(Debug, Default)]
pub struct PolicyChange {
    pub refuse: Option<String>,
    pub allow_domains: Option<String>,
    pub block_domains: Option<String>,
    pub deadline_ms: Option<u64>,
    pub daily: Option<u32>,
}

#[derive(Debug)]
pub enum OwnerAction {
    Read,
    Change(PolicyChange, AccountEvent),
    /// Moves to the hook's next version; the previous one works until `until` (Unix seconds).
    Rotate {
        until: u64,
        event: AccountEvent,
    },
}

const INSERT_CHANGED_EVENT: &str = event!("guard_changed", "?3", "?4", IN_SESSION);
const INSERT_SECRET_REPLACED_EVENT: &str = event!("guard_secret_replaced", "?3", "?4", IN_SESSION);

/// Runs the action and returns the policy with its rejections; `None` if the session has ended.
pub async fn act(
    database: &Database,
    session: Session,
    action: OwnerAction,
    now: u64,
) -> Result<Option<(StoredPolicy, Vec<RefusalCount>)>, Error> {
    let (id, session) = session.texts();
    let own: Vec<Param<'_>> = vec![(&id).into(), (&session).into()];
    let texts = match &action {
        OwnerAction::Change(change, _) => {
            [&change.refuse, &change.allow_domains, &change.block_domains]
                .map(|list| list.clone().unwrap_or_default())
        }
        _ => Default::default(),
    };
    let daily = match &action {
        OwnerAction::Change(PolicyChange { daily: Some(daily), .. }, _) => daily.to_string(),
        _ => String::new(),
    };
    let mut statements: Vec<Statement<'_>> = Vec::new();
    match &action {
        OwnerAction::Read => {}
        OwnerAction::Change(change, event) => {
            let [refuse, allow, block] = texts.each_ref().map(Param::from);
            let deadline = change.deadline_ms.unwrap_or_default().into();
            let new = vec![refuse, allow, block, deadline, (&daily).into()];
            statements.push((INSERT_CHANGED_EVENT, [own.clone(), device(event)].concat()));
            statements.push((INSERT_IN_SESSION, own.clone()));
            statements.push((UPDATE_POLICY, [own.clone(), new].concat()));
        }
        OwnerAction::Rotate { until, event } => {
            statements.push((INSERT_SECRET_REPLACED_EVENT, [own.clone(), device(event)].concat()));
            statements.push((INSERT_IN_SESSION, own.clone()));
            statements.push((UPDATE_HOOK_VERSION, [own.clone(), vec![(*until).into()]].concat()));
        }
    }
    let read = statements.len();
    statements.push((SELECT_IN_SESSION, own.clone()));
    statements.push((SELECT_REFUSALS, [own, vec![first_day(now).into()]].concat()));
    let rows = database.batch(&statements).await?;
    let Some(policy) = rows.first(read)? else { return Ok(None) };
    Ok(Some((policy, rows.all(read + 1)?)))
}

/// Returns the policy of the caller's account; `None` if the caller isn't authorised.
pub async fn policy(database: &Database, caller: Caller) -> Result<Option<StoredPolicy>, Error> {
    let texts = CallerTexts::of(caller);
    let [account, shown, kind] = texts.proof(caller);
    database.first((SELECT_AUTHORISED, vec![account, shown, kind])).await
}

#[derive(Debug)]
pub enum HookCall {
    /// The call is checked by this policy.
    Counted(Box<StoredPolicy>),
    /// The day's calls are used up, or the account no longer exists.
    NotCounted,
    /// The hook was replaced by another version.
    Replaced,
}

/// Counts a call if the hook is valid and the day's calls aren't used up.
pub async fn call(database: &Database, hook: GuardHook, now: u64) -> Result<HookCall, Error> {
    let account = hook.account.to_string();
    let own: Vec<Param<'_>> = vec![(&account).into()];
    let day = Day::of(now).number();
    let count = [own.clone(), vec![hook.version.into(), day.into(), now.into()]].concat();
    let statements =
        [(INSERT_OF_HOOK, own.clone()), (UPDATE_HOOK_CALLS, count), (SELECT_OF_HOOK, own)];
    let rows = database.batch(&statements).await?;
    let Some(policy) = rows.first::<StoredPolicy>(2)? else { return Ok(HookCall::NotCounted) };
    if rows.any(1)? {
        return Ok(HookCall::Counted(Box::new(policy)));
    }
    let lives = policy.hook_version == hook.version
        || policy.hook_version == hook.version.saturating_add(1) && policy.previous_until > now;
    Ok(if lives { HookCall::NotCounted } else { HookCall::Replaced })
}

pub async fn count_refusal(
    database: &Database,
    account: AccountId,
    reason: &str,
    now: u64,
) -> Result<(), Error> {
    let account = account.to_string();
    let day = Day::of(now).number();
    let params = vec![(&account).into(), day.into(), reason.into()];
    database.run((INSERT_REFUSAL, params)).await
}
