//! The command with a stand-in for the service: messages and exit codes on errors. `tests/tests/clients/` tests
//! it with a real service.

mod listening;
mod scanning;
mod stand_in;

use std::{
    fs::{self, File},
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use stand_in::{Answer, StandIn};
use tempfile::TempDir;

/// Exit code and output of a run.
struct Ran {
    code: i32,
    out: String,
    stderr: String,
}

impl Ran {
    /// Asserts the exit code and a message that reveals no internals.
    fn fails(&self, code: i32, sentence: &str) {
        assert_eq!(self.code, code, "{}", self.stderr);
        assert!(self.stderr.contains(sentence), "{}", self.stderr);
        for inside in ["panicked", "Error {", "os error 2)", "RUST_BACKTRACE", "src/"] {
            assert!(!self.stderr.contains(inside), "{}", self.stderr);
        }
    }
}

fn command(home: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rcpt"));
    command.env_clear().env("HOME", home.path()).stdin(Stdio::null());
    command
}

fn run(command: &mut Command, input: &[u8]) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The command may exit before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(input);
    let ended = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: ended.status.code().unwrap(), out: text(ended.stdout), stderr: text(ended.stderr) }
}

fn verdict(email: &str) -> String {
    json!({ "email": email, "verdict": "deliverable", "status": true, "cached": false }).to_string()
}

fn email(body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap();
    body["email"].as_str().unwrap().to_owned()
}

const KEY: &str = "rcpt_live_secret";

/// The command `rcpt` for this service, with a key.
fn at(home: &TempDir, url: &str, arguments: &[&str]) -> Command {
    let mut command = command(home);
    command.env("RCPT_API_KEY", KEY).env("RCPT_URL", url).args(arguments);
    command
}

fn home() -> TempDir {
    TempDir::new().unwrap()
}

#[test]
fn without_a_key_or_a_service_it_says_where_to_get_one() {
    let home = home();
    let check = ["check", "a@b.example"];
    run(command(&home).args(check), b"").fails(2, "Set its address with --url or RCPT_URL");
    let keyless = run(command(&home).args(check).env("RCPT_URL", "https://rcpt.example.net"), b"");
    keyless.fails(4, "Run `rcpt sign-in`, or set RCPT_API_KEY");
    let clear = run(&mut at(&home, "http://rcpt.example.net", &check), b"");
    clear.fails(2, "it must start with https://, not with http://");
    let other = run(command(&home).args(check).args(["--url", "ftp://x"]), b"");
    other.fails(2, "it must start with https://, not with ftp://");
    let none = run(&mut at(&home, "https://x.example", &["--timeout", "0", "quota"]), b"");
    none.fails(2, "give a number of seconds above 0");
    run(&mut at(&home, "https://x.example", &["check"]), b"").fails(2, "<ADDRESS>");
}

#[test]
fn no_network_is_said_after_its_time_and_each_wait_is_told() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let home = home();
    let ran = run(&mut at(&home, &url, &["check", "a@b.example", "--timeout", "2"]), b"");
    ran.fails(6, "The service can't be reached");
    assert!(ran.stderr.contains("Trying again in 1 s"), "{}", ran.stderr);
    assert_eq!(ran.out, "");
}

#[test]
fn what_passes_is_tried_again_under_one_idempotency_key() {
    let service = StandIn::start(|before, request| -> Answer {
        match before {
            0 => (0, "", String::new()),
            1 => (502, "retry-after: 1\r\n", json!({ "detail": "Upstream error." }).to_string()),
            2 => {
                let code = "idempotency_key_in_use";
                (409, "", json!({ "detail": "Still under way.", "code": code }).to_string())
            }
            3 => (
                429,
                "retry-after: 0\r\n",
                json!({ "detail": { "error": "Too many." } }).to_string(),
            ),
            _ => (200, "", verdict(&email(&request.body))),
        }
    });
    let home = home();
    let ran = run(&mut at(&home, &service.url, &["check", "a@b.example"]), b"");
    assert_eq!((ran.code, ran.out), (0, verdict_line("a@b.example")), "{}", ran.stderr);
    let requests = service.requests();
    assert_eq!(requests.len(), 5);
    let keys: Vec<_> =
        requests.iter().map(|request| request.header("idempotency-key").unwrap()).collect();
    assert!(keys.iter().all(|key| *key == keys[0] && key.len() >= 16), "{keys:?}");
    assert!(requests.iter().all(|request| request.line == "POST /v1/validate_email HTTP/1.1"));
}

/// The output line for a response of [`verdict`].
fn verdict_line(email: &str) -> String {
    line_of(&format!("\"input\":\"{email}\""), email)
}

fn line_of(entry: &str, email: &str) -> String {
    format!(
        "{{{entry},\"email\":\"{email}\",\"verdict\":\"deliverable\",\"status\":true,\"cached\":false}}\n"
    )
}

#[test]
fn what_does_not_pass_is_not_tried_again() {
    for (status, headers, body, code, sentence) in [
        (
            401,
            "",
            json!({ "detail": { "error": "Invalid API key." } }),
            4,
            "Invalid API key. Sign in again",
        ),
        (
            429,
            "retry-after: 40000\r\n",
            json!({ "detail": { "error": "Used up.", "limit": "email check" }, "code": "used_up" }),
            5,
            "Used up. `rcpt quota` shows what is left.",
        ),
        (
            429,
            "retry-after: 40000\r\n",
            json!({ "detail": "Too many attempts. Try again in 60 seconds.", "code": "throttled" }),
            5,
            "rcpt: Too many attempts. Try again in 60 seconds.\n",
        ),
        (403, "", json!({ "detail": "No.", "code": "no" }), 12, "No."),
        (302, "location: http://127.0.0.1:1/\r\n", json!({}), 7, "Is the address right?"),
        (200, "", json!({ "hello": "world" }), 7, "doesn't answer as rcpt does"),
    ] {
        let text = body.to_string();
        let service = StandIn::start(move |_, _| (status, headers, text.clone()));
        let home = home();
        let ran = run(&mut at(&home, &service.url, &["check", "a@b.example"]), b"");
        ran.fails(code, sentence);
        assert_eq!(service.requests().len(), 1, "{status}");
    }
}

#[test]
fn a_failure_in_the_middle_loses_no_answer_and_asks_no_more() {
    let service = StandIn::start(|_, request| match email(&request.body).as_str() {
        "stop@b.example" => {
            (401, "", json!({ "detail": { "error": "Invalid API key." } }).to_string())
        }
        address => (200, "", verdict(address)),
    });
    let home = home();
    let mut input: Vec<_> = (0..20).map(|n| format!("a{n}@b.example")).collect();
    input.push("stop@b.example".to_owned());
    input.extend((0..5_000).map(|n| format!("late{n}@b.example")));
    let check = ["check", "-", "--json", "--at-once", "3"];
    let ran = run(&mut at(&home, &service.url, &check), input.join("\n").as_bytes());
    ran.fails(4, "addresses have been answered; the others haven't been.");
    let rows: Vec<Value> = serde_json::from_str(&ran.out).expect("the array is whole");
    let answered = service.requests().len() - 1;
    assert_eq!(rows.len(), answered, "every answer that was paid for is there");
    assert!((20..100).contains(&answered), "{answered}");
    let emails: Vec<_> = rows.iter().take(20).map(|row| row["email"].as_str().unwrap()).collect();
    assert_eq!(emails, input[..20], "in the order of the input");
}

#[test]
fn a_refusal_of_the_service_is_no_verdict() {
    let service = StandIn::start(|_, request| match email(&request.body).as_str() {
        "bad@b.example" => {
            let detail = json!({ "error": "The Idempotency-Key must have 16 to 255 characters." });
            (400, "", json!({ "detail": detail, "code": "invalid_idempotency_key" }).to_string())
        }
        address => (200, "", verdict(address)),
    });
    let home = home();
    for format in ["table", "json", "ndjson"] {
        let check = ["check", "--format", format, "--idempotency-key", "abc", "bad@b.example"];
        let ran = run(&mut at(&home, &service.url, &check), b"");
        ran.fails(12, "The Idempotency-Key must have 16 to 255 characters.");
        let empty = if format == "json" { "[]\n" } else { "" };
        assert_eq!(ran.out, empty, "{format}");
    }
    let list = b"a@b.example\n\nbad@b.example\nc@b.example\n";
    let ran = run(&mut at(&home, &service.url, &["check", "-"]), list);
    ran.fails(12, "The service refuses 1 of 3 addresses");
    let lines: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let entries: Vec<_> = lines.iter().map(|line| (&line["line"], &line["status"])).collect();
    let (t, none) = (json!(true), Value::Null);
    assert_eq!(entries, [(&json!(1), &t), (&json!(3), &none), (&json!(4), &t)]);
    assert_eq!(lines[1]["code"], "invalid_idempotency_key", "{}", lines[1]);
    let ran = run(&mut at(&home, &service.url, &["check", "-", "--format", "table"]), list);
    assert!(!ran.out.contains("undeliverable") && ran.out.contains("not checked"), "{}", ran.out);
}

#[test]
fn a_text_that_is_no_address_in_any_form_has_a_verdict_and_is_not_sent() {
    let service = StandIn::start(|_, request| (200, "", verdict(&email(&request.body))));
    let home = home();
    let list = "a@b.example\nAnn <a@b.example\n<>\n\u{200e}\n\"\"\nb@b.example\n";
    let ran = run(&mut at(&home, &service.url, &["check", "-"]), list.as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    let lines: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let problems: Vec<_> = lines.iter().map(|line| line["details"]["problem"].as_str()).collect();
    let nothing = Some("There is nothing in it.");
    let unmatched = Some("The angle brackets in it don't match.");
    let hollow = Some("There is nothing between the angle brackets.");
    assert_eq!(problems, [None, unmatched, hollow, nothing, nothing, None]);
    assert_eq!(lines[1]["status"], "invalid_format");
    assert_eq!(lines[1]["verdict"], "undeliverable");
    let details = json!({
        "confidence": "high", "reason": "malformed", "problem": "The angle brackets in it don't match.",
        "suggestion": "a@b.example", "catch_all": "unknown", "disposable": false, "free_provider": false,
        "role_account": false, "domain": null, "mx_host": null, "operator": null, "smtp_code": null,
        "enhanced_code": null, "smtp_text": null, "retry_after": null
    });
    assert_eq!(lines[1]["details"], details);
    assert_eq!(service.requests().len(), 2, "only addresses are sent");
    let ran = run(&mut at(&home, &service.url, &["check", "", "--no-details"]), b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    let line: Value = serde_json::from_str(&ran.out).unwrap();
    let expected =
        json!({ "input": "", "email": "", "verdict": "undeliverable", "status": "invalid_format" });
    assert_eq!(line, expected);
}

#[test]
fn a_failure_ends_it_while_the_input_stays_open() {
    let service = StandIn::start(|_, _| {
        (401, "", json!({ "detail": { "error": "Invalid API key." } }).to_string())
    });
    let home = home();
    let mut command = at(&home, &service.url, &["check", "-"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"a@b.example\n").unwrap();
    let ended = child.wait().unwrap();
    assert_eq!(ended.code(), Some(4));
    drop(input);
}

#[test]
fn other_encodings_and_unreadable_lines_have_codes_and_advice_of_their_own() {
    let service = StandIn::start(|_, request| (200, "", verdict(&email(&request.body))));
    let home = home();
    let check = ["check", "-"];
    let ran = run(&mut at(&home, &service.url, &check), b"a@b.example\nj\xf6rg@b.example\n");
    ran.fails(9, "iconv -f WINDOWS-1252 -t UTF-8");
    let first = line_of(r#""line":1,"input":"a@b.example""#, "a@b.example");
    assert_eq!(ran.out, first, "what came before is answered");
    let ran = run(&mut at(&home, &service.url, &check), b"\xff\xfea\0@\0b\0");
    ran.fails(9, "iconv -f UTF-16 -t UTF-8");
    let ran = run(&mut at(&home, &service.url, &check), &vec![b'a'; 200_000]);
    ran.fails(8, "longer than 64 KiB");
}

#[test]
fn a_full_disk_is_said_and_stops_the_spending() {
    let service = StandIn::start(|_, request| (200, "", verdict(&email(&request.body))));
    let home = home();
    let input: Vec<_> = (0..2_000).map(|n| format!("a{n}@b.example")).collect();
    let mut command = at(&home, &service.url, &["check", "-"]);
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    command.stdout(File::options().write(true).open("/dev/full").unwrap());
    let mut child = command.spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(input.join("\n").as_bytes());
    let ended = child.wait_with_output().unwrap();
    let message = String::from_utf8(ended.stderr).unwrap();
    Ran { code: ended.status.code().unwrap(), out: String::new(), stderr: message }
        .fails(10, "the disk is full");
    assert!(service.requests().len() < 100, "{}", service.requests().len());
}

#[test]
fn help_that_cannot_be_written_is_a_failure() {
    for arguments in [&["--help"][..], &["check", "--help"], &["--version"]] {
        let mut command = command(&home());
        command.args(arguments).stderr(Stdio::piped());
        command.stdout(File::options().write(true).open("/dev/full").unwrap());
        let ended = command.spawn().unwrap().wait_with_output().unwrap();
        let message = String::from_utf8(ended.stderr).unwrap();
        Ran { code: ended.status.code().unwrap(), out: String::new(), stderr: message }
            .fails(10, "the disk is full");
    }
    let ran = run(command(&home()).arg("--help"), b"");
    assert!(ran.code == 0 && ran.out.contains("manual"), "{}", ran.out);
}

#[test]
fn a_service_on_this_machine_needs_no_scheme() {
    let service = StandIn::start(|_, request| (200, "", verdict(&email(&request.body))));
    let url = service.url.trim_start_matches("http://");
    let ran = run(&mut at(&home(), url, &["check", "a@b.example"]), b"");
    assert_eq!((ran.code, ran.out), (0, verdict_line("a@b.example")), "{}", ran.stderr);
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let service = StandIn::start(|_, request| (200, "", verdict(&email(&request.body))));
    let home = home();
    let mut command = at(&home, &service.url, &["check", "a@b.example"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), &*ended.stderr), (Some(141), &b""[..]));
}

#[test]
fn a_key_is_kept_for_its_owner_and_its_service_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let quota = || {
        json!({ "plan": "free", "unlimited": false, "resets_at": "2026-11-23T00:00:00Z",
            "email_checks": { "daily_allowance": 100, "used_today": 3, "left_today": 97, "welcome_left": 50 },
            "scans": { "daily_allowance": 1, "used_today": 0, "left_today": 1, "credits": 0 } }).to_string()
    };
    let (service, other) = (
        StandIn::start(move |_, _| (200, "", quota())),
        StandIn::start(move |_, _| (200, "", quota())),
    );
    let home = home();
    let sign_in = ["sign-in", "--key", "--url", &service.url];
    let ran = run(command(&home).args(sign_in), format!("{KEY}\n").as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!ran.stderr.contains(KEY) && ran.out.is_empty(), "{}", ran.stderr);
    let file = home.path().join(".config/rcpt/credentials.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    let ran = run(command(&home).args(["quota", "--json"]), b"");
    assert_eq!(serde_json::from_str::<Value>(&ran.out).unwrap()["email_checks"]["left_today"], 97);
    assert_eq!(service.requests().last().unwrap().header("x-api-key"), Some(KEY));

    let ran = run(command(&home).args(["quota", "--url", &other.url]), b"");
    ran.fails(4, "You've signed in at");
    assert!(other.requests().is_empty(), "the key went to another service");

    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let ran = run(command(&home).arg("quota"), b"");
    assert!(ran.stderr.contains("others can read"), "{}", ran.stderr);

    assert_eq!(run(command(&home).arg("sign-out"), b"").code, 0);
    assert!(!file.exists());
    run(command(&home).args(["quota", "--url", &service.url]), b"")
        .fails(4, "no API key on this machine");
}

#[test]
fn a_named_key_is_kept_though_it_may_not_see_the_quota_and_a_dead_one_is_not() {
    for (status, code, kept) in [
        (403, "missing_right", true),
        (403, "test_key", true),
        (403, "key_deactivated", false),
        (401, "key_expired", false),
    ] {
        let body = json!({ "detail": "This API key can't.", "code": code }).to_string();
        let service = StandIn::start(move |_, _| (status, "", body.clone()));
        let home = home();
        let sign_in = ["sign-in", "--key", "--url", &service.url];
        let ran = run(command(&home).args(sign_in), format!("{KEY}\n").as_bytes());
        let file = home.path().join(".config/rcpt/credentials.json");
        assert_eq!((ran.code == 0, file.exists()), (kept, kept), "{code}: {}", ran.stderr);
        let message = if kept { "Signed in with a named key" } else { "This API key can't." };
        assert!(ran.stderr.contains(message), "{code}: {}", ran.stderr);
    }
}

#[test]
fn a_key_that_is_none_is_an_error_at_once_that_does_not_show_it() {
    let home = home();
    for key in [
        "rcpt_live_secret\n",
        " rcpt_live_secret",
        "rcpt_live_se\r\ncret",
        "rcpt_live_secret\u{fc}",
    ] {
        let mut command = at(&home, "http://127.0.0.1:9", &["check", "a@b.example"]);
        let ran = run(command.env("RCPT_API_KEY", key), b"");
        ran.fails(4, "The API key has characters that no key has.");
        assert!(!ran.stderr.contains("cret"), "{}", ran.stderr);
    }
    let mut command = at(&home, "http://127.0.0.1:9", &["check", "a@b.example"]);
    use std::os::unix::ffi::OsStrExt as _;
    let bytes = std::ffi::OsStr::from_bytes(b"rcpt_live_secret\xff");
    let ran = run(command.env("RCPT_API_KEY", bytes), b"");
    ran.fails(4, "The API key has characters that no key has.");
    let sign_in = ["sign-in", "--key", "--url", "http://127.0.0.1:9"];
    let ran = run(crate::command(&home).args(sign_in), b"rcpt_live_se cret\n");
    ran.fails(4, "The API key has characters that no key has.");
    assert!(!ran.stderr.contains("cret"), "{}", ran.stderr);
    // The key in place of the address.
    let ran = run(&mut at(&home, "rcpt_live_secret", &["quota"]), b"");
    ran.fails(2, "This can't be the service's address");
    assert!(!ran.stderr.contains("cret"), "{}", ran.stderr);
    // An address in place of an id or of an Idempotency-Key.
    let named = ["check", "--idempotency-key", "secret key", "a@b.example"];
    let ran = run(&mut at(&home, "http://127.0.0.1:9", &named), b"");
    ran.fails(12, "An Idempotency-Key has only printable ASCII characters");
    assert!(!ran.stderr.contains("cret"), "{}", ran.stderr);
    let ran = run(&mut at(&home, "http://127.0.0.1:9", &["results", "secret <ann>"]), b"");
    ran.fails(12, "An id of the service has letters");
    assert!(!ran.stderr.contains("cret"), "{}", ran.stderr);
}

#[test]
fn an_answer_that_is_not_the_service_s_is_not_quoted() {
    let body = json!({ "email": "secret@b.example", "status": "secret@b.example" }).to_string();
    let service = StandIn::start(move |_, _| (200, "", body.clone()));
    let ran = run(&mut at(&home(), &service.url, &["check", "a@b.example"]), b"");
    ran.fails(7, "doesn't answer as rcpt does");
    assert!(!ran.stderr.contains("secret"), "{}", ran.stderr);
}

#[test]
fn the_guard_is_asked_about_each_address_and_a_refusal_is_an_exit_code() {
    let service = StandIn::start(|_, request| {
        let email = email(&request.body);
        let is_refused = email.starts_with("bad");
        let answer = json!({
            "decision": if is_refused { "refuse" } else { "allow" }, "email": email, "verdict": "unknown",
            "reason": if is_refused { "blocked_domain" } else { "greylisted" },
            "message": is_refused.then_some("No."), "suggestion": null,
        });
        (200, "", answer.to_string())
    });
    let home = home();
    let ran = run(&mut at(&home, &service.url, &["guard", "a@b.example"]), b"");
    let line = json!({ "decision": "allow", "email": "a@b.example", "verdict": "unknown", "reason": "greylisted",
        "message": null, "suggestion": null });
    assert_eq!(
        (ran.code, serde_json::from_str::<Value>(&ran.out).unwrap()),
        (0, line),
        "{}",
        ran.stderr
    );
    let ran = run(&mut at(&home, &service.url, &["guard", "-"]), b"bad@b.example\na@b.example\n");
    assert_eq!((ran.code, ran.out.lines().count()), (1, 2), "{}", ran.stderr);
    let requests = service.requests();
    assert!(requests.iter().all(|request| request.line == "POST /v1/guard/decide HTTP/1.1"));
}

#[test]
fn completions_and_manual_pages_tell_of_every_command() {
    let home = home();
    let completions = run(command(&home).args(["completions", "bash"]), b"");
    assert!(
        completions.out.contains("sign-in") && completions.out.contains("_rcpt"),
        "{}",
        completions.out
    );
    let folder = home.path().join("man");
    assert_eq!(run(command(&home).arg("manual").arg(&folder), b"").code, 0);
    let page = fs::read_to_string(folder.join("rcpt.1")).unwrap();
    assert!(page.contains("RCPT_API_KEY") && page.contains("Exit codes:"), "{page}");
    for sub in ["check", "quota", "sign\\-in"] {
        assert!(page.contains(sub), "{sub}");
        assert!(folder.join(format!("rcpt-{}.1", sub.replace('\\', ""))).exists(), "{sub}");
    }
}
