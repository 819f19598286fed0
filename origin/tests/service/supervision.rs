//! The binary under a service manager: its messages, reloads and sockets.
//!
//! - O2: a mistake in routes, opt-outs, limits, the operators' file or the certificate is named, and changes nothing;
//!   what is known about servers survives every reload.

use std::{path::PathBuf, process::Stdio, time::Duration};

use crate::harness::{MailServer, SECRETS, body, drain, ticket};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    net::{TcpListener, TcpStream, UnixDatagram},
    process::{Child, ChildStderr, Command},
    sync::mpsc,
    time::timeout,
};

/// A temporary folder, removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rcpt-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub struct Origin {
    pub child: Child,
    log: Lines<BufReader<ChildStderr>>,
    pub address: String,
}

impl Origin {
    pub async fn start(environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_origin"));
        command.env_clear();
        Self::start_by(command, environment).await
    }

    /// The variables that every origin requires.
    pub fn required() -> [(&'static str, &'static str); 5] {
        [
            ("RCPT_LISTEN", "127.0.0.1:0"),
            ("RCPT_HELO_NAME", "probe.example.com"),
            ("RCPT_MAIL_FROM", "<>"),
            ("RCPT_TICKET_SECRETS", SECRETS),
            ("RCPT_NAMESERVERS", crate::harness::root_nameserver()),
        ]
    }

    /// Starts origin by `command`, with the required variables and `environment`.
    pub async fn start_by(mut command: Command, environment: &[(&str, &str)]) -> Self {
        command.envs(Self::required()).envs(environment.iter().copied());
        let mut child = command.stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut origin = Self { child, log, address: String::new() };
        origin.address = origin.line("listening").await["address"].as_str().unwrap().to_owned();
        origin
    }

    /// Waits for the next line of the log whose message contains `words`.
    pub async fn line(&mut self, words: &str) -> Value {
        loop {
            let line = timeout(Duration::from_secs(30), self.log.next_line()).await.expect(words);
            let line: Value = serde_json::from_str(&line.unwrap().expect(words)).unwrap();
            if line["message"].as_str().unwrap().contains(words) {
                return line;
            }
        }
    }

    pub async fn signal(&self, signal: &str) {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().await.unwrap().success());
    }

    pub async fn probe(&self, recipient: &str) -> TcpStream {
        self.send(body(recipient)).await
    }

    async fn send(&self, body: String) -> TcpStream {
        let request = format!(
            "POST /v1/probe HTTP/1.1\r\nhost: origin\r\nconnection: close\r\n\
             authorization: Bearer {}\r\ncontent-length: {}\r\n\r\n{body}",
            ticket(&body),
            body.len()
        );
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }
}

/// The status of `GET path`.
async fn status(address: &str, path: &str) -> u16 {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: origin\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    status_of(stream).await
}

async fn status_of(mut stream: TcpStream) -> u16 {
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text.split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn the_service_manager_hears_of_start_life_and_end() {
    let folder = Folder::new("notify");
    let path = folder.file("socket");
    let manager = UnixDatagram::bind(&path).unwrap();
    let hear = async || {
        let mut buffer = [0; 256];
        let length = timeout(Duration::from_secs(30), manager.recv(&mut buffer)).await;
        String::from_utf8(buffer[..length.expect("nothing told").unwrap()].to_vec()).unwrap()
    };
    let environment = [("NOTIFY_SOCKET", path.as_str()), ("WATCHDOG_USEC", "200000")];
    let mut origin = Origin::start(&environment).await;
    let mut messages = vec![hear().await, hear().await];
    messages.sort();
    assert_eq!(messages, ["READY=1\n", "WATCHDOG=1\n"]);
    assert_eq!(hear().await, "WATCHDOG=1\n", "and again");
    origin.signal("-TERM").await;
    while hear().await != "STOPPING=1\n" {}
    assert!(origin.child.wait().await.unwrap().success());
}

#[tokio::test]
async fn with_a_listener_for_ourselves_the_other_serves_the_edge_alone() {
    let mut origin = Origin::start(&[("RCPT_ADMIN_LISTEN", "127.0.0.1:0")]).await;
    let line = origin.line("listening for our own network").await;
    let admin = line["address"].as_str().unwrap();
    for (path, public, own) in [
        ("/health", 200, 404),
        ("/v1/probe", 405, 404),
        ("/metrics", 404, 200),
        ("/ready", 404, 200),
        ("/operators", 404, 200),
    ] {
        assert_eq!(status(&origin.address, path).await, public, "{path}");
        assert_eq!(status(admin, path).await, own, "{path}");
    }
}

#[tokio::test]
async fn metrics_are_not_served_to_the_world_unasked() {
    let mut origin = Origin::start(&[("RCPT_LISTEN", "0.0.0.0:0")]).await;
    origin.line("set admin_listen").await;
    let address = origin.address.replace("0.0.0.0", "127.0.0.1");
    assert_eq!(status(&address, "/metrics").await, 404);
    assert_eq!(status(&address, "/health").await, 200);
}

#[tokio::test]
async fn a_socket_of_the_service_manager_stands_in_for_the_setting_it_is_named_for() {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    let configured = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let configured = configured.local_addr().unwrap().to_string();
    // As systemd does: sockets are descriptors 3 and 4, and LISTEN_PID names their process.
    let script = r#"LISTEN_PID=$$ exec "$0" 3<&0 4<&0 </dev/null"#;
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_origin")]).env_clear().envs([
        ("LISTEN_FDS", "2"),
        ("LISTEN_FDNAMES", "neighbour_listen:admin_listen"),
        ("RCPT_NEIGHBOUR_LISTEN", &configured),
        ("RCPT_CONTACT", "abuse@example.com"),
        ("RCPT_LISTEN", "127.0.0.1:0"),
        ("RCPT_HELO_NAME", "probe.example.com"),
        ("RCPT_MAIL_FROM", "<>"),
        ("RCPT_TICKET_SECRETS", SECRETS),
        ("RCPT_NAMESERVERS", crate::harness::root_nameserver()),
    ]);
    command.stdin(Stdio::from(std::os::fd::OwnedFd::from(socket)));
    let mut child = command.stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let log = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut origin = Origin { child, log, address: String::new() };
    let edge = origin.line("listening").await["address"].as_str().unwrap().to_owned();
    let page = origin.line("listening for neighbours").await;
    assert_eq!(page["address"].as_str().unwrap(), address);
    origin.line("socket for admin_listen, which is not set").await;
    assert_eq!(status(&address, "/").await, 200);
    assert_ne!(edge, address);
}

#[tokio::test]
async fn an_admin_address_that_is_taken_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_origin"));
    command.env_clear().envs(Origin::required()).env("RCPT_ADMIN_LISTEN", &address);
    let ended = command.kill_on_drop(true).output().await.unwrap();
    assert_eq!(ended.status.code(), Some(1));
    // A separate thread writes the log, so its lines may come before or after the message.
    let text = String::from_utf8(ended.stderr).unwrap();
    let message = format!("admin_listen: cannot bind {address}: ");
    assert!(text.lines().any(|line| line.starts_with(&message)), "{text}");
}

#[tokio::test]
async fn a_reload_changes_routes_opt_outs_and_secrets_while_probes_are_in_progress() {
    let folder = Folder::new("reload-routes");
    let file = folder.file("origin.toml");
    let server = MailServer::answering("220 mx", "", "550 5.1.1 no such user").await;
    let write = |opt_outs: &str, domain: &str| {
        let text =
            format!("opt_outs = [{opt_outs}]\n[routes]\n{domain} = \"{}\"\n", server.address);
        std::fs::write(&file, text).unwrap();
    };
    write("", "\"sandbox.test\"");
    let mut origin = Origin::start(&[("RCPT_CONFIG", &file)]).await;
    let ask = async |origin: &Origin, recipient: &str| {
        let mut text = String::new();
        origin.probe(recipient).await.read_to_string(&mut text).await.unwrap();
        text
    };
    assert!(ask(&origin, "one@sandbox.test").await.contains("no_such_mailbox"));
    write("\"sandbox.test\"", "\"other.test\"");
    origin.signal("-HUP").await;
    origin.line("configuration reloaded").await;
    assert!(ask(&origin, "one@sandbox.test").await.contains("opted_out"));
    assert!(ask(&origin, "one@other.test").await.contains("no_such_mailbox"));
    // A mistake in a list, and a missing file: nothing changes.
    for wrong in [Some("opt_outs = [\"com\"]"), None] {
        match wrong {
            Some(text) => std::fs::write(&file, text).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        origin.signal("-HUP").await;
        origin.line("configuration not reloaded").await;
        assert!(ask(&origin, "one@sandbox.test").await.contains("opted_out"));
        assert!(ask(&origin, "one@other.test").await.contains("no_such_mailbox"));
    }
}

#[tokio::test]
async fn the_page_for_neighbours_is_served_where_it_is_told_and_nothing_else_is_there() {
    let environment =
        [("RCPT_NEIGHBOUR_LISTEN", "127.0.0.1:0"), ("RCPT_CONTACT", "abuse@example.com")];
    let mut origin = Origin::start(&environment).await;
    let line = origin.line("listening for neighbours").await;
    let page = line["address"].as_str().unwrap();
    assert_eq!(status(page, "/").await, 200);
    for path in ["/metrics", "/v1/probe", "/operators", "/health"] {
        assert_eq!(status(page, path).await, 404, "{path}");
    }
    assert_eq!(status(&origin.address, "/").await, 404);
}

#[tokio::test]
async fn a_reload_changes_limits_and_log_level_and_a_mistake_changes_nothing() {
    let folder = Folder::new("reload");
    let file = folder.file("origin.toml");
    let (held, mut is_held) = mpsc::unbounded_channel();
    let server = MailServer::serving(move |stream, _| {
        held.send(()).unwrap();
        drain(stream)
    })
    .await;
    std::fs::write(&file, "max_probes = 1\n").unwrap();
    let operators = folder.file("operators.toml");
    std::fs::write(&operators, "").unwrap();
    let environment = [
        ("RCPT_CONFIG", file.as_str()),
        ("RCPT_OPERATORS_FILE", &operators),
        ("RCPT_ROUTES", &server.route()),
    ];
    let mut origin = Origin::start(&environment).await;
    let _first = origin.probe("one@sandbox.test").await;
    is_held.recv().await.unwrap();
    assert_eq!(status_of(origin.probe("two@sandbox.test").await).await, 503);

    std::fs::write(&file, "max_probes = 0\nlog_level = \"loud\"\nbudget = 1\n").unwrap();
    origin.signal("-HUP").await;
    for name in ["unknown key `budget`", "max_probes: expected", "log_level: expected"] {
        origin.line(&format!("configuration not reloaded: {name}")).await;
    }
    assert_eq!(status_of(origin.probe("two@sandbox.test").await).await, 503, "as before");

    std::fs::write(&file, "max_probes = 2\nsmtp_port = 2525\n").unwrap();
    std::fs::write(&operators, "[[operator]]\nname = \"acme\"\nmx = [\"in.acme.example\"]")
        .unwrap();
    origin.signal("-HUP").await;
    origin.line(r#"these values need a restart: ["smtp_port"]"#).await;
    let _second = origin.probe("two@sandbox.test").await;
    is_held.recv().await.unwrap();
    // Changed back, it needs no restart.
    std::fs::write(&file, "max_probes = 2\n").unwrap();
    origin.signal("-HUP").await;
    assert_eq!(origin.line("reloaded").await["message"], "configuration reloaded");

    std::fs::write(&file, "max_probes = 2\nlog_level = \"off\"\n").unwrap();
    origin.signal("-HUP").await;
    // A rejected probe logs a warning, until the level is off.
    let mut silent = false;
    for _ in 0..20 {
        assert_eq!(status_of(origin.probe("three@sandbox.test").await).await, 503);
        silent = timeout(Duration::from_millis(500), origin.log.next_line()).await.is_err();
        if silent {
            break;
        }
    }
    assert!(silent, "it is still logged");
}
