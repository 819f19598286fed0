//! Reads the file: its column of addresses, with each address once.

use std::{
    collections::{HashMap, hash_map::Entry},
    fs::File,
    io::{self, BufRead as _, BufReader, Read},
    path::Path,
};

use csv::{ErrorKind, Reader, ReaderBuilder, StringRecord, Terminator};
use rcpt_client::{Address, read};
use sha2::{Digest as _, Sha256};

use crate::{
    failure::{Failure, Kind},
    input::not_utf8,
};

/// Number of rows read to find the column.
const SAMPLE_ROWS: usize = 100;
/// Greatest size of a field in bytes; a larger one means an unclosed quote.
const FIELD_BYTES_MAX: usize = 16 * 1024;
const NAMES: [&str; 7] =
    ["email", "e-mail", "e_mail", "mail", "email address", "e-mail address", "emailaddress"];

/// The addresses of a file, and the form of its rows.
#[derive(Debug)]
pub struct List {
    /// Each well-formed address once, in the order of first occurrence; the index is its position.
    pub addresses: Vec<String>,
    pub rows: usize,
    /// SHA-256 of the file, in hexadecimal.
    pub digest: String,
    pub column: usize,
    pub has_header: bool,
    pub dialect: Dialect,
    /// Number of fields in the longest row.
    pub width: usize,
    counts: Counts,
    /// Maps an address's normal form to its position.
    positions: HashMap<String, usize>,
}

/// The form of a file's rows, which the output shares.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    pub delimiter: u8,
    /// The file begins with U+FEFF, by which Excel recognises UTF-8.
    pub has_mark: bool,
    pub line_end: Terminator,
    /// Rows may have fewer or more fields than the first row.
    pub is_lenient: bool,
}

/// Numbers of rows that need no check of their own.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    duplicates: usize,
    malformed: usize,
    empty: usize,
}

/// A row of the file: the position of its address in the scan, or the reason why it has none.
#[derive(Debug, PartialEq, Eq)]
pub enum Subject {
    Position(usize),
    /// Not an address, so the service isn't asked about it.
    Malformed,
    Empty,
}

/// Hashes the bytes that are read through it.
struct Hashed<R> {
    from: R,
    hash: Sha256,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.hash.update(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}

impl List {
    pub fn read(file: &Path, column: Option<&str>, is_lenient: bool) -> Result<Self, Failure> {
        let dialect = dialect(file, is_lenient)?;
        let mut reader = open(file, dialect)?;
        let mut records = Vec::new();
        let mut record = StringRecord::new();
        while records.len() <= SAMPLE_ROWS && next(&mut reader, &mut record, file)? {
            records.push(record.clone());
        }
        let has_header =
            records.first().is_some_and(|first| !first.iter().any(|f| f.contains('@')));
        let column = address_column(&records, has_header, column, file)?;
        let mut list = Self {
            addresses: Vec::new(),
            rows: 0,
            digest: String::new(),
            column,
            has_header,
            dialect,
            width: records.first().map_or(0, StringRecord::len),
            counts: Counts::default(),
            positions: HashMap::new(),
        };
        let mut rows = records.iter().skip(usize::from(has_header));
        for record in &mut rows {
            list.add(record);
        }
        while next(&mut reader, &mut record, file)? {
            list.add(&record);
        }
        list.digest = hex::encode(reader.into_inner().hash.finalize());
        Ok(list)
    }

    fn add(&mut self, record: &StringRecord) {
        self.rows += 1;
        self.width = self.width.max(record.len());
        let field = record.get(self.column).unwrap_or_default();
        let address = match read(field) {
            Ok(address) => address,
            Err(malformed) => {
                let count = if malformed.is_empty() {
                    &mut self.counts.empty
                } else {
                    &mut self.counts.malformed
                };
                *count += 1;
                return;
            }
        };
        let position = self.addresses.len();
        match self.positions.entry(address.normal().to_owned()) {
            Entry::Vacant(new) => {
                new.insert(position);
                self.addresses.push(address.as_given().to_owned());
            }
            Entry::Occupied(_) => self.counts.duplicates += 1,
        }
    }

    /// Reads the file again and calls `each` with every row; the header has no subject.
    ///
    /// # Errors
    /// `each` fails, or the file has changed since it was read.
    pub fn rows(
        &self,
        file: &Path,
        mut each: impl FnMut(&StringRecord, Option<Subject>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut reader = open(file, self.dialect)?;
        let mut record = StringRecord::new();
        let mut is_header = self.has_header;
        while next(&mut reader, &mut record, file)? {
            let subject = (!is_header).then(|| self.subject(&record));
            is_header = false;
            each(&record, subject)?;
        }
        if hex::encode(reader.into_inner().hash.finalize()) == self.digest {
            return Ok(());
        }
        let message = format!("{} has changed meanwhile. Put it back as it was.", file.display());
        Err(Failure::new(Kind::Journal, message))
    }

    fn subject(&self, record: &StringRecord) -> Subject {
        let field = record.get(self.column).unwrap_or_default();
        let position = |address: &Address| self.positions.get(address.normal());
        match read(field) {
            Ok(address) => {
                position(&address).map_or(Subject::Malformed, |at| Subject::Position(*at))
            }
            Err(malformed) if malformed.is_empty() => Subject::Empty,
            Err(_) => Subject::Malformed,
        }
    }

    pub fn in_words(&self) -> String {
        let (addresses, rows, counts) = (self.addresses.len(), self.rows, self.counts);
        if addresses == rows {
            return format!("{addresses} addresses");
        }
        let further = [
            (counts.duplicates, "repeated"),
            (counts.malformed, "malformed"),
            (counts.empty, "empty"),
        ];
        let further = further.into_iter().filter(|(count, _)| *count > 0);
        let further: Vec<_> = further.map(|(count, word)| format!("{count} {word}")).collect();
        format!("{addresses} different addresses in {rows} rows ({})", further.join(", "))
    }
}

pub fn unreadable(file: &Path, error: &io::Error) -> Failure {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "there's no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "you aren't allowed to".to_owned(),
        _ => error.to_string(),
    };
    Failure::new(Kind::Input, format!("{} can't be read: {why}.", file.display()))
}

/// Derives the dialect from the first line: the most frequent of comma, semicolon and tab separates
/// the columns.
fn dialect(file: &Path, is_lenient: bool) -> Result<Dialect, Failure> {
    let opened = File::open(file).map_err(|error| unreadable(file, &error))?;
    let mut line = Vec::new();
    let read = BufReader::new(opened).take(1 << 16).read_until(b'\n', &mut line);
    read.map_err(|error| unreadable(file, &error))?;
    if line.contains(&0) || line.starts_with(b"\xff\xfe") || line.starts_with(b"\xfe\xff") {
        return Err(not_utf8(&file.display().to_string(), 1, &line));
    }
    let count = |delimiter: u8| line.iter().filter(|byte| **byte == delimiter).count();
    let delimiters = [b'\t', b';', b','].into_iter();
    let delimiter = delimiters.max_by_key(|delimiter| count(*delimiter)).unwrap_or(b',');
    let line_end = match &line[..] {
        [.., b'\r', b'\n'] => Terminator::CRLF,
        [.., b'\n'] => Terminator::Any(b'\n'),
        // Old Macs end lines with CR alone.
        _ if line.contains(&b'\r') => Terminator::Any(b'\r'),
        _ => Terminator::Any(b'\n'),
    };
    let has_mark = line.starts_with(b"\xef\xbb\xbf");
    Ok(Dialect { delimiter, has_mark, line_end, is_lenient })
}

fn open(file: &Path, dialect: Dialect) -> Result<Reader<Hashed<File>>, Failure> {
    let from = File::open(file).map_err(|error| unreadable(file, &error))?;
    let mut builder = ReaderBuilder::new();
    builder.has_headers(false).delimiter(dialect.delimiter).flexible(dialect.is_lenient);
    Ok(builder.from_reader(Hashed { from, hash: Sha256::new() }))
}

fn next(
    reader: &mut Reader<Hashed<File>>,
    record: &mut StringRecord,
    file: &Path,
) -> Result<bool, Failure> {
    let name = file.display();
    let read = reader.read_record(record).map_err(|error| match error.kind() {
        ErrorKind::Io(error) => unreadable(file, error),
        ErrorKind::Utf8 { pos, .. } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            not_utf8(&name.to_string(), usize::try_from(line).unwrap_or(0), b"")
        }
        ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            let message = format!(
                "{name}, line {line}: {len} fields, where the first line has {expected_len}. Is a quote or \
                 a delimiter missing? With --lenient such rows are taken as they are."
            );
            Failure::new(Kind::Input, message)
        }
        _ => Failure::new(Kind::Input, format!("{name} can't be read: {error}.")),
    })?;
    if record.iter().any(|field| field.len() > FIELD_BYTES_MAX) {
        let line = record.position().map_or(0, csv::Position::line);
        let message = format!("{name}, line {line}: a field over 16 KiB. Is a quote missing?");
        return Err(Failure::new(Kind::Input, message));
    }
    Ok(read)
}

/// Returns the column of addresses: the selected column, else a column with a known name and an
/// address in `records`, else the column with the most addresses there.
fn address_column(
    records: &[StringRecord],
    has_header: bool,
    selected_column: Option<&str>,
    file: &Path,
) -> Result<usize, Failure> {
    let Some(first) = records.first() else {
        return Err(Failure::new(Kind::Input, format!("{} is empty.", file.display())));
    };
    let column_named = |name: &str| {
        let is_it = |field: &str| has_header && field.trim().eq_ignore_ascii_case(name);
        first.iter().position(is_it)
    };
    if let Some(selected_column) = selected_column {
        let number = selected_column.parse().ok().and_then(|n: usize| n.checked_sub(1));
        let number = number.filter(|column| *column < first.len());
        return column_named(selected_column).or(number).ok_or_else(|| {
            let message = format!("{} has no column {selected_column}.", file.display());
            Failure::new(Kind::Input, message)
        });
    }
    let rows = records.get(usize::from(has_header)..).unwrap_or_default();
    let addresses = |column: usize| {
        rows.iter().filter(|row| row.get(column).is_some_and(|field| read(field).is_ok())).count()
    };
    let by_name = NAMES.iter().find_map(|name| column_named(name)).filter(|c| addresses(*c) > 0);
    let by_content = (0..first.len()).rev().max_by_key(|column| addresses(*column));
    by_name.or(by_content.filter(|column| addresses(*column) > 0)).ok_or_else(|| {
        let message = format!(
            "{} has no column with addresses in its first rows. Name it with --column.",
            file.display()
        );
        Failure::new(Kind::Input, message)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Kind, List, Subject};

    fn read(text: &[u8], column: Option<&str>) -> Result<List, Kind> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        List::read(file.path(), column, false).map_err(|failure| failure.kind)
    }

    #[test]
    fn the_column_is_found_by_name_by_content_and_by_number() {
        let csv =
            b"name;E-Mail;spare\nAnn;ann@a.example;x@y.example\nBob;bob@a.example;z@y.example\n";
        assert_eq!(read(csv, None).unwrap().addresses, ["ann@a.example", "bob@a.example"]);
        assert_eq!(read(csv, Some("spare")).unwrap().addresses, ["x@y.example", "z@y.example"]);
        assert_eq!(read(csv, Some("3")).unwrap().column, 2);
        assert_eq!(read(csv, Some("4")).unwrap_err(), Kind::Input);
        let plain = read(b"\xef\xbb\xbfann@a.example\r\nbob@a.example\r\n", None).unwrap();
        assert!(!plain.has_header && plain.addresses == ["ann@a.example", "bob@a.example"]);
        let unnamed = read(b"who,where\nAnn,ann@a.example\n", None).unwrap();
        assert_eq!((unnamed.column, unnamed.rows), (1, 1));
    }

    #[test]
    fn an_address_is_asked_once_whatever_its_domain_looks_like() {
        let text = "email\nann@A.example\nann@a.EXAMPLE\nAnn <ann@a.example>\n\"\"\nnobody\nAnn@a.example\n";
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        let list = List::read(file.path(), None, false).unwrap();
        assert_eq!(list.addresses, ["ann@A.example", "Ann@a.example"]);
        let words = "2 different addresses in 6 rows (2 repeated, 1 malformed, 1 empty)";
        assert_eq!(list.in_words(), words);
        let mut subjects = Vec::new();
        let each = |_: &_, subject| {
            subjects.extend(subject);
            Ok(())
        };
        list.rows(file.path(), each).unwrap();
        let ann = || Subject::Position(0);
        let rest = [Subject::Empty, Subject::Malformed, Subject::Position(1)];
        assert_eq!(
            subjects,
            [[ann(), ann(), ann()], rest].into_iter().flatten().collect::<Vec<_>>()
        );
        fs::write(file.path(), text.replace("nobody", "nodoby")).unwrap();
        assert_eq!(list.rows(file.path(), |_, _| Ok(())).unwrap_err().kind, Kind::Journal);
    }

    #[test]
    fn broken_files_are_said_to_be_broken() {
        let broken: [(&[u8], Kind); 6] = [
            (b"", Kind::Input),
            (b"a,b\n1,2\n", Kind::Input),
            (b"name,email\nAnn,ann@a.example\nBob\n", Kind::Input),
            (b"name,email\nJ\xf6rg,joerg@a.example\n", Kind::Encoding),
            (b"\xff\xfee\0m\0", Kind::Encoding),
            (
                &[b"email\nann@a.example\n\"never closed".as_slice(), &[b'x'; 20_000]].concat(),
                Kind::Input,
            ),
        ];
        for (text, kind) in broken {
            assert_eq!(read(text, None).unwrap_err(), kind, "{:?}", String::from_utf8_lossy(text));
        }
    }
}
