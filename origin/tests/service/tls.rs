//! Origin's own TLS: versions, HTTP/2, and certificates replaced during requests.
//!
//! - O1: ten replacements, four clients with new connections, TLS 1.2 and 1.3; a certificate that doesn't belong to its
//!   key changes nothing.
//! - O9: the end is in metrics, alert, `doctor`, `--check-config` and log: two weeks before, or with a sixth of a short
//!   life left.

use std::{
    path::PathBuf,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::harness::{MailServer, SECRETS, body, ticket};
use axum::body::Body;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rcpt_origin::surroundings::unix_now;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    net::{TcpSocket, TcpStream},
    process::{Child, ChildStderr, Command},
    time::timeout,
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, RootCertStore, SupportedProtocolVersion,
        crypto::ring,
        pki_types::ServerName,
        version::{TLS12, TLS13},
    },
};

const VERSIONS: [&[&SupportedProtocolVersion]; 2] = [&[&TLS13], &[&TLS12]];
const TEST_TIMEOUT: Duration = Duration::from_secs(60);
const DAY: u64 = 86_400;

/// Certificates that clients trust, and the files that origin reads.
struct Authority {
    folder: PathBuf,
    trusted: RootCertStore,
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Authority {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("rcpt-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self { folder, trusted: RootCertStore::empty() }
    }

    fn file(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_owned()
    }

    /// Issues a new trusted certificate; returns the texts of the certificate and its key.
    fn issue(&mut self) -> (String, String) {
        self.issue_until(unix_now() + 90 * DAY)
    }

    /// Issues a trusted certificate that is valid for the ninety days before this Unix time;
    /// returns the texts of the certificate and its key.
    fn issue_until(&mut self, not_after: u64) -> (String, String) {
        let signing_key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["origin.example.com".to_owned()]).unwrap();
        params.not_after = date_time_ymd(1970, 1, 1) + Duration::from_secs(not_after);
        params.not_before = params.not_after - Duration::from_secs(90 * DAY);
        let cert = params.self_signed(&signing_key).unwrap();
        self.trusted.add(cert.der().clone()).unwrap();
        (cert.pem(), signing_key.serialize_pem())
    }

    fn put(&self, (cert, key): &(String, String)) {
        // Renamed into place, as by certbot: no file is ever half-written.
        for (name, text) in [("cert.pem", cert), ("key.pem", key)] {
            std::fs::write(self.file("new"), text).unwrap();
            std::fs::rename(self.file("new"), self.file(name)).unwrap();
        }
    }

    async fn connect(
        &self,
        address: &str,
        versions: &[&'static SupportedProtocolVersion],
        protocol: &[u8],
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let provider = Arc::new(ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(self.trusted.clone())
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        let stream = TcpStream::connect(address).await?;
        let name = ServerName::try_from("origin.example.com").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }
}

struct Origin {
    child: Child,
    log: Lines<BufReader<ChildStderr>>,
    address: String,
}

impl Origin {
    async fn start(authority: &Authority, route: &str) -> Self {
        let (cert, key) = (authority.file("cert.pem"), authority.file("key.pem"));
        let environment = [
            ("RCPT_LISTEN", "127.0.0.1:0"),
            ("RCPT_HELO_NAME", "probe.example.com"),
            ("RCPT_MAIL_FROM", "<>"),
            ("RCPT_TICKET_SECRETS", SECRETS),
            ("RCPT_NAMESERVERS", crate::harness::root_nameserver()),
            ("RCPT_ROUTES", route),
            ("RCPT_TLS_CERT", &cert),
            ("RCPT_TLS_KEY", &key),
        ];
        let mut command = Command::new(env!("CARGO_BIN_EXE_origin"));
        command.env_clear().envs(environment).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut origin = Self { child, log, address: String::new() };
        origin.address = origin.line("listening").await["address"].as_str().unwrap().to_owned();
        origin
    }

    async fn line(&mut self, words: &str) -> Value {
        loop {
            let line = timeout(TEST_TIMEOUT, self.log.next_line()).await.expect(words);
            let line: Value = serde_json::from_str(&line.unwrap().expect(words)).unwrap();
            if line["message"].as_str().unwrap().contains(words) {
                return line;
            }
        }
    }

    async fn hang_up(&self) {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-HUP", &id]).status().await.unwrap().success());
    }
}

/// The status line of a probe on its own connection.
async fn probe(mut stream: TlsStream<TcpStream>) -> std::io::Result<String> {
    let body = body("user@sandbox.test");
    let request = format!(
        "POST /v1/probe HTTP/1.1\r\nhost: origin\r\nconnection: close\r\n\
         authorization: Bearer {}\r\ncontent-length: {}\r\n\r\n{body}",
        ticket(&body),
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn ten_certificates_are_replaced_under_load_and_no_request_fails() {
    let server = MailServer::answering("220 mx", "", "550 5.1.1 no such user").await;
    let mut authority = Authority::new("tls");
    // The client trusts all certificates from the start, so it accepts whichever is served.
    let certificates: Vec<_> = (0..11).map(|_| authority.issue()).collect();
    authority.put(&certificates[0]);
    let mut origin = Origin::start(&authority, &server.route()).await;
    let (authority, address) = (Arc::new(authority), origin.address.clone());
    let (done, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let clients: Vec<_> = (0..4)
        .map(|number| {
            let (authority, address) = (authority.clone(), address.clone());
            let (done, asked) = (done.clone(), asked.clone());
            let version = VERSIONS[number % 2];
            tokio::spawn(async move {
                while !done.load(Ordering::Relaxed) {
                    let stream = authority.connect(&address, version, b"http/1.1").await.unwrap();
                    assert_eq!(probe(stream).await.unwrap(), "HTTP/1.1 200 OK");
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for certificate in &certificates[1..] {
        let before = asked.load(Ordering::Relaxed);
        authority.put(certificate);
        origin.hang_up().await;
        origin.line("configuration reloaded").await;
        while asked.load(Ordering::Relaxed) < before + 8 {
            assert!(!clients.iter().any(tokio::task::JoinHandle::is_finished), "a request failed");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    done.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
    let last = authority.connect(&origin.address, &[&TLS13], b"http/1.1").await.unwrap();
    let served = last.get_ref().1.peer_certificates().unwrap()[0].clone();
    let pem = &certificates[10].0;
    assert_eq!(rustls_pem(pem), served.as_ref(), "it is the last one");
}

fn rustls_pem(pem: &str) -> Vec<u8> {
    use tokio_rustls::rustls::pki_types::{CertificateDer, pem::PemObject as _};
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap().to_vec()
}

#[tokio::test]
async fn a_certificate_that_is_wrong_changes_nothing_until_its_files_are_right() {
    let mut authority = Authority::new("tls-wrong");
    let (first, second) = (authority.issue(), authority.issue());
    authority.put(&first);
    let mut origin = Origin::start(&authority, "").await;
    let served = async |authority: &Authority, address: &str| {
        let stream = authority.connect(address, &[&TLS13], b"http/1.1").await.unwrap();
        stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
    };
    // The key belongs to another certificate, as between the two writes of a renewal; no signal is
    // sent.
    authority.put(&(second.0.clone(), first.1.clone()));
    let line = origin.line("configuration not reloaded").await;
    assert!(line["message"].as_str().unwrap().contains("tls_key: "), "{line}");
    assert_eq!(served(&authority, &origin.address).await, rustls_pem(&first.0));
    authority.put(&second);
    origin.line("configuration reloaded").await;
    assert_eq!(served(&authority, &origin.address).await, rustls_pem(&second.0));
    // The message also names a missing file.
    std::fs::remove_file(authority.file("cert.pem")).unwrap();
    origin.hang_up().await;
    let line = origin.line("configuration not reloaded").await;
    assert!(line["message"].as_str().unwrap().contains("tls_cert: "), "{line}");
    assert_eq!(served(&authority, &origin.address).await, rustls_pem(&second.0));
}

/// The value of a gauge at `/metrics`.
async fn gauge(authority: &Authority, address: &str, name: &str) -> u64 {
    let mut stream = authority.connect(address, &[&TLS13], b"http/1.1").await.unwrap();
    let request = "GET /metrics HTTP/1.1\r\nhost: origin\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} not in\n{text}")).parse().unwrap()
}

#[tokio::test]
async fn the_end_of_a_certificate_is_told_before_it_comes() {
    const NOT_AFTER: &str = "rcpt_origin_tls_certificate_not_after_timestamp_seconds";
    const NOT_BEFORE: &str = "rcpt_origin_tls_certificate_not_before_timestamp_seconds";
    let mut authority = Authority::new("tls-end");
    let ends = [80, 5].map(|days| unix_now() + days * DAY + 3_600);
    let [renewed, forgotten] = ends.map(|end| authority.issue_until(end));
    let expired = authority.issue_until(unix_now() - 3 * DAY - 3_600);
    authority.put(&renewed);
    let mut origin = Origin::start(&authority, "").await;
    assert_eq!(gauge(&authority, &origin.address, NOT_AFTER).await, ends[0]);
    authority.put(&forgotten);
    origin.hang_up().await;
    let warning = origin.line("tls_cert: ").await;
    assert!(warning["message"].as_str().unwrap().ends_with("expires in 5 days"), "{warning}");
    assert_eq!(gauge(&authority, &origin.address, NOT_AFTER).await, ends[1]);
    assert_eq!(gauge(&authority, &origin.address, NOT_BEFORE).await, ends[1] - 90 * DAY);

    // An invalid certificate is reported at startup and doesn't prevent the start. Without a
    // certificate the service couldn't respond either, and the renewal may follow soon.
    let (cert, key) = (authority.file("cert.pem"), authority.file("key.pem"));
    let environment = [
        ("RCPT_HELO_NAME", "probe.example.com"),
        ("RCPT_MAIL_FROM", "<>"),
        ("RCPT_TICKET_SECRETS", SECRETS),
        ("RCPT_NAMESERVERS", crate::harness::root_nameserver()),
        ("RCPT_DNS_TIMEOUT_MS", "200"),
        ("RCPT_TLS_CERT", &cert),
        ("RCPT_TLS_KEY", &key),
    ];
    for (certificate, words, health) in [
        (&renewed, None, "fine"),
        (&forgotten, Some("expires in 5 days"), "warning"),
        (&expired, Some("expired 3 days ago"), "wrong"),
    ] {
        authority.put(certificate);
        let run = async |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_origin"));
            let output = command.args(arguments).env_clear().envs(environment).output().await;
            let output = output.unwrap();
            (output.status.code(), String::from_utf8(output.stdout).unwrap())
        };
        let (code, text) = run(&["--check-config"]).await;
        let warning =
            words.map_or(String::new(), |words| format!("warning: tls_cert: {cert} {words}\n"));
        assert_eq!((code, text), (Some(0), format!("{warning}configuration is fine\n")));
        let (_, report) = run(&["doctor", "--json"]).await;
        let report: Value = serde_json::from_str(&report).unwrap();
        let findings = report["findings"].as_array().unwrap();
        let finding = findings.iter().find(|finding| finding["check"] == "certificate").unwrap();
        assert_eq!(finding["health"], health, "{finding}");
    }
}

#[tokio::test]
async fn http_2_is_spoken_to_those_who_ask_for_it_and_silence_holds_nobody_up() {
    let server = MailServer::answering("220 mx", "", "550 5.1.1 no such user").await;
    let mut authority = Authority::new("tls-h2");
    let certificate = authority.issue();
    authority.put(&certificate);
    let origin = Origin::start(&authority, &server.route()).await;
    crate::strangers::raise_limit_of_files();
    // A client connects repeatedly without a handshake.
    let mut silent = Vec::new();
    for _ in 0..1_100 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
        silent.push(socket.connect(origin.address.parse().unwrap()).await.unwrap());
    }
    let mut end = [0];
    let first = timeout(TEST_TIMEOUT, silent[0].read(&mut end)).await.unwrap();
    assert!(matches!(first, Ok(0) | Err(_)), "one address has had its share");
    let last = timeout(Duration::from_millis(100), silent.last_mut().unwrap().read(&mut end)).await;
    assert!(last.is_err(), "its oldest connection gives way to its newest");
    let stream = authority.connect(&origin.address, &[&TLS13], b"h2").await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (mut sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    for _ in 0..3 {
        let body = body("user@sandbox.test");
        let request = hyper::Request::post("https://origin.example.com/v1/probe")
            .header("authorization", format!("Bearer {}", ticket(&body)))
            .body(Body::from(body))
            .unwrap();
        let response = timeout(TEST_TIMEOUT, sender.send_request(request)).await.unwrap().unwrap();
        assert_eq!(response.status(), 200);
    }
}

#[tokio::test]
async fn a_mistake_in_the_certificate_is_named_before_anything_starts() {
    let mut authority = Authority::new("tls-check");
    let (first, second) = (authority.issue(), authority.issue());
    authority.put(&(first.0.clone(), second.1));
    let (cert, key) = (authority.file("cert.pem"), authority.file("key.pem"));
    let absent = authority.file("absent.pem");
    for (cert, key, mistake) in [
        (cert.as_str(), key.as_str(), "tls_key: "),
        (cert.as_str(), "", "tls_key: missing"),
        ("", key.as_str(), "tls_cert: missing"),
        (absent.as_str(), key.as_str(), "tls_cert: "),
        (cert.as_str(), cert.as_str(), "tls_key: "),
        (key.as_str(), key.as_str(), "tls_cert: "),
    ] {
        let environment = [
            ("RCPT_HELO_NAME", "probe.example.com"),
            ("RCPT_MAIL_FROM", "<>"),
            ("RCPT_TICKET_SECRETS", SECRETS),
            ("RCPT_NAMESERVERS", "192.0.2.53"),
            ("RCPT_TLS_CERT", cert),
            ("RCPT_TLS_KEY", key),
        ];
        let mut command = Command::new(env!("CARGO_BIN_EXE_origin"));
        let output = command.arg("--check-config").env_clear().envs(environment);
        let output = output.output().await.unwrap();
        assert_eq!(output.status.code(), Some(1), "{mistake}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.starts_with(mistake), "{mistake} is not how this begins: {text}");
        assert!(!text.contains("PRIVATE"), "{text}");
    }
}
