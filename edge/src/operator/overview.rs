//! An account as operators see it: no hash, no seal, no key.

use axum::{
    Json,
    response::{IntoResponse as _, Response},
};
use constcat::concat;
use serde::{Deserialize, Serialize};

use crate::{
    account::{AccountAddress, AccountId},
    app::App,
    cf::database::Database,
    credentials::{account_reference, keyed_names},
    error::Error,
    ledger::{directory, plans::IN_FORCE},
    meter,
};

/// An account's state, with times as texts in UTC.
#[derive(Debug, Serialize, Deserialize)]
pub struct Overview {
    pub id: String,
    pub email: String,
    display_name: String,
    pub state: String,
    plan: String,
    plan_until: Option<String>,
    key_active: u8,
    pub two_factor: u8,
    recovery_due: Option<String>,
    recovery_mailed: Option<String>,
    /// When a deletion by an operator takes effect.
    pub erased_at: Option<String>,
    created_at: String,
    checks_charged_today: u32,
    live_leases: u32,
    welcome_left: u32,
    /// The name that its owner quotes, and the one in the logs of origins.
    #[serde(default)]
    reference: String,
    #[serde(default)]
    tenant: String,
}

/// `?1` account.
pub const SELECT_OVERVIEW: &str = concat!(
    "SELECT a.id, a.email, a.display_name, a.state, ",
    IN_FORCE,
    " AS plan,
       CASE WHEN a.plan_until > unixepoch() THEN datetime(a.plan_until, 'unixepoch') END AS plan_until,
       a.key_active, EXISTS (SELECT 1 FROM second_factors f WHERE f.account_id = a.id AND f.off_at IS NULL) AS two_factor,
       (SELECT datetime(min(c.since, unixepoch()) + 3 * 86400, 'unixepoch')
          FROM waiting w JOIN changes c ON c.account_id = w.account_id AND c.about = 'recovery'
        WHERE w.account_id = a.id AND w.kind = 'recovery') AS recovery_due,
       (SELECT datetime(n.told_at, 'unixepoch') FROM notices n JOIN waiting w ON w.account_id = n.account_id
        WHERE n.account_id = a.id AND n.kind = 'recovery_pending' AND n.told > 0 AND w.kind = 'recovery') AS recovery_mailed,
       datetime(a.erase_at, 'unixepoch') AS erased_at,
       datetime(a.created_at, 'unixepoch') AS created_at,
       CASE WHEN a.day = unixepoch() / 86400 THEN a.daily_charged ELSE 0 END AS checks_charged_today,
       (SELECT count(*) FROM leases l WHERE l.account_id = a.id AND l.expires_at > unixepoch()) AS live_leases,
       a.welcome_left
     FROM accounts a WHERE a.id = ?1 AND a.deleted_at IS NULL"
);

impl Overview {
    /// Adds the names that only the Worker can compute.
    pub fn named(mut self, app: &App, account: AccountId) -> Self {
        self.reference = account_reference::of(&app.config.api_key_secrets, account);
        self.tenant = keyed_names::of_account(&app.config.address_secrets, account);
        self
    }
}

/// The account of an address, an id or a reference, for the log too. A reference under a secret that has gone counts:
/// the call itself is signed.
///
/// # Errors
/// [`Error::no_such_account`].
pub async fn find(app: &App, text: &str) -> Result<AccountId, Error> {
    let text = text.trim();
    let id = text.strip_prefix("acct_").and_then(|text| text.get(..16)).unwrap_or(text);
    let account = match (AccountId::parse(id), AccountAddress::parse(text)) {
        (Some(id), _) => Some(id),
        (None, Ok(address)) => {
            directory::find(app.databases.directory(), &address.folded()).await?
        }
        _ => None,
    };
    let account = account.ok_or_else(Error::no_such_account)?;
    meter::note(|party| party.account = Some(account.to_string()));
    Ok(account)
}

/// The account's overview.
///
/// # Errors
/// [`Error::no_such_account`].
pub async fn of(app: &App, database: &Database, account: AccountId) -> Result<Overview, Error> {
    let id = account.to_string();
    let found = database.first::<Overview>((SELECT_OVERVIEW, vec![(&id).into()])).await?;
    Ok(found.ok_or_else(Error::no_such_account)?.named(app, account))
}

pub async fn show(app: &App, text: &str) -> Result<Response, Error> {
    let account = find(app, text).await?;
    Ok(Json(of(app, app.databases.of(account)?, account).await?).into_response())
}

/// The account whose checks an origin logs under this tenant.
pub async fn of_tenant(app: &App, name: &str) -> Result<Response, Error> {
    let account = keyed_names::account_of(&app.config.address_secrets, name.trim());
    let account = account.ok_or_else(Error::no_such_account)?;
    show(app, &account.to_string()).await
}
