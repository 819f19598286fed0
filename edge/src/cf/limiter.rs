//! A rate limit binding: approximate and per data centre, so it only shields hashing and storage;
//! the throttles count exactly.

use worker::{
    Env,
    js_sys::futures::JsFuture,
    send::{IntoSendFuture as _, SendWrapper},
    wasm_bindgen::{JsCast as _, JsValue},
    worker_sys::types::RateLimiter,
};

use super::glue;

#[derive(Debug)]
pub struct Limiter(SendWrapper<RateLimiter>);

impl Limiter {
    pub fn new(env: &Env, binding: &str) -> worker::Result<Self> {
        Ok(Self(SendWrapper(JsValue::from(env.rate_limiter(binding)?).unchecked_into())))
    }

    /// True if a request under this key is admitted. A failing binding admits every request: the exact throttles come
    /// later.
    pub async fn admits(&self, key: &str) -> bool {
        let admitted = JsFuture::from(glue::admits(&self.0, key)).into_send().await;
        admitted.map_or(true, |is_admitted| is_admitted.is_truthy())
    }
}
