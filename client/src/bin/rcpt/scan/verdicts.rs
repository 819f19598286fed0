//! The results of a scan, and the file that they are written into beside the customer's own columns.

use std::{
    collections::HashMap,
    io::{self, BufWriter},
    path::Path,
};

use csv::WriterBuilder;
use indicatif::ProgressBar;
use rcpt_client::{Client, Status};
use serde_json::Value;
use tempfile::NamedTempFile;

use super::list::{List, Subject};
use crate::failure::{Failure, Kind};

/// Our columns. A result has one value for each.
const COLUMNS: [&str; 4] = ["rcpt_status", "rcpt_verdict", "rcpt_confidence", "rcpt_reason"];

type Row = [u16; COLUMNS.len()];

/// The results by position. Their words are few, and kept once.
#[derive(Debug, Default)]
pub struct Verdicts {
    words: Vec<String>,
    numbers: HashMap<String, u16>,
    rows: Vec<Option<Row>>,
}

impl Verdicts {
    /// Fetches all of them.
    pub fn fetch(
        client: &Client,
        id: &str,
        total: usize,
        bar: &ProgressBar,
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
                bar.set_message(format!("fetching {}", result.position));
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
            Subject::Malformed => [Status::InvalidFormat.as_str(), "undeliverable", "high", ""],
            Subject::Empty => [""; COLUMNS.len()],
        }
    }
}

/// Writes the file again with our columns, as a whole or not at all.
pub fn write(list: &List, verdicts: &Verdicts, file: &Path, output: &Path) -> Result<(), Failure> {
    let name = output.display();
    let full = |error: &io::Error| Failure::of_output(&name, error).and("Nothing is lost.");
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    let new =
        NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(|error| full(&error))?;
    let mut writer =
        WriterBuilder::new().delimiter(list.delimiter).from_writer(BufWriter::new(new));
    list.rows(file, |record, subject| {
        let ours = subject.map_or(COLUMNS, |subject| verdicts.of(&subject));
        writer.write_record(record.iter().chain(ours)).map_err(|error| match error.into_kind() {
            csv::ErrorKind::Io(error) => full(&error),
            _ => Failure::new(Kind::Output, format!("{name} can't be written.")),
        })
    })?;
    let written = writer.into_inner().map_err(|error| full(error.error()))?;
    let new = written.into_inner().map_err(|error| full(error.error()))?;
    new.as_file().sync_all().map_err(|error| full(&error))?;
    new.persist(output).map_err(|error| full(&error.error))?;
    Ok(())
}
