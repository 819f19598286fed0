//! Checking a short list of addresses in one call: one lease, one batch to each origin and one response.

use rcpt_shared::read;
use utoipa::ToSchema;

use super::{
    call::{CheckBody, CheckCall, mistake},
    check::{self, Check},
    list::List,
    result::ListResult,
    units::admit,
};
use crate::error::{Error, LimitError, PlainError, ValidationError};

const EMAILS_MAX: usize = 100;

/// Body of `POST /validate_emails`.
#[derive(ToSchema)]
pub struct ListRequest {
    /// The addresses to check, each bare or as `Name <address>`.
    #[schema(min_items = 1, max_items = 100)]
    pub emails: Vec<String>,
    /// Include the evidence behind each verdict.
    #[schema(required = false)]
    pub details: bool,
    /// Milliseconds after which the response is sent: results that haven't arrived by then are `pending`.
    #[schema(minimum = 300, maximum = 10_000, nullable = false)]
    pub deadline_ms: Option<u64>,
}

impl ListRequest {
    fn of(body: &CheckBody) -> Result<Self, Error> {
        let emails = body.member("emails")?.as_array();
        let emails = emails.ok_or_else(|| mistake("The 'emails' field must be a list."))?;
        if emails.is_empty() || emails.len() > EMAILS_MAX {
            return Err(mistake("The 'emails' field must have 1 to 100 addresses."));
        }
        let texts = emails.iter().enumerate().map(|(index, email)| {
            let text = email.as_str().map(str::to_owned);
            text.ok_or_else(|| mistake(format!("The 'emails[{index}]' field must be a string.")))
        });
        let emails = texts.collect::<Result<_, _>>()?;
        Ok(Self { emails, details: body.details()?, deadline_ms: body.deadline_ms()? })
    }

    fn identity(&self) -> String {
        let emails = serde_json::to_string(&self.emails).unwrap_or_default();
        format!("list\0{}\0{emails}", self.details)
    }
}

/// Check up to 100 addresses
///
/// Checks a short list in one call; the results have its order. Takes up to about 20 seconds, or `deadline_ms`. Each
/// address counts as a check, even if it is repeated. If fewer checks are left than the list has addresses, none of
/// them is checked. A result with `fatal_exception` isn't counted. For larger lists, start a scan.
#[utoipa::path(
    post, path = "/v1/validate_emails", tag = "Validation", operation_id = "validateEmails",
    request_body = ListRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "Your own id for this list, 16 to 255 printable characters. If no answer comes, repeat the list with the same id: it counts once, and is answered for 24 hours")),
    responses(
        (status = 200, description = "The results, or those that were there at the deadline", body = ListResult, headers(("Retry-After" = Option<u64>, description = "With `pending`: seconds after which all results may be there"))),
        (status = 400, description = "`emails` is missing, empty or longer than 100, `deadline_ms` is out of its range, or the body is malformed", body = ValidationError),
        (status = 401, description = "The API key or session is missing or no longer valid", body = ValidationError),
        (status = 409, description = "`idempotency_key_in_use`: the first list with this key isn't answered yet", body = PlainError),
        (status = 422, description = "`idempotency_key_reused`: the key was sent with another request", body = PlainError),
        (status = 429, description = "Fewer checks are left than the list has addresses, too many are running (`code: too_many_in_flight`), or too many were sent in a short time (`code: throttled`)", body = LimitError),
        (status = 502, description = "No address has a verdict, and nothing was counted", body = PlainError),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn check(call: CheckCall) -> Result<ListResult, Error> {
    let request = ListRequest::of(&call.body)?;
    let once = call.once(&request.identity())?;
    let CheckCall { app, context, caller, .. } = call;
    let ListRequest { emails, details, deadline_ms } = request;
    let texts = emails.iter().map(|text| read(text));
    let list = List::of(texts, details, &app.config.address_secrets);
    admit(&app, caller, once.as_ref(), list.units()).await?;
    check::answer(Check { app, context, caller, once, list, deadline_ms }).await
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{CheckBody, ListRequest};

    fn read(body: Value) -> Result<ListRequest, String> {
        let Value::Object(body) = body else { panic!("{body}") };
        ListRequest::of(&CheckBody(body)).map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn each_mistake_has_a_text_of_its_own() {
        for (body, text) in [
            (json!({}), "Missing 'emails'"),
            (json!({ "emails": "a@b.example" }), "must be a list"),
            (json!({ "emails": [] }), "1 to 100 addresses"),
            (json!({ "emails": vec!["a@b.example"; 101] }), "1 to 100 addresses"),
            (json!({ "emails": ["a@b.example", 2] }), "'emails[1]' field must be a string"),
            (json!({ "emails": ["a"], "details": 1 }), "'details'"),
            (json!({ "emails": ["a"], "deadline_ms": 1 }), "'deadline_ms'"),
        ] {
            let error = read(body.clone()).err().unwrap_or_default();
            assert!(error.contains(text), "{body}: {error}");
        }
        assert_eq!(read(json!({ "emails": vec![""; 100] })).unwrap().emails.len(), 100);
    }

    #[test]
    fn another_order_split_or_evidence_is_another_request() {
        let identity = |body: Value| read(body).unwrap().identity();
        let first = identity(json!({ "emails": ["a\",\"b", "c"] }));
        assert_eq!(first, identity(json!({ "emails": ["a\",\"b", "c"], "deadline_ms": 300 })));
        for other in [
            json!({ "emails": ["c", "a\",\"b"] }),
            json!({ "emails": ["a", "b", "c"] }),
            json!({ "emails": ["a\",\"b", "c"], "details": true }),
        ] {
            assert_ne!(first, identity(other));
        }
    }
}
