//! `rcpt scans` and `rcpt results`: lists scans, and prints results.

use std::io::{self, IsTerminal as _};

use rcpt_client::{Scan, ScanResult};
use serde_json::Value;

use crate::{
    args::{Results, ResultsFormat, ScanAction, Service},
    credentials,
    failure::{Failure, RunExit},
    output::print,
};

pub fn list(service: &Service) -> Result<RunExit, Failure> {
    let client = credentials::client(service, credentials::TIMEOUT)?;
    let is_read_by_people = io::stdout().is_terminal();
    let mut before = None;
    loop {
        let is_first = before.is_none();
        let page = client.scans(before.as_deref())?;
        if is_first && is_read_by_people && page.scans.is_empty() {
            anstream::eprintln!("No scans yet. Start one with `rcpt scan FILE`.");
        }
        for scan in &page.scans {
            if is_read_by_people {
                print(&format!(
                    "{}  {:<9}  {:>7} of {:>7}  {}  {}",
                    scan.id,
                    scan.state,
                    scan.answered,
                    scan.total,
                    scan.name,
                    verdicts_in_words(scan)
                ))?;
            } else {
                print(&serde_json::to_string(scan).unwrap_or_default())?;
            }
        }
        before = page.next;
        if before.is_none() {
            return Ok(RunExit::Good);
        }
    }
}

pub fn verdicts_in_words(scan: &Scan) -> String {
    let words = ["deliverable", "undeliverable", "risky", "unknown"];
    let counts = words.map(|word| (scan.by_verdict.get(word).copied().unwrap_or_default(), word));
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

pub fn act(service: &Service, action: &ScanAction) -> Result<RunExit, Failure> {
    let client = credentials::client(service, credentials::TIMEOUT)?;
    match action {
        ScanAction::Cancel { ids } => {
            for id in ids {
                let scan = client.cancel_scan(id)?;
                let (answered, total) = (scan.answered, scan.total);
                anstream::eprintln!(
                    "{id} is {}: {answered} of {total} have a verdict.",
                    scan.state
                );
            }
        }
        ScanAction::Delete { ids } => {
            for id in ids {
                client.delete_scan(id)?;
                anstream::eprintln!("{id} is gone, with its results.");
            }
        }
    }
    Ok(RunExit::Good)
}

pub fn results(service: &Service, args: &Results) -> Result<RunExit, Failure> {
    let client = credentials::client(service, credentials::TIMEOUT)?;
    let mut after = None;
    if args.format == ResultsFormat::Csv {
        print(&COLUMNS.join(","))?;
    }
    loop {
        let page = match args.interim {
            true => client.interim_results(&args.id, after)?,
            false => client.results(&args.id, after)?,
        };
        for result in &page.results {
            match args.format {
                ResultsFormat::Ndjson => print(&serde_json::to_string(result).unwrap_or_default())?,
                ResultsFormat::Csv => print(&row(result))?,
            }
        }
        after = page.next;
        if after.is_none() {
            return Ok(RunExit::Good);
        }
    }
}

/// Columns of the CSV. New ones may be added at the end.
const COLUMNS: [&str; 15] = [
    "position",
    "status",
    "verdict",
    "confidence",
    "reason",
    "operator",
    "smtp_code",
    "enhanced_code",
    "catch_all",
    "disposable",
    "role_account",
    "free_provider",
    "retry_after",
    "problem",
    "final",
];

fn row(result: &ScanResult) -> String {
    let value = serde_json::to_value(result).unwrap_or_default();
    let fields = COLUMNS.map(|column| match value.get(column) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    });
    // Words and numbers need no quotes, but a later version of the service may send other texts.
    let quoted = fields.map(|field| match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    });
    quoted.join(",")
}
