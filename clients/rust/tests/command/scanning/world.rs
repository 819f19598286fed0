//! A list, a service that enforces the API's rules, and the command under test.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::Arc,
    thread::sleep,
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    Ran, at, home, run,
    stand_in::{Answer, ReceivedRequest, StandIn},
};

/// State of the stand-in, which tests may change.
#[derive(Debug, Default)]
pub struct Service {
    /// Total and name by `Idempotency-Key`.
    pub scans: BTreeMap<String, (usize, String)>,
    parts: BTreeMap<usize, Vec<String>>,
    answered_positions: usize,
    /// Number of requests that get no response.
    pub unanswered_requests: usize,
    /// Number of requests that are executed but whose response is lost.
    pub lost_responses: usize,
    requests: usize,
    /// Number of requests that get a response; later requests wait until this is cleared.
    pub held_after: Option<usize>,
    pub state: Option<&'static str>,
    /// Largest scan that the plan allows.
    pub most: Option<usize>,
    pub deleted: bool,
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
            None if self.answered_positions < total => "running",
            None => "completed",
        };
        let name = self.scans.values().next().map(|scan| scan.1.clone());
        json!({
            "id": "scan_1", "name": name, "state": state, "total": total, "received": received,
            "answered": self.answered_positions, "waiting": 0, "estimated_seconds_left": null, "counts": {},
            "by_verdict": { "deliverable": self.answered_positions, "risky": 0 },
        })
    }

    fn answer(&mut self, request: &ReceivedRequest) -> Answer {
        self.requests += 1;
        if self.unanswered_requests > 0 {
            self.unanswered_requests -= 1;
            return (0, "", String::new());
        }
        let path =
            request.line.split(' ').nth(1).unwrap().trim_start_matches("/v1/scans").to_owned();
        let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let method = request.line.split(' ').next().unwrap();
        let reply = match (method, &*path) {
            ("POST", "") => {
                let key = request.header("idempotency-key").unwrap().to_owned();
                let total = body["total"].as_u64().unwrap() as usize;
                if let Some(most) = self.most.filter(|most| total > *most) {
                    let detail = format!("A scan of this plan has at most {most} addresses.");
                    let refusal = json!({ "detail": detail, "code": "scan_too_large" });
                    return (400, "", refusal.to_string());
                }
                self.scans.insert(key, (total, body["name"].as_str().unwrap().to_owned()));
                assert_eq!(self.scans.len(), 1, "a second scan was started");
                self.scan()
            }
            ("POST", part) if part.ends_with("/match") => {
                let number = part.trim_start_matches("/scan_1/parts/").trim_end_matches("/match");
                let addresses: Vec<String> =
                    serde_json::from_value(body["addresses"].clone()).unwrap();
                if addresses.len() < 2 {
                    let refusal = json!({ "detail": "Nothing.", "code": "nothing_to_match" });
                    return (409, "", refusal.to_string());
                }
                json!({ "matches": self.parts[&number.parse().unwrap()] == addresses })
            }
            ("POST", "/scan_1/cancel") => {
                self.state = Some("cancelled");
                self.scan()
            }
            ("DELETE", "/scan_1") => {
                self.deleted = true;
                return (204, "", String::new());
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
                self.answered_positions =
                    received.min(self.answered_positions + self.total() / 3 + 1);
                self.scan()
            }
            ("GET", results) => self.results(results),
            other => panic!("{other:?}"),
        };
        if self.lost_responses > 0 {
            self.lost_responses -= 1;
            return (0, "", String::new());
        }
        (200, "", reply.to_string())
    }

    fn results(&self, path: &str) -> Value {
        let after = path.split_once("after=").map(|(_, after)| after.parse::<usize>().unwrap());
        let first = after.map_or(0, |after| after + 1);
        let end = (first + 1_000).min(self.total());
        let results = (first..end).map(|position| {
            let address = &self.parts[&(position / 1_000)][position % 1_000];
            let (status, reason) = verdict_of(address);
            json!({
                "position": position, "verdict": verdict(&status), "status": status, "reason": reason,
                "role_account": false,
            })
        });
        let next = (end < self.total()).then(|| end - 1);
        json!({ "results": results.collect::<Vec<_>>(), "next": next })
    }
}

/// The columns that the command adds.
pub const OURS: &str =
    "rcpt_verdict,rcpt_reason,rcpt_suggestion,rcpt_disposable,rcpt_role,rcpt_free,rcpt_final";

/// The values of our columns for an address.
pub fn ours(address: &str) -> String {
    let (status, reason) = verdict_of(address);
    format!("{},{reason},,,false,,true", verdict(&status))
}

fn verdict(status: &Value) -> &'static str {
    match status {
        Value::Bool(true) => "deliverable",
        Value::Bool(false) => "undeliverable",
        _ => "unknown",
    }
}

/// The status and reason for an address, which depend on the address alone.
pub fn verdict_of(address: &str) -> (Value, &'static str) {
    match address.as_bytes()[4] % 3 {
        0 => (true.into(), "accepted"),
        1 => (false.into(), "no_such_mailbox"),
        _ => ("blocked_by_provider".into(), "blocked"),
    }
}

pub struct World {
    pub home: TempDir,
    pub service: Arc<Mutex<Service>>,
    pub stand_in: StandIn,
    pub file: PathBuf,
}

impl World {
    pub fn new(text: &str) -> Self {
        let service = Arc::<Mutex<Service>>::default();
        let answering = Arc::clone(&service);
        let stand_in = StandIn::start(move |_, request| {
            loop {
                let mut service = answering.lock();
                if service.held_after.is_none_or(|most| service.requests < most) {
                    return service.answer(request);
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

    pub fn command(&self) -> std::process::Command {
        at(&self.home, &self.stand_in.url, &["scan", self.file.to_str().unwrap()])
    }

    pub fn run(&self, further: &[&str]) -> Ran {
        run(self.command().args(further), b"")
    }

    pub fn start(&self) -> Child {
        self.command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    pub fn requests(&self) -> usize {
        self.service.lock().requests
    }

    pub fn output(&self) -> PathBuf {
        self.home.path().join("list.verdicts.csv")
    }

    pub fn journal(&self) -> PathBuf {
        self.home.path().join("list.verdicts.rcpt-journal")
    }
}

/// A list with columns before and after the addresses, some of which are repeated or
/// malformed.
pub fn list(rows: usize) -> String {
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

/// Asserts that each row occurs once, in order, with the verdict of its own address.
pub fn assert_right(output: &Path, rows: usize) {
    let text = fs::read_to_string(output).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(&*format!("no,email,comment,{OURS}")));
    let input = list(rows);
    let mut count = 0;
    for (line, input) in lines.zip(input.lines().skip(1)) {
        let address = input.split(',').nth(1).unwrap();
        let expected = match address {
            "nobody" => "not_an_address,There is no @ in it.,,,,,".to_owned(),
            _ => ours(address),
        };
        assert_eq!(line, format!("{input},{expected}"));
        count += 1;
    }
    assert_eq!((count, text.lines().count()), (rows, rows + 1));
}
