//! An origin that fails on command, for faults that the real origin shows only when broken. It speaks bare TCP, because
//! some faults are below HTTP.

use std::{
    collections::BTreeMap,
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use parking_lot::Mutex;
use rcpt_shared::{
    Confidence, Deliverability, Details, DomainReport, Reason, Stage, Status, Verdict,
};
use serde_json::Value;
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::bare_http::{Request, http, read_request};
use crate::{
    people::{Account, Reply},
    process::{port, runtime},
};

const LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);

/// Behaviour of the origin for a probe.
#[derive(Debug, Clone)]
pub enum Conduct {
    /// 200 with a whole verdict of this status.
    Verdict(Status),
    /// 200 with a whole verdict of this status, repeated from the origin's memory.
    Seen(Status),
    /// This HTTP status with this body.
    Answer(u16, &'static str),
    /// These bytes, HTTP or not; then the connection ends.
    Bytes(&'static str),
    /// No reply until the client disconnects.
    Silence,
    /// 200 with a whole verdict of this status, after this time.
    Late(Status, Duration),
    /// No reply until the test calls [`FakeOrigin::release`] for the address.
    Hold,
}

/// A probe, or a question about a domain, as it was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The address, or the domain.
    pub address: String,
    /// The bearer token.
    pub ticket: String,
    /// The whole body.
    pub body: String,
}

type Released = watch::Sender<BTreeMap<String, Conduct>>;

/// A running server; dropping it closes its port.
#[derive(Debug)]
pub struct FakeOrigin {
    /// `http://127.0.0.1:PORT`
    pub url: String,
    probes: Arc<Mutex<Vec<Probe>>>,
    released: Arc<Released>,
    health: Arc<Health>,
    task: JoinHandle<()>,
}

/// Behaviour for `GET /health`, and the number of such requests.
#[derive(Debug, Default)]
struct Health {
    requests: AtomicUsize,
    is_hung: AtomicBool,
    /// Number of further health checks to drop.
    lost: AtomicUsize,
}

impl FakeOrigin {
    /// Listens on a free port. `rule` returns the behaviour for the address of each probe, or for the domain of each
    /// question about a domain, of which nothing is known. `/health` reports up.
    pub fn start(rule: impl Fn(&str) -> Conduct + Send + Sync + 'static) -> Self {
        let port = port::free();
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("a port");
        listener.set_nonblocking(true).expect("a nonblocking listener");
        let probes = Arc::default();
        let released = Arc::new(Released::new(BTreeMap::new()));
        let health = Arc::<Health>::default();
        let world =
            Arc::new((rule, Arc::clone(&probes), Arc::clone(&released), Arc::clone(&health)));
        let task = runtime::spawn(async move {
            let listener = TcpListener::from_std(listener).expect("a nonblocking listener");
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let world = Arc::clone(&world);
                tokio::spawn(async move {
                    let (rule, probes, released, health) = &*world;
                    // An error means that the client has left.
                    converse(stream, rule, probes, released, health).await.ok()
                });
            }
        });
        Self { url: format!("http://127.0.0.1:{port}"), probes, released, health, task }
    }

    /// Sets whether requests for `/health` are accepted and never answered.
    pub fn hang(&self, is_hung: bool) {
        self.health.is_hung.store(is_hung, Relaxed);
    }

    /// Drops the next `count` requests for `/health`.
    pub fn lose_health_checks(&self, count: usize) {
        self.health.lost.store(count, Relaxed);
    }

    /// The number of requests for `/health`.
    pub fn health_checks(&self) -> usize {
        self.health.requests.load(Relaxed)
    }

    /// Starts an origin whose behaviour depends on an address's first word. `held` waits for its release, `broken`
    /// gives 500, `fatal` gives a `fatal_exception`, `seen` a repeated verdict, and all others are accepted.
    pub fn by_name() -> Self {
        Self::start(|address| match address.split(['-', '@']).next() {
            Some("held") => Conduct::Hold,
            Some("broken") => Conduct::Answer(500, r#"{"detail":"broken"}"#),
            Some("fatal") => Conduct::Verdict(Status::FatalException),
            Some("seen") => Conduct::Seen(Status::Accepted),
            _ => Conduct::Verdict(Status::Accepted),
        })
    }

    /// Every probe so far, in the order of arrival.
    pub fn probes(&self) -> Vec<Probe> {
        self.probes.lock().clone()
    }

    /// The number of probes of this address.
    pub fn probes_of(&self, address: &str) -> usize {
        let probes = self.probes.lock();
        probes.iter().filter(|probe| probe.address == address).count()
    }

    /// Waits for a probe of this address.
    pub async fn wait_for_probe(&self, address: &str) {
        let deadline = Instant::now() + LIMIT;
        while self.probes_of(address) == 0 {
            assert!(Instant::now() < deadline, "no probe of {address} within {LIMIT:?}");
            sleep(POLL).await;
        }
    }

    /// Starts a check of an address that the rule holds, and returns once the probe has arrived: the check is then in
    /// progress.
    pub async fn hold(&self, account: &Account, address: &str) -> JoinHandle<Reply> {
        let (account, owned) = (account.clone(), address.to_owned());
        let check = tokio::spawn(async move { account.check(&owned).await });
        self.wait_for_probe(address).await;
        check
    }

    /// Releases the held probes of this address; later probes aren't held.
    pub fn release(&self, address: &str, conduct: Conduct) {
        self.released.send_modify(|all| {
            all.insert(address.to_owned(), conduct);
        });
    }
}

impl Drop for FakeOrigin {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn converse(
    mut stream: TcpStream,
    rule: &(impl Fn(&str) -> Conduct + Sync),
    probes: &Mutex<Vec<Probe>>,
    released: &Released,
    health: &Health,
) -> Result<()> {
    let request = read_request(&mut stream).await?;
    if request.head.starts_with("GET /health ") {
        health.requests.fetch_add(1, Relaxed);
        let lost = health.lost.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        if lost.is_ok() || health.is_hung.load(Relaxed) {
            tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
            return Ok(());
        }
        return Ok(stream.write_all(http(200, r#"{"status":"up"}"#).as_bytes()).await?);
    }
    if request.head.starts_with("POST /v1/probe/batch ") {
        return batch(stream, &request, rule, probes, released).await;
    }
    let is_report = request.head.starts_with("POST /v1/domain ");
    let is_known = is_report || request.head.starts_with("POST /v1/probe ");
    ensure!(is_known, "unknown request: {}", request.head);
    let body: Value = serde_json::from_str(&request.body)?;
    let member = if is_report { "domain" } else { "address" };
    let address = body.get(member).and_then(Value::as_str).context("no address")?;
    note(probes, &request, address);
    let conduct = conduct_of(address, rule, released).await?;
    let answer = match conduct {
        Conduct::Verdict(_) | Conduct::Seen(_) if is_report => {
            http(200, &serde_json::to_string(&DomainReport::default())?)
        }
        Conduct::Verdict(status) => http(200, &verdict(status, None)?),
        Conduct::Seen(status) => http(200, &verdict(status, Some(0))?),
        Conduct::Late(status, after) => {
            sleep(after).await;
            http(200, &verdict(status, None)?)
        }
        Conduct::Answer(status, body) => http(status, body),
        Conduct::Bytes(bytes) => bytes.to_owned(),
        Conduct::Silence | Conduct::Hold => {
            tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
            return Ok(());
        }
    };
    stream.write_all(answer.as_bytes()).await?;
    Ok(stream.shutdown().await?)
}

fn note(probes: &Mutex<Vec<Probe>>, request: &Request, address: &str) {
    let ticket = request.header("authorization").and_then(|value| value.split(' ').nth(1));
    let probe = Probe {
        address: address.to_owned(),
        ticket: ticket.unwrap_or_default().to_owned(),
        body: request.body.clone(),
    };
    probes.lock().push(probe);
}

/// The rule's behaviour, or, for a held address, the behaviour passed to `release`.
async fn conduct_of(
    address: &str,
    rule: &(impl Fn(&str) -> Conduct + Sync),
    released: &Released,
) -> Result<Conduct> {
    let conduct = rule(address);
    if !matches!(conduct, Conduct::Hold) {
        return Ok(conduct);
    }
    let mut released = released.subscribe();
    let all = released.wait_for(|all| all.contains_key(address)).await?;
    all.get(address).cloned().context("released")
}

/// Sends a line for each address, held and silent addresses last; from the first silent address on, nothing is sent.
/// If a single probe would fail, the address is reported as not checked.
async fn batch(
    mut stream: TcpStream,
    request: &Request,
    rule: &(impl Fn(&str) -> Conduct + Sync),
    probes: &Mutex<Vec<Probe>>,
    released: &Released,
) -> Result<()> {
    let body: Value = serde_json::from_str(&request.body)?;
    let addresses: Vec<&str> = body["addresses"]
        .as_array()
        .context("addresses")?
        .iter()
        .filter_map(Value::as_str)
        .collect();
    stream
        .write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\nconnection: close\r\n\r\n",
        )
        .await?;
    for address in &addresses {
        note(probes, request, address);
    }
    let is_held = |address: &str| matches!(rule(address), Conduct::Hold | Conduct::Silence);
    let mut order: Vec<usize> = (0..addresses.len()).collect();
    order.sort_by_key(|index| addresses.get(*index).is_some_and(|address| is_held(address)));
    for index in order {
        let address = addresses.get(index).context("an address")?;
        let line = match conduct_of(address, rule, released).await? {
            Conduct::Verdict(status) | Conduct::Seen(status) => {
                format!("{{\"index\":{index},\"verdict\":{}}}\n", verdict(status, None)?)
            }
            Conduct::Late(status, after) => {
                sleep(after).await;
                format!("{{\"index\":{index},\"verdict\":{}}}\n", verdict(status, None)?)
            }
            Conduct::Silence => {
                tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
                return Ok(());
            }
            _ => format!("{{\"index\":{index},\"not_asked_retry_after\":30}}\n"),
        };
        stream.write_all(line.as_bytes()).await?;
    }
    stream.write_all(b"{\"answered\":0,\"not_asked\":0}\n").await?;
    Ok(stream.shutdown().await?)
}

fn verdict(status: Status, seen_before: Option<u64>) -> Result<String> {
    let mut details = Details::new(None, None);
    (details.confidence, details.verdict) = match status {
        Status::Accepted => (Confidence::High, Deliverability::Deliverable),
        Status::Refused | Status::DomainNotFound | Status::NoMxRecords => {
            (Confidence::High, Deliverability::Undeliverable)
        }
        _ => (Confidence::None, Deliverability::Unknown),
    };
    let mut verdict = Verdict::new(status, Reason::Accepted, Stage::Rcpt);
    verdict.details = Some(Box::new(details));
    Ok(serde_json::to_string(&Verdict { seen_before, ..verdict })?)
}
