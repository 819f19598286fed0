//! A KV namespace: texts by key, each with a lifetime.

use worker::{
    Env,
    js_sys::{Function, Object, Promise, Reflect, futures::JsFuture},
    send::{IntoSendFuture as _, SendWrapper},
    wasm_bindgen::{JsCast as _, JsValue},
};

/// Uses the runtime's own object: the `worker` crate would serialise options that never change.
#[derive(Debug)]
pub struct Kv(SendWrapper<Methods>);

#[derive(Debug)]
struct Methods {
    namespace: JsValue,
    get: Function,
    put: Function,
}

impl Kv {
    pub fn new(env: &Env, binding: &str) -> worker::Result<Self> {
        let namespace = Reflect::get(env, &JsValue::from_str(binding))?;
        let method = |name| Reflect::get(&namespace, &JsValue::from_str(name))?.dyn_into();
        let (get, put) = (method("get")?, method("put")?);
        Ok(Self(SendWrapper(Methods { namespace, get, put })))
    }

    /// The text under `key`; `None` also if the namespace fails.
    pub async fn get(&self, key: &str) -> Option<String> {
        let Methods { namespace, get, .. } = &*self.0;
        let reading: Promise =
            get.call1(namespace, &JsValue::from_str(key)).ok()?.dyn_into().ok()?;
        JsFuture::from(reading).into_send().await.ok()?.as_string()
    }

    /// Stores `text` for `ttl` seconds; a failure of the namespace is ignored.
    pub async fn put(&self, key: &str, text: &str, ttl: u64) {
        let Methods { namespace, put, .. } = &*self.0;
        let write = || -> Option<Promise> {
            let options = Object::new();
            #[expect(clippy::cast_precision_loss, reason = "days, in seconds")]
            let ttl = JsValue::from_f64(ttl as f64);
            Reflect::set(&options, &JsValue::from_str("expirationTtl"), &ttl).ok()?;
            let (key, text) = (JsValue::from_str(key), JsValue::from_str(text));
            put.call3(namespace, &key, &text, &options).ok()?.dyn_into().ok()
        };
        if let Some(write) = write() {
            let _ = JsFuture::from(write).into_send().await;
        }
    }
}
