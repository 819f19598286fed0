//! The binary: its arguments, its log and its end.

use std::{
    process::{Output, Stdio},
    sync::Arc,
};

use crate::harness::{
    MailServer, REQUEST_ID, SECRETS, body,
    internet::{Internet, a, mx},
    ticket,
};
use hickory_resolver::proto::rr::RecordType;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    net::{TcpListener, TcpStream},
    process::{Child, ChildStderr, Command},
    sync::{Semaphore, oneshot},
    time::timeout,
};

/// Time limit of an answer, which normally takes milliseconds.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

fn origin(environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_origin"));
    command.env_clear().envs(environment.iter().copied()).kill_on_drop(true);
    command
}

async fn output(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    origin(environment).args(arguments).output().await.unwrap()
}

#[tokio::test]
async fn help_names_every_flag_and_value() {
    let help = output(&["--help"], &[]).await;
    assert!(help.status.success());
    let text = String::from_utf8(help.stdout).unwrap();
    for word in ["--config", "--check-config", "--version", "RCPT_LISTEN", "[default: 10000]"] {
        assert!(text.contains(word), "{word} not in\n{text}");
    }
    let version = output(&["--version"], &[]).await;
    let expected = concat!("origin ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(String::from_utf8(version.stdout).unwrap(), expected);
}

#[tokio::test]
async fn a_wrong_value_is_named_and_stops_the_service() {
    const SHORT_SECRET: &str = "c2VjcmV0LXNlY3JldA";
    let environment = [
        ("RCPT_LISTEN", "nowhere"),
        ("RCPT_STARTTLS", "never"),
        ("RCPT_ALLOW_NETWORKS", "10.0.0.0/99"),
        ("RCPT_TICKET_SECRETS", SHORT_SECRET),
    ];
    for arguments in [&["--check-config"][..], &[]] {
        let output = output(arguments, &environment).await;
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8(output.stderr).unwrap();
        for name in
            ["listen: ", "starttls: ", "helo_name: missing", "allow_networks: ", "ticket_secrets: "]
        {
            assert!(text.lines().any(|line| line.starts_with(name)), "{name} not in\n{text}");
        }
        assert!(!text.contains(SHORT_SECRET), "{text}");
    }
}

#[tokio::test]
async fn what_only_shows_at_start_is_named_too() {
    let occupied_address = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let occupied_address = occupied_address.local_addr().unwrap().to_string();
    for (variable, value, mistake) in [
        ("RCPT_LISTEN", occupied_address.as_str(), "listen: cannot bind 127.0.0.1:"),
        ("RCPT_SOURCE_ADDRESSES", "192.0.2.1", "source_addresses: cannot bind 192.0.2.1: "),
    ] {
        let environment = [
            ("RCPT_HELO_NAME", "probe.example.com"),
            ("RCPT_MAIL_FROM", "<>"),
            ("RCPT_TICKET_SECRETS", SECRETS),
            ("RCPT_NAMESERVERS", "192.0.2.53"),
            ("RCPT_LISTEN", "127.0.0.1:0"),
            (variable, value),
        ];
        let output = output(&[], &environment).await;
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.starts_with(mistake), "{text}");
    }
}

#[tokio::test]
async fn the_example_passes_check_config_once_its_made_up_values_are_replaced() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/origin.example.toml");
    let mut environment = vec![("RCPT_NAMESERVERS", "192.0.2.53"), ("RCPT_CONFIG", example)];
    let refused = output(&["--check-config"], &environment).await;
    assert_eq!(refused.status.code(), Some(1));
    let text = String::from_utf8(refused.stderr).unwrap();
    for name in ["helo_name", "mail_from", "ticket_secrets"] {
        assert!(text.contains(&format!("{name}: still the example's")), "{name} not in\n{text}");
    }
    environment.extend([
        ("RCPT_HELO_NAME", "probe.example.net"),
        ("RCPT_MAIL_FROM", "postmaster@example.net"),
        ("RCPT_TICKET_SECRETS", SECRETS),
    ]);
    assert!(output(&["--check-config"], &environment).await.status.success());
    environment.pop();
    environment.push(("RCPT_TICKET_SECRET", SECRETS));
    let text = String::from_utf8(output(&["--check-config"], &environment).await.stderr).unwrap();
    let slip = "unknown variable `RCPT_TICKET_SECRET`; did you mean `RCPT_TICKET_SECRETS`?";
    assert!(text.lines().any(|line| line == slip), "{text}");
    let by_argument = output(&["--check-config", "--config", example], &[]).await;
    assert_eq!(by_argument.status.code(), Some(1));
}

/// A started service.
struct Running {
    child: Child,
    log: Lines<BufReader<ChildStderr>>,
    address: String,
}

impl Running {
    async fn start(route: &str) -> Self {
        Self::start_with(&[("RCPT_ROUTES", route)]).await
    }

    async fn start_with(environment: &[(&str, &str)]) -> Self {
        let own = [
            ("RCPT_LISTEN", "127.0.0.1:0"),
            ("RCPT_HELO_NAME", "probe.example.com"),
            ("RCPT_MAIL_FROM", "<>"),
            ("RCPT_TICKET_SECRETS", SECRETS),
            ("RCPT_NAMESERVERS", crate::harness::root_nameserver()),
            ("RCPT_DNS_TIMEOUT_MS", "1000"),
            ("RCPT_LOG_LEVEL", "trace"),
        ];
        let mut child =
            origin(&[&own[..], environment].concat()).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        let first: Value = serde_json::from_str(&log.next_line().await.unwrap().unwrap()).unwrap();
        assert_eq!(first["message"], "listening");
        let address = first["address"].as_str().unwrap().to_owned();
        Self { child, log, address }
    }

    /// Sends a probe and returns the connection for its response.
    async fn ask(&self, recipient: &str) -> TcpStream {
        let body = body(recipient);
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

    async fn metrics(&self) -> String {
        self.get("/metrics").await
    }

    async fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: origin\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        answer(stream).await
    }

    async fn terminate(&self) {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().await.unwrap().success());
    }

    async fn rest_of_log(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = self.log.next_line().await.unwrap() {
            lines.push(line);
        }
        lines
    }
}

async fn answer(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

/// A series' value, a whole number.
fn value_of(metrics: &str, series: &str) -> usize {
    let value = metrics.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("{series} not in\n{metrics}")).parse().unwrap()
}

/// The operator allows one session and one refused recipient an hour; the test decides when its server replies.
#[tokio::test]
async fn a_process_shows_its_sessions_its_waiters_and_its_refusals() {
    let release = Arc::new(Semaphore::new(0));
    let held = release.clone();
    let zone = |_: &str, kind| match kind {
        RecordType::MX => vec![mx(10, "aspmx.l.google.com")],
        RecordType::A => vec![a("127.0.1.1")],
        _ => vec![],
    };
    let internet = Internet::start(zone, move |stream, _| {
        let held = held.clone();
        async move {
            let mut stream = BufReader::new(stream);
            stream.write_all(b"220 mx\r\n").await.unwrap();
            let mut line = String::new();
            while stream.read_line(&mut line).await.is_ok_and(|length| length > 0) {
                let reply: &[u8] = match line.get(..4) {
                    Some("RCPT") if line.contains("closed.org") => b"421 4.7.0 try again later\r\n",
                    Some("RCPT") => {
                        held.acquire().await.unwrap().forget();
                        b"550 5.1.1 no such user\r\n"
                    }
                    _ => b"250 ok\r\n",
                };
                if stream.write_all(reply).await.is_err() || reply.starts_with(b"421") {
                    return;
                }
                line.clear();
            }
        }
    })
    .await;
    let operators = std::env::temp_dir().join(format!("rcpt-metrics-{}.toml", std::process::id()));
    let row = "[[operator]]\nname = \"google\"\nsessions = 1\nsession_interval_ms = 10\nrefused_per_hour = 3\n";
    std::fs::write(&operators, row).unwrap();
    let own = internet.environment();
    let mut environment: Vec<_> = own.iter().map(|(name, value)| (*name, &**value)).collect();
    environment.push(("RCPT_OPERATORS_FILE", operators.to_str().unwrap()));
    let origin = Running::start_with(&environment).await;
    std::fs::remove_file(&operators).unwrap();
    let google = |name: &str| {
        format!("rcpt_origin_operator_{name}{{operator=\"google\",source=\"probe.example.com\"}}")
    };
    // The domain's gate is narrow after the first refusal, which counts as a refused recipient.
    for reason in ["rate_limited", "our_limit"] {
        let text = answer(origin.ask("user@closed.org").await).await;
        assert!(text.contains(reason), "{text}");
    }
    let mut streams = Vec::new();
    for n in 0..3 {
        streams.push(origin.ask(&format!("user{n}@example.org")).await);
    }
    let is_held = async {
        loop {
            let text = origin.metrics().await;
            let of = |name: &str| value_of(&text, &google(name));
            if (of("sessions"), of("waiting")) == (1, 2) {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, is_held).await.expect("one session and two waiters");
    release.add_permits(2);
    let mut reasons = Vec::new();
    for stream in streams {
        let text = answer(stream).await;
        let reason = ["no_such_mailbox", "our_limit"].into_iter().find(|it| text.contains(it));
        reasons.push(reason.unwrap_or_else(|| panic!("{text}")));
    }
    reasons.sort_unstable();
    assert_eq!(reasons, ["no_such_mailbox", "no_such_mailbox", "our_limit"]);
    let text = origin.metrics().await;
    assert_eq!(value_of(&text, &google("waiting")), 0, "{text}");
    assert_eq!(value_of(&text, "rcpt_origin_probes_in_flight"), 0, "{text}");
    let text = origin.get("/operators").await;
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    let status: Value = serde_json::from_str(body).unwrap();
    let operators = status["operators"].as_array().unwrap().iter();
    let google = operators.filter(|it| it["operator"] == "google").collect::<Vec<_>>();
    let shown = ["sessions_total", "recipients_total", "refused_total", "refusals_of_us_total"];
    assert_eq!(shown.map(|name| google[0][name].as_u64().unwrap()), [2, 3, 3, 1], "{text}");
}

#[tokio::test]
async fn the_log_names_the_request_and_never_the_address() {
    let server =
        MailServer::answering("220 mx", "250-STARTTLS\r\n", "550 5.1.1 no such secret-user").await;
    let mut origin = Running::start(&server.route()).await;
    for recipient in ["secret-user@sandbox.test", "secret-user@secret-domain.com"] {
        assert!(answer(origin.ask(recipient).await).await.starts_with("HTTP/1.1 200 "));
    }
    origin.terminate().await;
    let lines = origin.rest_of_log().await;
    let probe: Value = serde_json::from_str(&lines[0]).unwrap();
    for (key, value) in [
        ("message", "probe"),
        ("request_id", REQUEST_ID),
        ("status", "false"),
        ("reason", "no_such_mailbox"),
        ("stage", "rcpt"),
        ("source", "probe.example.com"),
    ] {
        assert_eq!(probe[key], value);
    }
    assert!(probe["duration_ms"].is_u64());
    assert_eq!(probe["tls"], false);
    for line in lines {
        assert!(serde_json::from_str::<Value>(&line).unwrap().is_object(), "{line}");
        assert!(!line.contains("secret") && !line.contains("sandbox"), "{line}");
    }
    assert!(origin.child.wait().await.unwrap().success());
}

/// A pipe holds 64 KiB, about 200 lines.
#[tokio::test]
async fn checks_go_on_while_nobody_reads_the_log_and_what_is_dropped_is_counted() {
    const CHECKS: usize = 3_000;
    let mut origin = Running::start("sandbox.test=127.0.0.1:9").await;
    // The first line was read, and nothing after it.
    for _ in 0..CHECKS / 30 {
        let mut connections = Vec::new();
        for _ in 0..30 {
            connections.push(origin.ask("x@nodomain.test").await);
        }
        for stream in connections {
            let text = timeout(PATIENCE, answer(stream)).await.expect("an answer");
            assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
        }
    }
    let dropped = value_of(&origin.metrics().await, "rcpt_origin_log_lines_dropped_total");
    assert!((1_000..CHECKS).contains(&dropped), "{dropped} of {CHECKS}");
    // The process doesn't wait for a reader at its end either.
    origin.terminate().await;
    let ended = timeout(PATIENCE, origin.child.wait()).await.expect("an end");
    assert!(ended.unwrap().success());
}

#[tokio::test]
async fn sigterm_lets_a_probe_in_progress_finish_and_takes_no_new_one() {
    // The server answers EHLO on the test's signal.
    let (rcpt_arrived, was_asked) = oneshot::channel();
    let (release, released) = oneshot::channel::<()>();
    let hold = parking_lot::Mutex::new(Some((rcpt_arrived, released)));
    let server = MailServer::serving(move |stream, _| {
        let (rcpt_arrived, released) = hold.lock().take().unwrap();
        async move {
            let mut stream = BufReader::new(stream);
            stream.write_all(b"220 mx\r\n").await.unwrap();
            let mut line = String::new();
            stream.read_line(&mut line).await.unwrap();
            rcpt_arrived.send(()).unwrap();
            released.await.unwrap();
            stream.write_all(b"250 mx\r\n").await.unwrap();
            crate::harness::obey(&mut stream, "", "250 ok", "250 ok").await;
        }
    })
    .await;
    let mut origin = Running::start(&server.route()).await;
    let pending = origin.ask("user@sandbox.test").await;
    was_asked.await.unwrap();
    origin.terminate().await;
    // The listener closes while the probe is still waiting.
    while TcpStream::connect(&origin.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    release.send(()).unwrap();
    let text = answer(pending).await;
    assert!(text.starts_with("HTTP/1.1 200 ") && text.contains(r#""status":true"#), "{text}");
    assert!(origin.child.wait().await.unwrap().success());
}

#[tokio::test]
async fn idle_sessions_are_ended_with_quit() {
    let (ended, has_ended) = oneshot::channel();
    let ended = parking_lot::Mutex::new(Some(ended));
    let server = MailServer::serving(move |stream, _| {
        let ended = ended.lock().take().unwrap();
        async move {
            let mut stream = BufReader::new(stream);
            stream.write_all(b"220 mx\r\n").await.unwrap();
            let (mut line, mut last) = (String::new(), String::new());
            while stream.read_line(&mut line).await.is_ok_and(|length| length > 0) {
                last = std::mem::take(&mut line);
                // No control recipient follows a refusal.
                let refused = last.starts_with("RCPT");
                let reply = if refused { "550 5.1.1 no such user\r\n" } else { "250 ok\r\n" };
                stream.write_all(reply.as_bytes()).await.unwrap();
            }
            ended.send(last).unwrap();
        }
    })
    .await;
    let mut origin = Running::start(&server.route()).await;
    assert!(answer(origin.ask("user@sandbox.test").await).await.contains(r#""status":false"#));
    origin.terminate().await;
    assert_eq!(has_ended.await.unwrap(), "QUIT\r\n");
    assert!(origin.child.wait().await.unwrap().success());
}

#[tokio::test]
async fn status_prints_what_the_running_service_shows() {
    let server = MailServer::answering("220 mx", "", "250 ok").await;
    let running = Running::start(&server.route()).await;
    let environment = [
        ("RCPT_HELO_NAME", "probe.example.com"),
        ("RCPT_MAIL_FROM", "<>"),
        ("RCPT_TICKET_SECRETS", SECRETS),
        ("RCPT_NAMESERVERS", "192.0.2.53"),
        ("RCPT_LISTEN", running.address.as_str()),
    ];
    let shown = output(&["status"], &environment).await;
    assert!(shown.status.success(), "{shown:?}");
    let text = String::from_utf8(shown.stdout).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("operator "), "{text}");
    assert!(lines[1].starts_with("other            all "), "{text}");

    // Nobody listens there. The option may stand behind the command.
    let listen = ("RCPT_LISTEN", "127.0.0.1:9");
    let silent = [&environment[..4], &[listen]].concat();
    let refused = output(&["status", "--config", "/dev/null"], &silent).await;
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && said.starts_with("127.0.0.1:9: no status ("), "{said}");
}
