//! Files that are deployed beside the Worker and that it reads when it needs them, so that it need not carry them.
//! They lie below `/v1`, where nothing is served but what the Worker answers.

use std::sync::OnceLock;

use worker::{
    Env,
    send::{IntoSendFuture as _, SendWrapper},
    wasm_bindgen::{JsCast as _, JsValue},
    worker_sys::types::Fetcher,
};

use super::fetch::Reply;
use crate::error::Error;

const BINDING: &str = "ASSETS";

#[derive(Debug)]
pub struct Assets {
    binding: SendWrapper<Fetcher>,
    /// Read once.
    common_passwords: OnceLock<String>,
}

impl Assets {
    /// # Errors
    /// The runtime's, when the binding is missing.
    pub fn new(env: &Env) -> worker::Result<Self> {
        let binding = JsValue::from(env.assets(BINDING)?).unchecked_into();
        Ok(Self { binding: SendWrapper(binding), common_passwords: OnceLock::new() })
    }

    /// The OpenAPI document.
    ///
    /// # Errors
    /// [`Error::unavailable`] when it cannot be read.
    pub async fn openapi(&self) -> Result<String, Error> {
        self.read("openapi.json").await
    }

    /// The most common passwords, one a line, in byte order.
    ///
    /// # Errors
    /// [`Error::unavailable`] when they cannot be read.
    pub async fn common_passwords(&self) -> Result<&str, Error> {
        if self.common_passwords.get().is_none() {
            let read = self.read("common-passwords.txt").await?;
            // Two requests may read it at the same time: the second would keep the same text.
            let _ = self.common_passwords.set(read);
        }
        Ok(self.common_passwords.get().map_or("", String::as_str))
    }

    async fn read(&self, name: &str) -> Result<String, Error> {
        let read = async {
            // The binding looks at the path only.
            let url = format!("https://assets/v1/{name}");
            let reply = Reply::of(self.binding.fetch_with_str(&url).ok()?).await?;
            if reply.status() == 200 { reply.text().await } else { None }
        };
        let read = read.into_send().await.filter(|text| !text.is_empty());
        read.ok_or_else(|| Error::unavailable(format!("asset {name}: not read")))
    }
}
