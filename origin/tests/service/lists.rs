//! Lists of the operator's own: the running origin reads them again when they change.

use std::{fs, path::PathBuf, time::Duration};

use crate::harness::{SECRETS, ticket};
use rcpt_origin::lists::BUILT_IN;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    process::Command,
    time::{Instant, sleep},
};

/// Time limit for a new file: the file is checked every five seconds, and read after five seconds
/// without a change.
const NEW_FILE_TIMEOUT: Duration = Duration::from_secs(60);
const LISTED: &str = "newly-listed.example";

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Folder {
    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Success of `lists show`, and the printed lists.
    async fn shown(&self, file: &str) -> (bool, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_origin"));
        let shown = command.env_clear().args(["lists", "show", file]).output().await.unwrap();
        (shown.status.success(), String::from_utf8(shown.stdout).unwrap())
    }
}

/// The kind of the domain according to the origin at `address`.
async fn kind(address: &str, domain: &str) -> Value {
    let body = json!({ "domain": domain }).to_string();
    let request = format!(
        "POST /v1/domain HTTP/1.1\r\nhost: origin\r\nconnection: close\r\nauthorization: Bearer {}\r\n\
         content-length: {}\r\n\r\n{body}",
        ticket(&body),
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    serde_json::from_str::<Value>(body).unwrap_or_else(|_| panic!("{text}"))["kind"].clone()
}

#[tokio::test]
async fn a_list_of_a_file_reaches_the_origin_that_runs_and_half_a_file_replaces_none() {
    let folder = std::env::temp_dir().join(format!("rcpt-fetched-lists-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let folder = Folder(folder);
    let lists_file = folder.file("lists.toml");
    let mut command = Command::new(env!("CARGO_BIN_EXE_origin"));
    command.env_clear().kill_on_drop(true).stderr(std::process::Stdio::piped());
    let mut running = command
        .envs([
            ("RCPT_LISTEN", "127.0.0.1:0"),
            ("RCPT_HELO_NAME", "probe.example.com"),
            ("RCPT_MAIL_FROM", "<>"),
            ("RCPT_TICKET_SECRETS", SECRETS),
            ("RCPT_NAMESERVERS", crate::harness::root_nameserver()),
            // No file exists yet.
            ("RCPT_LISTS_FILE", &lists_file),
        ])
        .spawn()
        .unwrap();
    let mut log = BufReader::new(running.stderr.take().unwrap()).lines();
    let mut line = async || -> Value {
        serde_json::from_str(&log.next_line().await.unwrap().unwrap()).unwrap()
    };
    let warning = line().await["message"].to_string();
    assert!(warning.contains("the package's lists are in force"), "{warning}");
    assert!(!folder.shown(&lists_file).await.0);
    let first = line().await;
    let address = first["address"].as_str().unwrap_or_else(|| panic!("{first}")).to_owned();
    assert_eq!(kind(&address, LISTED).await, "unknown");

    let lists = BUILT_IN.replacen("names = [", &format!("names = [\"{LISTED}\", "), 1);
    let start = lists.find("[disposable]").unwrap();
    let end = lists[start..].find("\n[").map_or(lists.len(), |end| start + end + 1);
    let disposable = &lists[start..end];
    fs::write(&lists_file, disposable).unwrap();
    let (is_of_file, shown) = folder.shown(&lists_file).await;
    assert!(is_of_file && shown.contains("disposable          10175  2026-11-09"), "{shown}");

    let deadline = Instant::now() + NEW_FILE_TIMEOUT;
    while kind(&address, LISTED).await != "disposable" {
        assert!(Instant::now() < deadline, "the origin doesn't read its lists again");
        sleep(Duration::from_millis(200)).await;
    }
    // The file is damaged: the built-in lists are in force, and the service continues.
    fs::write(&lists_file, &disposable[..disposable.len() / 2]).unwrap();
    let deadline = Instant::now() + NEW_FILE_TIMEOUT;
    while kind(&address, LISTED).await != "unknown" {
        assert!(Instant::now() < deadline, "half a file is in force");
        sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(kind(&address, "mailinator.com").await, "disposable");
}
