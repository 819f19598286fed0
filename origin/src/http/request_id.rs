//! The request id shared by the logs of edge and origin.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};

pub(super) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const ID_CHARS_MAX: usize = 64;

/// The request id shared by the logs of edge and origin. The id comes from outside and is logged: only letters, digits,
/// hyphens and underscores are allowed, which excludes addresses.
#[derive(Debug, Clone)]
pub struct RequestId(String);

impl RequestId {
    pub fn parse(text: &str) -> Option<Self> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        let fine = (1..=ID_CHARS_MAX).contains(&text.len()) && text.bytes().all(plain);
        fine.then(|| Self(text.to_owned()))
    }

    fn of(headers: &HeaderMap) -> Option<Self> {
        Self::parse(headers.get(X_REQUEST_ID)?.to_str().ok()?)
    }

    fn random() -> Self {
        Self(format!("{:032x}", rand::random::<u128>()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn write(&self, headers: &mut HeaderMap) {
        if let Ok(value) = HeaderValue::from_str(&self.0) {
            headers.insert(X_REQUEST_ID, value);
        }
    }
}

pub(super) async fn name(mut request: Request, next: Next) -> Response {
    let id = RequestId::of(request.headers()).unwrap_or_else(RequestId::random);
    request.extensions_mut().insert(id.clone());
    let mut response = next.run(request).await;
    if !response.headers().contains_key(X_REQUEST_ID) {
        id.write(response.headers_mut());
    }
    response
}

#[cfg(test)]
mod tests {
    use super::RequestId;

    #[test]
    fn an_id_cannot_carry_an_address() {
        for fine in ["a", "0193-ab_C", &"x".repeat(64)] {
            assert_eq!(RequestId::parse(fine).unwrap().as_str(), fine);
        }
        for bad in ["", "a@b", "a.b", "a b", "a\n", "ä", &"x".repeat(65)] {
            assert!(RequestId::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn a_random_id_is_an_id() {
        let id = RequestId::random();
        assert!(RequestId::parse(id.as_str()).is_some());
        assert_ne!(id.as_str(), RequestId::random().as_str());
    }
}
