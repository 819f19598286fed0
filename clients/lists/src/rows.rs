//! Rows and cells of a text with delimiters (RFC 4180), also where quotes or line ends are wrong, which `csv-core`
//! can't say: a stray quote swallows rows.

use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub width: usize,
    pub column: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub start: usize,
    pub end: usize,
    pub next: usize,
    /// Number of the row's first line in the file, from 1.
    pub line: u32,
    pub lines: u32,
    reading: Reading,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// By RFC 4180: a quoted cell may span lines.
    Strict,
    /// One line, in which a quote that isn't closed before a delimiter is a character.
    Line,
    /// As `Line`, but no cell ends inside quotes, as in `"Jones, Bob" <bob@example.org>`.
    Kept,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    /// The cell as written, with its quotes.
    pub range: Range<usize>,
    pub form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    Plain,
    /// Between quotes; the range is without them.
    Quoted(Range<usize>),
    /// Begins with a quote that is a character.
    Stray,
}

impl Cell {
    pub fn value(&self, text: &str) -> String {
        let within = |range: &Range<usize>| text.get(range.clone()).unwrap_or_default();
        match &self.form {
            Form::Plain | Form::Stray => within(&self.range).to_owned(),
            Form::Quoted(inner) => within(inner).replace("\"\"", "\""),
        }
    }
}

impl Row {
    pub fn cells(&self, text: &str, delimiter: u8) -> Vec<Cell> {
        let own = text.as_bytes().get(..self.end).unwrap_or_default();
        parse(own, self.start, delimiter, self.reading).map_or_else(Vec::new, |row| row.cells)
    }

    /// True if a quote of the row is read as a character.
    pub fn has_stray_quote(&self, text: &str, delimiter: u8) -> bool {
        self.reading != Reading::Strict
            && self.cells(text, delimiter).iter().any(|cell| cell.form == Form::Stray)
    }

    pub fn is_blank(&self, text: &str) -> bool {
        text.get(self.start..self.end)
            .is_some_and(|row| row.trim_matches([' ', '\u{a0}']).is_empty())
    }
}

/// Together the rows are the text, without gaps.
pub(crate) fn rows(text: &str, delimiter: u8, shape: Option<Shape>) -> Vec<Row> {
    let bytes = text.as_bytes();
    let (mut rows, mut at, mut line) = (Vec::new(), 0, 1);
    while at < bytes.len() {
        let row = row(bytes, at, line, delimiter, shape);
        (at, line) = (row.next, line + row.lines);
        rows.push(row);
    }
    rows
}

fn row(bytes: &[u8], start: usize, line: u32, delimiter: u8, shape: Option<Shape>) -> Row {
    let of = |end: usize, lines: u32, reading| {
        let next = end + line_end(bytes, end);
        Row { start, end, next, line, lines, reading }
    };
    let first_end = end_of_line(bytes, start);
    let strict = parse(bytes, start, delimiter, Reading::Strict);
    if let Some(strict) = &strict {
        if strict.end <= first_end {
            return of(strict.end, 1, Reading::Strict);
        }
        let lines = lines_in(bytes, start, strict.end);
        if !shape
            .is_some_and(|shape| is_better_apart(bytes, first_end, strict.end, delimiter, shape))
        {
            return of(strict.end, lines, Reading::Strict);
        }
    }
    let width = |reading| parse(bytes, start, delimiter, reading).map_or(0, |row| row.cells.len());
    let expected = shape.map_or(0, |shape| shape.width);
    let reading = match (width(Reading::Line), width(Reading::Kept)) {
        (line, kept) if line != expected && kept == expected => Reading::Kept,
        _ => Reading::Line,
    };
    of(first_end, 1, reading)
}

/// True if the lines after the first, which a quoted cell would swallow, are mostly rows of the table.
fn is_better_apart(
    bytes: &[u8],
    first_end: usize,
    end: usize,
    delimiter: u8,
    shape: Shape,
) -> bool {
    let (mut lines, mut rows) = (0, 0);
    let mut at = first_end + line_end(bytes, first_end);
    while at < end {
        let line_ends = end_of_line(bytes, at);
        if line_ends > at {
            lines += 1;
            rows += usize::from(is_row(bytes, at, delimiter, shape));
        }
        at = line_ends + line_end(bytes, line_ends);
    }
    rows * 2 > lines
}

fn is_row(bytes: &[u8], at: usize, delimiter: u8, shape: Shape) -> bool {
    let Some(row) = parse(bytes, at, delimiter, Reading::Line) else { return false };
    let cell = row.cells.get(shape.column).and_then(|cell| bytes.get(cell.range.clone()));
    row.cells.len() == shape.width && cell.is_some_and(|cell| cell.contains(&b'@'))
}

struct Parsed {
    cells: Vec<Cell>,
    end: usize,
}

fn parse(bytes: &[u8], start: usize, delimiter: u8, reading: Reading) -> Option<Parsed> {
    let bound = match reading {
        Reading::Strict => bytes.len(),
        Reading::Line | Reading::Kept => end_of_line(bytes, start),
    };
    let bytes = bytes.get(..bound)?;
    let (mut cells, mut at) = (Vec::new(), start);
    loop {
        let from = at;
        let mut form = Form::Plain;
        if bytes.get(at) == Some(&b'"') {
            let closing = closing_quote(bytes, at + 1);
            let after = closing.map(|closing| after_blanks(bytes, closing + 1, delimiter));
            let ends_there = |at: usize| bytes.get(at).is_none_or(|b| is_end(*b, delimiter));
            at = match (closing, after) {
                (Some(closing), Some(after)) if ends_there(after) => {
                    form = Form::Quoted(from + 1..closing);
                    after
                }
                _ if reading == Reading::Strict => return None,
                (Some(closing), _) if reading == Reading::Kept => {
                    form = Form::Stray;
                    end_of_cell(bytes, closing + 1, delimiter)
                }
                _ => {
                    form = Form::Stray;
                    end_of_cell(bytes, from, delimiter)
                }
            };
        } else {
            at = end_of_cell(bytes, at, delimiter);
        }
        cells.push(Cell { range: from..at, form });
        if bytes.get(at) != Some(&delimiter) {
            return Some(Parsed { cells, end: at });
        }
        at += 1;
    }
}

/// Two quotes in a row are one character of the cell.
fn closing_quote(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += bytes.get(at..)?.iter().position(|byte| *byte == b'"')?;
        if bytes.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

/// Some programs pad a quoted cell with blanks.
fn after_blanks(bytes: &[u8], at: usize, delimiter: u8) -> usize {
    let is_blank = |byte: &u8| *byte == b' ' && delimiter != b' ';
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| !is_blank(byte)).unwrap_or(rest.len())
}

const fn is_end(byte: u8, delimiter: u8) -> bool {
    byte == delimiter || byte == b'\r' || byte == b'\n'
}

fn end_of_cell(bytes: &[u8], from: usize, delimiter: u8) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().position(|byte| is_end(*byte, delimiter)).unwrap_or(rest.len())
}

pub(crate) fn end_of_line(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(rest.len())
}

/// Length in bytes: of CRLF, LF or CR; 0 at the end of the text.
pub(crate) fn line_end(bytes: &[u8], at: usize) -> usize {
    match (bytes.get(at), bytes.get(at + 1)) {
        (Some(b'\r'), Some(b'\n')) => 2,
        (Some(_), _) => 1,
        (None, _) => 0,
    }
}

fn lines_in(bytes: &[u8], start: usize, end: usize) -> u32 {
    let (mut lines, mut at) = (1, start);
    loop {
        at = end_of_line(bytes, at);
        if at >= end {
            return lines;
        }
        at += line_end(bytes, at);
        lines += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Shape, rows};

    fn read(text: &str, shape: Option<Shape>) -> Vec<Vec<String>> {
        let cells = |row: super::Row| {
            let cells = row.cells(text, b',');
            cells.iter().map(|cell| cell.value(text)).collect()
        };
        rows(text, b',', shape).into_iter().map(cells).collect()
    }

    const TWO: Option<Shape> = Some(Shape { width: 2, column: 1 });

    #[test]
    fn a_quote_that_swallows_rows_is_a_character() {
        let text = "name,email\n\"Bob,b@x\nCid,c@x\nScreen 5\",d@x\n";
        let expected = [["name", "email"], ["\"Bob", "b@x"], ["Cid", "c@x"], ["Screen 5\"", "d@x"]];
        assert_eq!(read(text, TWO), expected);
        let text = "\"Bob\" Jones,b@x\r\"Jones, Al\" the 2nd,a@x\r\"Dee,d@x";
        let expected =
            [["\"Bob\" Jones", "b@x"], ["\"Jones, Al\" the 2nd", "a@x"], ["\"Dee", "d@x"]];
        assert_eq!(read(text, TWO), expected);
    }

    #[test]
    fn a_quoted_cell_may_have_lines_of_addresses() {
        let text = "name,email\nEve,\"e1@x,\ne2@x,\ne3@x\"\nFay,f@x\n";
        assert_eq!(read(text, TWO)[1], ["Eve", "e1@x,\ne2@x,\ne3@x"]);
        assert_eq!(read(text, TWO).len(), 3);
    }

    #[test]
    fn lines_are_counted_with_every_line_end() {
        let text = "a\r\n\n\"b\r\nc\rd\"\rx\n\ry";
        let rows = rows(text, b',', None);
        let lines: Vec<_> = rows.iter().map(|row| (row.line, row.lines)).collect();
        assert_eq!(lines, [(1, 1), (2, 1), (3, 3), (6, 1), (7, 1), (8, 1)]);
    }

    proptest! {
        #[test]
        fn a_well_formed_text_is_read_as_the_csv_crate_reads_it(
            table in prop::collection::vec(prop::collection::vec(r#"[a-z@"," \n\r]{0,6}"#, 2..4), 1..6),
            style in 0..3_usize,
        ) {
            let mut writer = csv::WriterBuilder::new();
            let end = if style == 0 { csv::Terminator::CRLF } else { csv::Terminator::Any(b'\n') };
            writer.flexible(true).terminator(end);
            writer.quote_style(if style == 2 { csv::QuoteStyle::Always } else { csv::QuoteStyle::Necessary });
            let mut writer = writer.from_writer(Vec::new());
            for row in &table {
                writer.write_record(row).unwrap();
            }
            let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
            prop_assert_eq!(read(&text, None), table);
        }

        #[test]
        fn rows_are_the_text_without_gaps(text in r#"[a@,;"\r\n ]{0,60}"#, width in 0..4_usize) {
            let shape = (width > 0).then(|| Shape { width, column: width - 1 });
            let rows = rows(&text, b',', shape);
            let mut at = 0;
            let mut line = 1;
            for row in rows {
                prop_assert_eq!((row.start, row.line), (at, line));
                prop_assert!(row.end >= row.start && row.next > row.start);
                (at, line) = (row.next, line + row.lines);
                let cells = row.cells(&text, b',');
                prop_assert_eq!(cells.first().unwrap().range.start, row.start);
                prop_assert_eq!(cells.last().unwrap().range.end, row.end);
            }
            prop_assert_eq!(at, text.len());
        }
    }
}
