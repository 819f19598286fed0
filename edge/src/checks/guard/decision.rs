//! A decision about one address. If no result arrives in time, the address is allowed.

use std::{sync::Arc, time::Duration};

use rcpt_shared::{Address, read};
use utoipa::ToSchema;

use super::{
    super::{
        call::CheckCall,
        check::{self, Check},
        guard_sql,
        list::List,
        units::{admits, permit},
    },
    RefusedKind,
    judgement::{Decision, NOT_IN_TIME, Policy, THROTTLED, UNAVAILABLE, USED_UP},
};
use crate::{
    account::{AccountId, disposable_domains::DisposableDomains},
    app::{
        App,
        policies::{PolicyReader, StoredPolicy},
    },
    cf::{clock, log},
    credentials::{idempotency::Idempotent, proof::Caller},
    error::{Error, PlainError, ValidationError},
    extract::{caller::still_good, request::RequestContext},
    limits::{quota::Day, refusals::Refusal},
};

const POLICY_MS: u64 = 1_000;
/// Milliseconds before the deadline that are reserved for reading the response; at most a quarter of the time left.
const RESERVE_MS: u64 = 150;
/// Milliseconds to wait for the list of disposable domains, which an isolate reads once.
const LIST_MS: u64 = 100;

/// Body of `POST /guard/decide`.
#[derive(ToSchema)]
#[expect(dead_code, reason = "its member is read by name, with a text for each mistake")]
pub struct DecisionRequest {
    /// The text that was typed into the form.
    pub email: String,
}

/// Decide about a sign-up
///
/// Checks an address and answers by your policy, before its deadline. If no decision is reached in time, it is `allow`:
/// neither a failure of the service nor a used-up allowance rejects anybody. It counts as a check, unless the text's
/// form, a role such as `info@` or one of your own lists decides: these always apply, and never count. A test key
/// decides about addresses of the sandbox, and never counts.
#[utoipa::path(
    post, path = "/v1/guard/decide", tag = "Guard", operation_id = "decideSignUp",
    request_body = DecisionRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "Your own id for this request, 16 to 255 printable characters: repeats with it count once")),
    responses(
        (status = 200, description = "The decision", body = Decision),
        (status = 400, description = "`email` is missing or no string, or the body is malformed", body = ValidationError),
        (status = 401, description = "The API key or session is missing or no longer valid", body = ValidationError),
        (status = 422, description = "`idempotency_key_reused`: the key was sent with another request", body = PlainError),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn decide(call: CheckCall) -> Result<Decision, Error> {
    let began = clock::now_ms();
    let email = call.body.text("email")?.to_owned();
    let once = call.once(&identity(&email))?;
    let CheckCall { app, context, caller, .. } = call;
    still_good(&app, caller).map_err(Error::of_validation)?;
    let is_admitted = admits(&app, caller).await;
    let found = match policy(&app, PolicyReader::Caller(caller), is_admitted).await {
        Ok(Some(stored)) => Ok(stored),
        Ok(None) => return Err(caller.proof.to_error().of_validation()),
        Err(reason) => Err(reason),
    };
    SignUp { caller, email, once, began, is_admitted }.decide(&app, &context, found).await
}

/// Content that a repeat must share with the first request.
pub fn identity(email: &str) -> String {
    format!("guard\0{email}")
}

/// The reader's policy: as read within the last ten seconds or, for an admitted call, as read now. If it can't be read,
/// the last one that this isolate knows. `Ok(None)` means that the database doesn't know the reader.
///
/// # Errors
/// The reason why no policy is known.
pub async fn policy(
    app: &App,
    reader: PolicyReader,
    is_admitted: bool,
) -> Result<Option<Arc<StoredPolicy>>, &'static str> {
    if let Some(read) = app.policies.fresh(reader, clock::now_ms()) {
        return Ok(read);
    }
    let at_hand = |reason| app.policies.at_hand(reader).map(Some).ok_or(reason);
    if !is_admitted {
        return at_hand(THROTTLED);
    }
    let Ok(database) = app.databases.of(reader.account()) else { return at_hand(UNAVAILABLE) };
    let caller = match reader {
        PolicyReader::Caller(caller) => Some(caller),
        PolicyReader::Hook(_) => None,
    };
    let read = guard_sql::policy(database, reader.account(), caller);
    let Some(Ok(read)) = clock::within(Duration::from_millis(POLICY_MS), read).await else {
        return at_hand(UNAVAILABLE);
    };
    let read = read.map(Arc::new);
    // A refused caller isn't remembered here, but as a dead key or session.
    if read.is_some() || matches!(reader, PolicyReader::Hook(_)) {
        app.policies.set(reader, clock::now_ms(), read.clone());
    }
    Ok(read)
}

/// A sign-up that needs a decision.
pub struct SignUp {
    pub caller: Caller,
    pub email: String,
    pub once: Option<Idempotent>,
    /// Start time in milliseconds of the Worker's clock.
    pub began: u64,
    /// False if the shield is exceeded: then no check is made.
    pub is_admitted: bool,
}

impl SignUp {
    /// Decides about the sign-up, and counts a rejection after the response. `found` is the policy, or the reason why
    /// none is known.
    ///
    /// # Errors
    /// The caller's own mistakes: a replaced credential, an `Idempotency-Key` of another request, or an address that a
    /// test key can't ask about.
    pub async fn decide(
        self,
        app: &Arc<App>,
        context: &RequestContext,
        found: Result<Arc<StoredPolicy>, &'static str>,
    ) -> Result<Decision, Error> {
        let caller = self.caller;
        let decision = self.decision(app, context, found).await;
        match &decision {
            Ok(decision) if decision.is_refusal() && !caller.proof.is_test() => {
                count(app, context, caller.account, decision.reason);
            }
            // The policy was read with a credential that no longer holds.
            Err(error) if error.code() == caller.proof.to_error().code() => {
                app.policies.forget(caller.account);
            }
            _ => {}
        }
        decision
    }

    async fn decision(
        self,
        app: &Arc<App>,
        context: &RequestContext,
        found: Result<Arc<StoredPolicy>, &'static str>,
    ) -> Result<Decision, Error> {
        let unknown = found.as_ref().err().copied();
        let policy = found.map_or_else(|_| Policy::of_form_alone(), |stored| Policy::of(&stored));
        let address = match read(&self.email) {
            Ok(address) => address,
            Err(malformed) => return Ok(policy.about_no_address(&malformed)),
        };
        permit(self.caller, [address.domain()])?;
        if let Some(decision) = policy.by_itself(&address) {
            return Ok(decision);
        }
        let mut turn = ListTurn { account: self.caller.account, is_admitted: None };
        let is_admitted = self.is_admitted;
        let decision = match unknown {
            Some(reason) => Decision::allow(address.as_given(), reason),
            None if !is_admitted => Decision::allow(address.as_given(), THROTTLED),
            None => self.by_check(app, context, &policy, &address, &mut turn).await?,
        };
        // The Worker's own list still applies where there is no result.
        let is_listed = !decision.has_result
            && policy.refuses(RefusedKind::Disposable)
            && turn.is_admitted(app).await
            && is_listed(app, address.domain()).await;
        let listed = || Decision {
            rate_limit: decision.rate_limit.clone(),
            ..Policy::of_listed(address.as_given())
        };
        Ok(if is_listed { listed() } else { decision })
    }

    async fn by_check(
        self,
        app: &Arc<App>,
        context: &RequestContext,
        policy: &Policy,
        address: &Address,
        turn: &mut ListTurn,
    ) -> Result<Decision, Error> {
        let without = |reason| Ok(Decision::allow(address.as_given(), reason));
        let remembered = app.refusals.refusal_of(self.caller, clock::now());
        // The repeat of a check that was charged gets its answer.
        if matches!(remembered, Some(Refusal::UsedUp { .. }))
            && !(self.once.is_some() && turn.is_admitted(app).await)
        {
            return without(USED_UP);
        }
        let elapsed = clock::now_ms().saturating_sub(self.began);
        let remaining_ms = policy.deadline_ms.saturating_sub(elapsed);
        let inner = remaining_ms.saturating_sub(RESERVE_MS.min(remaining_ms / 4)).max(1);
        let check = Check {
            app: Arc::clone(app),
            context: context.clone(),
            caller: self.caller,
            once: self.once,
            list: List::of([Ok(address.clone())], true, &app.config.address_secrets),
            deadline_ms: Some(inner),
        };
        let work = context.deferred.outliving(check::answer(check));
        match clock::within(Duration::from_millis(remaining_ms), work).await {
            Some(Some(Ok(found))) => Ok(policy.by_result(&found.only()?)),
            Some(Some(Err(error))) if error.is_the_callers() => Err(error),
            Some(Some(Err(error))) => without(error.code()),
            Some(None) | None => without(NOT_IN_TIME),
        }
    }
}

/// One turn at the Worker's list without a charge: at the rate of the shield for an account's requests, but counted
/// apart from them.
struct ListTurn {
    account: AccountId,
    /// `None` until the shield has been asked.
    is_admitted: Option<bool>,
}

impl ListTurn {
    async fn is_admitted(&mut self, app: &App) -> bool {
        if self.is_admitted.is_none() {
            let party = format!("{} by guard", self.account);
            self.is_admitted = Some(app.shield.admits_account(&party).await);
        }
        self.is_admitted.unwrap_or_default()
    }
}

const SANDBOX_DISPOSABLE: &str = "disposable.sandbox.test";

async fn is_listed(app: &App, domain: &str) -> bool {
    if domain == SANDBOX_DISPOSABLE {
        return true;
    }
    let list = app.assets.disposable_domains();
    let list = clock::within(Duration::from_millis(LIST_MS), list).await.flatten();
    list.and_then(DisposableDomains::parse).is_some_and(|list| list.contain(domain))
}

fn count(app: &Arc<App>, context: &RequestContext, account: AccountId, reason: &'static str) {
    let day = Day::of(clock::now());
    let due = app.refusal_counts.add(account, day, reason, clock::now_ms());
    let Some(pause_ms) = due else { return };
    let app = Arc::clone(app);
    context.deferred.after_response(async move {
        clock::sleep(Duration::from_millis(pause_ms)).await;
        let counts = app.refusal_counts.take(account);
        let written = match app.databases.of(account) {
            Ok(database) => guard_sql::add_refusals(database, account, &counts).await,
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            log::failure("refusals of the guard", &error);
        }
    });
}

#[cfg(test)]
mod tests {
    use rcpt_shared::{DomainKind, sandbox::domain_facts};

    use super::SANDBOX_DISPOSABLE;

    #[test]
    fn the_sandbox_has_the_domain_of_throw_away_mailboxes() {
        let facts = domain_facts(SANDBOX_DISPOSABLE).map(|facts| facts.kind);
        assert_eq!(facts, Some(DomainKind::Disposable));
    }
}
