//! Helpers of these tests: mail servers that follow a script, and a client that acts as the edge.

pub mod internet;
pub mod world;

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, LazyLock, OnceLock},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, Response, StatusCode},
};
use hickory_resolver::proto::op::{Message, ResponseCode};
use rcpt_origin::{Config, State, build, surroundings::unix_now};
use rcpt_shared::{BatchLine, KeyRing, Tenant, Ticket, Verdict};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream, UdpSocket},
    runtime::{Builder, Handle},
    task::JoinHandle,
};
use tower_service::Service as _;

pub const SECRETS: &str = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE";
pub const REQUEST_ID: &str = "req-1";

/// Runs a server on a thread of its own, as on another machine: a crowd of checks doesn't take its time. One thread for
/// all, whose tasks run in the order of their events: a server hears of a session's end before it hears of the next
/// session. (A runtime of several threads runs the last task first, even if it has only one thread.)
pub fn elsewhere(server: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    static SERVERS: LazyLock<Handle> = LazyLock::new(|| {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let handle = runtime.handle().clone();
        std::thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
        handle
    });
    SERVERS.spawn(server)
}

/// Listens on a free port. Its address, and the listener for a task [`elsewhere`], whose runtime waits for connections.
pub fn listener(ip: &str) -> (SocketAddr, impl FnOnce() -> TcpListener + Send + 'static) {
    let listener = std::net::TcpListener::bind((ip, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    (listener.local_addr().unwrap(), move || TcpListener::from_std(listener).unwrap())
}

/// Like [`listener`], for datagrams.
pub fn socket() -> (SocketAddr, impl FnOnce() -> UdpSocket + Send + 'static) {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    (socket.local_addr().unwrap(), move || UdpSocket::from_std(socket).unwrap())
}

/// A mail server on a free port of the loopback.
pub struct MailServer {
    pub address: SocketAddr,
    running: JoinHandle<()>,
}

impl Drop for MailServer {
    fn drop(&mut self) {
        self.running.abort();
    }
}

async fn accept<F>(
    listener: impl FnOnce() -> TcpListener,
    serve: impl Fn(TcpStream, usize) -> F + Send + 'static,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = listener();
    for number in 0.. {
        let (stream, _) = listener.accept().await.unwrap();
        // Replies to a flight are written one by one here, whereas real servers send them
        // together.
        stream.set_nodelay(true).unwrap();
        // The ends of earlier sessions are read first, even if they came after this was woken.
        tokio::task::yield_now().await;
        tokio::spawn(serve(stream, number));
    }
}

impl MailServer {
    /// Passes each connection to `serve`, numbered from 0.
    pub async fn serving<F>(serve: impl Fn(TcpStream, usize) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (address, listener) = listener("127.0.0.1");
        Self { address, running: tokio::spawn(accept(listener, serve)) }
    }

    /// Like [`Self::serving`], [`elsewhere`].
    pub fn serving_elsewhere<F>(serve: impl Fn(TcpStream, usize) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (address, listener) = listener("127.0.0.1");
        Self { address, running: elsewhere(accept(listener, serve)) }
    }

    /// Greets with `banner`, offers `extensions`, and answers RCPT with `rcpt`.
    pub async fn answering(
        banner: &'static str,
        extensions: &'static str,
        rcpt: &'static str,
    ) -> Self {
        Self::serving(move |stream, _| async move {
            let mut stream = BufReader::new(stream);
            let _ = stream.write_all(format!("{banner}\r\n").as_bytes()).await;
            let _ = obey(&mut stream, extensions, "250 ok", rcpt).await;
        })
        .await
    }

    /// The route from `sandbox.test` to this server.
    pub fn route(&self) -> String {
        format!("sandbox.test={}", self.address)
    }
}

/// Answers commands until the client leaves or sends STARTTLS; after STARTTLS returns `true`, and the caller must
/// answer.
pub async fn obey<S>(stream: &mut BufReader<S>, extensions: &str, mail: &str, rcpt: &str) -> bool
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return false;
        }
        let answer = match line.split([' ', '\r']).next().unwrap() {
            "EHLO" => &format!("250-mx.sandbox.test\r\n{extensions}250 HELP"),
            "MAIL" => mail,
            "RCPT" => rcpt,
            "STARTTLS" => return true,
            "RSET" => "250 flushed",
            "QUIT" => "221 bye",
            _ => "500 what?",
        };
        if stream.write_all(format!("{answer}\r\n").as_bytes()).await.is_err() {
            return false;
        }
    }
}

/// Reads and discards input until the client leaves.
pub async fn drain(mut stream: TcpStream) {
    let _ = stream.read_to_end(&mut Vec::new()).await;
}

/// A port that was just released, so it refuses connections.
pub async fn shut_port() -> String {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string()
}

/// The address of a nameserver that answers for the root, without which a running origin doesn't work, and
/// fails for every other name.
pub fn root_nameserver() -> &'static str {
    static ADDRESS: OnceLock<String> = OnceLock::new();
    ADDRESS.get_or_init(|| {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let mut message = [0; 1_500];
            while let Ok((length, client)) = socket.recv_from(&mut message) {
                let mut response = Message::from_vec(&message[..length]).unwrap().into_response();
                let is_root = response.queries[0].name().is_root();
                response.metadata.response_code =
                    if is_root { ResponseCode::NoError } else { ResponseCode::ServFail };
                socket.send_to(&response.to_vec().unwrap(), client).unwrap();
            }
        });
        address
    })
}

/// An origin configured by `environment`; by default, no nameserver responds.
pub fn origin(environment: &[(&str, &str)]) -> Router {
    build(state(environment))
}

pub fn state(environment: &[(&str, &str)]) -> Arc<State> {
    State::new(config(environment)).unwrap()
}

pub fn config(environment: &[(&str, &str)]) -> Config {
    let mut variables = HashMap::from([
        ("RCPT_HELO_NAME", "probe.example.com"),
        ("RCPT_MAIL_FROM", "<>"),
        ("RCPT_TICKET_SECRETS", SECRETS),
        ("RCPT_NAMESERVERS", "127.0.0.1:9"),
    ]);
    variables.extend(environment.iter().copied());
    Config::parse("", &|name| variables.get(name).map(ToString::to_string)).unwrap()
}

pub fn body(address: &str) -> String {
    json!({ "address": address }).to_string()
}

pub fn ticket(body: &str) -> String {
    Ticket::issue(&KeyRing::parse(SECRETS).unwrap(), REQUEST_ID, body.as_bytes(), unix_now())
        .unwrap()
}

/// A request with a valid ticket.
pub fn probe_request(body: String) -> Request<Body> {
    Request::post("/v1/probe")
        .header("authorization", format!("Bearer {}", ticket(&body)))
        .body(Body::from(body))
        .unwrap()
}

pub async fn send(origin: &Router, request: Request<Body>) -> Response<Body> {
    origin.clone().call(request).await.unwrap()
}

pub async fn json_of(response: Response<Body>) -> Value {
    serde_json::from_slice(&to_bytes(response.into_body(), 65_536).await.unwrap()).unwrap()
}

/// Checks `address`, and returns the verdict.
pub async fn verdict(origin: &Router, address: &str) -> Verdict {
    let response = send(origin, probe_request(body(address))).await;
    assert_eq!(response.status(), StatusCode::OK);
    serde_json::from_value(json_of(response).await).unwrap()
}

/// A ticket that names a paying tenant.
pub fn ticket_of(tenant: Option<&str>, body: &str) -> String {
    let keys = KeyRing::parse(SECRETS).unwrap();
    let tenant = tenant.map(|name| Tenant { name, paying: true });
    Ticket::issue_for(&keys, REQUEST_ID, body.as_bytes(), unix_now(), tenant).unwrap()
}

fn request_of(path: &str, tenant: Option<&str>, body: String) -> Request<Body> {
    Request::post(path)
        .header("authorization", format!("Bearer {}", ticket_of(tenant, &body)))
        .body(Body::from(body))
        .unwrap()
}

/// Checks `address` on behalf of a paying tenant, and returns the verdict.
pub async fn verdict_for(origin: &Router, tenant: &str, address: &str) -> Verdict {
    let response = send(origin, request_of("/v1/probe", Some(tenant), body(address))).await;
    assert_eq!(response.status(), StatusCode::OK);
    serde_json::from_value(json_of(response).await).unwrap()
}

/// Requests the kind of a domain.
pub async fn domain_report(origin: &Router, domain: &str) -> Response<Body> {
    let body = json!({ "domain": domain }).to_string();
    send(origin, request_of("/v1/domain", None, body)).await
}

/// The lines of a batch's response.
pub async fn batch(origin: &Router, addresses: &[String], tenant: Option<&str>) -> Vec<BatchLine> {
    let body = json!({ "addresses": addresses }).to_string();
    let response = send(origin, request_of("/v1/probe/batch", tenant, body)).await;
    assert_eq!(response.status(), StatusCode::OK);
    let text = to_bytes(response.into_body(), 1_000_000).await.unwrap();
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// The verdicts of a batch, in the order of the addresses; `None` for an address not asked.
pub async fn batch_verdicts(origin: &Router, addresses: &[String]) -> Vec<Option<Verdict>> {
    let mut verdicts = vec![None; addresses.len()];
    for line in batch(origin, addresses, Some("list")).await {
        if let BatchLine::Answer(answer) = line {
            verdicts[answer.index] = Some(answer.verdict);
        }
    }
    verdicts
}
