//! Recent verdicts, in the Cache API of this data centre and in KV worldwide.
//!
//! Keys are keyed hashes of addresses; the value is a verdict and its expiry. A failing cache counts as a miss, which
//! costs one probe.

use std::time::Duration;

use rcpt_shared::Verdict;
use serde::{Deserialize, Serialize};
use worker::{
    Env,
    js_sys::{self, Function, Object, Promise, Reflect, futures::JsFuture},
    send::{IntoSendFuture as _, SendWrapper},
    wasm_bindgen::{JsCast as _, JsValue},
    web_sys,
    worker_sys::ext::CacheStorageExt as _,
};

use super::{
    clock::{self, timed},
    glue,
};
use crate::{json, meter::Part};

const BINDING: &str = "VERDICTS";
/// Shortest lifetime that KV accepts, in seconds.
const KV_TTL_MIN_S: u64 = 60;
/// Time limit of a cache lookup: a healthy cache answers in tens of milliseconds, and the probe's
/// ten seconds are reserved for the mail server.
const READ_TIMEOUT_MS: u32 = 1_000;
const READ_TIMEOUT: Duration = Duration::from_millis(READ_TIMEOUT_MS as u64);

/// Longest time that a response waits for the cache write in this data centre. An immediate repeat
/// then finds the verdict, and a slow cache delays no response further.
const WRITE_WAIT_MAX: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct VerdictCache {
    base: String,
    here: SendWrapper<web_sys::Cache>,
    kv: Kv,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CachedVerdict {
    pub expires_at: u64,
    /// The mail host's name is in the form of [`relative`].
    verdict: Box<Verdict>,
}

impl CachedVerdict {
    /// Without the server's text, which may identify the recipient. In the mail host's name, placeholders replace the
    /// address's domain: `mx1.@`, `#.mail.protection.outlook.com`.
    pub fn new(verdict: &Verdict, expires_at: u64, domain: &str) -> Self {
        let mut verdict = Box::new(Verdict { seen_before: None, ..verdict.clone() });
        if let Some(details) = &mut verdict.details {
            details.smtp_text = None;
        }
        verdict.mx_host = verdict.mx_host.map(|host| relative(&host, domain));
        Self { expires_at, verdict }
    }

    pub fn counts(&self) -> bool {
        self.verdict.status.counts()
    }

    pub fn into_verdict(self, domain: &str) -> Verdict {
        let mut verdict = *self.verdict;
        verdict.mx_host = verdict.mx_host.map(|host| absolute(&host, domain));
        verdict
    }
}

/// Placeholders for the domain in a host's name, and for the domain with dashes for dots, as in
/// `example-org.mail.protection.outlook.com`; host names can't contain these characters.
const ORIGIN: &str = "@";
const DASHED_ORIGIN: &str = "#";

fn dashed(domain: &str) -> String {
    domain.replace('.', "-")
}

fn relative(host: &str, domain: &str) -> String {
    let host = format!(".{}.", host.to_ascii_lowercase());
    let host = host.replace(&format!(".{domain}."), &format!(".{ORIGIN}."));
    let host = host.replace(&format!(".{}.", dashed(domain)), &format!(".{DASHED_ORIGIN}."));
    host.trim_matches('.').to_owned()
}

fn absolute(host: &str, domain: &str) -> String {
    host.replace(ORIGIN, domain).replace(DASHED_ORIGIN, &dashed(domain))
}

impl VerdictCache {
    /// `host` is the portal's URL: the Cache API requires a host in a zone of the account.
    pub fn new(env: &Env, host: &str) -> worker::Result<Self> {
        let global: web_sys::WorkerGlobalScope = js_sys::global().unchecked_into();
        let here = SendWrapper::new(global.caches()?.default());
        Ok(Self { base: format!("{host}/v1/verdicts"), here, kv: Kv::new(env, BINDING)? })
    }

    /// No page exists at this URL, so nothing else is cached under it.
    fn url(&self, key: &str) -> String {
        format!("{}/{key}", self.base)
    }

    pub async fn get(&self, key: &str, now: u64) -> Option<CachedVerdict> {
        let verdict = async {
            match self.get_here(key).await {
                Some(verdict) => Some(verdict),
                None => self.get_everywhere(key).await,
            }
        };
        verdict.into_send().await.filter(|verdict| now < verdict.expires_at)
    }

    async fn get_here(&self, key: &str) -> Option<CachedVerdict> {
        let text = glue::text_of(&self.here, &self.url(key), READ_TIMEOUT_MS);
        let text = timed(Part::Cache, JsFuture::from(text)).await.ok()?.as_string()?;
        json::read(text.as_bytes()).ok()
    }

    async fn get_everywhere(&self, key: &str) -> Option<CachedVerdict> {
        let text = timed(Part::Kv, clock::within(READ_TIMEOUT, self.kv.get(key))).await??;
        json::read(text.as_bytes()).ok()
    }

    /// Stores a verdict in this data centre, and waits briefly for the write: an immediate repeat from the same client
    /// finds it.
    pub async fn put_here(&self, key: &str, verdict: &CachedVerdict, now: u64) {
        let put = async {
            let ttl = verdict.expires_at.saturating_sub(now);
            let text = serde_json::to_string(verdict).ok()?;
            let headers = web_sys::Headers::new().ok()?;
            headers.set("Cache-Control", &format!("max-age={ttl}")).ok()?;
            let init = web_sys::ResponseInit::new();
            init.set_headers(&headers);
            let response = web_sys::Response::new_with_opt_str_and_init(Some(&text), &init).ok()?;
            JsFuture::from(self.here.put_with_str(&self.url(key), &response)).await.ok()
        };
        timed(Part::Cache, clock::within(WRITE_WAIT_MAX, put)).into_send().await;
    }

    /// Stores a verdict for all data centres, which see it within about a minute. A verdict that expires sooner than
    /// KV allows isn't stored.
    pub async fn put_everywhere(&self, key: &str, verdict: &CachedVerdict, now: u64) {
        let ttl = verdict.expires_at.saturating_sub(now);
        if ttl < KV_TTL_MIN_S {
            return;
        }
        if let Ok(text) = serde_json::to_string(verdict) {
            self.kv.put(key, &text, ttl).await;
        }
    }
}

/// A KV namespace. Uses the runtime's own object: the `worker` crate would serialise options that never change.
#[derive(Debug)]
struct Kv(SendWrapper<Methods>);

#[derive(Debug)]
struct Methods {
    namespace: JsValue,
    get: Function,
    put: Function,
}

impl Kv {
    fn new(env: &Env, binding: &str) -> worker::Result<Self> {
        let namespace = Reflect::get(env, &JsValue::from_str(binding))?;
        let method = |name| Reflect::get(&namespace, &JsValue::from_str(name))?.dyn_into();
        let (get, put) = (method("get")?, method("put")?);
        Ok(Self(SendWrapper(Methods { namespace, get, put })))
    }

    async fn get(&self, key: &str) -> Option<String> {
        let Methods { namespace, get, .. } = &*self.0;
        let reading: Promise =
            get.call1(namespace, &JsValue::from_str(key)).ok()?.dyn_into().ok()?;
        JsFuture::from(reading).into_send().await.ok()?.as_string()
    }

    async fn put(&self, key: &str, text: &str, ttl: u64) {
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

#[cfg(test)]
mod tests {
    use rcpt_shared::{Reason, Stage, Status, Verdict};

    use super::CachedVerdict;

    #[test]
    fn a_host_of_the_checked_domain_is_kept_without_it() {
        for (host, kept) in [
            ("shop.example", "@"),
            ("mx1.shop.example", "mx1.@"),
            ("workshop.example", "workshop.example"),
            ("shop-example.mail.protection.outlook.com", "#.mail.protection.outlook.com"),
            ("shop.example.pri-mx.eu0001.smtproutes.com", "@.pri-mx.eu0001.smtproutes.com"),
            ("eu.shop.example.cust.hostedemail.com", "eu.@.cust.hostedemail.com"),
            (
                "workshop-example.mail.protection.outlook.com",
                "workshop-example.mail.protection.outlook.com",
            ),
            ("mx.provider.example", "mx.provider.example"),
        ] {
            let mut verdict = Verdict::new(Status::Accepted, Reason::Accepted, Stage::Rcpt);
            verdict.mx_host = Some(host.to_owned());
            let cached = CachedVerdict::new(&verdict, 7, "shop.example");
            assert_eq!(cached.verdict.mx_host.as_deref(), Some(kept));
            assert_eq!(cached.into_verdict("shop.example"), verdict, "{host}");
        }
    }
}
