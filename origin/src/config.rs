//! Configuration: one TOML file, every value also by environment variable, read once into types.

mod mistake;
mod parse;
mod routes;
mod settings;
mod values;

use std::{
    net::{IpAddr, SocketAddr},
    path::Path,
    time::Duration,
};

use ipnet::IpNet;
use rcpt_shared::KeyRing;
use tracing::level_filters::LevelFilter;

pub use mistake::{Mistake, Mistakes};
pub use routes::{Route, Routes, Server};
pub use settings::reference;
use values::Values;

/// What the service runs on. Secrets are hidden from `Debug` by [`KeyRing`].
#[derive(Debug, Clone)]
pub struct Config {
    pub listen: SocketAddr,
    /// The name given in EHLO: a fully qualified domain name (RFC 5321 §4.1.1.1).
    pub helo_name: String,
    /// The reverse-path without its angle brackets; empty for the null reverse-path.
    pub mail_from: String,
    pub nameservers: Vec<SocketAddr>,
    pub smtp_port: u16,
    pub routes: Routes,
    /// Networks that may be dialled although they are not public unicast.
    pub allow_networks: Vec<IpNet>,
    /// For one probe, DNS included.
    pub budget: Duration,
    /// For one address.
    pub connect_timeout: Duration,
    /// For one query to one nameserver.
    pub dns_timeout: Duration,
    /// Probes in progress at once; further ones are answered 503.
    pub max_probes: usize,
    pub starttls: StartTls,
    pub source_addresses: Vec<SourceAddress>,
    /// Sessions at once with one operator.
    pub operator_sessions: usize,
    /// From one new session with an operator to the next.
    pub session_interval: Duration,
    /// Recipients asked about in one session.
    pub session_recipients: usize,
    /// Mail servers of others that tell whether port 25 is open outward; none: it is not checked.
    pub port_check: Vec<Server>,
    pub blocklists: Vec<String>,
    pub time_server: Option<Server>,
    pub ticket_secrets: KeyRing,
    pub shutdown_grace: Duration,
    pub log_level: LevelFilter,
}

/// When a session is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartTls {
    /// Only when the server demands it: three round trips fewer for everyone else.
    OnDemand,
    /// Whenever the server offers it.
    Always,
}

/// An address to connect from, and the name that its reverse record leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceAddress {
    pub ip: IpAddr,
    /// `None`: [`Config::helo_name`].
    pub helo_name: Option<String>,
}

impl Config {
    /// Reads the file at `path`, if any, and the environment, which wins over the file.
    ///
    /// # Errors
    /// [`Mistakes`]: every wrong, missing or unknown value, by name.
    pub fn read(
        path: Option<&Path>,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Mistakes> {
        let text = match path {
            Some(path) => std::fs::read_to_string(path)
                .map_err(|error| Mistake::new("config", &format!("{}: {error}", path.display())))?,
            None => String::new(),
        };
        Self::parse(&text, environment)
    }

    /// Like [`Config::read`], from the text of the file.
    ///
    /// # Errors
    /// [`Mistakes`]: every wrong, missing or unknown value, by name.
    pub fn parse(
        text: &str,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Mistakes> {
        let mut values = Values::new(text, environment)?;
        let listen = values.read(&settings::LISTEN, parse::from_str);
        let helo_name = values.read(&settings::HELO_NAME, parse::host_name);
        let mail_from = values.read(&settings::MAIL_FROM, parse::reverse_path);
        let nameservers = values.read(&settings::NAMESERVERS, parse::nameservers);
        let smtp_port = values.read(&settings::SMTP_PORT, parse::port);
        let routes = values.read(&settings::ROUTES, Routes::parse);
        let allow_networks = values.read(&settings::ALLOW_NETWORKS, parse::networks);
        let budget = values.read(&settings::BUDGET_MS, parse::milliseconds);
        let connect_timeout = values.read(&settings::CONNECT_TIMEOUT_MS, parse::milliseconds);
        let dns_timeout = values.read(&settings::DNS_TIMEOUT_MS, parse::milliseconds);
        let max_probes = values.read(&settings::MAX_PROBES, parse::count);
        let starttls = values.read(&settings::STARTTLS, parse::starttls);
        let source_addresses = values.read(&settings::SOURCE_ADDRESSES, parse::source_addresses);
        let operator_sessions = values.read(&settings::OPERATOR_SESSIONS, parse::count);
        let session_interval = values.read(&settings::SESSION_INTERVAL_MS, parse::pause);
        let session_recipients = values.read(&settings::SESSION_RECIPIENTS, parse::recipients);
        let port_check = values.read(&settings::PORT_CHECK, parse::servers);
        let blocklists = values.read(&settings::BLOCKLISTS, parse::domain_names);
        let time_server = values.read(&settings::TIME_SERVER, parse::server_or_none);
        let ticket_secrets = values.read(&settings::TICKET_SECRETS, parse::key_ring);
        let shutdown_grace = values.read(&settings::SHUTDOWN_GRACE_MS, parse::milliseconds);
        let log_level = values.read(&settings::LOG_LEVEL, parse::log_level);
        let mistakes = values.finish();
        // A closure, so that the first absent value ends in the mistakes and not in a half-made Config.
        let complete = move || {
            Some(Self {
                listen: listen?,
                helo_name: helo_name?,
                mail_from: mail_from?,
                nameservers: nameservers?,
                smtp_port: smtp_port?,
                routes: routes?,
                allow_networks: allow_networks?,
                budget: budget?,
                connect_timeout: connect_timeout?,
                dns_timeout: dns_timeout?,
                max_probes: max_probes?,
                starttls: starttls?,
                source_addresses: source_addresses?,
                operator_sessions: operator_sessions?,
                session_interval: session_interval?,
                session_recipients: session_recipients?,
                port_check: port_check?,
                blocklists: blocklists?,
                time_server: time_server?,
                ticket_secrets: ticket_secrets?,
                shutdown_grace: shutdown_grace?,
                log_level: log_level?,
            })
        };
        if mistakes.is_empty() { complete().ok_or(mistakes) } else { Err(mistakes) }
    }
}

#[cfg(test)]
mod tests;
