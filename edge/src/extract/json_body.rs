//! Request bodies: JSON objects of at most 16 KiB; with a list or from a hook, at most 48 or 256 KiB.

use axum::{
    body::to_bytes,
    extract::{FromRequest, Request},
};
use serde::de::DeserializeOwned;

use crate::error::Error;

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
        let limit = limit_of(request.uri().path());
        let bytes =
            to_bytes(request.into_body(), limit).await.map_err(|_| Error::body_too_large(limit))?;
        parse(&bytes).map(Self)
    }
}

/// The error may quote the body: it is sent to the caller and never logged.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    // An empty body counts as an object without members, so that the error names the missing
    // member.
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    // Serde would also accept an array of the members in order.
    if bytes.trim_ascii_start().first().is_some_and(|first| *first != b'{')
        && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
    {
        return Err(Error::invalid_body("The request body must be a JSON object."));
    }
    // The parser skips ignored members without checking their UTF-8 (RFC 8259 §8.1).
    std::str::from_utf8(bytes).map_err(|_| not_json(bytes))?;
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let inner = error.inner();
        if !inner.is_data() {
            return not_json(bytes);
        }
        Error::invalid_body(misfit(&error.path().to_string(), &inner.to_string()))
    })?;
    reader.end().map_err(|_| not_json(bytes))?;
    Ok(value)
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

/// `error` is serde's; `path` is the member's path, or `.` for the body itself.
fn misfit(path: &str, error: &str) -> String {
    let error = error.split_once(" at line ").map_or(error, |(error, _)| error);
    let field_after = |prefix: &str| error.strip_prefix(prefix)?.split('`').nth(1);
    let within = |name: &str| if path == "." { name.to_owned() } else { format!("{path}.{name}") };
    if let Some(name) = field_after("missing field") {
        return format!("Missing '{}' field in request body.", within(name));
    }
    if let Some(name) = field_after("duplicate field") {
        return format!("The '{}' field is there twice.", within(name));
    }
    if let Some(name) = field_after("unknown field") {
        let mut known = error.split('`').skip(3).step_by(2);
        let meant = known.find(|it| are_alike(name, it));
        let meant = meant.map(|meant| format!(" Did you mean '{meant}'?")).unwrap_or_default();
        return format!("There is no '{name}' field.{meant}");
    }
    if let Some(value) = field_after("unknown variant") {
        let names: Vec<_> = error.split('`').skip(3).step_by(2).collect();
        let names = names.join(", ");
        return format!("The '{path}' field can't be '{value}'. It is one of: {names}.");
    }
    let expected = error.rsplit_once("expected ").map(|(_, expected)| expected);
    match expected.and_then(kind) {
        Some(kind) => format!("The '{path}' field must be {kind}."),
        None => format!("The '{path}' field isn't valid: {error}."),
    }
}

fn are_alike(name: &str, member: &str) -> bool {
    let alike = name.bytes().zip(member.bytes()).take_while(|(a, b)| a == b);
    alike.count() >= ALIKE_BYTES_MIN
}

/// Number of first bytes that a misspelt member shares with the one that was meant.
const ALIKE_BYTES_MIN: usize = 4;

fn kind(expected: &str) -> Option<&'static str> {
    Some(match expected {
        "a string" | "a borrowed string" => "a string",
        "a boolean" => "a boolean",
        "a sequence" => "a list",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        expected if expected.starts_with("struct ") || expected == "a map" => "an object",
        _ => return None,
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
