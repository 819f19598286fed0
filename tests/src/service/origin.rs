//! The real origin binary, built once and started with a test's environment.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use rcpt_shared::{KeyRing, Reason, Stage, Status, Ticket, Verdict};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::json;

use super::{clock, secret};
use crate::process::{
    Process, folder,
    nested_build::{self, Once, once},
    port,
};

/// Time limit of a request: longer than any step of a test.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time limit of a start, generous because the machine may be compiling at the same time.
const START: Duration = Duration::from_secs(30);
/// Time between SIGTERM and SIGKILL: origin finishes requests in flight, within its budget of 10 s.
const GRACE: Duration = Duration::from_secs(12);

/// The path of the origin binary: `RCPT_ORIGIN_BIN`, or a fresh build.
pub fn binary() -> Result<PathBuf> {
    static BINARY: Once<PathBuf> = Once::new();
    once(&BINARY, build)
}

fn build() -> Result<PathBuf> {
    if let Some(given) = std::env::var_os("RCPT_ORIGIN_BIN") {
        return Ok(given.into());
    }
    nested_build::binary("origin")
}

/// Settings with which an origin starts.
#[derive(Debug, Clone)]
pub struct OriginBuilder {
    environment: Vec<(String, String)>,
    ticket_secrets: String,
    port: u16,
}

impl OriginBuilder {
    /// Sets an environment variable, overriding the harness's own.
    pub fn env(mut self, key: &str, value: impl Into<String>) -> Self {
        self.environment.retain(|(present, _)| present != key);
        self.environment.push((key.to_owned(), value.into()));
        self
    }

    /// Sets the routes, `suffix=host:port[,…]`, in the form of `RCPT_ROUTES`.
    pub fn routes(self, routes: &str) -> Self {
        self.env("RCPT_ROUTES", routes)
    }

    /// Adds routes to the existing routes.
    pub fn add_routes(self, routes: &str) -> Self {
        let present = self.environment.iter().find(|(key, _)| key == "RCPT_ROUTES");
        let all = present.map_or_else(|| routes.to_owned(), |(_, all)| format!("{all},{routes}"));
        self.routes(&all)
    }

    /// Sets the secrets shared with the edge.
    pub fn ticket_secrets(mut self, secrets: &str) -> Self {
        secrets.clone_into(&mut self.ticket_secrets);
        self
    }

    /// Sets the port; by default, a free port is used.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// The command line, for tests of the start itself.
    pub fn command(&self) -> Result<Command> {
        let mut command = Command::new(binary()?);
        // Variables of the developer's shell aren't part of the test.
        for (key, _) in std::env::vars().filter(|(key, _)| key.starts_with("RCPT_")) {
            command.env_remove(key);
        }
        command.env("RCPT_LISTEN", format!("127.0.0.1:{}", self.port));
        command.env("RCPT_TICKET_SECRETS", &self.ticket_secrets);
        command.envs(self.environment.iter().map(|(key, value)| (key, value)));
        Ok(command)
    }

    /// Starts origin and waits until it answers.
    pub async fn start(self) -> Result<Origin> {
        let folder = folder::scratch("origin")?;
        self.start_in(&folder).await
    }

    /// Starts origin with its log in `folder`, and waits until it listens.
    pub async fn start_in(self, folder: &Path) -> Result<Origin> {
        let keys = KeyRing::parse(&self.ticket_secrets)?;
        let command = self.command()?;
        let mut process = Process::spawn_with_grace("origin", &command, folder, GRACE)?;
        // No idle connections: they would belong to the runtime of the test that opened them.
        let client = Client::builder().pool_max_idle_per_host(0).timeout(PATIENCE).build()?;
        let url = format!("http://127.0.0.1:{}", self.port);
        let health = format!("{url}/health");
        process
            .wait_until("answer of /health", START, async || {
                client.get(&health).send().await.ok()?.error_for_status().ok()
            })
            .await?;
        Ok(Origin { process, url, keys, client, builder: self })
    }
}

/// A nameserver that answers for the root, without which an origin doesn't work, and fails for every other name: a
/// test that needs DNS sets its own nameserver.
pub fn root_nameserver() -> SocketAddr {
    static ADDRESS: OnceLock<SocketAddr> = OnceLock::new();
    *ADDRESS.get_or_init(|| {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = socket.local_addr().expect("an address");
        std::thread::spawn(move || {
            let mut message = [0; 1_500];
            while let Ok((length, client)) = socket.recv_from(&mut message) {
                let Some(query) = message.get_mut(..length).filter(|query| query.len() > 12) else {
                    continue;
                };
                // A response (RFC 1035 §4.1.1) without records: for the root no error, otherwise SERVFAIL.
                let code = if query[12] == 0 { 0 } else { 2 };
                query[2] |= 0x80;
                query[3] = code;
                query[10..12].fill(0);
                let end =
                    query[12..].iter().position(|byte| *byte == 0).map_or(length, |at| 17 + at);
                let _ = socket.send_to(&query[..end.min(length)], client);
            }
        });
        address
    })
}

/// A verdict's status, reason and stage, and the codes of the mail server's reply.
pub fn gist(verdict: &Verdict) -> (Status, Reason, Stage, Option<u16>, Option<&str>) {
    let Verdict { status, reason, stage, smtp_code, enhanced_code, .. } = verdict;
    (*status, *reason, *stage, *smtp_code, enhanced_code.as_deref())
}

/// A running origin, with methods that send it requests as the edge does.
#[derive(Debug)]
pub struct Origin {
    pub process: Process,
    /// `http://127.0.0.1:PORT`
    pub url: String,
    keys: KeyRing,
    client: Client,
    builder: OriginBuilder,
}

impl Origin {
    /// A builder that may connect to loopback addresses, and has no routes, and no nameserver for names.
    pub fn builder() -> OriginBuilder {
        Self::system_dns().env("RCPT_NAMESERVERS", root_nameserver().to_string())
    }

    /// A builder that uses the machine's first nameserver. Without a network, [`root_nameserver`] lets it answer
    /// for the sandbox.
    pub fn system_dns() -> OriginBuilder {
        let environment = [
            ("RCPT_HELO_NAME", "probe.rcpt-tests.net"),
            ("RCPT_MAIL_FROM", "postmaster@rcpt-tests.net"),
            ("RCPT_ALLOW_NETWORKS", "127.0.0.0/8"),
        ];
        let builder = OriginBuilder {
            environment: environment.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
            ticket_secrets: secret::value().expect("/dev/urandom"),
            port: port::free(),
        };
        let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
        let mut own =
            text.lines().filter_map(|line| line.strip_prefix("nameserver ")?.trim().parse().ok());
        let own = own.next().map(|ip: IpAddr| SocketAddr::new(ip, 53).to_string());
        let all: Vec<_> = own.into_iter().chain([root_nameserver().to_string()]).collect();
        builder.env("RCPT_NAMESERVERS", all.join(","))
    }

    /// The verdict about an address.
    pub async fn try_probe(&self, address: &str) -> Result<Verdict> {
        let body = json!({ "address": address }).to_string();
        let response = self.post(&body, &self.ticket(&body)).await?;
        let (status, text) = (response.status(), response.text().await?);
        if status != StatusCode::OK {
            bail!("origin answered {status} {text} about {address}");
        }
        serde_json::from_str(&text).with_context(|| format!("not a verdict: {text}"))
    }

    /// The verdict about an address.
    pub async fn probe(&self, address: &str) -> Verdict {
        match self.try_probe(address).await {
            Ok(verdict) => verdict,
            Err(error) => panic!("{error:#}\n{}", self.process.last_lines()),
        }
    }

    /// Issues a ticket for this body, as the edge would.
    pub fn ticket(&self, body: &str) -> String {
        Ticket::issue(&self.keys, "harness", body.as_bytes(), clock::now()).expect("a ticket")
    }

    /// The keys that sign tickets, for tests that forge them.
    pub fn keys(&self) -> &KeyRing {
        &self.keys
    }

    /// Sends `POST /v1/probe` with this body and bearer token.
    pub async fn post(&self, body: &str, ticket: &str) -> reqwest::Result<Response> {
        self.post_to("/v1/probe", body, ticket).await
    }

    /// Sends `POST path` with this body and bearer token.
    pub async fn post_to(&self, path: &str, body: &str, ticket: &str) -> reqwest::Result<Response> {
        self.request(path, body, ticket).send().await
    }

    /// A POST request with this body and ticket, to change before it is sent.
    pub fn request(&self, path: &str, body: &str, ticket: &str) -> RequestBuilder {
        self.client
            .post(format!("{}{path}", self.url))
            .bearer_auth(ticket)
            .header("content-type", "application/json")
            .body(body.to_owned())
    }

    /// Sends `GET path`.
    pub async fn get(&self, path: &str) -> reqwest::Result<Response> {
        self.client.get(format!("{}{path}", self.url)).send().await
    }

    /// Origin's process id; `None` if there is no such process.
    pub fn pid(&self) -> Option<u32> {
        self.process.member("origin")
    }

    /// Kills origin with SIGKILL.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Kills origin, and starts it with the same settings on the same port.
    pub async fn restart(&mut self) -> Result<()> {
        self.kill();
        *self = self.builder.clone().start().await?;
        Ok(())
    }
}
