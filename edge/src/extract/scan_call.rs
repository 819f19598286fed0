//! What every operation on scans is given: who calls, past the shield, and what is in the path and the query.

use std::sync::Arc;

use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};

use crate::{
    app::App,
    cf::{clock, shield::Shield},
    credentials::proof::Caller,
    error::Error,
};

/// A call of `/v1/scans/{id}/…`. One extractor for all of it: several for each handler cost the Worker kilobytes.
pub struct ScanCall {
    pub caller: Caller,
    /// Unix seconds.
    pub now: u64,
    /// Empty where the path has none.
    pub id: String,
    /// Empty where the path has none.
    pub part: String,
    query: String,
    pub accept: String,
}

impl FromRequestParts<Arc<App>> for ScanCall {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        let caller = Caller::from_request_parts(parts, app).await?;
        let party = caller.party();
        if !app.shield.admits_scans(&party).await {
            return Err(Error::throttled(Shield::PERIOD));
        }
        app.pace.turn(&party).await?;
        let accept = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        // /v1/scans/{id}/parts/{n}
        let segment = |n| parts.uri.path().split('/').nth(n).unwrap_or_default().to_owned();
        Ok(Self {
            caller,
            now: clock::now(),
            id: segment(3),
            part: segment(5),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            accept: accept.unwrap_or_default().to_owned(),
        })
    }
}

impl ScanCall {
    /// The value of a member of the query string; none of ours needs escapes.
    pub fn query(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// A number of the query string from 1 to `most`; `usual` where it is absent.
    pub fn limit(&self, usual: u32, most: u32) -> Option<u32> {
        let limit = self.query("limit").map_or(Some(usual), |limit| limit.parse().ok());
        limit.filter(|limit| (1..=most).contains(limit))
    }
}
