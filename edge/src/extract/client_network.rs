//! Where a request comes from, for shields and throttles only: keyed hashes of the client's network.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::FromRequestParts,
    http::{HeaderName, request::Parts},
};

use crate::{
    app::App,
    cf::{clock, hashing::Turn, shield::Shield},
    credentials::{address_hash, random},
    error::Error,
    store,
    throttle::{Key, network_of, site_of},
};

/// The network of a client that has passed the shield: every handler without credentials takes one, and
/// so touches no storage for a client that asks too often.
#[derive(Debug, Clone)]
pub struct ClientNetwork {
    key: Key,
    /// Hash of the site that it belongs to, or of itself.
    site: String,
}

/// Set by Cloudflare on every request; a client cannot set it.
pub const HEADER: HeaderName = HeaderName::from_static("cf-connecting-ip");

impl FromRequestParts<Arc<App>> for ClientNetwork {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        let address = parts.headers.get(HEADER).and_then(|value| value.to_str().ok());
        let address = address.and_then(|text| text.parse::<IpAddr>().ok());
        let hash = |network: &str| address_hash::of_network(&app.config.address_secrets, network);
        // Without the header there is no telling clients apart: they share one key.
        let network = hash(&address.map(network_of).unwrap_or_default());
        let site = address.and_then(site_of).map(|site| hash(&site));
        if app.shield.admits_network(&network, site.as_deref()).await {
            Ok(Self { key: Key::network(&network), site: site.unwrap_or(network) })
        } else {
            Err(Error::throttled(Shield::PERIOD))
        }
    }
}

impl ClientNetwork {
    /// Its key, under which attempts that cost us something are counted.
    pub const fn key(&self) -> &Key {
        &self.key
    }

    /// Waits until a password may be hashed for this client.
    ///
    /// # Errors
    /// Those of `HashingTurns::turn`.
    pub async fn hashing_turn(&self, app: &App) -> Result<Turn, Error> {
        app.hashing.turn(&self.site).await
    }

    /// Lets an attempt through that costs us a hash: past the network's throttle and the one of `key`,
    /// all of it counted.
    ///
    /// # Errors
    /// [`Error::throttled`] with the seconds to wait.
    pub async fn attempt(&self, app: &App, key: Key) -> Result<Attempt, Error> {
        let throttle = &app.config.throttle;
        let keys = [(self.key.clone(), throttle.network), (key.clone(), throttle.account)];
        let attempt = random::identifier()?;
        let admission =
            store::throttle::admit(app.databases.directory(), &keys, &attempt, clock::now())
                .await?;
        admission.or_throttled()?;
        Ok(Attempt { network: self.key.clone(), key })
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
        let network = (&self.network, app.config.throttle.network);
        store::throttle::succeeded(app.databases.directory(), &[&self.key], &[network]).await
    }
}
