//! Signatures of public keys, which the runtime verifies: the code for it isn't in the Worker.

use worker::{js_sys::futures::JsFuture, send::IntoSendFuture as _};

use super::glue;

/// Returns whether a signature is that of the key over these bytes. `None` where the JWK is no key: a point that isn't on the
/// curve, for example.
pub async fn verifies(jwk: &str, signature: &[u8], signed: &[u8]) -> Option<bool> {
    JsFuture::from(glue::verifies(jwk, signature, signed)).into_send().await.ok()?.as_bool()
}
