//! All clients against services that are silent, send byte by byte, always fail, or are newer
//! than the client.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

use rcpt_tests::{
    CommandLine,
    people::command::{Ran, ran},
    process::folder,
};
use serde_json::{Value, json};
use tokio::{process::Command, time::Instant};

use crate::packages::{Installed, installed};

/// Starts a service that passes each connection to `serve`, with the number of earlier connections.
fn service(serve: impl Fn(usize, TcpStream) + Send + Sync + Copy + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for (before, stream) in listener.incoming().flatten().enumerate() {
            thread::spawn(move || serve(before, stream));
        }
    });
    url
}

/// Reads a request that arrives in one piece, and answers it.
fn answer(mut stream: TcpStream, status: &str, headers: &str, body: &str) {
    let _ = stream.read(&mut [0; 8192]);
    respond(stream, status, headers, body);
}

fn respond(mut stream: TcpStream, status: &str, headers: &str, body: &str) {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}");
    let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes());
}

/// The URL of a receiver that accepts every webhook.
pub fn receiver() -> String {
    service(|_, stream| answer(stream, "204 No Content", "", ""))
}

fn in_use(stream: TcpStream) {
    let body = json!({ "detail": "A request with this Idempotency-Key is being answered.",
        "code": "idempotency_key_in_use" });
    answer(stream, "409 Conflict", "retry-after: 1\r\n", &body.to_string());
}

/// Serves one scan, of `a@b.example` and `c@d.example` in this order.
fn scan(mut stream: TcpStream) {
    let mut request = [0; 8192];
    let read = stream.read(&mut request).unwrap_or_default();
    let request = String::from_utf8_lossy(&request[..read]).into_owned();
    let body = if request.contains("/match ") {
        // The body may arrive in a separate packet.
        let mut more = [0; 8192];
        let rest = if request.contains("@b.example") {
            0
        } else {
            stream.read(&mut more).unwrap_or_default()
        };
        let all = request + &String::from_utf8_lossy(&more[..rest]);
        json!({ "matches": all.find("a@b.example") < all.find("c@d.example") })
    } else if request.contains("/results") {
        let result = |position: u32, status: bool| {
            let verdict = if status { "deliverable" } else { "undeliverable" };
            json!({ "position": position, "status": status, "verdict": verdict, "final": true })
        };
        json!({ "results": [result(0, true), result(1, false)], "next": null })
    } else {
        let counts: serde_json::Map<_, _> = [
            "true",
            "false",
            "invalid_format",
            "domain_not_found",
            "no_mx_records",
            "blocked_by_provider",
            "smtp_connect_error",
            "smtp_timeout",
            "fatal_exception",
        ]
        .map(|word| (word.to_owned(), json!(0)))
        .into_iter()
        .collect();
        let by_verdict = json!({ "deliverable": 0, "undeliverable": 0, "risky": 0, "unknown": 0 });
        json!({ "id": "scan_1", "name": "", "state": "completed", "total": 2, "received": 2, "answered": 2,
            "waiting": 0, "counts": counts, "by_verdict": by_verdict, "details": false, "created_at": "2026-11-24T00:00:00Z",
            "completed_at": null, "results_until": null, "estimated_seconds_left": null,
            "next_retry_at": null, "retries_until": null })
    };
    respond(stream, "200 OK", "", &body.to_string());
}

fn quota_of(plan: &str) -> String {
    let checks = json!({ "daily_allowance": 100, "used_today": 0, "left_today": 100, "welcome_left": 50, "new": 1 });
    let scans = json!({ "daily_allowance": 1, "used_today": 0, "left_today": 1, "credits": 0, "scan_size": 200 });
    let body = json!({ "plan": plan, "unlimited": false, "resets_at": "2026-11-24T00:00:00Z",
        "email_checks": checks, "scans": scans, "total_scans": 0, "completed_scans": 0 });
    body.to_string()
}

/// The services' URLs by behaviour.
fn services() -> Value {
    // The stream stays open until the client closes it.
    let silent =
        service(|_, mut stream| while stream.read(&mut [0; 512]).is_ok_and(|read| read > 0) {});
    let drip = service(|_, mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nx-drip: ");
        while stream.write_all(b"a").is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    });
    let busy = service(|_, stream| {
        let body = json!({ "detail": "Temporarily unavailable.", "code": "unavailable" });
        answer(stream, "503 Service Unavailable", "x-request-id: request-1\r\n", &body.to_string());
    });
    let in_use_of_ours = service(|before, stream| {
        if before > 0 {
            in_use(stream);
        }
    });
    let used_up = service(|_, stream| {
        let detail = json!({ "error": "Used up.", "limit": "email check", "resets_at": "2026-11-24T00:00:00Z" });
        let body = json!({ "detail": detail, "code": "allowance_used_up", "doc_url": "https://rcpt.example.net/docs" });
        let headers = "retry-after: 40000\r\nx-request-id: request-1\r\n";
        answer(stream, "429 Too Many Requests", headers, &body.to_string());
    });
    let page = service(|_, stream| answer(stream, "404 Not Found", "", "<html>"));
    let newer = service(|_, stream| {
        // Members of details that later releases may leave out, and an unknown reason.
        let details = json!({ "confidence": "medium", "reason": "a_new_reason", "problem": null,
            "operator": null, "mx_host": null, "smtp_code": null, "enhanced_code": null, "smtp_text": null,
            "catch_all": "unknown", "disposable": false, "role_account": false, "free_provider": false, "suggestion": null,
            "retry_after": null, "domain": null });
        let body = json!({ "email": "a@b.example", "verdict": "risky", "status": true, "cached": false, "news": [1], "details": details });
        answer(stream, "200 OK", "", &body.to_string());
    });
    // Answers with a quota, whose plan is the path that was asked for.
    let paths = service(|_, mut stream| {
        let mut request = [0; 8192];
        let read = stream.read(&mut request).unwrap_or_default();
        let request = String::from_utf8_lossy(&request[..read]).into_owned();
        let path = request.split(' ').nth(1).unwrap_or_default();
        respond(stream, "200 OK", "", &quota_of(path));
    });
    let quota = service(|_, stream| answer(stream, "200 OK", "", &quota_of("free")));
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    json!({
        "silent": silent, "drip": drip, "busy": busy, "in_use": in_use_of_ours, "closed": format!("http://{closed}"),
        "in_use_elsewhere": service(|_, stream| in_use(stream)), "used_up": used_up, "page": page, "newer": newer,
        "quota": quota, "paths": paths, "scan": service(|_, stream| scan(stream)),
    })
}

async fn passes(mut driver: Command) {
    driver
        .arg(services().to_string())
        .current_dir(folder::repository().join("tests/tests/clients"));
    let Ran { code, stderr, .. } = ran(driver, "").await;
    assert_eq!(code, 0, "{stderr}");
}

#[tokio::test]
async fn the_typescript_client_keeps_its_time_and_tells_all_of_an_error() {
    let mut driver = Command::new("node");
    driver.arg("behaviour.mjs").arg(&installed().await.typescript);
    passes(driver).await;
}

#[tokio::test]
async fn the_python_client_keeps_its_time_and_tells_all_of_an_error() {
    let Installed { interpreter, .. } = installed().await;
    let mut driver = Command::new(interpreter);
    driver.arg("behaviour.py");
    passes(driver).await;
}

#[tokio::test]
async fn the_command_keeps_its_time_and_never_tells_of_its_own_repetition() {
    let services = services();
    for (name, code) in [("silent", 6), ("drip", 6), ("busy", 7), ("in_use", 6), ("closed", 6)] {
        let command = CommandLine::new(services[name].as_str().unwrap()).with_key("key");
        // Builds the command before the time is measured.
        command.run(&["--version"], "").await;
        let start = Instant::now();
        let ran = command.run(&["--timeout", "4", "check", "a@b.example"], "").await;
        let seconds = start.elapsed().as_secs_f64();
        assert_eq!(ran.code, code, "{name}: {ran:?}");
        assert!(seconds < 6.0, "{name}: {seconds} s");
        assert!(!ran.stderr.contains("Idempotency"), "{name}: {ran:?}");
    }
    let command = |name: &str| CommandLine::new(services[name].as_str().unwrap()).with_key("key");
    let ran = command("quota").run(&["quota", "--json"], "").await;
    let quota = &ran.lines()[0];
    assert_eq!(
        (&quota["scans"]["scan_size"], &quota["email_checks"]["new"]),
        (&json!(200), &json!(1))
    );
    let ran = command("busy").run(&["--timeout", "0.1", "quota"], "").await;
    assert!(ran.stderr.contains("quote the request request-1"), "{ran:?}");
}
