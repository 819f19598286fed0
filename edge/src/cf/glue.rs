//! JavaScript functions (`glue.js`) that each replace many calls from wasm, and the bindings that need nothing else:
//! rate limits and signatures.

use worker::{
    Env,
    js_sys::{Array, Promise, futures::JsFuture},
    send::{IntoSendFuture as _, SendWrapper},
    wasm_bindgen::{self, JsCast as _, JsValue, prelude::wasm_bindgen},
    web_sys::{Cache, Request, Response},
    worker_sys::types::RateLimiter,
};

#[wasm_bindgen(module = "/src/cf/glue.js")]
extern "C" {
    #[wasm_bindgen(js_name = headOf)]
    pub fn head_of(request: &Request, names: &str) -> String;

    /// A response with this text and this `ResponseInit` in JSON (Fetch §5.5).
    #[wasm_bindgen(catch)]
    pub fn answer(body: Option<&str>, init: &str) -> Result<Response, JsValue>;

    #[wasm_bindgen(js_name = bodyOf)]
    pub fn body_of(request: &Request, limit: usize) -> Promise;

    /// Promise of the cached text for this URL, or of nothing after `patience` milliseconds.
    #[wasm_bindgen(js_name = textOf)]
    pub(super) fn text_of(cache: &Cache, url: &str, patience: u32) -> Promise;

    pub(super) fn ask(database: &JsValue, statements: &Array, params: &str) -> Promise;

    fn admits(shield: &JsValue, key: &str) -> Promise;

    /// Promise of whether a signature belongs to a public key; it fails if the JWK isn't a key.
    #[wasm_bindgen(js_name = verifies)]
    fn signature_verifies(jwk: &str, signature: &[u8], signed: &[u8]) -> Promise;
}

/// A rate limit binding: approximate and per data centre, so it only shields hashing and storage; the throttles count
/// exactly.
#[derive(Debug)]
pub struct Limiter(SendWrapper<RateLimiter>);

impl Limiter {
    pub fn new(env: &Env, binding: &str) -> worker::Result<Self> {
        Ok(Self(SendWrapper(JsValue::from(env.rate_limiter(binding)?).unchecked_into())))
    }

    /// True if a request under this key is admitted. A failing binding admits every request: the exact throttles come
    /// later.
    pub async fn admits(&self, key: &str) -> bool {
        let admitted = JsFuture::from(admits(&self.0, key)).into_send().await;
        admitted.map_or(true, |is_admitted| is_admitted.is_truthy())
    }
}

/// True if the signature over these bytes belongs to the key. `None` if the JWK isn't a key, such as a point that isn't
/// on the curve.
pub async fn verifies(jwk: &str, signature: &[u8], signed: &[u8]) -> Option<bool> {
    JsFuture::from(signature_verifies(jwk, signature, signed)).into_send().await.ok()?.as_bool()
}
