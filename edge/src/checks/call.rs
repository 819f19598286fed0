//! Input of the operations that check: the caller, the `Idempotency-Key` and the members of the body. Each mistake has
//! a text of its own, in the shape of validation's errors.

use std::{ops::RangeInclusive, sync::Arc};

use axum::extract::{FromRequest, FromRequestParts as _, Request};
use serde_json::{Map, Value};

use crate::{
    app::App,
    credentials::{idempotency::Idempotent, proof::Caller},
    error::Error,
    extract::{json_body::JsonBody, request::RequestContext},
};

/// Allowed range of `deadline_ms`.
const DEADLINE_RANGE_MS: RangeInclusive<u64> = 300..=10_000;

/// A call with a genuine credential, which may have been revoked.
pub struct CheckCall {
    pub app: Arc<App>,
    pub context: RequestContext,
    pub caller: Caller,
    pub body: CheckBody,
}

impl FromRequest<Arc<App>> for CheckCall {
    type Rejection = Error;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Error> {
        let (mut parts, body) = request.into_parts();
        let context = RequestContext::of_call(&parts)?;
        let caller = Caller::from_request_parts(&mut parts, app).await;
        let caller = caller.map_err(Error::of_validation)?;
        let body = JsonBody::from_request(Request::from_parts(parts, body), app).await;
        let JsonBody(body) = body.map_err(Error::of_validation)?;
        Ok(Self { app: Arc::clone(app), context, caller, body: CheckBody(body) })
    }
}

impl CheckCall {
    /// The call's `Idempotency-Key`, if it has one. `identity` is what a repeat must share: the operation, a NUL and
    /// the request.
    ///
    /// # Errors
    /// [`Error::invalid_idempotency_key`].
    pub fn once(&self, identity: &str) -> Result<Option<Idempotent>, Error> {
        let secrets = &self.app.config.address_secrets;
        self.context.idempotent(secrets, self.caller, identity).map_err(Error::of_validation)
    }
}

/// The members of a body, each read by its name. All errors are [`Error::invalid_body`].
pub struct CheckBody(pub Map<String, Value>);

pub fn mistake(detail: impl std::fmt::Display) -> Error {
    Error::invalid_body(detail).of_validation()
}

impl CheckBody {
    pub fn member(&self, name: &str) -> Result<&Value, Error> {
        let missing = || mistake(format!("Missing '{name}' field in request body."));
        self.0.get(name).ok_or_else(missing)
    }

    pub fn text(&self, name: &str) -> Result<&str, Error> {
        let text = self.member(name)?.as_str();
        text.ok_or_else(|| mistake(format!("The '{name}' field must be a string.")))
    }

    /// Whether the caller wants the evidence.
    pub fn details(&self) -> Result<bool, Error> {
        let details = self.0.get("details").map_or(Some(false), Value::as_bool);
        details.ok_or_else(|| mistake("The 'details' field must be a boolean."))
    }

    pub fn deadline_ms(&self) -> Result<Option<u64>, Error> {
        let Some(value) = self.0.get("deadline_ms") else { return Ok(None) };
        // 500.0 is a whole number too, in JSON Schema.
        let whole = value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0);
        let deadline = whole.map(|number| number as u64);
        let deadline = deadline.filter(|deadline| DEADLINE_RANGE_MS.contains(deadline));
        deadline.map(Some).ok_or_else(|| {
            mistake("The 'deadline_ms' field must be a whole number from 300 to 10000.")
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::CheckBody;

    #[test]
    fn a_deadline_is_a_whole_number_within_its_range() {
        let read = |value: Value| {
            let Value::Object(body) = json!({ "deadline_ms": value }) else { panic!() };
            CheckBody(body).deadline_ms().map_err(|error| format!("{error:?}"))
        };
        for good in [300, 301, 10_000] {
            assert_eq!(read(json!(good)), Ok(Some(good)));
        }
        assert_eq!(read(json!(500.0)), Ok(Some(500)));
        for bad in [
            json!(299),
            json!(10_001),
            json!(0),
            json!(-1),
            json!(500.5),
            json!("500"),
            Value::Null,
            json!([500]),
        ] {
            let error = read(bad.clone()).unwrap_err();
            assert!(
                error.contains("'deadline_ms'") && error.contains("300 to 10000"),
                "{bad}: {error}"
            );
        }
        assert_eq!(CheckBody(Map::new()).deadline_ms().ok(), Some(None));
    }
}
