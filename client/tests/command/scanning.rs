//! `rcpt scan` through everything that can happen on the way: kills, a network that goes away, two runs at
//! once, a file that changes. The service is a stand-in that holds the command to the API: every part once
//! and the same, one scan a list.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::{Arc, Mutex},
    thread::sleep,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Ran, at, home, run};
use crate::stand_in::{Answer, Asked, StandIn};

/// What the service knows.
#[derive(Debug, Default)]
struct Service {
    /// By `Idempotency-Key`: total and name.
    scans: BTreeMap<String, (usize, String)>,
    parts: BTreeMap<usize, Vec<String>>,
    answered: usize,
    /// Requests that get no answer.
    cut: usize,
    /// Requests that are carried out, and whose answers are lost.
    lost: usize,
    requests: usize,
    /// How many requests are answered; those beyond wait until there is no such number.
    held_after: Option<usize>,
    state: Option<&'static str>,
}

impl Service {
    fn total(&self) -> usize {
        self.scans.values().next().map_or(0, |scan| scan.0)
    }

    fn scan(&self) -> Value {
        let received: usize = self.parts.values().map(Vec::len).sum();
        let total = self.total();
        let state = match self.state {
            Some(state) => state,
            None if received < total => "open",
            None if self.answered < total => "running",
            None => "completed",
        };
        let name = self.scans.values().next().map(|scan| scan.1.clone());
        json!({
            "id": "scan_1", "name": name, "state": state, "total": total, "received": received,
            "answered": self.answered, "waiting": 0, "estimated_seconds_left": null, "counts": {},
        })
    }

    fn answer(&mut self, asked: &Asked) -> Answer {
        self.requests += 1;
        if self.cut > 0 {
            self.cut -= 1;
            return (0, "", String::new());
        }
        let path = asked.line.split(' ').nth(1).unwrap().trim_start_matches("/v1/scans").to_owned();
        let body: Value = serde_json::from_str(&asked.body).unwrap_or_default();
        let method = asked.line.split(' ').next().unwrap();
        let told = match (method, &*path) {
            ("POST", "") => {
                let key = asked.header("idempotency-key").unwrap().to_owned();
                let total = body["total"].as_u64().unwrap() as usize;
                self.scans.insert(key, (total, body["name"].as_str().unwrap().to_owned()));
                assert_eq!(self.scans.len(), 1, "a second scan was started");
                self.scan()
            }
            ("PUT", part) => {
                let number: usize = part.trim_start_matches("/scan_1/parts/").parse().unwrap();
                let addresses: Vec<String> =
                    serde_json::from_value(body["addresses"].clone()).unwrap();
                let expected = (self.total() - number * 1_000).min(1_000);
                assert_eq!(addresses.len(), expected);
                let before = self.parts.insert(number, addresses.clone());
                assert!(
                    before.is_none_or(|before| before == addresses),
                    "part {number} has changed"
                );
                self.scan()
            }
            ("GET", list) if list.starts_with('?') => {
                let scans = if self.scans.is_empty() { vec![] } else { vec![self.scan()] };
                json!({ "scans": scans, "next": null })
            }
            ("GET", "/scan_1") => {
                let received: usize = self.parts.values().map(Vec::len).sum();
                self.answered = received.min(self.answered + self.total() / 3 + 1);
                self.scan()
            }
            ("GET", results) => self.results(results),
            other => panic!("{other:?}"),
        };
        if self.lost > 0 {
            self.lost -= 1;
            return (0, "", String::new());
        }
        (200, "", told.to_string())
    }

    fn results(&self, path: &str) -> Value {
        let after = path.split_once("after=").map(|(_, after)| after.parse::<usize>().unwrap());
        let first = after.map_or(0, |after| after + 1);
        let end = (first + 1_000).min(self.total());
        let results = (first..end).map(|position| {
            let address = &self.parts[&(position / 1_000)][position % 1_000];
            let (status, reason) = verdict_of(address);
            json!({ "position": position, "status": status, "verdict": "as said", "reason": reason })
        });
        let next = (end < self.total()).then(|| end - 1);
        json!({ "results": results.collect::<Vec<_>>(), "next": next })
    }
}

/// What the service says of an address: it is in the address.
fn verdict_of(address: &str) -> (Value, &'static str) {
    match address.as_bytes()[4] % 3 {
        0 => (true.into(), "accepted"),
        1 => (false.into(), "no_such_mailbox"),
        _ => ("blocked_by_provider".into(), "blocked"),
    }
}

struct World {
    home: TempDir,
    service: Arc<Mutex<Service>>,
    stand_in: StandIn,
    file: PathBuf,
}

impl World {
    fn new(text: &str) -> Self {
        let service = Arc::<Mutex<Service>>::default();
        let answering = Arc::clone(&service);
        let stand_in = StandIn::start(move |_, asked| {
            loop {
                let mut service = answering.lock().unwrap();
                if service.held_after.is_none_or(|most| service.requests < most) {
                    return service.answer(asked);
                }
                drop(service);
                sleep(Duration::from_millis(1));
            }
        });
        let home = home();
        let file = home.path().join("list.csv");
        fs::write(&file, text).unwrap();
        Self { home, service, stand_in, file }
    }

    fn command(&self) -> std::process::Command {
        at(&self.home, &self.stand_in.url, &["scan", self.file.to_str().unwrap()])
    }

    fn run(&self, further: &[&str]) -> Ran {
        run(self.command().args(further), b"")
    }

    fn start(&self) -> Child {
        self.command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn requests(&self) -> usize {
        self.service.lock().unwrap().requests
    }

    fn output(&self) -> PathBuf {
        self.home.path().join("list.verdicts.csv")
    }

    fn journal(&self) -> PathBuf {
        self.home.path().join("list.verdicts.rcpt-journal")
    }
}

/// A list with a column before and one behind, some addresses twice, some that are none.
fn list(rows: usize) -> String {
    let mut text = "no,email,comment\n".to_owned();
    for row in 0..rows {
        let address = match row % 50 {
            7 => format!("user{}@list.example", row - 7),
            11 => "nobody".to_owned(),
            _ => format!("user{row}@list.example"),
        };
        text += &format!("{row},{address},\"a, \"\"quoted\"\" one\"\n");
    }
    text
}

/// Each row once, in order, with the verdict of its own address.
fn assert_right(output: &Path, rows: usize) {
    let text = fs::read_to_string(output).unwrap();
    let mut lines = text.lines();
    let header = "no,email,comment,rcpt_status,rcpt_verdict,rcpt_confidence,rcpt_reason";
    assert_eq!(lines.next(), Some(header));
    let given = list(rows);
    let mut count = 0;
    for (line, given) in lines.zip(given.lines().skip(1)) {
        let address = given.split(',').nth(1).unwrap();
        let expected = if address == "nobody" {
            "invalid_format,undeliverable,high,".to_owned()
        } else {
            let (status, reason) = verdict_of(address);
            format!("{},as said,,{reason}", status.to_string().trim_matches('"'))
        };
        assert_eq!(line, format!("{given},{expected}"));
        count += 1;
    }
    assert_eq!((count, text.lines().count()), (rows, rows + 1));
}

/// The most memory that a process has had, in bytes.
fn peak(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or(0, |line| line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024)
}

#[test]
fn a_list_survives_five_kills_and_two_cuts_and_each_row_is_there_once() {
    let rows = if env::var_os("PROOF").is_some() { 100_000 } else { 10_000 };
    let world = World::new(&list(rows));
    // How many requests a run makes when nothing happens: the start, the parts, three looks, the results.
    let whole = 2 * rows / 1_000 + 4;
    let mut most = 0;
    // Before the scan's id is known, while it is sent, while it runs, and in the results.
    for (kill, requests) in [1, whole / 8, whole / 8, whole / 6, whole / 2].into_iter().enumerate()
    {
        let until = world.requests() + requests;
        let mut service = world.service.lock().unwrap();
        service.held_after = Some(until);
        service.cut = if kill % 2 == 1 { 2 } else { 0 };
        drop(service);
        let mut child = world.start();
        while world.requests() < until {
            most = most.max(peak(&child));
            assert!(child.try_wait().unwrap().is_none(), "kill {kill} came too late");
            sleep(Duration::from_millis(1));
        }
        // What it has sent and the service has not yet read arrives after its end.
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!world.output().exists() && world.journal().exists());
        let journal = fs::read_to_string(world.journal()).unwrap();
        assert!(!journal.contains("list.example"), "the journal holds an address");
    }
    world.service.lock().unwrap().held_after = None;
    let mut child = world.start();
    let ended = loop {
        most = most.max(peak(&child));
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        sleep(Duration::from_millis(2));
    };
    assert_eq!(ended.code(), Some(0));
    assert_right(&world.output(), rows);
    assert!(!world.journal().exists());
    assert!(most > 1 << 20 && most <= 100 << 20, "{most} bytes");
    println!("rcpt scan of {rows} rows: {} MiB at most", most >> 20);
}

#[test]
fn what_cannot_go_on_says_so_and_loses_nothing() {
    let world = World::new(&list(30));
    let mut first = world.start();
    while world.requests() < 1 {
        sleep(Duration::from_millis(1));
    }
    first.kill().unwrap();
    first.wait().unwrap();

    let file = fs::read_to_string(&world.file).unwrap();
    fs::write(&world.file, file.replace("user2@", "other@")).unwrap();
    world.run(&[]).fails(11, "isn't the one that this scan was started with");
    fs::write(&world.file, &file).unwrap();

    let held = fs::File::open(&world.file).unwrap();
    held.lock().unwrap();
    world.run(&[]).fails(11, "Another rcpt is at work");
    drop(held);

    world.service.lock().unwrap().cut = 1_000;
    let away = world.run(&["--patience", "1"]);
    away.fails(6, "The same command goes on.");
    world.service.lock().unwrap().cut = 0;

    let full = run(world.command().args(["--output", "/dev/full/list.csv"]), b"");
    assert_eq!(full.code, 10, "{}", full.said);
    assert_eq!(world.run(&[]).code, 0);
    assert_right(&world.output(), 30);

    world.run(&[]).fails(2, "is there already");
    assert_right(&world.output(), 30);
}

#[test]
fn a_start_whose_answer_is_lost_is_found_again_and_starts_no_second_scan() {
    let world = World::new(&list(30));
    world.service.lock().unwrap().lost = 3;
    assert_eq!(world.run(&[]).code, 0);
    assert_right(&world.output(), 30);
}

#[test]
fn a_scan_that_was_cancelled_elsewhere_ends_it() {
    let world = World::new(&list(30));
    world.service.lock().unwrap().state = Some("cancelled");
    world.run(&[]).fails(11, "The scan is cancelled. Start over with --restart.");
}

#[test]
fn a_list_without_any_address_costs_no_scan() {
    let world = World::new("name,email\nAnn,nobody\nBob,\n");
    let ran = world.run(&["--column", "email"]);
    assert_eq!(ran.code, 0, "{}", ran.said);
    let text = fs::read_to_string(world.output()).unwrap();
    assert!(text.contains("Ann,nobody,invalid_format,") && text.contains("Bob,,,,,"), "{text}");
    assert_eq!(world.requests(), 0);
}
