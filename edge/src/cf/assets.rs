//! Files deployed with the Worker and read on demand. Their paths start with `/v1`, where only the Worker responds.

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
    /// Set by the isolate's first successful read, like the next one.
    common_passwords: OnceLock<Vec<u8>>,
    disposable_domains: OnceLock<String>,
}

impl Assets {
    pub fn new(env: &Env) -> worker::Result<Self> {
        let binding = JsValue::from(env.assets(BINDING)?).unchecked_into();
        Ok(Self {
            binding: SendWrapper(binding),
            common_passwords: OnceLock::new(),
            disposable_domains: OnceLock::new(),
        })
    }

    pub async fn openapi(&self) -> Result<String, Error> {
        self.read("openapi.json").await
    }

    pub async fn openapi_account(&self) -> Result<String, Error> {
        self.read("openapi-account.json").await
    }

    pub async fn common_passwords(&self) -> Result<&[u8], Error> {
        if self.common_passwords.get().is_none() {
            let name = "common-passwords.bloom";
            let read = async { self.fetch(name).await?.bytes().await }.into_send().await;
            let read = read.filter(|bytes| !bytes.is_empty()).ok_or_else(|| unread(name))?;
            // Two concurrent requests may both read the file; the second would store the same bytes.
            let _ = self.common_passwords.set(read);
        }
        Ok(self.common_passwords.get().map_or(&[], Vec::as_slice))
    }

    /// The list of disposable domains for `DisposableDomains`; `None` if it can't be read.
    pub async fn disposable_domains(&self) -> Option<&str> {
        if self.disposable_domains.get().is_none() {
            let read = self.read("disposable-domains.txt").await.ok()?;
            // As above.
            let _ = self.disposable_domains.set(read);
        }
        self.disposable_domains.get().map(String::as_str)
    }

    async fn read(&self, name: &str) -> Result<String, Error> {
        let read = async { self.fetch(name).await?.text().await }.into_send().await;
        read.filter(|text| !text.is_empty()).ok_or_else(|| unread(name))
    }

    async fn fetch(&self, name: &str) -> Option<Reply> {
        // The binding uses only the path of the URL.
        let url = format!("https://assets/v1/{name}");
        let reply = Reply::of(self.binding.fetch_with_str(&url).ok()?).await?;
        (reply.status() == 200).then_some(reply)
    }
}

fn unread(name: &str) -> Error {
    Error::unavailable(format!("asset {name}: not read"))
}
