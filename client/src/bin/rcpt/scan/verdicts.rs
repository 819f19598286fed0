//! The results of a scan, and the output file that adds them to the customer's columns.

use std::{
    collections::HashMap,
    io::{self, BufWriter, Write},
    iter,
    path::Path,
};

use csv::WriterBuilder;
use rcpt_client::{Client, Status};
use serde_json::Value;
use tempfile::NamedTempFile;

use super::{
    list::{List, Subject},
    progress::Progress,
};
use crate::failure::{Failure, Kind};

/// Columns that the output adds, with one value per result.
const COLUMNS: [&str; 4] = ["rcpt_status", "rcpt_verdict", "rcpt_confidence", "rcpt_reason"];

type RowColumns = [u16; COLUMNS.len()];

/// The results by position. The few different words are stored once each.
#[derive(Debug, Default)]
pub struct Verdicts {
    words: Vec<String>,
    numbers: HashMap<String, u16>,
    rows: Vec<Option<RowColumns>>,
}

impl Verdicts {
    /// Fetches all results of a scan.
    pub fn fetch(
        client: &Client,
        id: &str,
        total: usize,
        progress: &Progress,
    ) -> Result<Self, Failure> {
        let mut verdicts = Self { rows: vec![None; total], ..Self::default() };
        let mut after = None;
        loop {
            let page = client.results(id, after)?;
            for result in page.results {
                let words = COLUMNS.map(|column| {
                    let member = column.trim_start_matches("rcpt_");
                    result
                        .further
                        .get(member)
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                        .to_owned()
                });
                let mut row = words.map(|word| verdicts.number(word));
                row[0] = verdicts.number(result.status.as_str().to_owned());
                if let Some(place) = verdicts.rows.get_mut(result.position) {
                    *place = Some(row);
                }
                progress.say(format!("fetching {}", result.position));
            }
            match page.next {
                Some(next) if after.is_none_or(|after| next > after) => after = Some(next),
                Some(_) => break,
                None => break,
            }
        }
        let missing = verdicts.rows.iter().filter(|row| row.is_none()).count();
        if missing == 0 {
            return Ok(verdicts);
        }
        let message = format!(
            "The service has no result for {missing} of {total} addresses yet. Run the same command again."
        );
        Err(Failure::new(Kind::Service, message))
    }

    fn number(&mut self, word: String) -> u16 {
        if let Some(number) = self.numbers.get(&word) {
            return *number;
        }
        let number = u16::try_from(self.words.len()).unwrap_or(u16::MAX);
        self.words.push(word.clone());
        self.numbers.insert(word, number);
        number
    }

    fn of(&self, subject: &Subject) -> [&str; COLUMNS.len()] {
        match subject {
            Subject::Position(position) => {
                let row = self.rows.get(*position).copied().flatten().unwrap_or_default();
                row.map(|number| self.words.get(usize::from(number)).map_or("", String::as_str))
            }
            Subject::Malformed => {
                [Status::InvalidFormat.as_str(), "undeliverable", "high", "malformed"]
            }
            Subject::Empty => [""; COLUMNS.len()],
        }
    }
}

/// Writes the file with our additional columns, completely or not at all.
pub fn write(list: &List, verdicts: &Verdicts, file: &Path, output: &Path) -> Result<(), Failure> {
    let name = output.display();
    let full = |error: &io::Error| Failure::of_output(&name, error).and("Nothing is lost.");
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut new =
        NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(|error| full(&error))?;
    rows(list, verdicts, file, &mut new, &full)?;
    new.as_file().sync_all().map_err(|error| full(&error))?;
    new.persist(output).map_err(|error| full(&error.error))?;
    Ok(())
}

/// Writes the rows to standard output.
pub fn print(list: &List, verdicts: &Verdicts, file: &Path) -> Result<(), Failure> {
    let failed = |error: &io::Error| Failure::of_output("The verdicts", error);
    rows(list, verdicts, file, &mut io::stdout().lock(), &failed)
}

/// Writes the rows with our columns after the customer's, in the file's dialect.
fn rows(
    list: &List,
    verdicts: &Verdicts,
    file: &Path,
    to: &mut impl Write,
    failed: &dyn Fn(&io::Error) -> Failure,
) -> Result<(), Failure> {
    let dialect = list.dialect;
    let mut to = BufWriter::new(to);
    if dialect.has_mark {
        to.write_all(b"\xef\xbb\xbf").map_err(|error| failed(&error))?;
    }
    let mut builder = WriterBuilder::new();
    // Rows of a lenient list may have any length and are padded.
    let mut writer =
        builder.delimiter(dialect.delimiter).terminator(dialect.line_end).from_writer(to);
    list.rows(file, |record, subject| {
        let ours = subject.map_or(COLUMNS, |subject| verdicts.of(&subject));
        let missing = iter::repeat_n("", list.width.saturating_sub(record.len()));
        let row = record.iter().chain(missing).chain(ours);
        writer.write_record(row).map_err(|error| match error.into_kind() {
            csv::ErrorKind::Io(error) => failed(&error),
            _ => Failure::new(Kind::Output, "The rows can't be written."),
        })
    })?;
    writer.flush().map_err(|error| failed(&error))
}
