//! JavaScript functions (`glue.js`) that each replace many calls from wasm.

use worker::{
    js_sys::{Array, Promise},
    wasm_bindgen::{self, JsValue, prelude::wasm_bindgen},
    web_sys::{Cache, Request, Response},
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

    /// Promise of whether a rate limit binding admits a request.
    pub(super) fn admits(shield: &JsValue, key: &str) -> Promise;

    /// Promise of whether a signature belongs to a public key; it fails if the JWK isn't a key.
    pub(super) fn verifies(jwk: &str, signature: &[u8], signed: &[u8]) -> Promise;
}
