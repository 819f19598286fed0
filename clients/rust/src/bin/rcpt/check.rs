//! `rcpt check`: checks many addresses concurrently, and writes the verdicts in the order of the
//! input.

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal as _},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, SyncSender},
    },
    thread,
    time::Duration,
};

use parking_lot::Mutex;
use rcpt_client::{
    CatchAll, Client, Confidence, Deliverability, Details, Error, Malformed, Status, Validation,
};

use crate::{
    args::{Check, Format, Service},
    credentials,
    failure::{Failure, Kind, RunExit},
    input::{self, Entry},
    output::{Outcome, Row, Rows},
};

const ADDRESS_WIDTH: usize = 36;
const LOOK: Duration = Duration::from_millis(50);

type Question = (usize, Result<Entry, Failure>);
type NumberedRow = (usize, Result<Row, Failure>);

pub fn run(service: &Service, args: &Check) -> Result<RunExit, Failure> {
    let key = args.idempotency_key.as_deref();
    if key.is_some() && is_one_of_many(args) && !args.together {
        let message = "An --idempotency-key is for one address, or for a list --together: each check needs a key of its own.";
        return Err(Failure::new(Kind::CommandLine, message));
    }
    let client = credentials::client(service, credentials::TIMEOUT)?;
    let format = match (args.json, args.format) {
        (true, _) => Format::Json,
        (false, Some(format)) => format,
        (false, None) if io::stdout().is_terminal() => Format::Table,
        (false, None) => Format::Ndjson,
    };
    let longest = args.addresses.iter().map(|address| address.chars().count()).max();
    let is_listed = !args.addresses.iter().any(|address| address == "-");
    let width = longest.filter(|_| is_listed).unwrap_or(ADDRESS_WIDTH);
    // Omits colours if the output isn't a terminal.
    let mut rows = Rows::new(anstream::AutoStream::auto(io::stdout().lock()), format, width);
    let outcome = match args.together {
        true => together(&client, args, &mut rows),
        false => checked(&client, args, &mut rows),
    };
    // Responses received so far are written completely, even if a later request failed.
    let closed = rows.end();
    outcome.and_then(|outcome| closed.map(|()| outcome))
}

fn together<W: io::Write>(
    client: &Client,
    args: &Check,
    rows: &mut Rows<W>,
) -> Result<RunExit, Failure> {
    let entries = input::entries(&args.addresses).collect::<Result<Vec<_>, _>>()?;
    let emails: Vec<&str> = entries.iter().map(|entry| entry.input.as_str()).collect();
    let key = args.idempotency_key.as_deref();
    let list = client.check_list(&emails, !args.no_details, args.deadline, key)?;
    let mut outcome = RunExit::Good;
    for (entry, answer) in entries.into_iter().zip(list.results) {
        let row = Row { entry, outcome: Outcome::Verdict(Box::new(answer)) };
        outcome = row.verdict().map_or(outcome, |verdict| worse(outcome, verdict));
        rows.write(&row)?;
    }
    Ok(outcome)
}

fn checked<W: io::Write>(
    client: &Client,
    args: &Check,
    rows: &mut Rows<W>,
) -> Result<RunExit, Failure> {
    let (questions, question_receiver) = mpsc::sync_channel::<Question>(1);
    let (answers, answer_receiver) = mpsc::sync_channel(usize::from(args.at_once));
    let receiver = Mutex::new(question_receiver);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let stop = &stop;
        // The reading thread isn't scoped: the scope would wait for it, even when it reads a terminal.
        let addresses = args.addresses.clone();
        thread::spawn(move || read(&addresses, &questions));
        for _ in 0..args.at_once {
            let (receiver, answers, client) = (&receiver, answers.clone(), client.clone());
            scope.spawn(move || answer(&client, args, receiver, &answers, stop));
        }
        drop(answers);
        let outcome = write(rows, &answer_receiver, stop);
        // A worker that waits for room in the channel finds it closed and ends.
        drop(answer_receiver);
        outcome
    })
}

fn read(addresses: &[String], questions: &SyncSender<Question>) {
    for question in input::entries(addresses).enumerate() {
        if questions.send(question).is_err() {
            return;
        }
    }
}

fn answer(
    client: &Client,
    args: &Check,
    receiver: &Mutex<Receiver<Question>>,
    answers: &SyncSender<NumberedRow>,
    stop: &AtomicBool,
) {
    while !stop.load(Ordering::Relaxed) {
        let next = receiver.lock().recv_timeout(LOOK);
        let (index, entry) = match next {
            Ok(question) => question,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let row = entry.and_then(|entry| row(client, args, entry));
        if row.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        if answers.send((index, row)).is_err() {
            return;
        }
    }
}

fn row(client: &Client, args: &Check, entry: Entry) -> Result<Row, Failure> {
    let email = &entry.input;
    if let Some(malformed) = rcpt_client::read(email).err().filter(Malformed::is_unreadable) {
        let outcome = Outcome::Verdict(Box::new(verdict_of(&malformed, !args.no_details)));
        return Ok(Row { entry, outcome });
    }
    let key = args.idempotency_key.as_deref();
    let answer = match (args.deadline, key, args.no_details) {
        (Some(deadline), key, no_details) => client.check_by(deadline, key, email, !no_details),
        (None, Some(key), no_details) => client.check_under(key, email, !no_details),
        (None, None, false) => client.check_with_details(email),
        (None, None, true) => client.check(email),
    };
    let outcome = match answer {
        Ok(answer) => Outcome::Verdict(Box::new(answer)),
        // A text that can't be checked doesn't end the run.
        Err(Error::Refused { status: 400 | 413, message, code, .. }) if is_one_of_many(args) => {
            Outcome::Refusal { error: message, code }
        }
        Err(error) => return Err(error.into()),
    };
    Ok(Row { entry, outcome })
}

/// The verdict about a text that a single check refuses as a mistake of the request: the one it would have in a list.
fn verdict_of(malformed: &Malformed, details: bool) -> Validation {
    let details = details.then(|| Details {
        confidence: Confidence::High,
        reason: "malformed".to_owned(),
        problem: Some(malformed.problem()),
        operator: None,
        mx_host: None,
        smtp_code: None,
        enhanced_code: None,
        smtp_text: None,
        catch_all: CatchAll::Unknown,
        domain: None,
        disposable: false,
        role_account: false,
        free_provider: false,
        suggestion: malformed.suggestion(),
        retry_after: None,
        further: BTreeMap::new(),
    });
    Validation {
        email: malformed.text().to_owned(),
        verdict: Deliverability::Undeliverable,
        status: Status::InvalidFormat,
        cached: None,
        pending: false,
        details,
        further: BTreeMap::new(),
    }
}

fn is_one_of_many(args: &Check) -> bool {
    !matches!(&args.addresses[..], [address] if address != "-")
}

/// Keeps the order of the input. After a failure no further address is checked, but verdicts received by then are
/// written, since they were charged.
fn write<W: io::Write>(
    rows: &mut Rows<W>,
    answers: &Receiver<NumberedRow>,
    stop: &AtomicBool,
) -> Result<RunExit, Failure> {
    let mut early = BTreeMap::new();
    let (mut next, mut outcome, mut refusals, mut failure) = (0, RunExit::Good, 0, None);
    let mut write_row = |row: &Row, rows: &mut Rows<W>| {
        match row.verdict() {
            Some(verdict) => outcome = worse(outcome, verdict),
            None => refusals += 1,
        }
        let written = rows.write(row);
        stop.fetch_or(written.is_err(), Ordering::Relaxed);
        written
    };
    for (index, row) in answers {
        match row {
            Ok(row) => drop(early.insert(index, row)),
            Err(first) => drop(failure.get_or_insert(first)),
        }
        while let Some(row) = early.remove(&next) {
            write_row(&row, rows)?;
            next += 1;
        }
    }
    for row in early.values() {
        write_row(row, rows)?;
    }
    match failure {
        None if refusals > 0 => {
            let message = format!(
                "The service refuses {refusals} of {} addresses: they have an `error` and no verdict.",
                rows.count()
            );
            Err(Failure::new(Kind::Refused, message))
        }
        None => Ok(outcome),
        Some(failure) if rows.count() == 0 => Err(failure),
        Some(failure) => {
            let progress = match rows.count() {
                1 => "One address has been answered; the others haven't been.".to_owned(),
                count => format!("{count} addresses have been answered; the others haven't been."),
            };
            Err(failure.and(&progress))
        }
    }
}

fn worse(so_far: RunExit, verdict: Deliverability) -> RunExit {
    let this = match verdict {
        Deliverability::Deliverable | Deliverability::Risky => RunExit::Good,
        Deliverability::Unknown => RunExit::Unknown,
        Deliverability::Undeliverable => RunExit::Undeliverable,
    };
    match (so_far, this) {
        (RunExit::Undeliverable, _) | (_, RunExit::Undeliverable) => RunExit::Undeliverable,
        (RunExit::Unknown, _) | (_, RunExit::Unknown) => RunExit::Unknown,
        _ => RunExit::Good,
    }
}
