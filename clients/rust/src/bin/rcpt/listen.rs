//! `rcpt listen`: the account's events, forwarded to a receiver on this machine. `rcpt trigger`
//! sends fictitious events.

use std::{
    thread,
    time::{Duration, UNIX_EPOCH},
};

use chrono::{DateTime, SecondsFormat};
use rcpt_client::{Client, Error, Event};
use serde_json::{Value, json};

use crate::{
    args::{EventKind, Listen, Service, Trigger},
    credentials,
    deliveries::{Receiver, now},
    failure::{Failure, Kind, RunExit},
    output::print,
};

const LOOK: Duration = Duration::from_secs(2);
const LONGER: Duration = Duration::from_secs(15);

pub fn run(service: &Service, args: &Listen) -> Result<RunExit, Failure> {
    let receiver = Receiver::new(&args.forward_to)?;
    let client = credentials::client(service, credentials::TIMEOUT)?;
    let mut cursor = if args.replay { None } else { Some(end_of_events(&client)?) };
    anstream::eprintln!(
        "Forwarding events to {}. They are signed with {}\nCtrl-C ends it.",
        args.forward_to,
        receiver.secret
    );
    loop {
        let page = match client.events(cursor.as_deref()) {
            Ok(page) => page,
            Err(error) if error.is_transient() => {
                anstream::eprintln!("rcpt: {error}");
                thread::sleep(LONGER);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        for event in &page.events {
            forward(&receiver, event)?;
        }
        let is_end = page.events.is_empty();
        cursor = Some(page.next);
        if is_end {
            thread::sleep(LOOK);
        }
    }
}

fn end_of_events(client: &Client) -> Result<String, Failure> {
    let mut page = client.events(None).map_err(|error| match error {
        Error::Refused { status: 404, .. } => {
            let message = "This service is older than this command: it can't tell its events.";
            Failure::new(Kind::Refused, message)
        }
        other => other.into(),
    })?;
    while !page.events.is_empty() {
        page = client.events(Some(&page.next))?;
    }
    Ok(page.next)
}

/// A receiver that fails still gets later events.
fn forward(receiver: &Receiver, Event { id, event, .. }: &Event) -> Result<(), Failure> {
    let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
    let outcome = match receiver.deliver(id, &event.to_string(), now()) {
        Ok(status) => status.to_string(),
        Err(failure) => failure.message().to_owned(),
    };
    print(&format!("{kind}  {id}  {outcome}"))
}

pub fn trigger(args: &Trigger) -> Result<RunExit, Failure> {
    let receiver = Receiver::new(&args.forward_to)?;
    let now = now();
    let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let time = i64::try_from(seconds).ok().and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    let time = time.unwrap_or_default().to_rfc3339_opts(SecondsFormat::Secs, true);
    let (id, event) = made_up(args.event, &time);
    let status = receiver.deliver(&id, &event.to_string(), now)?;
    anstream::eprintln!("Signed with {}", receiver.secret);
    print(&format!("{}  {id}  {status}", args.event.name()))?;
    match status {
        200..300 => Ok(RunExit::Good),
        _ => {
            let message = format!("{} answers with status {status}.", args.forward_to);
            Err(Failure::new(Kind::Refused, message))
        }
    }
}

/// The `webhook-id`, and an event in the service's format.
fn made_up(kind: EventKind, time: &str) -> (String, Value) {
    let digits = hex::encode(rand::random::<[u8; 14]>());
    // Counts of `[true, false, fatal_exception]` for two addresses.
    let scan = |state: &str, [valid, invalid, failed]: [u64; 3]| {
        json!({
            "id": format!("scan_{digits}"), "state": state, "total": 2, "answered": 2,
            "counts": {
                "true": valid, "false": invalid, "invalid_format": 0, "domain_not_found": 0,
                "no_mx_records": 0, "smtp_connect_error": 0, "smtp_timeout": 0,
                "blocked_by_provider": 0, "fatal_exception": failed,
            },
            "by_verdict": {
                "deliverable": valid, "undeliverable": invalid, "risky": 0, "unknown": failed,
            },
        })
    };
    let checks = |used: u64| json!({ "daily_allowance": 5_000, "used_today": used });
    let data = match kind {
        EventKind::ScanCompleted => scan("completed", [1, 1, 0]),
        EventKind::ScanExpired => scan("expired", [0, 0, 2]),
        EventKind::AllowanceNearlyUsed => checks(4_000),
        EventKind::AllowanceUsedUp => checks(5_000),
        EventKind::WebhookTest => json!({}),
    };
    let event = json!({ "type": kind.name(), "timestamp": time, "data": data });
    (format!("msg_{digits}"), event)
}
