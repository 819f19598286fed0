//! Steps of JavaScript (`glue.js`) in place of many crossings each.

use worker::{
    js_sys::{Array, Promise},
    wasm_bindgen::{self, JsValue, prelude::wasm_bindgen},
    web_sys::{Cache, Request, Response},
};

#[wasm_bindgen(module = "/src/cf/glue.js")]
extern "C" {
    /// The API key of a check by key with a body of at most `limit` bytes, from no browser; `None` for any
    /// other request.
    #[wasm_bindgen(js_name = keyOf)]
    pub fn key_of(request: &Request, limit: usize) -> Option<String>;

    /// A 200 with these headers, the id, and what is left where a limit is given.
    #[wasm_bindgen(catch)]
    pub fn answer(
        body: &str,
        id: &str,
        policy: &str,
        limit: &str,
        headers: &JsValue,
    ) -> Result<Response, JsValue>;

    /// A promise of the text under this URL, or of nothing after `patience` milliseconds.
    #[wasm_bindgen(js_name = textOf)]
    pub(super) fn text_of(cache: &Cache, url: &str, patience: u32) -> Promise;

    /// A promise of the JSON text of what prepared statements come to, whose parameters are JSON too.
    pub(super) fn ask(database: &JsValue, statements: &Array, params: &str) -> Promise;

    /// A promise of whether a rate limit binding lets one more through.
    pub(super) fn admits(shield: &JsValue, key: &str) -> Promise;
}
