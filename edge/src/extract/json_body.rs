//! Request bodies: JSON objects of at most 16 KiB, and of lists of addresses at most 256 KiB.

use axum::{
    body::{Bytes, to_bytes},
    extract::{FromRequest, Request, rejection::BytesRejection},
    http::StatusCode,
};
use serde::de::DeserializeOwned;

use crate::error::Error;

/// Bytes a request body may have.
pub const LIMIT: usize = 16 * 1024;

/// A JSON body of the shape `T`, whatever its `Content-Type` says: `curl -d` need not name one.
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        let bytes =
            Bytes::from_request(request, state).await.map_err(|rejection| too_large(&rejection))?;
        parse(&bytes).map(Self)
    }
}

/// Bytes of a body with a list of addresses: a thousand of them.
pub const LIST_LIMIT: usize = 256 * 1024;

/// A JSON body that may hold a list of addresses, and so may have [`LIST_LIMIT`] bytes.
pub struct JsonList<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonList<T> {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        // The router's own limit is the smaller one.
        let bytes = to_bytes(request.into_body(), LIST_LIMIT)
            .await
            .map_err(|_| Error::body_too_large(LIST_LIMIT))?;
        parse(&bytes).map(Self)
    }
}

fn too_large(rejection: &BytesRejection) -> Error {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        Error::body_too_large(LIMIT)
    } else {
        Error::invalid_body("The request body could not be read.")
    }
}

/// # Errors
/// [`Error::invalid_body`] that says what is wrong. Its text may quote the body: it goes to the caller
/// and never to the log.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    // No body is an object without members: what is missing is then named.
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    // A struct would also take an array of its members in order.
    if bytes.trim_ascii_start().first().is_some_and(|first| *first != b'{')
        && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
    {
        return Err(Error::invalid_body("The request body must be a JSON object."));
    }
    // The parser would pass over members that are ignored and not UTF-8 (RFC 8259 §8.1).
    std::str::from_utf8(bytes).map_err(|_| Error::invalid_body("The request body is not JSON."))?;
    serde_json::from_slice(bytes).map_err(|error| {
        if error.is_data() {
            Error::invalid_body(misfit(&error.to_string()))
        } else {
            Error::invalid_body("The request body is not JSON.")
        }
    })
}

/// A sentence of what serde says. Where a missing field was missed is the end of the body: left out.
fn misfit(error: &str) -> String {
    let said = match error.split_once(" at line ") {
        Some((said, _)) if said.starts_with("missing field") => said,
        _ => error,
    };
    let (first, rest) = said.split_at_checked(1).unwrap_or_default();
    format!("{}{rest}.", first.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::parse;

    #[derive(Debug, PartialEq, Eq, Deserialize)]
    struct Body {
        email: Option<String>,
    }

    #[test]
    fn an_empty_body_is_an_empty_object_and_unknown_members_do_not_matter() {
        assert_eq!(parse::<Body>(b"").unwrap(), Body { email: None });
        let body = parse::<Body>(br#" {"email": "a", "more": [1]}"#).unwrap();
        assert_eq!(body, Body { email: Some("a".into()) });
    }

    #[test]
    fn the_error_says_what_is_wrong() {
        for (bytes, text) in [
            (&b"[\"a\"]"[..], "must be a JSON object"),
            (b"\"a\"", "must be a JSON object"),
            (b"{", "is not JSON"),
            (b"{\"more\": \"\xff\"}", "is not JSON"),
            (b"{\"email\": 1}", "Invalid type: integer `1`, expected a string at line 1"),
        ] {
            let error = format!("{:?}", parse::<Body>(bytes).unwrap_err());
            assert!(error.contains(text) && error.contains("invalid_body"), "{error}");
        }
    }
}
