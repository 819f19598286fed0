//! A server that stands in for customers' webhook receivers. It records requests and answers as configured.

use std::{collections::BTreeMap, net::Ipv4Addr, sync::Arc, time::Duration};

use anyhow::Result;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use sha2::Sha256;
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::bare_http::{http, read_request};
use crate::process::{port, runtime};

const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(50);

/// A received request.
#[derive(Debug, Clone)]
pub struct Event {
    pub url: String,
    pub id: String,
    pub timestamp: String,
    pub signatures: Vec<String>,
    pub text: String,
    pub head: String,
}

impl Event {
    /// The body, parsed as JSON.
    pub fn body(&self) -> Value {
        serde_json::from_str(&self.text).expect("a body of JSON")
    }

    /// True if one of the event's signatures is by this secret (`whsec_…`), as Standard Webhooks specifies.
    pub fn is_signed_by(&self, secret: &str) -> bool {
        let secret = secret.strip_prefix("whsec_").expect("a secret's prefix");
        let secret = STANDARD.decode(secret).expect("a secret in base64");
        let mut mac = <Hmac<Sha256>>::new_from_slice(&secret).expect("any length will do");
        mac.update(format!("{}.{}.{}", self.id, self.timestamp, self.text).as_bytes());
        let expected = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        self.signatures.contains(&expected)
    }
}

#[derive(Debug, Default)]
struct World {
    events: Vec<Event>,
    /// Status by host; 0 means no answer at all. Other hosts get 204.
    statuses: BTreeMap<String, u16>,
}

/// A running server; dropping it closes its port.
#[derive(Debug)]
pub struct FakeWebhook {
    pub port: u16,
    world: Arc<Mutex<World>>,
    task: JoinHandle<()>,
}

fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world.lock()
}

impl FakeWebhook {
    /// Listens on a free port.
    pub fn start() -> Self {
        let port = port::free();
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("a port");
        listener.set_nonblocking(true).expect("a nonblocking listener");
        let world: Arc<Mutex<World>> = Arc::default();
        let shared = Arc::clone(&world);
        let task = runtime::spawn(async move {
            let listener = TcpListener::from_std(listener).expect("a nonblocking listener");
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let world = Arc::clone(&shared);
                // An error means that the client has left.
                tokio::spawn(async move { converse(stream, &world).await.ok() });
            }
        });
        Self { port, world, task }
    }

    /// Sets the status of this host's answers, with a `Location` for 302; 0 means no answer.
    pub fn answer(&self, host: &str, status: u16) {
        lock(&self.world).statuses.insert(host.to_owned(), status);
    }

    /// The events sent to this host so far.
    pub fn events(&self, host: &str) -> Vec<Event> {
        let prefix = format!("https://{host}/");
        let events = lock(&self.world).events.clone();
        events.into_iter().filter(|event| event.url.starts_with(&prefix)).collect()
    }

    /// Waits for `count` events and returns them.
    pub async fn wait_for(&self, host: &str, count: usize) -> Vec<Event> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let events = self.events(host);
            if events.len() >= count {
                return events;
            }
            assert!(Instant::now() < deadline, "{host} was sent {events:?}");
            sleep(LOOK).await;
        }
    }
}

impl Drop for FakeWebhook {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn converse(mut stream: TcpStream, world: &Mutex<World>) -> Result<()> {
    let request = read_request(&mut stream).await?;
    let header = |name| request.header(name).unwrap_or_default().to_owned();
    let event = Event {
        url: header("x-url"),
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signatures: header("webhook-signature").split(' ').map(str::to_owned).collect(),
        head: request.head.clone(),
        text: request.body,
    };
    let host = event.url.split('/').nth(2).unwrap_or_default().to_owned();
    let status = {
        let mut world = lock(world);
        world.events.push(event);
        world.statuses.get(&host).copied().unwrap_or(204)
    };
    let answer = match status {
        0 => {
            tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
            return Ok(());
        }
        302 => {
            let location = "Location: https://elsewhere.example.com/\r\nConnection: close";
            http(302, "").replace("Connection: close", location)
        }
        status => http(status, ""),
    };
    stream.write_all(answer.as_bytes()).await?;
    Ok(stream.shutdown().await?)
}
