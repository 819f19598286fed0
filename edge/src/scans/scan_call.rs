//! Input of the operations on scans and events: the admitted caller, the path and the query.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, RawPathParams},
    http::{header, request::Parts},
};

use crate::{
    app::App, cf::clock, credentials::proof::Caller, error::Error, extract::caller::still_good,
    limits::shield::Shield,
};

pub struct ScanCall {
    pub caller: Caller,
    pub now: u64,
    pub id: String,
    pub part: String,
    query: String,
    pub accept: String,
}

impl FromRequestParts<Arc<App>> for ScanCall {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        let caller = Caller::from_request_parts(parts, app).await?;
        still_good(app, caller)?;
        let party = caller.wider_party();
        if !app.shield.admits_scans(&party).await {
            return Err(Error::throttled(Shield::PERIOD_S));
        }
        app.pace.turn(&party).await?;
        let path = RawPathParams::from_request_parts(parts, app).await;
        let path = path.map_err(|_| Error::not_found())?;
        let accept = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        let segment = |name| {
            let value = path.iter().find(|(key, _)| *key == name).map(|(_, value)| value);
            value.unwrap_or_default().to_owned()
        };
        Ok(Self {
            caller,
            now: clock::now(),
            id: segment("id"),
            part: segment("n"),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            accept: accept.unwrap_or_default().to_owned(),
        })
    }
}

impl ScanCall {
    /// Value of a query parameter; our values need no escapes.
    pub fn query(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    pub fn limit(&self, usual: u32, most: u32) -> Option<u32> {
        let limit = self.query("limit").map_or(Some(usual), |limit| limit.parse().ok());
        limit.filter(|limit| (1..=most).contains(limit))
    }
}
