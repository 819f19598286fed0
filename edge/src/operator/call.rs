//! `POST /v1/operator`: everything that a call does is in its signed body.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::HeaderMap,
    response::Response,
};
use serde::{Deserialize, Serialize};

use super::{accounts, deed::Deed, directory, exceptions, overview, plans, records};
use crate::{
    app::App,
    cf::{clock, log},
    credentials::signed_message::{SIGNATURE, TOLERANCE_S},
    error::Error,
    extract::{
        json_body::{self, BODY_BYTES_MAX},
        request::RequestContext,
    },
    limits::{
        quota::GivenTime,
        rules::{Gate, Key, Rule},
        throttle::Attempt,
    },
};

pub const PATH: &str = "/v1/operator";

/// Changes of one operator: thirty, and one every two seconds, so at most sixty in any minute.
const CHANGES: Rule = Rule { burst: 30, interval: 2 };

/// Characters of a call's id, which is stored.
const ID_CHARS: std::ops::RangeInclusive<usize> = 16..=64;

/// The signature covers all of it.
#[derive(Debug, Deserialize)]
struct Call {
    /// Random. A repeated change finds its id in the audit and does nothing.
    id: String,
    /// Host of the portal's URL, with its port if there is one: a call to another service means nothing here.
    host: String,
    /// Unix seconds.
    at: u64,
    #[serde(default)]
    reason: String,
    action: Action,
}

/// An account, named by its address, its id or its reference (`acct_…`).
#[derive(Debug, Deserialize)]
pub struct Target {
    account: String,
}

/// Accounts are named as a [`Target`].
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    List,
    Search { text: String },
    Show(Target),
    Tenant { name: String },
    Plans,
    Audit { account: Option<String> },
    SetPlan { account: String, plan: String, until: Option<GivenTime> },
    GrantChecks { account: String, number: u32 },
    DeactivateKey(Target),
    ReactivateKey(Target),
    Deactivate(Target),
    Reactivate(Target),
    Recover(Target),
    StopRecovery(Target),
    Delete(Target),
    Undelete(Target),
    SetSize { plan: String, size: plans::Size, number: u32 },
    Allow { email: String },
    Enter { accounts: Vec<String> },
}

impl Action {
    const fn name(&self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Search { .. } => "search",
            Self::Show(_) => "show",
            Self::Tenant { .. } => "tenant",
            Self::Plans => "plans",
            Self::Audit { .. } => "audit",
            Self::SetPlan { .. } => "set-plan",
            Self::GrantChecks { .. } => "grant-checks",
            Self::DeactivateKey(_) => "deactivate-key",
            Self::ReactivateKey(_) => "reactivate-key",
            Self::Deactivate(_) => "deactivate",
            Self::Reactivate(_) => "reactivate",
            Self::Recover(_) => "recover",
            Self::StopRecovery(_) => "stop-recovery",
            Self::Delete(_) => "delete",
            Self::Undelete(_) => "undelete",
            Self::SetSize { .. } => "set-size",
            Self::Allow { .. } => "allow",
            Self::Enter { .. } => "enter",
        }
    }

    const fn is_read(&self) -> bool {
        matches!(
            self,
            Self::List
                | Self::Search { .. }
                | Self::Show(_)
                | Self::Tenant { .. }
                | Self::Plans
                | Self::Audit { .. }
        )
    }

    /// True of an action that can't be taken back or lets somebody in.
    const fn needs_a_reason(&self) -> bool {
        matches!(self, Self::Recover(_) | Self::Delete(_) | Self::Allow { .. })
    }
}

#[derive(Serialize)]
struct CallLine<'a> {
    event: &'static str,
    request_id: &'a str,
    operator: &'a str,
    action: &'static str,
    id: &'a str,
}

/// Does what a call says:
/// 1. the signature is verified before anything else and without storage;
/// 2. the call must be for this host and of this time;
/// 3. a change is counted;
/// 4. the action is logged and runs. A change is written in one transaction with its row of the audit.
pub async fn receive(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    context: RequestContext,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Error> {
    // 1.
    let body = body.map_err(|_| Error::body_too_large(BODY_BYTES_MAX))?;
    let signature = headers.get(SIGNATURE).and_then(|value| value.to_str().ok());
    let operator = signature.and_then(|signature| app.config.admin_keys.signer(&body, signature));
    let operator = operator.ok_or_else(Error::invalid_signature)?;
    // 2.
    let call: Call = json_body::parse(&body)?;
    let (host, now) = (app.config.host(), clock::now());
    if call.at.abs_diff(now) > TOLERANCE_S {
        return Err(Error::invalid_signature());
    }
    if call.host != host {
        return Err(Error::another_host(host));
    }
    let is_plain = call.id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !is_plain || !ID_CHARS.contains(&call.id.len()) {
        return Err(Error::invalid_body("id: expected 16 to 64 letters, digits and hyphens."));
    }
    if call.action.needs_a_reason() && call.reason.trim().is_empty() {
        return Err(Error::invalid_body(format!("{} needs a reason.", call.action.name())));
    }
    // 3.
    if !call.action.is_read() {
        let gates = vec![Gate::new(Key::operator(operator), CHANGES)];
        Attempt::count(app.databases.directory(), gates, now).await?;
    }
    // 4.
    let (action, id) = (call.action.name(), call.id.as_str());
    log::line(&CallLine { event: "operator", request_id: &context.id, operator, action, id });
    let deed = Deed { call: id, operator, action, reason: &call.reason };
    let (of, change) = match call.action {
        Action::List => return records::list(&app).await,
        Action::Search { text } => return records::search(&app, &text).await,
        Action::Audit { account } => return records::audit(&app, account.as_deref()).await,
        Action::Show(of) => return overview::show(&app, &of.account).await,
        Action::Tenant { name } => return overview::of_tenant(&app, &name).await,
        Action::Plans => return plans::list(&app).await,
        Action::SetSize { plan, size, number } => {
            return plans::set_size(&app, &deed, &plan, size, number).await;
        }
        Action::Allow { email } => return exceptions::allow(&app, &deed, &email).await,
        Action::Enter { accounts } => return directory::enter(&app, &deed, &accounts).await,
        Action::SetPlan { account, plan, until } => {
            return accounts::set_plan(&app, &deed, &account, &plan, until.map(|until| until.0))
                .await;
        }
        Action::GrantChecks { account, number } => {
            return accounts::grant_checks(&app, &deed, &account, number).await;
        }
        Action::DeactivateKey(of) => (of, &accounts::DEACTIVATE_KEY),
        Action::ReactivateKey(of) => (of, &accounts::REACTIVATE_KEY),
        Action::Deactivate(of) => (of, &accounts::DEACTIVATE),
        Action::Reactivate(of) => (of, &accounts::REACTIVATE),
        Action::Recover(of) => (of, &accounts::RECOVER),
        Action::StopRecovery(of) => (of, &accounts::STOP_RECOVERY),
        Action::Delete(of) => (of, &accounts::DELETE),
        Action::Undelete(of) => (of, &accounts::UNDELETE),
    };
    accounts::change(&app, &deed, &of.account, change).await
}
