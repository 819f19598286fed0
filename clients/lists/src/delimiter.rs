//! The delimiter of a text, chosen by reading the text with each of them.

use std::collections::BTreeMap;

use crate::{
    cell::{Subject, subject},
    rows::{Row, Shape, rows},
};

pub const DELIMITERS: [Delimiter; 4] = [
    Delimiter { byte: b',', name: "comma" },
    Delimiter { byte: b';', name: "semicolon" },
    Delimiter { byte: b'\t', name: "tab" },
    Delimiter { byte: b'|', name: "bar" },
];

/// Bytes of a text that are read to choose its delimiter, and to find its column.
pub(crate) const SAMPLE_BYTES: usize = 256 * 1024;
pub(crate) const SAMPLE_ROWS: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delimiter {
    pub byte: u8,
    pub name: &'static str,
}

/// Reads `sep=;`, which names the delimiter to Excel.
pub(crate) fn declared(first_line: &str) -> Option<u8> {
    let line = first_line.trim().trim_matches('"');
    let (name, value) = line.split_at_checked(4)?;
    match value.as_bytes() {
        [byte] if name.eq_ignore_ascii_case("sep=") && byte.is_ascii() => Some(*byte),
        [] if name.eq_ignore_ascii_case("sep=") && first_line.ends_with('\t') => Some(b'\t'),
        _ => None,
    }
}

pub(crate) fn likeliest(text: &str) -> u8 {
    let sample = sample(text);
    let score = |delimiter: u8| {
        let (rows, shape) = shaped(sample, delimiter);
        let rows = rows.iter().take(SAMPLE_ROWS);
        let cells = rows.map(|row| row.cells(sample, delimiter));
        let regular: Vec<_> = cells.filter(|cells| cells.len() == shape.width).collect();
        let has_address = |cells: &&Vec<_>| {
            cells.iter().any(|cell: &crate::rows::Cell| is_address(&cell.value(sample)))
        };
        (regular.iter().filter(has_address).count(), regular.len(), shape.width)
    };
    let scored = DELIMITERS.iter().rev().map(|delimiter| (score(delimiter.byte), delimiter.byte));
    // Of equally good delimiters, the first of the list.
    scored.max_by_key(|(score, _)| *score).map_or(b',', |(_, delimiter)| delimiter)
}

pub(crate) fn is_address(cell: &str) -> bool {
    cell.contains('@') && matches!(subject(cell), Subject::Addresses(_))
}

pub(crate) fn sample(text: &str) -> &str {
    if text.len() <= SAMPLE_BYTES {
        return text;
    }
    let cut = text.floor_char_boundary(SAMPLE_BYTES);
    let beginning = text.get(..cut).unwrap_or_default();
    let end = beginning.rfind(['\n', '\r']).map_or(cut, |end| end + 1);
    // Between CR and LF there is no end of a line.
    let end = if beginning.get(..end).is_some_and(|it| it.ends_with('\r')) { end - 1 } else { end };
    text.get(..end).unwrap_or_default()
}

/// Reads the rows of a sample twice: by their quotes alone, and by the shape that this shows.
pub(crate) fn shaped(sample: &str, delimiter: u8) -> (Vec<Row>, Shape) {
    let shape = shape(sample, delimiter, &rows(sample, delimiter, None));
    (rows(sample, delimiter, Some(shape)), shape)
}

fn shape(text: &str, delimiter: u8, rows: &[Row]) -> Shape {
    let mut widths = BTreeMap::<usize, (usize, BTreeMap<usize, usize>)>::new();
    for row in rows.iter().filter(|row| !row.is_blank(text)).take(SAMPLE_ROWS) {
        let cells = row.cells(text, delimiter);
        let width = widths.entry(cells.len()).or_default();
        width.0 += 1;
        for (column, cell) in cells.iter().enumerate() {
            let has_at = text.get(cell.range.clone()).is_some_and(|cell| cell.contains('@'));
            *width.1.entry(column).or_default() += usize::from(has_at);
        }
    }
    // Of equally frequent widths, the greater; of equally likely columns, the first.
    let (width, columns) = widths
        .into_iter()
        .max_by_key(|(width, (count, _))| (*count, *width))
        .map_or((0, BTreeMap::new()), |(width, (_, columns))| (width, columns));
    let column = columns.into_iter().rev().max_by_key(|(_, count)| *count);
    Shape { width, column: column.map_or(0, |(column, _)| column) }
}

#[cfg(test)]
mod tests {
    use super::{declared, likeliest};

    #[test]
    fn the_delimiter_is_the_one_by_which_the_rows_have_addresses() {
        for (text, delimiter) in [
            ("Nr;E-Mail;\"Anrede, Titel, Vorname, Name\"\n1;a@x.org;\"Frau, Dr., A\"\n", b';'),
            ("name,email\nBob,b1@x.org; b2@x.org\nAnn,a1@x.org; a2@x.org\n", b','),
            ("name|email\nAnn|a@x.org\n", b'|'),
            ("name\temail\nSmith, Ann\ta@x.org\n", b'\t'),
            ("a@x.org\nb@x.org\n", b','),
            ("", b','),
        ] {
            assert_eq!(likeliest(text), delimiter, "{text:?}");
        }
    }

    #[test]
    fn a_declared_delimiter_is_read() {
        assert_eq!(declared("sep=;"), Some(b';'));
        assert_eq!(declared("\"SEP=|\""), Some(b'|'));
        assert_eq!(declared("sep=\t"), Some(b'\t'));
        assert_eq!(declared("september"), None);
        assert_eq!(declared("sep"), None);
    }
}
