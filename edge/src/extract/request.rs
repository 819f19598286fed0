//! What belongs to one request: its id, and the work that outlives its answer.

use std::sync::Arc;

use axum::{extract::FromRequestParts, http::request::Parts};

use super::device::Device;
use crate::{
    account::AccountId,
    app::App,
    background::notices,
    cf::{clock, deferred::Deferred},
    error::Error,
    mail::Deed,
};

/// Put into every request's extensions by the roof.
#[derive(Clone)]
pub struct RequestContext {
    /// Joins the log lines of edge and origin and the answer's `X-Request-Id`. Made here, never taken
    /// from the client: a client could put an address into it.
    pub id: String,
    pub deferred: Deferred,
    /// Empty until a handler asks for the context.
    pub device: Device,
}

impl RequestContext {
    /// What is done in this request, for an email that tells of it.
    pub fn deed(&self) -> Deed {
        let at = i64::try_from(clock::now()).unwrap_or_default();
        let Device { browser, country } = self.device.clone();
        Deed { at, browser, country }
    }

    /// Mails the account's notices once the answer has left.
    pub fn notify(&self, app: &Arc<App>, account: AccountId) {
        notices::soon(app, &self.deferred, account, self.deed());
    }
}

impl<S: Sync> FromRequestParts<S> for RequestContext {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        let context: Option<Self> = parts.extensions.get().cloned();
        let context = context.ok_or_else(|| Error::internal("a request without its context"))?;
        Ok(Self { device: Device::of(parts), ..context })
    }
}
