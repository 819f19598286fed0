//! The whole service: sandbox, origin and edge, connected to each other.

use std::env;

use anyhow::Result;

use super::{Edge, Origin, edge, origin, secret, shim::Fault};
use crate::servers::Sandbox;

/// A running service, whose components can be inspected, killed and restarted.
#[derive(Debug)]
pub struct Stack {
    pub edge: Edge,
    pub origin: Origin,
    pub sandbox: Sandbox,
}

/// Settings with which a [`Stack`] starts.
#[derive(Debug, Clone)]
pub struct StackBuilder {
    origin: origin::OriginBuilder,
    edge: edge::EdgeBuilder,
    more_origins: Vec<String>,
}

impl StackBuilder {
    /// Sets a variable of origin's environment.
    pub fn origin_env(mut self, key: &str, value: impl Into<String>) -> Self {
        self.origin = self.origin.env(key, value);
        self
    }

    /// Adds this origin of the test next to the real origin.
    pub fn beside_origin(mut self, url: String) -> Self {
        self.more_origins.push(url);
        self
    }

    /// Sets a var or secret of the edge.
    pub fn edge_var(mut self, name: &str, value: impl Into<String>) -> Self {
        self.edge = self.edge.var(name, value);
        self
    }

    /// Serves the portal under a host name for which browsers allow passkeys.
    pub fn on_localhost(mut self) -> Self {
        self.edge = self.edge.on_localhost();
        self
    }

    /// Keeps the rate limits of wrangler.toml, which are off by default.
    pub fn throttled(mut self) -> Self {
        self.edge = self.edge.throttled();
        self
    }

    /// Lets the edge's bindings be counted and made to fail.
    pub fn shimmed(mut self) -> Self {
        self.edge = self.edge.shimmed();
        self
    }

    /// Keeps the Worker's default waits between attempts.
    pub fn with_waits(mut self) -> Self {
        self.edge = self.edge.with_waits();
        self
    }

    /// Sets the port of a server that receives every `https` request.
    pub fn webhooks(mut self, port: u16) -> Self {
        self.edge = self.edge.webhooks(port);
        self
    }

    /// Starts everything; routes given with `RCPT_ROUTES` come before the sandbox's.
    pub async fn try_start(self) -> Result<Stack> {
        let sandbox = Sandbox::start()?;
        let tickets = secret::value()?;
        let origin = self.origin.add_routes(&sandbox.routes()).ticket_secrets(&tickets);
        let origin = origin.start().await?;
        let mut urls = vec![origin.url.as_str()];
        urls.extend(self.more_origins.iter().map(String::as_str));
        let mut edge = self.edge.origins(&urls).ring("TICKET_SECRET", &tickets);
        let is_slow = env::var_os("SLOW").is_some();
        if is_slow {
            edge = edge.shimmed();
        }
        let edge = edge.start().await?;
        if is_slow {
            let late = Fault { part: "mail", times: u32::MAX, delay_ms: 700, ..Fault::default() };
            edge.fail(&[late]).await;
        }
        Ok(Stack { edge, origin, sandbox })
    }

    /// Starts all components and waits until they answer.
    pub async fn start(self) -> Stack {
        self.try_start().await.unwrap_or_else(|error| panic!("{error:#}"))
    }
}

impl Stack {
    /// Settings with fresh secrets, empty storage, no rate limits and the sandbox's addresses.
    pub fn builder() -> StackBuilder {
        StackBuilder { origin: Origin::builder(), edge: Edge::builder(), more_origins: Vec::new() }
    }

    /// Starts all components with the default settings.
    pub async fn start() -> Self {
        Self::builder().start().await
    }
}
