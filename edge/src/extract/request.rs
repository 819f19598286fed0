//! State of one request: its id, and work that continues after its response.

use std::sync::{Arc, OnceLock};

use axum::{
    extract::FromRequestParts,
    http::{HeaderName, HeaderValue, request::Parts},
};
use rcpt_shared::KeyRing;

use super::device::Device;
use crate::{
    account::AccountId,
    app::App,
    background::notices,
    cf::{clock, deferred::Deferred},
    credentials::{idempotency::Idempotent, session::PresentedSession},
    error::Error,
    mail::AccountEvent,
};

pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Added to every request's extensions by the outer layer.
#[derive(Clone)]
pub struct RequestContext {
    /// Shared by the log lines of edge and origin and the response's `X-Request-Id`. It is
    /// generated here, because a client could put an address into its own id.
    pub id: String,
    pub deferred: Deferred,
    /// Empty until a handler extracts the context.
    pub device: Device,
    /// Value of the header `Idempotency-Key`; `None` until a handler extracts the context.
    pub idempotency_key: Option<HeaderValue>,
    /// Session used by this request, once it is known to be genuine.
    pub used_session: Arc<OnceLock<PresentedSession>>,
}

impl RequestContext {
    /// Returns the time and place of this request for an email about it.
    pub fn event(&self) -> AccountEvent {
        let at = i64::try_from(clock::now()).unwrap_or_default();
        let Device { browser, country } = self.device.clone();
        AccountEvent { at, browser, country }
    }

    /// Returns the request with its `Idempotency-Key`, if it has one. `request` is the content that
    /// a repeat must share with it.
    ///
    /// # Errors
    /// [`Error::invalid_idempotency_key`].
    pub fn idempotent(
        &self,
        secrets: &KeyRing,
        account: AccountId,
        request: &str,
    ) -> Result<Option<Idempotent>, Error> {
        let Some(key) = &self.idempotency_key else { return Ok(None) };
        let is_fine = |key: &&str| {
            (16..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
        };
        let key = key.to_str().ok().filter(is_fine).ok_or_else(Error::invalid_idempotency_key)?;
        Ok(Some(Idempotent::new(secrets, account, key, request)))
    }

    /// Sends the account's notices after the response.
    pub fn notify(&self, app: &Arc<App>, account: AccountId) {
        notices::soon(app, &self.deferred, account, self.event());
    }
}

impl<S: Sync> FromRequestParts<S> for RequestContext {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        let context: Option<Self> = parts.extensions.get().cloned();
        let context = context.ok_or_else(|| Error::internal("a request without its context"))?;
        let idempotency_key = parts.headers.get(IDEMPOTENCY_KEY).cloned();
        Ok(Self { device: Device::of(parts), idempotency_key, ..context })
    }
}
