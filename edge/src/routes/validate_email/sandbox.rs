//! The sandbox: errors of the API on request, and checks with test keys.

use std::{sync::Arc, time::Duration};

use rcpt_shared::{
    Address, Tenant, Verdict,
    sandbox::{http_status, is_domain},
};

use super::{CheckRequest, ValidationResult, deadline::RETRY_AFTER_S, details::Details};
use crate::{
    app::App,
    cf::clock,
    credentials::{proof::Caller, tenant},
    error::Error,
    extract::{caller::still_good, request::RequestContext},
    limits::{
        quota::{Day, seconds_to_reset},
        shield::Shield,
    },
    store::named_keys,
};

/// Nothing is charged, cached or stored.
///
/// # Errors
/// [`Error::test_key`] for any address outside the sandbox; the errors of an invalid key and of the sandbox.
pub(super) async fn check(
    app: &Arc<App>,
    context: &RequestContext,
    caller: Caller,
    request: CheckRequest,
) -> Result<ValidationResult, Error> {
    admit(app, caller, 1).await?;
    admitted(app, context, caller, request).await
}

/// Like [`check`], for an admitted call with a valid test key.
pub async fn admitted(
    app: &Arc<App>,
    context: &RequestContext,
    caller: Caller,
    request: CheckRequest,
) -> Result<ValidationResult, Error> {
    let address = match request.email {
        Ok(address) => address,
        Err(malformed) => return Ok(ValidationResult::of_no_address(&malformed, request.details)),
    };
    demand([&address])?;
    let budget_ms = app.config.upstream_budget_ms;
    let until = clock::now_ms().saturating_add(budget_ms);
    let ask = ask(app, context, caller, &address, request.details, until);
    let patience = Duration::from_millis(request.deadline_ms.unwrap_or(budget_ms + 1_000));
    let verdict = clock::within(patience, ask).await;
    match (verdict, request.deadline_ms) {
        (Some(verdict), _) => {
            let verdict = verdict?;
            let status = verdict.status;
            let verdict = request.details.then_some(verdict);
            Ok(ValidationResult::of(&address, status, verdict, false))
        }
        (None, Some(deadline_ms)) => {
            let details = || Details::pending(&address, None, deadline_ms, RETRY_AFTER_S);
            Ok(ValidationResult::pending(&address, request.details.then(details)))
        }
        (None, None) => Err(Error::upstream("no answer within the budget")),
    }
}

/// Admits a call of `checks` checks with a test key. An account's test keys have a separate shield. The key is verified
/// by one trip to the account's database.
///
/// # Errors
/// The errors of an invalid key, and [`Error::too_many_checks`].
pub async fn admit(app: &App, caller: Caller, checks: u32) -> Result<(), Error> {
    still_good(app, caller).map_err(Error::of_validation)?;
    let account = caller.account.to_string();
    for _ in 0..checks {
        if !app.shield.admits_test(&account).await {
            return Err(Error::too_many_checks(clock::now(), Shield::CHECK_PERIOD_S));
        }
    }
    if !named_keys::is_good(app.databases.of(caller.account)?, caller).await? {
        return Err(caller.proof.to_error().of_validation());
    }
    Ok(())
}

/// Requires that a test key may check all of these addresses.
///
/// # Errors
/// [`Error::test_key`] for an address outside the sandbox, or an address's assigned error.
pub fn demand<'a>(addresses: impl IntoIterator<Item = &'a Address> + Clone) -> Result<(), Error> {
    if !addresses.clone().into_iter().all(|address| is_domain(address.domain())) {
        return Err(Error::test_key());
    }
    let now = clock::now();
    let error = addresses.into_iter().find_map(|address| error_of(address, now));
    error.map_or(Ok(()), Err)
}

/// Requests a verdict for a test key, always from an origin and without a lease.
pub async fn ask(
    app: &App,
    context: &RequestContext,
    caller: Caller,
    address: &Address,
    details: bool,
    until: u64,
) -> Result<Verdict, Error> {
    let tenant = tenant::name(&app.config.address_secrets, caller.account);
    let tenant = Tenant { name: &tenant, paying: false };
    app.origins.probe(address, details, &context.id, tenant, until).await
}

/// The error assigned to a sandbox address; `None` for all other addresses. `now` is in Unix seconds.
pub fn error_of(address: &Address, now: u64) -> Option<Error> {
    let cause = "an address of the sandbox";
    Some(match http_status(address)? {
        429 => {
            let (resets_at, seconds) = (Day::of(now).resets_at(), seconds_to_reset(now));
            Error::email_checks_used_up(DAILY_CHECKS, resets_at, seconds)
        }
        502 => Error::upstream(cause),
        _ => Error::unavailable(cause),
    })
}

/// Daily checks of the fictitious plan whose allowance is used up.
const DAILY_CHECKS: u32 = 100;
