//! A decision about one address. If no result arrives in time, the address is allowed.

use std::{sync::Arc, time::Duration};

use axum::extract::State;
use rcpt_shared::read;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    super::validate_email::{self, CheckRequest},
    judgement::{Decision, Policy},
};
use crate::{
    account::AccountId,
    app::App,
    cf::{clock, log},
    credentials::{idempotency::Idempotent, proof::Caller},
    error::{Error, PlainError, ValidationError},
    extract::{json_body::JsonBody, request::RequestContext},
    store::guard,
};

/// Milliseconds to wait for the policy.
pub const POLICY_MS: u64 = 1_000;
/// Milliseconds before the deadline that are reserved for reading the response; at most a quarter of the time left.
const RESERVE_MS: u64 = 150;

/// Body of `POST /guard/decide`.
#[derive(ToSchema)]
#[expect(dead_code, reason = "its member is read by name, with a text for each mistake")]
pub struct DecisionRequest {
    /// The text that was typed into the form.
    #[schema(min_length = 1)]
    pub email: String,
}

/// Decide about a sign-up
///
/// Checks an address and answers by your policy, before its deadline. If no decision is reached in time, it is `allow`:
/// neither a failure of the service nor a used-up allowance rejects anybody. It counts as a check, unless one of your
/// own lists decides.
#[utoipa::path(
    post, path = "/v1/guard/decide", tag = "Guard", operation_id = "decide",
    request_body = DecisionRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "A text of your own for this question, 16 to 255 printable characters: sent again with it, it's counted once")),
    responses(
        (status = 200, description = "The decision", body = Decision),
        (status = 400, description = "`email` is missing or no string, or the body is malformed", body = ValidationError),
        (status = 401, description = "The API key or session is missing or no longer valid", body = ValidationError),
        (status = 422, description = "`idempotency_key_reused`: the key was sent with another request", body = PlainError),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn decide(
    State(app): State<Arc<App>>,
    context: RequestContext,
    caller: Result<Caller, Error>,
    body: Result<JsonBody<Map<String, Value>>, Error>,
) -> Result<Decision, Error> {
    let began = clock::now_ms();
    let caller = caller.map_err(Error::of_validation)?;
    let JsonBody(body) = body.map_err(Error::of_validation)?;
    let email = match body.get("email").map(Value::as_str) {
        Some(Some(email)) => email.to_owned(),
        Some(None) => {
            return Err(Error::invalid_body("The 'email' field must be a string.").of_validation());
        }
        None => {
            let detail = "Missing 'email' field in request body.";
            return Err(Error::invalid_body(detail).of_validation());
        }
    };
    let once = context.idempotent(&app.config.address_secrets, caller.account, &identity(&email));
    let once = once.map_err(Error::of_validation)?;
    let database = app.databases.of(caller.account)?;
    let patience = Duration::from_millis(POLICY_MS);
    let policy = match clock::within(patience, guard::policy(database, caller)).await {
        Some(Ok(Some(stored))) => Policy::of(&stored),
        Some(Ok(None)) => return Err(caller.proof.to_error().of_validation()),
        Some(Err(_)) | None => return Ok(Decision::allow("unavailable")),
    };
    let sign_up = SignUp { caller, email, once, began };
    sign_up.decide(&app, &context, &policy).await
}

/// Returns the content that a repeat must share with the first request.
pub fn identity(email: &str) -> String {
    format!("guard\0{email}")
}

/// A sign-up that needs a decision.
pub struct SignUp {
    pub caller: Caller,
    pub email: String,
    pub once: Option<Idempotent>,
    /// Start time in milliseconds of the Worker's clock.
    pub began: u64,
}

impl SignUp {
    /// Decides about the sign-up, and counts a rejection after the response.
    ///
    /// # Errors
    /// The caller's own mistakes: a replaced credential, or an `Idempotency-Key` of
    /// another request.
    pub async fn decide(
        self,
        app: &Arc<App>,
        context: &RequestContext,
        policy: &Policy,
    ) -> Result<Decision, Error> {
        let account = self.caller.account;
        let decision = self.decision(app, context, policy).await?;
        if decision.is_refusal() {
            count(app, context, account, decision.reason);
        }
        Ok(decision)
    }

    async fn decision(
        self,
        app: &Arc<App>,
        context: &RequestContext,
        policy: &Policy,
    ) -> Result<Decision, Error> {
        let email = read(&self.email);
        let own = match &email {
            Ok(address) => policy.by_own_lists(address.domain()),
            Err(malformed) => {
                malformed.domains().iter().find_map(|domain| policy.by_block_list(domain))
            }
        };
        if let Some(decision) = own {
            return Ok(decision);
        }
        let elapsed = clock::now_ms().saturating_sub(self.began);
        let remaining_ms = policy.deadline_ms.saturating_sub(elapsed);
        let inner = remaining_ms.saturating_sub(RESERVE_MS.min(remaining_ms / 4)).max(1);
        let request = CheckRequest { email, details: true, deadline_ms: Some(inner) };
        let (app, checked) = (Arc::clone(app), context.clone());
        let work = async move {
            validate_email::answer(app, checked, self.caller, request, self.once).await
        };
        let work = context.deferred.outliving(work);
        match clock::within(Duration::from_millis(remaining_ms), work).await {
            Some(Some(Ok(result))) => Ok(policy.by_result(&result)),
            Some(Some(Err(error))) if error.is_the_callers() => Err(error),
            Some(Some(Err(error))) => Ok(Decision::allow(error.code())),
            Some(None) | None => Ok(Decision::allow("not_in_time")),
        }
    }
}

/// Counts a rejection after the response.
fn count(app: &Arc<App>, context: &RequestContext, account: AccountId, reason: &'static str) {
    let app = Arc::clone(app);
    context.deferred.after_response(async move {
        let counted = match app.databases.of(account) {
            Ok(database) => guard::count_refusal(database, account, reason, clock::now()).await,
            Err(error) => Err(error),
        };
        if let Err(error) = counted {
            log::failure("refusal of the guard", &error);
        }
    });
}
