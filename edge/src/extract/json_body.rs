//! Request bodies: JSON objects of at most 16 KiB; with a list or from a hook, at most 48 or 256 KiB.

use axum::{
    body::{Bytes, to_bytes},
    extract::{FromRequest, Request},
};
use serde::de::DeserializeOwned;

use crate::{
    error::Error,
    json::{Misfit, Strict, Tree},
};

/// Greatest size of most request bodies, in bytes.
pub const BODY_BYTES_MAX: usize = 16 * 1024;

/// Greatest size, in bytes, of a body with a thousand addresses, of the guard's settings and of a hook's call.
pub const LIST_BODY_BYTES_MAX: usize = 256 * 1024;

/// Greatest size, in bytes, of a body with a hundred addresses of the greatest length (RFC 5321
/// §4.5.3.1), nearly doubled to leave room for names.
const SHORT_LIST_BODY_BYTES_MAX: usize = 48 * 1024;

pub fn limit_of(path: &str) -> usize {
    match path {
        "/v1/validate_emails" => SHORT_LIST_BODY_BYTES_MAX,
        "/v1/guard" => LIST_BODY_BYTES_MAX,
        path if path.starts_with("/v1/scans") || path.starts_with("/v1/guard/hooks/") => {
            LIST_BODY_BYTES_MAX
        }
        _ => BODY_BYTES_MAX,
    }
}

/// A JSON body of type `T` with any `Content-Type`, so that `curl -d` needs no header.
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        parse(&body(request).await?).map(Self)
    }
}

/// A body whose members must all be fields of `T`, which has `deny_unknown_fields` for the description.
pub struct StrictBody<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for StrictBody<T> {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        parse_strict(&body(request).await?).map(Self)
    }
}

async fn body(request: Request) -> Result<Bytes, Error> {
    let limit = limit_of(request.uri().path());
    to_bytes(request.into_body(), limit).await.map_err(|_| Error::body_too_large(limit))
}

/// The error may quote the body: it is sent to the caller and never logged.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    T::deserialize(&object(bytes)?).map_err(unreadable)
}

pub fn parse_strict<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    T::deserialize(Strict(&object(bytes)?)).map_err(unreadable)
}

fn unreadable(misfit: Misfit) -> Error {
    Error::invalid_body(misfit.to_string())
}

fn object(bytes: &[u8]) -> Result<Tree, Error> {
    // An empty body counts as an object without members, so that the error names the missing
    // member.
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    match Tree::parse(bytes) {
        Some(object @ Tree::Object(_)) => Ok(object),
        Some(_) => Err(Error::invalid_body("The request body must be a JSON object.")),
        None => Err(not_json(bytes)),
    }
}

fn not_json(bytes: &[u8]) -> Error {
    const GZIP: &[u8] = &[0x1f, 0x8b];
    const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
    const BYTE_ORDER_MARKS: [&[u8]; 3] = [&[0xef, 0xbb, 0xbf], &[0xff, 0xfe], &[0xfe, 0xff]];
    let begins = |mark: &&[u8]| bytes.starts_with(mark);
    Error::invalid_body(if [GZIP, ZSTD].iter().any(begins) {
        "The request body is compressed. Send it as it is, without Content-Encoding."
    } else if BYTE_ORDER_MARKS.iter().any(begins) {
        "The request body begins with a byte order mark. Send UTF-8 without one."
    } else {
        "The request body is not JSON."
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::parse;

    #[derive(Debug, Default, PartialEq, Eq, Deserialize)]
    #[serde(default)]
    struct Body {
        email: Option<String>,
        list: Vec<String>,
        total: u32,
        details: bool,
        inner: Option<Inner>,
        kind: Option<Kind>,
    }

    #[derive(Debug, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        One,
        Two,
    }

    #[derive(Debug, PartialEq, Eq, Deserialize)]
    struct Inner {
        name: String,
    }

    #[test]
    fn an_empty_body_is_an_empty_object_and_unknown_members_do_not_matter() {
        assert_eq!(parse::<Body>(b"").unwrap(), Body::default());
        let body = parse::<Body>(br#" {"email": "a", "more": [1]}"#).unwrap();
        assert_eq!(body, Body { email: Some("a".into()), ..Body::default() });
    }

    #[test]
    fn the_error_says_what_is_wrong() {
        for (bytes, text) in [
            (&b"[\"a\"]"[..], "must be a JSON object"),
            (b"\"a\"", "must be a JSON object"),
            (b"{", "is not JSON"),
            (b"{\"more\": \"\xff\"}", "is not JSON"),
            (b"{} {}", "is not JSON"),
            (b"{\"email\": 1}", "The 'email' field must be a string."),
            (b"{\"email\": \"a\", \"email\": \"b\"}", "The 'email' field is there twice."),
            (b"{\"list\": \"a@b.example\"}", "The 'list' field must be a list."),
            (b"{\"list\": [\"a\", 2]}", "The 'list[1]' field must be a string."),
            (b"{\"total\": -1}", "The 'total' field must be a whole number, 0 or more."),
            (b"{\"details\": 0}", "The 'details' field must be a boolean."),
            (b"{\"inner\": {}}", "Missing 'inner.name' field in request body."),
            (b"{\"kind\": \"x\"}", "The 'kind' field can't be 'x'. It is one of: one, two."),
            (b"\x1f\x8b\x08\x00", "is compressed. Send it as it is, without Content-Encoding"),
            (b"\xef\xbb\xbf{}", "byte order mark"),
        ] {
            let error = format!("{:?}", parse::<Body>(bytes).unwrap_err());
            assert!(error.contains(text) && error.contains("invalid_body"), "{error}");
        }
    }
}
