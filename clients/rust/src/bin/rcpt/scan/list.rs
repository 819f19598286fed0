//! The list of a scan: what `rcpt-lists` reads, and the checks of its rows.

use rcpt_lists::{Choices, Column, Notice, Plan, Repeats};
use sha2::{Digest as _, Sha256};

use super::tags::Tags;
use crate::{
    args,
    failure::{Failure, Kind},
};

#[derive(Debug)]
pub struct List {
    pub read: rcpt_lists::List,
    pub book: Option<Vec<u8>>,
    /// Each address once, unless repeats are wanted; the index is its position.
    pub plan: Plan,
    /// SHA-256 of the file and of the addresses that are checked, in hexadecimal.
    pub digest: String,
}

impl List {
    /// Says on standard error what is odd about the file.
    pub fn read(bytes: Vec<u8>, args: &args::Scan) -> Result<Self, Failure> {
        let name = match args.file.to_str() {
            Some("-") => "The input".to_owned(),
            _ => args.file.display().to_string(),
        };
        let choices = Choices {
            encoding: args.encoding.clone(),
            delimiter: args.delimiter,
            column: args.column.clone().map(Column::Named),
            sheet: args.sheet.map(|sheet| usize::from(sheet) - 1),
        };
        let mut digest = Sha256::new();
        digest.update(&bytes);
        // Text files have recipients too, as email programs copy them.
        let is_text = args.file.extension().is_some_and(|end| end.eq_ignore_ascii_case("txt"));
        let read = if is_text { rcpt_lists::read_pasted } else { rcpt_lists::read };
        let book = rcpt_lists::is_xlsx(&bytes).then(|| bytes.clone());
        let read = read(bytes, &choices)
            .map_err(|error| Failure::new(Kind::Input, format!("{name}: {error}")))?;
        if read.column().is_none() {
            let message = match &args.column {
                Some(column) => format!("{name} has no column {column}."),
                None => format!("{name} has no column with addresses. Name it with --column."),
            };
            return Err(Failure::new(Kind::Input, message));
        }
        let repeats = Repeats { once: !args.repeats, case_matters: args.case_matters };
        let plan = read.plan(repeats);
        for address in &plan.addresses {
            digest.update(address);
            digest.update("\n");
        }
        let list = Self { digest: hex::encode(digest.finalize()), read, book, plan };
        list.say();
        Ok(list)
    }

    pub fn join(&mut self, scan: &str, tags: &Tags) {
        self.plan = self.read.joined(scan, &tags.tags, tags.case_matters);
    }

    fn say(&self) {
        let encoding = self.read.encoding();
        if encoding.is_guess && encoding.odd_lines.is_none() {
            let words = encoding.words.join(", ");
            let name = encoding.name;
            anstream::eprintln!(
                "Read as {name} ({words}). If that's wrong, name it with --encoding."
            );
        }
        for notice in self.read.notices() {
            match notice {
                Notice::OtherColumns { .. } => {
                    anstream::eprintln!("{notice} Choose one with --column.")
                }
                Notice::OtherSheets { .. } => {
                    anstream::eprintln!("{notice} Choose one with --sheet.")
                }
                _ => anstream::eprintln!("{notice}"),
            }
        }
    }

    pub fn in_words(&self) -> String {
        let counts = self.plan.counts;
        let (addresses, rows) = (counts.addresses, counts.rows);
        let further = [
            (counts.repeated, "repeated"),
            (counts.several, "with several addresses"),
            (counts.not_an_address, "not an address"),
            (counts.empty, "without an address"),
            (counts.not_in_scan, "not in the scan"),
        ];
        let further = further.into_iter().filter(|(count, _)| *count > 0);
        let further: Vec<_> = further.map(|(count, word)| format!("{count} {word}")).collect();
        let addresses = match addresses {
            1 => "1 address".to_owned(),
            _ => format!("{addresses} addresses"),
        };
        if further.is_empty() {
            return addresses;
        }
        format!("{addresses} in {rows} rows ({})", further.join(", "))
    }
}
