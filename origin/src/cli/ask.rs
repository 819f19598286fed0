//! `origin ask`: prints verdicts with their evidence, without an edge; if one stays undecided, also this machine's
//! defects.

use std::{fmt, io::Write as _, sync::Arc, time::Duration};

use rcpt_pool::Asker;
use rcpt_shared::{
    Address, BatchAnswer, BatchLine, BatchRequest, Deliverability, Details, Malformed, Reason,
    Stage, Status, Verdict, read,
};
use rcpt_smtp::Reply;
use serde::Serialize;

use super::explain::is_undecided;
use crate::{
    State,
    doctor::{self, Finding, Health},
    http::{RequestId, ask_all},
};

const EXIT_UNDECIDED: u8 = 3;

#[derive(Debug, Serialize)]
struct Row {
    address: String,
    #[serde(flatten)]
    outcome: RowOutcome,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum RowOutcome {
    Asked(Box<Verdict>),
    Malformed { status: Status, problem: String, suggestion: Option<String> },
}

impl RowOutcome {
    fn deliverability(&self) -> Deliverability {
        match self {
            Self::Malformed { .. } => Deliverability::Undeliverable,
            Self::Asked(verdict) => verdict.deliverability(),
        }
    }
}

pub async fn ask(state: &Arc<State>, addresses: &[String], json: bool) -> u8 {
    state.prober.clone().learn_own_addresses().await;
    let mut is_open = false;
    for row in rows(state, addresses).await {
        is_open |= row.outcome.deliverability() == Deliverability::Unknown;
        print(&row, json);
    }
    state.prober.close().await;
    if !is_open {
        return 0;
    }
    eprintln!("\nAt least one verdict is unknown. Examining this machine …");
    let findings = doctor::examine(state).await.findings;
    let reasons: Vec<_> = findings.into_iter().filter(|it| it.health > Health::Unknown).collect();
    explain(&reasons);
    EXIT_UNDECIDED
}

/// A single address is a single check, several are a list: neighbours may decide what one reply leaves open.
async fn rows(state: &Arc<State>, texts: &[String]) -> Vec<Row> {
    let read: Vec<_> = texts.iter().map(|text| read(text)).collect();
    let addresses: Vec<Address> = read.iter().filter_map(|it| it.clone().ok()).collect();
    let mut verdicts = match addresses.as_slice() {
        [address] => {
            let question = state.prober.question(address.clone());
            vec![state.prober.probe(&question, None).await]
        }
        _ => listed(state, addresses).await,
    }
    .into_iter();
    let outcome = |read: Result<Address, Malformed>| match read {
        Ok(_) => RowOutcome::Asked(Box::new(verdicts.next().unwrap_or_else(not_asked))),
        Err(malformed) => RowOutcome::Malformed {
            status: Status::InvalidFormat,
            problem: malformed.problem(),
            suggestion: malformed.suggestion(),
        },
    };
    let outcomes = read.into_iter().map(outcome);
    texts.iter().cloned().zip(outcomes).map(|(address, outcome)| Row { address, outcome }).collect()
}

async fn listed(state: &Arc<State>, addresses: Vec<Address>) -> Vec<Verdict> {
    let mut verdicts = vec![not_asked(); addresses.len()];
    let batch = BatchRequest { addresses };
    let Some(id) = RequestId::parse("ask") else { return verdicts };
    let lines = ask_all(state.clone(), batch, (Duration::MAX, None), Asker::default(), id);
    let Ok(mut lines) = lines else { return verdicts };
    while let Some(line) = lines.recv().await {
        if let BatchLine::Answer(BatchAnswer { index, verdict }) = line
            && let Some(place) = verdicts.get_mut(index)
        {
            *place = verdict;
        }
    }
    verdicts
}

fn not_asked() -> Verdict {
    Verdict::new(Status::FatalException, Reason::OurLimit, Stage::Connect)
}

/// A closed output, as by `head`, isn't an error.
fn print(row: &Row, json: bool) {
    let mut out = std::io::stdout().lock();
    let _ = match json.then(|| serde_json::to_string(row)) {
        Some(Ok(line)) => writeln!(out, "{line}"),
        _ => writeln!(out, "{row}"),
    };
}

fn explain(reasons: &[Finding]) {
    if reasons.is_empty() {
        eprintln!(
            "Nothing is wrong with this machine: the mail servers said nothing about the mailbox."
        );
    }
    for reason in reasons {
        eprintln!("{reason}");
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {}", self.address, self.outcome.deliverability().as_str())?;
        match &self.outcome {
            RowOutcome::Malformed { problem, suggestion, .. } => {
                write!(f, "\n    {problem}")?;
                match suggestion {
                    Some(suggestion) => write!(f, " Perhaps {suggestion} was meant."),
                    None => Ok(()),
                }
            }
            RowOutcome::Asked(verdict) => evidence(f, verdict),
        }
    }
}

fn evidence(f: &mut fmt::Formatter<'_>, verdict: &Verdict) -> fmt::Result {
    let Verdict { status, reason, stage, .. } = verdict;
    write!(f, "\n    status {}, reason {}", status.as_str(), reason.as_str())?;
    if let Some(host) = &verdict.mx_host {
        write!(f, ", {host}")?;
    }
    if *stage != Stage::Dns {
        write!(f, ", at {}", stage.as_str())?;
    }
    if let Some(seconds) = verdict.retry_after {
        write!(f, ", try again in {seconds} s")?;
    }
    let Some(details) = &verdict.details else { return Ok(()) };
    reply(f, verdict, details)?;
    let Details { confidence, catch_all, traits, .. } = &**details;
    write!(f, "\n    confidence {}, catch-all {}", confidence.as_str(), catch_all.as_str())?;
    if let Some(operator) = &details.operator {
        write!(f, ", operator {operator}")?;
    }
    if let Some(domain) = &traits.suggested_domain {
        write!(f, ", perhaps {domain} was meant")?;
    }
    Ok(())
}

fn reply(f: &mut fmt::Formatter<'_>, verdict: &Verdict, details: &Details) -> fmt::Result {
    let Some(code) = verdict.smtp_code else { return Ok(()) };
    let enhanced = verdict.enhanced_code.iter().map(String::as_str);
    let words: Vec<_> = enhanced.chain(details.smtp_text.as_deref()).collect();
    let said = format!("{code} {}", words.join(" "));
    write!(f, "\n    the server said: {said}")?;
    let is_undecided = Reply::parse(&format!("{said}\r\n")).is_some_and(|it| is_undecided(&it));
    match (is_undecided, verdict.status) {
        (true, Status::Refused) => {
            write!(f, "\n    it says the same to a name that doesn't exist, and accepts neighbours")
        }
        (true, _) => {
            write!(f, "\n    undecided: no rule knows these words, and no neighbours explain them")
        }
        (false, _) => Ok(()),
    }
}
