//! `make dev` for a newcomer: two commands to a verdict, and no process left behind.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{self, Command},
    time::Duration,
};

use rcpt_tests::{
    Anonymous, Process,
    process::{folder, port},
    service::{edge, origin},
};
use tokio::time::{Instant, sleep};

const START_TIMEOUT: Duration = Duration::from_secs(180);
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// A local environment separate from the developer's own.
struct World {
    folder: PathBuf,
    command: Command,
    /// `NAME=value` of a variable that marks every process of this environment.
    marker: String,
}

impl World {
    async fn new() -> Self {
        tokio::task::spawn_blocking(|| edge::build().and(origin::binary().map(drop)))
            .await
            .unwrap()
            .expect("edge and origin build");
        let folder = folder::scratch("dev").unwrap();
        let marker = format!("DEV_TEST_WORLD={}-{}", process::id(), port::free());
        let mut command = Command::new(env!("CARGO_BIN_EXE_dev"));
        let (name, value) = marker.split_once('=').expect("name and value");
        command.env(name, value);
        command.env("EDGE_PORT", port::free().to_string());
        command.env("ORIGIN_PORT", port::free().to_string());
        command.env("DEV_FOLDER", folder.join("dev")).env("DEV_STATE", folder.join("state"));
        Self { folder, command, marker }
    }

    async fn start(&self) -> Process {
        // Grace period: longer than the ten seconds that origin may take to finish.
        let grace = Duration::from_secs(18);
        let started = Process::spawn_with_grace("dev", &self.command, &self.folder, grace);
        let mut process = started.unwrap();
        process.wait_for_line("Ctrl-C stops everything", START_TIMEOUT).await.unwrap();
        assert!(process.log().lines().any(|line| line == "ready"), "{}", process.log());
        process
    }

    fn processes(&self) -> Vec<(u32, String)> {
        let ours = |folder: &Path| {
            let environment = fs::read(folder.join("environ")).ok()?;
            let mut variables = environment.split(|byte| *byte == 0);
            variables.any(|variable| variable == self.marker.as_bytes()).then_some(())?;
            let words = fs::read(folder.join("cmdline")).ok()?;
            let id = folder.file_name()?.to_str()?.parse().ok()?;
            Some((id, String::from_utf8_lossy(&words).replace('\0', " ")))
        };
        let entries = fs::read_dir("/proc").unwrap().flatten();
        entries.filter_map(|entry| ours(&entry.path())).collect()
    }
}

impl World {
    /// Waits, since ending takes a moment.
    async fn left_behind(&self) -> Vec<(u32, String)> {
        let deadline = Instant::now() + STOP_TIMEOUT;
        while !self.processes().is_empty() && Instant::now() < deadline {
            sleep(Duration::from_millis(50)).await;
        }
        self.processes()
    }
}

fn paste(line: &str) -> String {
    let output = Command::new("sh").args(["-c", line]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn printed<'a>(log: &'a str, start: &str) -> &'a str {
    log.lines()
        .map(str::trim)
        .find(|line| line.starts_with(start))
        .unwrap_or_else(|| panic!("no line with {start} in:\n{log}"))
}

async fn throttle(url: &str) {
    let anonymous = Anonymous::new(url);
    for email in ["dev@rcpt.example", "other@rcpt.example"] {
        let deadline = Instant::now() + START_TIMEOUT;
        while anonymous.login(email, "not-the-password").await.status != 429 {
            assert!(Instant::now() < deadline, "never throttled");
        }
    }
    let reply = anonymous.login("dev@rcpt.example", "rcpt-local-development").await;
    assert_eq!(reply.status, 429, "{}", reply.body);
}

#[tokio::test]
async fn the_printed_line_gives_a_verdict_and_nothing_is_left_behind() {
    let world = World::new().await;
    let mut dev = world.start().await;
    let log = dev.log();

    let curl = printed(&log, "curl ");
    let fresh =
        r#"{"email":"accepts@sandbox.test","verdict":"deliverable","status":true,"cached":false}"#;
    assert_eq!(paste(curl), fresh);
    assert_eq!(paste(curl), fresh.replace("false", "true"));
    let nomx = curl.replace("accepts@sandbox.test", "x@nomx.sandbox.test");
    let verdict = r#"{"email":"x@nomx.sandbox.test","verdict":"undeliverable","status":"no_mx_records","cached":false}"#;
    assert_eq!(paste(&nomx), verdict);

    let mails: Vec<_> = fs::read_dir(world.folder.join("dev/mail")).unwrap().flatten().collect();
    let [mail] = &mails[..] else { panic!("{mails:?}") };
    let mail = fs::read_to_string(mail.path()).unwrap();
    let link = printed(&mail, "http");
    assert!(link.contains("/verify?token="), "{mail}");
    assert!(log.contains(link), "the link is not printed: {log}");

    throttle(printed(&log, "edge").split_whitespace().nth(1).unwrap()).await;

    assert!(world.processes().len() > 3, "{:?}", world.processes());
    dev.terminate();
    let status = dev.wait_for_end(STOP_TIMEOUT).await.unwrap();
    assert_eq!(Process::code(status), 0, "{}", dev.last_lines());
    drop(dev);
    assert_eq!(world.left_behind().await, []);

    // The second start finds the same account and key, and isn't throttled.
    let mut again = world.start().await;
    assert_eq!(printed(&again.log(), "API key"), printed(&log, "API key"));

    // `kill -9` leaves no process behind.
    again.kill();
    assert_eq!(world.left_behind().await, []);
}

#[tokio::test]
async fn when_a_part_dies_it_says_so_and_everything_ends() {
    let world = World::new().await;
    let mut dev = world.start().await;
    let processes = world.processes();
    let origin = processes.iter().find(|(_, command)| command.trim().ends_with("/origin"));
    let (id, _) = origin.unwrap_or_else(|| panic!("no origin in {processes:?}"));
    assert!(Command::new("kill").args(["-9", &id.to_string()]).status().unwrap().success());
    let status = dev.wait_for_end(STOP_TIMEOUT).await.unwrap();
    assert_eq!(Process::code(status), 1, "{}", dev.last_lines());
    assert!(dev.log().contains("[dev] error: ended by itself"), "{}", dev.last_lines());
    drop(dev);
    assert_eq!(world.left_behind().await, []);
}

#[tokio::test]
async fn a_taken_port_is_named() {
    let mut world = World::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    world.command.env("EDGE_PORT", &port);
    let mut dev = Process::spawn("dev", &world.command, &world.folder).unwrap();
    let status = dev.wait_for_end(STOP_TIMEOUT).await.unwrap();
    assert_eq!(Process::code(status), 1);
    assert!(dev.log().contains(&format!("port {port} is taken")), "{}", dev.log());
}
