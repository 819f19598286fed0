//! A resolver over HTTPS (unencrypted here) with answers configured by a test.

use std::{net::Ipv4Addr, sync::Arc};

use anyhow::Result;
use parking_lot::Mutex;
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use super::bare_http::{http, read_request};
use crate::process::{port, runtime};

/// Behaviour of the resolver for a domain.
#[derive(Debug, Clone, Copy)]
pub enum Dns {
    /// 200 with this document.
    Document(&'static str),
    /// This HTTP status, without a document.
    Status(u16),
    /// No reply until the client disconnects.
    Silence,
}

/// A running resolver; dropping it closes its port.
#[derive(Debug)]
pub struct FakeDns {
    /// Value of the Worker's `DNS_URL`.
    pub url: String,
    targets: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl FakeDns {
    /// Listens on a free port. `rule` returns the behaviour for the target of each request, including its query.
    pub fn start(rule: impl Fn(&str) -> Dns + Send + Sync + 'static) -> Self {
        let port = port::free();
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("a port");
        listener.set_nonblocking(true).expect("a nonblocking listener");
        let requests = Arc::default();
        let world = Arc::new((rule, Arc::clone(&requests)));
        let task = runtime::spawn(async move {
            let listener = TcpListener::from_std(listener).expect("a nonblocking listener");
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let world = Arc::clone(&world);
                // An error means that the client has left.
                tokio::spawn(async move { converse(stream, &world.0, &world.1).await.ok() });
            }
        });
        Self { url: format!("http://127.0.0.1:{port}/dns-query"), targets: requests, task }
    }

    /// The targets of all requests so far.
    pub fn targets(&self) -> Vec<String> {
        self.targets.lock().clone()
    }
}

impl Drop for FakeDns {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn converse(
    mut stream: TcpStream,
    rule: &(impl Fn(&str) -> Dns + Sync),
    targets: &Mutex<Vec<String>>,
) -> Result<()> {
    let request = read_request(&mut stream).await?;
    let target = request.head.split(' ').nth(1).unwrap_or_default();
    targets.lock().push(target.to_owned());
    let answer = match rule(target) {
        Dns::Document(document) => http(200, document),
        Dns::Status(status) => http(status, ""),
        Dns::Silence => {
            tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
            return Ok(());
        }
    };
    stream.write_all(answer.as_bytes()).await?;
    Ok(stream.shutdown().await?)
}
