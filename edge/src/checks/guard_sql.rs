//! The guard's policies, one per account, and the number of sign-ups they rejected. Neither contains an address.

use constcat::concat;
use serde::Deserialize;

use crate::{
    account::AccountId,
    app::policies::StoredPolicy,
    cf::database::{Database, Param, Statement},
    credentials::{proof::Caller, session::Session},
    error::Error,
    ledger::{
        IN_SESSION,
        authorise::AUTHORISE,
        charge::CallerTexts,
        own_key::OWN_VERSION,
        security_events::{device, event},
    },
    limits::quota::Day,
    mail::AccountEvent,
};

const REFUSAL_DAYS: u64 = 30;

/// The first day whose refusals are shown, in days from 1970-01-01.
pub fn first_day(now: u64) -> u64 {
    Day::of(now).number().saturating_sub(REFUSAL_DAYS)
}

#[derive(Debug, Deserialize)]
pub struct RefusalCount {
    pub day: u64,
    pub reason: String,
    pub count: u64,
}

const DEFAULT_REFUSE: &str = "'[\"invalid\",\"undeliverable\",\"disposable\"]'";
const DEFAULT_DEADLINE_MS: &str = "2000";

const SELECT_POLICY: &str = concat!(
    "SELECT a.id AS account_id, coalesce(g.refuse, ",
    DEFAULT_REFUSE,
    ") AS refuse, coalesce(g.allow_domains, '[]') AS allow_domains,
       coalesce(g.block_domains, '[]') AS block_domains, coalesce(g.deadline_ms, ",
    DEFAULT_DEADLINE_MS,
    ") AS deadline_ms, coalesce(g.hook_version, 1) AS hook_version,
       coalesce(g.previous_until, 0) AS previous_until, ",
    OWN_VERSION,
    " AS key_version
     FROM accounts a LEFT JOIN guard_policies g ON g.account_id = a.id "
);
const SELECT_AUTHORISED: &str = concat!(SELECT_POLICY, "WHERE ", AUTHORISE);
const SELECT_IN_SESSION: &str =
    concat!(SELECT_POLICY, "WHERE a.id IN (SELECT id FROM accounts WHERE ", IN_SESSION, ")");
const SELECT_OF_HOOK: &str = concat!(SELECT_POLICY, "WHERE a.id = ?1 AND a.state = 'confirmed'");

const INSERT_IN_SESSION: &str = concat!(
    "INSERT INTO guard_policies (account_id, refuse, allow_domains, block_domains, deadline_ms)
     SELECT id, ",
    DEFAULT_REFUSE,
    ", '[]', '[]', ",
    DEFAULT_DEADLINE_MS,
    " FROM accounts WHERE ",
    IN_SESSION,
    " ON CONFLICT (account_id) DO NOTHING"
);

const UPDATE_POLICY: &str = concat!(
    "UPDATE guard_policies SET refuse = CASE ?3 WHEN '' THEN refuse ELSE ?3 END,
       allow_domains = CASE ?4 WHEN '' THEN allow_domains ELSE ?4 END,
       block_domains = CASE ?5 WHEN '' THEN block_domains ELSE ?5 END,
       deadline_ms = CASE WHEN ?6 = 0 THEN deadline_ms ELSE ?6 END
     WHERE account_id IN (SELECT id FROM accounts WHERE ",
    IN_SESSION,
    ")"
);

const UPDATE_HOOK_VERSION: &str = concat!(
    "UPDATE guard_policies SET hook_version = hook_version + 1, previous_until = ?3
     WHERE account_id IN (SELECT id FROM accounts WHERE ",
    IN_SESSION,
    ")"
);

const SELECT_REFUSALS: &str = concat!(
    "SELECT day, reason, count FROM guard_refusals WHERE day >= ?3
       AND account_id IN (SELECT id FROM accounts WHERE ",
    IN_SESSION,
    ") ORDER BY day DESC, reason"
);

const INSERT_REFUSALS: &str = "INSERT INTO guard_refusals (account_id, day, reason, count)
     SELECT id, ?2, ?3, ?4 FROM accounts WHERE id = ?1 AND deleted_at IS NULL
     ON CONFLICT (account_id, day, reason) DO UPDATE SET count = count + excluded.count";

/// `None` means no change.
#[derive(Debug, Default)]
pub struct PolicyChange {
    pub refuse: Option<String>,
    pub allow_domains: Option<String>,
    pub block_domains: Option<String>,
    pub deadline_ms: Option<u64>,
}

#[derive(Debug)]
pub enum OwnerAction {
    Read,
    Change(PolicyChange, AccountEvent),
    /// The hook's next version; the previous one works until `until`.
    Rotate {
        until: u64,
        event: AccountEvent,
    },
}

const INSERT_CHANGED_EVENT: &str = event!("guard_changed", "?3", "?4", IN_SESSION);
const INSERT_SECRET_REPLACED_EVENT: &str = event!("guard_secret_replaced", "?3", "?4", IN_SESSION);

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
    let mut statements: Vec<Statement<'_>> = Vec::new();
    match &action {
        OwnerAction::Read => {}
        OwnerAction::Change(change, event) => {
            let [refuse, allow, block] = texts.each_ref().map(Param::from);
            let deadline = change.deadline_ms.unwrap_or_default().into();
            let new = vec![refuse, allow, block, deadline];
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

pub async fn policy(
    database: &Database,
    account: AccountId,
    caller: Option<Caller>,
) -> Result<Option<StoredPolicy>, Error> {
    let texts = caller.map(CallerTexts::of);
    let account = account.to_string();
    let (sql, params) = match (caller, &texts) {
        (Some(caller), Some(texts)) => (SELECT_AUTHORISED, texts.proof(caller).to_vec()),
        _ => (SELECT_OF_HOOK, vec![(&account).into()]),
    };
    database.first((sql, params)).await
}

pub async fn add_refusals(
    database: &Database,
    account: AccountId,
    refusals: &[(Day, &'static str, u64)],
) -> Result<(), Error> {
    let account = account.to_string();
    let statements = refusals.iter().map(|(day, reason, count)| {
        let counted = [day.number().into(), (*reason).into(), (*count).into()];
        (INSERT_REFUSALS, [vec![Param::from(&account)], counted.to_vec()].concat())
    });
    database.batch(&statements.collect::<Vec<_>>()).await.map(drop)
}
