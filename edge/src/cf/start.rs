//! What is done once, before the first request.

use worker::{
    js_sys::{self, Reflect},
    wasm_bindgen::JsValue,
};

/// Makes the library's executor run its futures from promises. It would use `queueMicrotask`, which
/// workerd wraps in more than the turn itself costs: a twentieth of a cached check's CPU.
pub fn run() {
    let _ = Reflect::set(&js_sys::global(), &"queueMicrotask".into(), &JsValue::UNDEFINED);
}
