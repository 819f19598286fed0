//! `rcpt listen` and `rcpt trigger`, with stand-ins for the service and the receiver.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    process::Stdio,
    time::SystemTime,
};

use rcpt_client::{WebhookEvent, WebhookHeaders, verify_webhook};
use serde_json::{Value, json};

use super::{at, command, home, run};
use crate::stand_in::{ReceivedRequest, StandIn};

/// The event of a request if it is signed with this secret.
fn verified_event(request: &ReceivedRequest, secret: &str) -> WebhookEvent {
    let header = |name: &str| request.header(name).unwrap();
    let headers = WebhookHeaders {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signature: header("webhook-signature"),
    };
    #[expect(clippy::disallowed_methods, reason = "natively")]
    let now = SystemTime::now();
    verify_webhook(request.body.as_bytes(), &headers, &[secret], now).unwrap()
}

/// The signing secret that the command has printed.
fn secret_of(text: &str) -> &str {
    let start = text.find("whsec_").unwrap();
    text[start..].split_whitespace().next().unwrap()
}

fn event(n: usize) -> Value {
    let event = json!({ "type": "scan.completed", "timestamp": "2026-11-23T18:00:00Z", "data": { "id": n } });
    json!({ "id": format!("msg_{n}"), "event": event })
}

/// Starts a service with one event before the first request, and two later, one after the other.
fn service() -> StandIn {
    StandIn::start(|before, request| {
        let cursor =
            request.line.split_once("after=").map(|(_, rest)| rest.split(' ').next().unwrap());
        let (events, next) = match cursor {
            None => (vec![event(0)], "a"),
            // No event since the cursor.
            Some("a") if before < 3 => (vec![], "a"),
            Some("a") => (vec![event(1)], "b"),
            Some("b") => (vec![event(2)], "c"),
            Some(_) => (vec![], "c"),
        };
        (200, "", json!({ "events": events, "next": next }).to_string())
    })
}

#[test]
fn events_are_forwarded_once_signed_and_a_receiver_that_fails_misses_none() {
    let home = home();
    for (replay, expected) in [(false, vec![1, 2]), (true, vec![0, 1, 2])] {
        let (service, receiver) = (
            service(),
            StandIn::start(|before, _| (if before == 0 { 500 } else { 204 }, "", String::new())),
        );
        let mut listen = at(&home, &service.url, &["listen", "--forward-to", &receiver.url]);
        if replay {
            listen.arg("--replay");
        }
        let mut child = listen.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut message = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut message).unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let lines: Vec<_> = lines.take(expected.len()).map(Result::unwrap).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        let statuses = [500, 204, 204].into_iter().take(expected.len());
        let numbered_statuses: Vec<_> = expected.iter().zip(statuses).collect();
        let expected_lines: Vec<_> = numbered_statuses
            .iter()
            .map(|(n, status)| format!("scan.completed  msg_{n}  {status}"))
            .collect();
        assert_eq!(lines, expected_lines);
        let requests = receiver.requests();
        let ids: Vec<_> = requests
            .iter()
            .map(|request| verified_event(request, secret_of(&message)).data["id"].clone())
            .collect();
        assert_eq!(ids, expected.iter().map(|n| json!(n)).collect::<Vec<_>>());
        assert!(requests.iter().all(|request| request.header("x-api-key").is_none()));
    }
}

#[test]
fn an_event_is_triggered_without_the_service_under_the_same_secret() {
    let home = home();
    let receiver = StandIn::start(|_, _| (200, "", String::new()));
    let recorded = include_str!("../../../../edge/data/examples.json");
    let recorded: Value = serde_json::from_str(recorded).unwrap();
    let mut secrets = Vec::new();
    let kinds = ["scan.completed", "scan.expired", "webhook.test"];
    for kind in kinds.into_iter().chain(["allowance.nearly_used", "allowance.used_up"]) {
        let ran = run(command(&home).args(["trigger", kind, "--forward-to", &receiver.url]), b"");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let event = verified_event(receiver.requests().last().unwrap(), secret_of(&ran.stderr));
        assert_eq!(event.kind, kind);
        // The recorded event, except for values that differ each time.
        let mut recorded = recorded[kind][0]["request"]["data"].clone();
        if let Some(id) = recorded.get_mut("id") {
            *id = event.data["id"].clone();
        }
        assert_eq!(event.data, recorded);
        secrets.push(secret_of(&ran.stderr).to_owned());
    }
    assert!(secrets.windows(2).all(|pair| pair[0] == pair[1]), "{secrets:?}");
    let file = home.path().join(".config/rcpt/webhook-secret");
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);

    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let trigger = ["trigger", "scan.completed", "--forward-to", &receiver.url];
    let ran = run(command(&home).args(trigger).env("RCPT_WEBHOOK_SECRET", secret), b"");
    assert_eq!(secret_of(&ran.stderr), secret);
    verified_event(receiver.requests().last().unwrap(), secret);

    let refusing = StandIn::start(|_, _| (401, "", String::new()));
    let trigger = ["trigger", "scan.completed", "--forward-to", &refusing.url];
    run(command(&home).args(trigger), b"").fails(12, "answers with status 401");
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let closed = format!("http://127.0.0.1:{port}/hook");
    run(command(&home).args(["trigger", "scan.completed", "--forward-to", &closed]), b"")
        .fails(6, &format!("Nothing listens at {closed}. Start your receiver first."));
    let nowhere = ["trigger", "scan.completed", "--forward-to", "localhost:3000"];
    run(command(&home).args(nowhere), b"")
        .fails(2, "isn't a URL such as http://localhost:3000/hook");
    run(command(&home).args(["trigger", "scan.lost"]), b"").fails(2, "scan.completed");
}
