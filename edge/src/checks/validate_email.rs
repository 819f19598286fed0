//! Checking an address.

use rcpt_shared::{Address, Malformed, read};
use utoipa::ToSchema;

use super::{
    call::{CheckBody, CheckCall, mistake},
    check::{self, Check},
    list::List,
    result::ValidationResult,
    units::admit,
};
use crate::error::{Error, LimitError, PlainError, ValidationError};

/// Body of `POST /validate_email`.
#[derive(ToSchema)]
pub struct CheckRequest {
    /// The address to check, bare or as `Name <address>`.
    #[schema(value_type = String)]
    pub email: Result<Address, Malformed>,
    /// Include the evidence behind the verdict.
    #[schema(required = false)]
    pub details: bool,
    /// Milliseconds after which the response is sent, with the verdict or, `pending`, without it.
    #[schema(minimum = 300, maximum = 10_000, nullable = false)]
    pub deadline_ms: Option<u64>,
}

impl CheckRequest {
    /// A text that can't be reduced to one address is a mistake of the body, unlike in a list.
    fn of(body: &CheckBody) -> Result<Self, Error> {
        let email = body.text("email")?;
        let (details, deadline_ms) = (body.details()?, body.deadline_ms()?);
        let email = read(email);
        if let Err(malformed) = &email
            && malformed.is_unreadable()
        {
            let problem = malformed.problem();
            let meant = malformed.suggestion().map(|meant| format!(" Did you mean {meant}?"));
            let meant = meant.unwrap_or_default();
            return Err(mistake(format!(
                "The 'email' field must hold one address. {problem}{meant}"
            )));
        }
        Ok(Self { email, details, deadline_ms })
    }

    fn text(&self) -> &str {
        match &self.email {
            Ok(address) => address.as_given(),
            Err(malformed) => malformed.text(),
        }
    }
}

/// Check an address
///
/// Asks the domain's mail server whether it accepts the address. No email is sent. Takes up to about 10 seconds if the
/// mail server is slow, or `deadline_ms`.
#[utoipa::path(
    post, path = "/v1/validate_email", tag = "Validation", operation_id = "validateEmail",
    request_body = CheckRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "Your own id for this check, 16 to 255 printable characters. If no answer comes, repeat the check with the same id: it counts once, and is answered for 24 hours")),
    responses(
        (status = 200, description = "The verdict, also when the address can't receive mail; or `pending` at the deadline", body = ValidationResult, headers(("Retry-After" = Option<u64>, description = "With `pending`: seconds after which the verdict may be there"))),
        (status = 400, description = "`email` is missing, empty or not a single address, `deadline_ms` is out of its range, or the body is malformed", body = ValidationError),
        (status = 401, description = "The API key or session is missing or no longer valid", body = ValidationError),
        (status = 409, description = "`idempotency_key_in_use`: the first check with this key isn't answered yet", body = PlainError),
        (status = 422, description = "`idempotency_key_reused`: the key was sent with another request", body = PlainError),
        (status = 429, description = "No checks are left, too many are running (`code: too_many_in_flight`), or too many were sent in a short time (`code: throttled`)", body = LimitError),
        (status = 502, description = "The check couldn't be completed and wasn't counted", body = PlainError),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn check(call: CheckCall) -> Result<ValidationResult, Error> {
    let request = CheckRequest::of(&call.body)?;
    let once = call.once(&format!("check\0{}\0{}", request.details, request.text()))?;
    let CheckCall { app, context, caller, .. } = call;
    admit(&app, caller, once.as_ref(), 1).await?;
    let CheckRequest { email, details, deadline_ms } = request;
    let list = List::of([email], details, &app.config.address_secrets);
    check::answer(Check { app, context, caller, once, list, deadline_ms }).await?.only()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{CheckBody, CheckRequest};

    fn read(body: Value) -> Result<(String, bool), String> {
        let Value::Object(body) = body else { panic!("{body}") };
        let request = CheckRequest::of(&CheckBody(body)).map_err(|error| format!("{error:?}"))?;
        Ok((request.text().to_owned(), request.details))
    }

    #[test]
    fn the_address_is_reduced_and_details_are_off_unless_asked_for() {
        let with_name = json!({"email": "Ann <ann@example.org>"});
        assert_eq!(read(with_name), Ok(("ann@example.org".into(), false)));
        let detailed = json!({"email": "ann@example.org", "details": true});
        assert_eq!(read(detailed), Ok(("ann@example.org".into(), true)));
    }

    #[test]
    fn each_mistake_has_a_text_of_its_own() {
        for (body, text) in [
            (json!({}), "Missing 'email'"),
            (json!({"email": 1}), "must be a string"),
            (json!({"email": ""}), "must hold one address. There is nothing in it.\""),
            (json!({"email": "\u{200e} "}), "There is nothing in it."),
            (json!({"email": "<a@b> <c@d>"}), "This looks like several addresses."),
            (json!({"email": "a@b.example>"}), "don't match. Did you mean a@b.example?"),
            (json!({"email": "a@b.example", "details": "yes"}), "'details'"),
        ] {
            let error = read(body.clone()).unwrap_err();
            assert!(error.contains(text), "{body}: {error}");
        }
    }
}
