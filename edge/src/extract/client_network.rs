//! Where a request comes from, for throttling only: a keyed hash of the client's network.

use std::{net::IpAddr, sync::Arc};

use axum::{extract::FromRequestParts, http::request::Parts};

use crate::{
    app::App,
    cf::clock,
    credentials::{address_hash, random},
    error::Error,
    store,
    throttle::{Key, Rule, network_of},
};

/// The network of the client.
#[derive(Debug, Clone)]
pub struct ClientNetwork {
    network: Key,
}

/// Set by Cloudflare on every request; a client cannot set it.
pub const HEADER: &str = "cf-connecting-ip";

impl FromRequestParts<Arc<App>> for ClientNetwork {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        let address = parts.headers.get(HEADER).and_then(|value| value.to_str().ok());
        let network = address.and_then(|text| text.parse::<IpAddr>().ok()).map(network_of);
        // Without the header there is no telling clients apart: they share one key.
        let network = network.unwrap_or_default();
        let hash = address_hash::of_network(&app.config.address_secrets, &network);
        Ok(Self { network: Key::network(&hash) })
    }
}

impl ClientNetwork {
    /// Lets an attempt through that costs us a hash: past what [`Self::pass`] checks and past the wait
    /// under `key`, all of it counted.
    ///
    /// # Errors
    /// [`Error::throttled`] with the seconds to wait.
    pub async fn attempt(&self, app: &App, key: Key) -> Result<Attempt, Error> {
        self.admit(app, &[(key.clone(), app.config.throttle.account)]).await?;
        Ok(Attempt { network: self.network.clone(), key })
    }

    /// Lets an attempt through as far as the client's network is concerned: past the runtime's own
    /// limiter, which costs nothing, then past this network's wait, which is counted.
    ///
    /// # Errors
    /// [`Error::throttled`] with the seconds to wait.
    pub async fn pass(&self, app: &App) -> Result<(), Error> {
        self.admit(app, &[]).await
    }

    async fn admit(&self, app: &App, keys: &[(Key, Rule)]) -> Result<(), Error> {
        if !app.shield.admits(self.network.as_str()).await {
            return Err(Error::throttled(app.shield.period()));
        }
        let network = (self.network.clone(), app.config.throttle.network);
        let keys = [&[network], keys].concat();
        let attempt = random::identifier()?;
        store::throttle::admit(&app.database, &keys, &attempt, clock::now()).await?.or_throttled()
    }
}

/// An attempt that was let through and counted.
pub struct Attempt {
    network: Key,
    key: Key,
}

impl Attempt {
    /// It turned out well: what was counted under its key is forgotten, and this one attempt of the
    /// network.
    ///
    /// # Errors
    /// [`Error::unavailable`] when the database fails.
    pub async fn succeeded(&self, app: &App) -> Result<(), Error> {
        let now = clock::now();
        store::throttle::succeeded(&app.database, &[&self.key], &[&self.network], now).await
    }
}
