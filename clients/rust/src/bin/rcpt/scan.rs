//! `rcpt scan`: checks a file in the background. A journal next to the output lets the same command continue.

mod journal;
mod list;
mod progress;
mod tags;
mod verdicts;

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rcpt_client::{Client, Error, PART, Scan, idempotency_key};
use rcpt_lists::TAG_BYTES;
use tempfile::NamedTempFile;

use crate::{
    args::{self, Service},
    credentials,
    failure::{Failure, Kind, RunExit},
    interrupt, scans,
};
use journal::Journal;
use list::List;
use progress::Progress;
use tags::Tags;
pub use tags::forget;
use verdicts::Verdicts;

/// Time limit of a request; after a longer outage, the next run continues.
const TIMEOUT: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(500);
const LONGEST_LOOK: Duration = Duration::from_secs(10);

const GOES_ON: &str = "Run the same command again to continue.";

pub fn run(service: &Service, args: &args::Scan) -> Result<RunExit, Failure> {
    if args.file == Path::new("-") {
        return of_input(service, args);
    }
    let file = args.file.as_path();
    let _lock = lock(file)?;
    let bytes = fs::read(file).map_err(|error| unreadable(file, &error))?;
    let end = if rcpt_lists::is_xlsx(&bytes) { ".verdicts.xlsx" } else { ".verdicts.csv" };
    let output = args.output.clone().unwrap_or_else(|| beside(file, end));
    into_file(service, args, bytes, &output)
}

fn of_input(service: &Service, args: &args::Scan) -> Result<RunExit, Failure> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::new(Kind::Input, format!("The input can't be read: {error}.")))?;
    if let Some(output) = &args.output {
        return into_file(service, args, bytes, output);
    }
    let client = credentials::client(service, TIMEOUT)?;
    let mut list = List::read(bytes, args)?;
    let verdicts = scanned(&client, &mut list, args, "standard input", None)?;
    let copy = verdicts.copy(&list, args);
    let written = io::stdout().lock().write_all(&copy);
    written.map_err(|error| Failure::of_output("The verdicts", &error))?;
    Ok(RunExit::Good)
}

fn into_file(
    service: &Service,
    args: &args::Scan,
    bytes: Vec<u8>,
    output: &Path,
) -> Result<RunExit, Failure> {
    let client = credentials::client(service, TIMEOUT)?;
    let journal_path = beside(output, ".rcpt-journal");
    if args.restart {
        journal::remove(&journal_path)?;
    } else if !journal_path.exists() && output.exists() {
        let message = format!(
            "{} is there already. Move it away, or overwrite it with --restart.",
            output.display()
        );
        return Err(Failure::new(Kind::CommandLine, message));
    }
    let mut list = List::read(bytes, args)?;
    let name = args.file.file_name().unwrap_or_default().to_string_lossy();
    let name = if name == "-" { "standard input".into() } else { name };
    let verdicts = scanned(&client, &mut list, args, &name, Some(&journal_path))?;
    write(&verdicts.copy(&list, args), output)?;
    journal::remove(&journal_path)?;
    anstream::eprintln!("{} has the verdicts of {}.", output.display(), list.in_words());
    Ok(RunExit::Good)
}

/// Characters of a scan's name at the service.
const NAME: usize = 100;

fn scan_name(file: &str) -> String {
    let short: String = file.chars().filter(|c| !c.is_control()).take(NAME).collect();
    short.trim().to_owned()
}

/// Replaces the extension: `list.csv` and `.verdicts.csv` become `list.verdicts.csv`.
fn beside(file: &Path, end: &str) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!("{stem}{end}"))
}

fn unreadable(file: &Path, error: &io::Error) -> Failure {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "there's no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "you aren't allowed to".to_owned(),
        _ => error.to_string(),
    };
    Failure::new(Kind::Input, format!("{} can't be read: {why}.", file.display()))
}

fn write(copy: &[u8], output: &Path) -> Result<(), Failure> {
    let full =
        |error: &io::Error| Failure::of_output(output.display(), error).and("Nothing is lost.");
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut new =
        NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(|error| full(&error))?;
    new.write_all(copy).map_err(|error| full(&error))?;
    new.as_file().sync_all().map_err(|error| full(&error))?;
    new.persist(output).map_err(|error| full(&error.error))?;
    Ok(())
}

/// Only one run at a time uses a file.
fn lock(file: &Path) -> Result<File, Failure> {
    let opened = File::open(file).map_err(|error| unreadable(file, &error))?;
    if let Err(TryLockError::WouldBlock) = opened.try_lock() {
        let message = format!("Another rcpt is at work on {}. Wait for it to end.", file.display());
        return Err(Failure::new(Kind::Journal, message));
    }
    // On file systems without locks, the file is used unlocked.
    Ok(opened)
}

/// With a journal at `journal_path`, the next run continues the same scan.
fn scanned(
    client: &Client,
    list: &mut List,
    args: &args::Scan,
    name: &str,
    journal_path: Option<&Path>,
) -> Result<Verdicts, Failure> {
    if let Some(id) = &args.join {
        let tags = tags::recall(id).ok_or_else(|| {
            let message =
                format!("This machine keeps nothing of {id} by which rows are found again.");
            Failure::new(Kind::Journal, message)
        })?;
        list.join(id, &tags);
        let scan = client.scan(id)?;
        let journal = Journal::of_scan(list, client.url(), id);
        return awaited(client, list, scan, &journal, None);
    }
    let mut journal = match journal_path.map(Journal::read).transpose()?.flatten() {
        Some(journal) => match moved(&journal, list, client.url()) {
            Some((id, tags)) => {
                list.join(&id, &tags);
                anstream::eprintln!("The file has changed. Its rows are found again in {id}.");
                journal
            }
            None => journal.of_same(list, client.url())?,
        },
        None => Journal::new(list, client.url(), idempotency_key()),
    };
    let total = list.plan.addresses.len();
    if total == 0 {
        return Ok(Verdicts::default());
    }
    // The journal is written before the first request, so that the next run uses the same key.
    journal.write(journal_path)?;
    let scan = match &journal.scan {
        Some(id) => client.scan(id).map_err(|error| failed_later(error, &journal, journal_path))?,
        // For 24 hours, repeated requests with the same key create only one scan.
        None => client
            .create_scan(total, &scan_name(name), &journal.key)
            .map_err(|error| not_started(error, list, journal_path))?,
    };
    if journal.scan.is_none() {
        tags::keep(&scan.id, &list.plan, args.case_matters)?;
    }
    journal.scan = Some(scan.id.clone());
    journal.write(journal_path)?;
    if scan.total != total as u64 {
        return Err(Failure::new(Kind::Service, "The scan isn't of this list. Use --restart."));
    }
    anstream::eprintln!("Checking {} as {}.", list.in_words(), scan.id);
    interrupt::say(goes_on(&scan.id, journal_path));
    let progress = Progress::new(total as u64);
    let scan = send_missing_parts(client, list, scan, &mut journal, journal_path, &progress)?;
    progress.end();
    awaited(client, list, scan, &journal, journal_path)
}

fn moved(journal: &Journal, list: &List, url: &str) -> Option<(String, Tags)> {
    let id = journal.scan.clone().filter(|_| journal.is_at(url) && !journal.is_of(list))?;
    let tags = tags::recall(&id)?;
    (journal.parts >= (tags.tags.len() / TAG_BYTES).div_ceil(PART)).then_some((id, tags))
}

fn awaited(
    client: &Client,
    list: &List,
    scan: Scan,
    journal: &Journal,
    journal_path: Option<&Path>,
) -> Result<Verdicts, Failure> {
    let total = list.plan.addresses.len();
    let (id, progress) = (scan.id.clone(), Progress::new(total as u64));
    wait(client, scan, &progress, journal, journal_path)?;
    let verdicts = Verdicts::fetch(client, &id, total, &progress)?;
    progress.end();
    Ok(verdicts)
}

fn goes_on(id: &str, journal_path: Option<&Path>) -> String {
    let again = match journal_path {
        Some(_) => "The same command fetches its verdicts",
        None => "Its results",
    };
    let again = if journal_path.is_some() {
        again.to_owned()
    } else {
        format!("{again}: rcpt results {id}")
    };
    format!("The scan continues at the service. {again}. To stop it: rcpt scans cancel {id}")
}

fn send_missing_parts(
    client: &Client,
    list: &List,
    mut scan: Scan,
    journal: &mut Journal,
    journal_path: Option<&Path>,
    progress: &Progress,
) -> Result<Scan, Failure> {
    let total = list.plan.addresses.len();
    while !scan.is_over() && journal.parts < total.div_ceil(PART) {
        let number = journal.parts;
        progress.say(format!("sending {} of {total}", number * PART));
        let part: Vec<_> =
            list.plan.addresses.iter().skip(number * PART).take(PART).map(String::as_str).collect();
        scan = client
            .send_part(&scan.id, number, &part)
            .map_err(|error| failed_later(error, journal, journal_path))?;
        journal.parts = number + 1;
        journal.write(journal_path)?;
    }
    Ok(scan)
}

fn wait(
    client: &Client,
    mut scan: Scan,
    progress: &Progress,
    journal: &Journal,
    journal_path: Option<&Path>,
) -> Result<(), Failure> {
    let mut look = LOOK;
    while !scan.is_over() {
        thread::sleep(look);
        let before = scan.answered;
        scan = client.scan(&scan.id).map_err(|error| failed_later(error, journal, journal_path))?;
        look = if scan.answered > before { LOOK } else { (look * 2).min(LONGEST_LOOK) };
        progress.show(&scan);
    }
    if scan.state == "completed" {
        let verdicts = scans::verdicts_in_words(&scan);
        if !verdicts.is_empty() {
            progress.end();
            anstream::eprintln!("{verdicts}.");
        }
        return Ok(());
    }
    let message = format!(
        "The scan is {}. What is known: rcpt results {} --interim. Start over with --restart.",
        scan.state, scan.id
    );
    Err(Failure::new(Kind::Journal, message))
}

fn not_started(error: Error, list: &List, journal_path: Option<&Path>) -> Failure {
    // `too_many_scans`: the scan can start when another scan ends.
    let is_momentary = error.is_transient() || error.code() == Some("too_many_scans");
    if is_momentary || !matches!(error, Error::Refused { .. }) {
        let failure = Failure::from(error);
        return if journal_path.is_some() { failure.and(GOES_ON) } else { failure };
    }
    let removed = journal_path.map_or(Ok(()), journal::remove);
    let failure = Failure::from(error).and(&format!("The list has {}.", list.in_words()));
    removed.map_or_else(|also| also, |()| failure)
}

fn failed_later(error: Error, journal: &Journal, journal_path: Option<&Path>) -> Failure {
    let id = journal.scan.as_deref().unwrap_or_default();
    match error {
        Error::Refused { status: 404, .. } => {
            let message = format!("The scan {id} is gone. Start over with --restart.");
            Failure::new(Kind::Journal, message)
        }
        error @ Error::Refused { .. } => Failure::from(error)
            .and(&format!("Start over with --restart. To stop the scan: rcpt scans cancel {id}")),
        error if journal_path.is_some() => Failure::from(error).and(GOES_ON),
        error => Failure::from(error).and(&goes_on(id, journal_path)),
    }
}
