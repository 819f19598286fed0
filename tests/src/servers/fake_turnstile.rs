//! Cloudflare Turnstile's verification of tokens: confirms each token that begins with `vouched`, once.

use std::{collections::BTreeSet, net::Ipv4Addr, sync::Arc};

use anyhow::Result;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use super::bare_http::{http, read_request};
use crate::process::{port, runtime};

#[derive(Debug, Default)]
struct TurnstileState {
    is_down: bool,
    /// Tokens in the order of the requests.
    tokens: Vec<String>,
    used: BTreeSet<String>,
}

/// A running service; dropping it closes its port.
#[derive(Debug)]
pub struct FakeTurnstile {
    /// Value of the Worker's `TURNSTILE_URL`.
    pub url: String,
    state: Arc<Mutex<TurnstileState>>,
    task: JoinHandle<()>,
}

impl FakeTurnstile {
    /// Value of the Worker's `TURNSTILE_SECRET`.
    pub const SECRET: &'static str = "0x4AAAAAAA-secret-of-the-tests";

    /// Listens on a free port.
    pub fn start() -> Self {
        let port = port::free();
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("a port");
        listener.set_nonblocking(true).expect("a nonblocking listener");
        let state: Arc<Mutex<TurnstileState>> = Arc::default();
        let shared = Arc::clone(&state);
        let task = runtime::spawn(async move {
            let listener = TcpListener::from_std(listener).expect("a nonblocking listener");
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let state = Arc::clone(&shared);
                // An error means that the client has left.
                tokio::spawn(async move { converse(stream, &state).await.ok() });
            }
        });
        Self { url: format!("http://127.0.0.1:{port}/siteverify"), state, task }
    }

    /// Sets whether every request is answered with 500.
    pub fn set_down(&self, is_down: bool) {
        self.state.lock().is_down = is_down;
    }

    /// The tokens of all requests so far.
    pub fn tokens(&self) -> Vec<String> {
        self.state.lock().tokens.clone()
    }
}

impl Drop for FakeTurnstile {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn converse(mut stream: TcpStream, state: &Mutex<TurnstileState>) -> Result<()> {
    let request = read_request(&mut stream).await?;
    let body: Value = serde_json::from_str(&request.body)?;
    let token = body["response"].as_str().unwrap_or_default().to_owned();
    let answer = {
        let mut state = state.lock();
        state.tokens.push(token.clone());
        if state.is_down {
            http(500, "<html>internal error</html>")
        } else {
            let is_ours = body["secret"] == FakeTurnstile::SECRET;
            let success = is_ours && token.starts_with("vouched") && state.used.insert(token);
            let codes = if success { json!([]) } else { json!(["invalid-input-response"]) };
            http(200, &json!({ "success": success, "error-codes": codes }).to_string())
        }
    };
    stream.write_all(answer.as_bytes()).await?;
    Ok(stream.shutdown().await?)
}
