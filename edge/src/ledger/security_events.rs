//! Security events of an account. Sign-ins are written in `accounts/sessions_sql.rs`, events with an email in
//! `notices.rs`.

use constcat::concat;
use serde::Deserialize;

use super::IN_SESSION;
use crate::{
    account::AccountId,
    cf::database::{Database, Param, Statement},
    credentials::session::Session,
    error::Error,
    mail::AccountEvent,
};

pub const LISTED_S: u64 = 90 * 24 * 60 * 60;

pub const ON_CONFLICT_COUNT: &str =
    " ON CONFLICT (account_id, class, kind, name) DO UPDATE SET at = excluded.at,
    count = count + 1, browser = excluded.browser, country = excluded.country";

/// Runs in the action's batch, before the action and under its condition. The two parameters are those of [`device`].
macro_rules! event {
    ($kind:literal, $browser:literal, $country:literal, $($condition:expr),+) => {
        constcat::concat!(
            "INSERT INTO security_events (account_id, class, kind, name, at, browser, country)
             SELECT id, 'deed', '", $kind, "', date('now'), unixepoch(), ", $browser, ", ", $country,
            " FROM accounts WHERE ",
            $($condition,)+
            $crate::ledger::security_events::ON_CONFLICT_COUNT
        )
    };
}
pub(crate) use event;

pub fn device(deed: &AccountEvent) -> Vec<Param<'_>> {
    vec![(&deed.browser).into(), (&deed.country).into()]
}

#[derive(Debug, Deserialize)]
pub struct StoredEvent {
    pub kind: String,
    /// Time of the last of the day's equal events.
    pub at: i64,
    pub count: u32,
    pub browser: String,
    pub country: String,
}

const SELECT_LIVE_SESSION: &str = concat!("SELECT id FROM accounts WHERE ", IN_SESSION);

const SELECT_EVENTS: &str = concat!(
    "SELECT kind, at, count, browser, country FROM security_events
     WHERE account_id = ?1 AND at > ?3 AND EXISTS (SELECT 1 FROM accounts WHERE ",
    IN_SESSION,
    ") ORDER BY at DESC, class, kind, name LIMIT 100"
);

/// The account's events, newest first; `None` if the session has ended.
pub async fn list(
    database: &Database,
    session: Session,
    now: u64,
) -> Result<Option<Vec<StoredEvent>>, Error> {
    let (account, id) = session.texts();
    let caller = vec![(&account).into(), (&id).into()];
    let since = vec![now.saturating_sub(LISTED_S).into()];
    let list = (SELECT_EVENTS, [caller.clone(), since].concat());
    let rows = database.batch(&[(SELECT_LIVE_SESSION, caller), list]).await?;
    if rows.any(0)? { rows.all(1).map(Some) } else { Ok(None) }
}

const INSERT_EXPORTED_EVENT: &str = event!("data_exported", "?3", "?4", IN_SESSION);

pub async fn note_export(
    database: &Database,
    session: Session,
    deed: &AccountEvent,
) -> Result<(), Error> {
    let (account, id) = session.texts();
    let params = [vec![(&account).into(), (&id).into()], device(deed)].concat();
    database.run((INSERT_EXPORTED_EVENT, params)).await
}

#[derive(Debug, Clone, Copy)]
pub enum FailedAttempt {
    SignIn,
    Code,
    Password,
    Passkey,
}

impl FailedAttempt {
    const fn as_str(self) -> &'static str {
        match self {
            Self::SignIn => "sign_in_failed",
            Self::Code => "wrong_code",
            Self::Password => "wrong_password",
            Self::Passkey => "passkey_failed",
        }
    }
}

const INSERT_FAILURE: &str = concat!(
    "INSERT INTO security_events (account_id, class, kind, name, at, browser, country)
     SELECT id, 'failure', ?2, date(?3, 'unixepoch'), ?3, ?4, ?5 FROM accounts
     WHERE id = ?1 AND state = 'confirmed'",
    ON_CONFLICT_COUNT
);

pub(super) fn failed<'a>(
    account: &'a str,
    failure: FailedAttempt,
    deed: &'a AccountEvent,
) -> Statement<'a> {
    let at = u64::try_from(deed.at).unwrap_or_default();
    (
        INSERT_FAILURE,
        [vec![account.into(), failure.as_str().into(), at.into()], device(deed)].concat(),
    )
}

/// Records a failure: one row per kind and day, so that guesses can't displace other events. If the address
/// has no account, the same statement changes nothing.
pub async fn note_failure(
    database: &Database,
    account: Option<AccountId>,
    failure: FailedAttempt,
    deed: &AccountEvent,
) -> Result<(), Error> {
    let account = account.map(|id| id.to_string()).unwrap_or_default();
    database.run(failed(&account, failure, deed)).await
}
