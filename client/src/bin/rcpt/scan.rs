//! `rcpt scan`: a file, checked in the background. A journal beside the output says how far it has come, so
//! that the same command goes on wherever it was stopped.

mod journal;
mod list;
mod verdicts;

use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use indicatif::{ProgressBar, ProgressStyle};
use rcpt_client::{Client, Error, PART, Scan, idempotency_key};

use crate::{
    args::{self, Service},
    credentials,
    failure::{Ended, Failure, Kind},
};
use journal::Journal;
use list::List;
use verdicts::Verdicts;

/// A service that is away for longer is a matter for the next run.
const PATIENCE: u64 = 600;
/// Between two looks at a scan: it grows from the one to the other.
const LOOK: Duration = Duration::from_millis(500);
const LONGEST_LOOK: Duration = Duration::from_secs(10);

pub fn run(service: &Service, args: &args::Scan) -> Result<Ended, Failure> {
    let file = args.file.as_path();
    let _lock = lock(file)?;
    let output = args.output.clone().unwrap_or_else(|| beside(file, ".verdicts.csv"));
    let client = credentials::client(service, PATIENCE)?;
    let place = beside(&output, ".rcpt-journal");
    if args.restart {
        journal::remove(&place)?;
    } else if !place.exists() && output.exists() {
        let message = format!(
            "{} is there already. Move it away, or overwrite it with --restart.",
            output.display()
        );
        return Err(Failure::new(Kind::CommandLine, message));
    }
    let list = List::read(file, args.column.as_deref())?;
    let verdicts = if list.addresses.is_empty() {
        Verdicts::default()
    } else {
        scanned(&client, &list, file, &place)?
    };
    verdicts::write(&list, &verdicts, file, &output)?;
    journal::remove(&place)?;
    anstream::eprintln!("{} has the verdicts of {}.", output.display(), list.in_words());
    Ok(Ended::Good)
}

/// `list.csv` and `.verdicts.csv` are `list.verdicts.csv`.
fn beside(file: &Path, end: &str) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!("{stem}{end}"))
}

/// One run at a time goes on with a file.
fn lock(file: &Path) -> Result<File, Failure> {
    let opened = File::open(file).map_err(|error| list::unreadable(file, &error))?;
    if let Err(TryLockError::WouldBlock) = opened.try_lock() {
        let message = format!("Another rcpt is at work on {}. Wait for it to end.", file.display());
        return Err(Failure::new(Kind::Journal, message));
    }
    // Where locks are not known, there are none.
    Ok(opened)
}

fn scanned(client: &Client, list: &List, file: &Path, place: &Path) -> Result<Verdicts, Failure> {
    let mut journal = match Journal::read(place)? {
        Some(journal) => journal.of_same(list, client.url())?,
        None => Journal::new(list, client.url(), idempotency_key()),
    };
    // Before anything is asked: the next run must ask under the same key.
    journal.write(place)?;
    let scan = match &journal.scan {
        Some(id) => client.scan(id).map_err(|error| gone(error, &journal))?,
        // One scan for one key, however often it is asked for.
        None => client
            .create_scan(list.addresses.len(), &journal.name(file), &journal.key)
            .map_err(|error| Failure::from(error).and("The same command goes on."))?,
    };
    journal.scan = Some(scan.id.clone());
    journal.write(place)?;
    let total = list.addresses.len();
    if scan.total != total as u64 {
        return Err(Failure::new(Kind::Service, "The scan isn't of this list. Use --restart."));
    }
    anstream::eprintln!(
        "Checking {} as {}. Ctrl-C stops it; the same command goes on.",
        list.in_words(),
        scan.id
    );
    let bar = bar(total as u64);
    let mut scan = scan;
    while !scan.is_over() && journal.parts < total.div_ceil(PART) {
        let number = journal.parts;
        bar.set_message(format!("sending {} of {total}", number * PART));
        let part: Vec<_> =
            list.addresses.iter().skip(number * PART).take(PART).map(String::as_str).collect();
        scan = client.send_part(&scan.id, number, &part).map_err(|error| gone(error, &journal))?;
        journal.parts = number + 1;
        journal.write(place)?;
    }
    wait(client, &scan, &bar, &journal)?;
    let verdicts = Verdicts::fetch(client, &scan.id, total, &bar)?;
    bar.finish_and_clear();
    Ok(verdicts)
}

/// Waits until every position has its verdict.
fn wait(client: &Client, scan: &Scan, bar: &ProgressBar, journal: &Journal) -> Result<(), Failure> {
    let mut scan = scan.clone();
    let mut look = LOOK;
    while !scan.is_over() {
        thread::sleep(look);
        let before = scan.answered;
        scan = client.scan(&scan.id).map_err(|error| gone(error, journal))?;
        look = if scan.answered > before { LOOK } else { (look * 2).min(LONGEST_LOOK) };
        bar.set_position(scan.answered);
        bar.set_message(match (scan.waiting, scan.estimated_seconds_left) {
            (0, None) => String::new(),
            (0, Some(left)) => format!("about {} left", in_words(left)),
            (waiting, _) => format!("{waiting} to be asked again later"),
        });
    }
    if scan.state == "completed" {
        return Ok(());
    }
    let message = format!("The scan is {}. Start over with --restart.", scan.state);
    Err(Failure::new(Kind::Journal, message))
}

fn in_words(seconds: u64) -> String {
    match seconds {
        0..=90 => format!("{seconds} s"),
        91..=5_400 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3_600)),
    }
}

fn gone(error: Error, journal: &Journal) -> Failure {
    match error {
        Error::Refused { status: 404, .. } => {
            let id = journal.scan.as_deref().unwrap_or_default();
            let message = format!("The scan {id} is gone. Start over with --restart.");
            Failure::new(Kind::Journal, message)
        }
        other => Failure::from(other).and("The same command goes on."),
    }
}

fn bar(total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos} of {len}  {per_sec}  {msg}");
    let bar = ProgressBar::new(total);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
