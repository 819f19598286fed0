//! Verifies signatures with the runtime's implementation, which costs the Worker no code.

use worker::{js_sys::futures::JsFuture, send::IntoSendFuture as _};

use super::glue;

/// True if the signature over these bytes belongs to the key. `None` if the JWK isn't a key, such as a point that isn't
/// on the curve.
pub async fn verifies(jwk: &str, signature: &[u8], signed: &[u8]) -> Option<bool> {
    JsFuture::from(glue::verifies(jwk, signature, signed)).into_send().await.ok()?.as_bool()
}
