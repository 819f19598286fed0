//! Keyed hashes of the client's network, for shields, throttles and the log.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, request::Parts},
};

use secrecy::SecretString;

use crate::{
    app::App,
    cf::clock,
    credentials::{keyed_names, password::Turn},
    error::Error,
    limits::{
        rules::{Gate, Key, MailPurpose, Rule, network_of, site_of},
        shield::Shield,
        throttle::Attempt,
    },
    meter,
};

/// The network of a client that has passed the shield: clients with too many requests don't reach the handler.
#[derive(Debug, Clone)]
pub struct ClientNetwork {
    network: String,
    /// Keyed hash of the client site (IPv6 /48); `None` for IPv4.
    site: Option<String>,
}

/// Header with the client's address, set by Cloudflare on every request; a client can't forge it.
pub const HEADER: HeaderName = HeaderName::from_static("cf-connecting-ip");

pub fn address(headers: &HeaderMap) -> Option<IpAddr> {
    headers.get(HEADER)?.to_str().ok()?.parse().ok()
}

impl FromRequestParts<Arc<App>> for ClientNetwork {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        let address = address(&parts.headers);
        let hash = |network: &str| keyed_names::of_network(&app.config.address_secrets, network);
        // Without the header, clients can't be distinguished, and share one key.
        let network = hash(&address.map(network_of).unwrap_or_default());
        meter::note(|party| party.network = Some(network.clone()));
        let site = address.and_then(site_of).map(|site| hash(&site));
        if app.shield.admits_network(&network, site.as_deref()).await {
            Ok(Self { network, site })
        } else {
            Err(Error::throttled(Shield::PERIOD_S))
        }
    }
}

impl ClientNetwork {
    pub fn gate(&self, app: &App) -> Gate {
        Gate::new(Key::network(&self.network), app.config.throttle.network)
    }

    /// The network's, its site's, and that of all unverified or of all verified requests.
    pub fn mail_gates(
        &self,
        app: &App,
        purpose: MailPurpose,
        all: Rule,
        is_verified: bool,
    ) -> Vec<Gate> {
        let throttle = &app.config.throttle;
        let of_network = |hash: &str, rule| Gate::new(Key::mails_of_network(purpose, hash), rule);
        let mut gates = vec![of_network(&self.network, throttle.mails_of_network)];
        gates.extend(self.site.iter().map(|site| of_network(site, throttle.mails_of_site)));
        let party = Key::first_mail_of_site(purpose, self.site());
        let budget = if is_verified { Key::all_verified_mails } else { Key::all_mails };
        gates.push(Gate::new(budget(purpose), all).reserved_for(party));
        gates
    }

    /// True if Turnstile confirms a token from this client, which has passed the shield. Turnstile isn't called without
    /// a token or if it isn't set up.
    pub async fn is_verified(&self, app: &App, token: Option<&SecretString>) -> bool {
        match (&app.config.turnstile, token) {
            (Some(turnstile), Some(token)) => turnstile.vouches_for(token).await,
            _ => false,
        }
    }

    fn site(&self) -> &str {
        self.site.as_ref().unwrap_or(&self.network)
    }

    /// Without permission, the attempt is uncounted because it was never evaluated.
    pub async fn hashing_turn(&self, app: &App, attempt: Option<&Attempt>) -> Result<Turn, Error> {
        let turn = app.hashing.turn(self.site()).await;
        if let (Err(_), Some(attempt)) = (&turn, attempt) {
            attempt.give_back(app.databases.directory()).await;
        }
        turn
    }

    pub async fn attempt(&self, app: &App, key: Key) -> Result<Attempt, Error> {
        let gates = vec![self.gate(app), Gate::new(key, app.config.throttle.account)];
        Attempt::count(app.databases.directory(), gates, clock::now()).await
    }
}
