//! Supabase's *Before User Created* hook, called and answered in Supabase's format. Unless the hook was replaced, a
//! call with a genuine signature gets a 200. Supabase treats any other status as a failure, and nobody could sign up.

use std::sync::Arc;

use axum::{
    Json,
    body::to_bytes,
    extract::{Path, Request, State},
    http::HeaderMap,
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::decision::{SignUp, identity, policy};
use crate::{
    app::{App, policies::PolicyReader},
    cf::clock,
    credentials::{
        api_key::ApiKey,
        guard_hook::GuardHook,
        idempotency::Idempotent,
        proof::Caller,
        signed_message::{ID, SIGNATURE, SignedMessage, TIMESTAMP},
    },
    error::{Error, Outcome, PlainError},
    extract::{json_body::LIST_BODY_BYTES_MAX, request::RequestContext},
    json,
};

const ID_CHARS_MAX: usize = 255;

/// The call of the hook, with only the members that are used.
#[derive(Deserialize, ToSchema)]
pub struct SupabaseCall {
    user: SupabaseUser,
}

/// The user to be created, with only the members that are used.
#[derive(Deserialize, ToSchema)]
pub struct SupabaseUser {
    #[serde(default)]
    email: Option<String>,
}

/// `{}`: the sign-up continues.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct SupabaseAnswer {
    /// The sign-up is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<SupabaseError>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SupabaseError {
    /// A sentence for the person who signs up.
    message: String,
    /// The status that Supabase answers with: 400.
    http_code: u16,
}

impl SupabaseAnswer {
    fn of(message: Option<String>) -> Response {
        let outcome = Outcome(if message.is_some() { "refuse" } else { "allow" });
        let error = message.map(|message| SupabaseError { message, http_code: 400 });
        let mut response = Json(Self { error }).into_response();
        response.extensions_mut().insert(outcome);
        response
    }
}

/// The hook for Supabase
///
/// Set it in Supabase under Authentication, Hooks, as a hook of the type Before User Created, with the path and secret
/// of `GET /v1/guard`. A signed call always gets 200, and the sign-up continues if no decision is reached in time. It
/// decides and counts as `POST /v1/guard/decide` does.
#[utoipa::path(
    post, path = "/v1/guard/hooks/supabase/{hook}", tag = "Guard", operation_id = "supabaseHook",
    request_body = SupabaseCall,
    params(
        ("hook" = String, Path, description = "The last part of the hook's path"),
        ("webhook-id" = String, Header, description = "The call's id. A repeated call counts once"),
        ("webhook-timestamp" = String, Header, description = "Unix time of the signature, at most five minutes off"),
        ("webhook-signature" = String, Header, description = "Its signature, as Standard Webhooks describe it"),
    ),
    responses(
        (status = 200, description = "`{}`, or an `error` that refuses the sign-up", body = SupabaseAnswer),
        (status = 401, description = "`invalid_hook_signature`: the call isn't signed with the hook's secret, or was signed over five minutes ago", body = PlainError),
        (status = 404, description = "`not_found`: there is no such hook", body = PlainError),
    ),
    security(()),
)]
pub async fn supabase(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    context: RequestContext,
    request: Request,
) -> Result<Response, Error> {
    let began = clock::now_ms();
    let keys = &app.config.api_key_secrets;
    let hook = GuardHook::of(keys, &name).ok_or_else(Error::not_found)?;
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, LIST_BODY_BYTES_MAX).await else {
        // The body is too long to verify its signature.
        return Ok(SupabaseAnswer::of(None));
    };
    let id =
        signed_id(&app, hook, &head.headers, &body).ok_or_else(Error::invalid_hook_signature)?;
    let email = json::read::<SupabaseCall>(&body).ok();
    let email = email.and_then(|call| call.user.email).filter(|email| !email.trim().is_empty());
    let Some(email) = email else { return Ok(SupabaseAnswer::of(None)) };
    let is_admitted = app.shield.admits_check(&format!("{} by hook", hook.account)).await;
    let mut decision = Err(Error::invalid_hook_signature());
    // The policy names the version of the account's own key. A key that was replaced since the policy was read is
    // refused, and the policy read again.
    for _ in 0..2 {
        let found = match policy(&app, PolicyReader::Hook(hook.account), is_admitted).await {
            Ok(Some(stored)) if stored.has_hook(hook.version, clock::now()) => Ok(stored),
            Ok(Some(_)) => return Err(Error::invalid_hook_signature()),
            Ok(None) => return Ok(SupabaseAnswer::of(None)),
            Err(reason) => Err(reason),
        };
        // Without a policy no check is made, so the version doesn't matter.
        let version = found.as_ref().map_or(0, |stored| stored.key_version);
        let caller = Caller::from(ApiKey::own(hook.account, version));
        let once = Idempotent::new(
            &app.config.address_secrets,
            hook.account,
            &format!("supabase {id}"),
            &identity(&email),
        );
        let (email, once) = (email.clone(), Some(once));
        let sign_up = SignUp { caller, email, once, began, is_admitted };
        decision = sign_up.decide(&app, &context, found).await;
        if !matches!(&decision, Err(error) if error.code() == caller.proof.to_error().code()) {
            break;
        }
    }
    // On any error, such as a key deactivated by the operator, the sign-up continues.
    let refusal = decision.ok().and_then(|decision| {
        let message = decision.message?;
        let suggestion = decision.suggestion.map(|meant| format!(" Did you mean {meant}?"));
        Some(format!("{message}{}", suggestion.unwrap_or_default()))
    });
    Ok(SupabaseAnswer::of(refusal))
}

fn signed_id(app: &App, hook: GuardHook, headers: &HeaderMap, body: &[u8]) -> Option<String> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let (id, timestamp, signatures) = (text(ID)?, text(TIMESTAMP)?, text(SIGNATURE)?);
    let message = SignedMessage { id, timestamp, signatures, body };
    let macs = hook.macs(&app.config.api_key_secrets);
    let is_fine =
        (1..=ID_CHARS_MAX).contains(&id.len()) && message.is_genuine_under(&macs, clock::now());
    is_fine.then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{SupabaseAnswer, SupabaseCall, SupabaseError};

    #[test]
    fn the_answers_are_those_that_supabase_documents() {
        let none = serde_json::to_string(&SupabaseAnswer::default()).unwrap();
        assert_eq!(none, "{}");
        let error = SupabaseError { message: "No.".to_owned(), http_code: 400 };
        let refused = serde_json::to_string(&SupabaseAnswer { error: Some(error) }).unwrap();
        assert_eq!(refused, r#"{"error":{"message":"No.","http_code":400}}"#);
    }

    #[test]
    fn a_user_without_an_address_has_none() {
        for body in [r#"{"user":{}}"#, r#"{"user":{"email":null,"phone":"1"}}"#] {
            let call: SupabaseCall = serde_json::from_str(body).unwrap();
            assert_eq!(call.user.email, None);
        }
    }
}
