//! A list that was read: its rows, its column of addresses, and its oddities.

use std::{borrow::Cow, ops::Range};

use crate::{
    cell::{Subject, subject},
    column::{self, Place},
    delimiter::{self, SAMPLE_ROWS, declared, sample, shaped},
    encoding::{self, Encoding},
    kind::{self, NotAList},
    notice::Notice,
    recipients,
    rows::{Cell, Row, Shape, end_of_line, rows},
    source::Source,
};

#[derive(Debug, Clone, Default)]
pub struct Choices {
    /// Name of the encoding, such as `windows-1251`; a name that isn't known counts as absent.
    pub encoding: Option<String>,
    pub delimiter: Option<u8>,
    pub column: Option<Column>,
    pub sheet: Option<usize>,
}

/// A column, by a person's choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// By its heading, or by its number from 1.
    Named(String),
    /// By its index from 0.
    Number(usize),
}

#[derive(Debug)]
pub struct List {
    pub(crate) source: Source,
    pub(crate) delimiter: u8,
    pub(crate) items: Vec<Item>,
    data: Vec<u32>,
    pub(crate) width: usize,
    pub(crate) header: Option<u32>,
    column: Option<usize>,
    others: Vec<usize>,
    encoding: Encoding,
    shape: Shape,
    pub(crate) workbook: Option<Sheet>,
    /// Columns of an earlier copy, which the next one replaces, in order.
    pub(crate) replaced: Vec<usize>,
}

/// A sheet of a workbook, as `rcpt-workbooks` reads it.
#[derive(Debug)]
pub struct Sheet {
    pub sheets: Vec<String>,
    pub sheet: usize,
    pub others: Vec<usize>,
    /// The sheet's number of each row, from 1.
    pub numbers: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Item {
    pub row: Row,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Above,
    Header,
    Blank,
    Data,
}

/// Reads a file. A list whose column isn't found is a list too: see [`List::column`].
pub fn read(bytes: Vec<u8>, choices: &Choices) -> Result<List, NotAList> {
    #[cfg(not(target_arch = "wasm32"))]
    if rcpt_workbooks::is_workbook(&bytes) {
        let rcpt_workbooks::Workbook { sheets, sheet, others, text, numbers } =
            rcpt_workbooks::read(&bytes, choices.sheet)?;
        return read_sheet(&text, Sheet { sheets, sheet, others, numbers }, choices);
    }
    if let Some(other) = kind::other(&bytes) {
        return Err(other);
    }
    let chosen = choices.encoding.as_deref();
    let chosen = chosen.and_then(|name| encoding_rs::Encoding::for_label(name.as_bytes()));
    let (source, encoding) = encoding::decode(bytes, chosen);
    if kind::is_binary(source.text()) {
        return Err(NotAList::binary());
    }
    List::of_source(source, encoding, choices, false)
}

/// The rows are CSV. Fails if the sheet is empty.
pub fn read_sheet(csv: &str, sheet: Sheet, choices: &Choices) -> Result<List, NotAList> {
    let encoding = Encoding { name: "UTF-8", words: Vec::new(), is_guess: false, odd_lines: None };
    // Excel recognises UTF-8 by the mark.
    let source = Source::utf8(format!("\u{feff}{csv}"), 3);
    let comma = Choices { delimiter: Some(b','), ..choices.clone() };
    let mut list = List::of_source(source, encoding, &comma, true)?;
    list.workbook = Some(sheet);
    Ok(list)
}

/// A table with a heading, recipients as email programs copy them, or one address in each line.
pub fn read_pasted(bytes: Vec<u8>, choices: &Choices) -> Result<List, NotAList> {
    let list = read(bytes, choices)?;
    let is_table = list.header.is_some() && list.width > 1;
    if is_table || list.workbook.is_some() || !recipients::are_recipients(list.source.text()) {
        return Ok(list);
    }
    let csv = recipients::to_csv(list.source.text());
    let comma = Choices { delimiter: Some(b','), encoding: None, ..choices.clone() };
    List::of_source(Source::utf8(csv, 0), list.encoding, &comma, true)
}

impl List {
    /// `is_ours`: the crate wrote the text, so its quotes are right.
    fn of_source(
        source: Source,
        encoding: Encoding,
        choices: &Choices,
        is_ours: bool,
    ) -> Result<Self, NotAList> {
        let text = source.text();
        if text.trim().is_empty() {
            return Err(NotAList::Empty);
        }
        let first_line = text.get(..end_of_line(text.as_bytes(), 0)).unwrap_or_default();
        let declared = declared(first_line);
        let delimiter =
            choices.delimiter.or(declared).unwrap_or_else(|| delimiter::likeliest(text));
        let (_, shape) = shaped(sample(text), delimiter);
        let rows = rows(text, delimiter, (!is_ours).then_some(shape));
        let kind = |row: &Row| if row.is_blank(text) { Kind::Blank } else { Kind::Data };
        let items = rows.into_iter().map(|row| Item { row, kind: kind(&row) }).collect();
        let mut list = Self {
            source,
            delimiter,
            items,
            data: Vec::new(),
            width: 0,
            header: None,
            column: None,
            others: Vec::new(),
            encoding,
            shape,
            workbook: None,
            replaced: Vec::new(),
        };
        list.choose(choices.column.as_ref());
        Ok(list)
    }

    pub fn choose(&mut self, column: Option<&Column>) {
        for item in &mut self.items {
            if item.kind != Kind::Blank {
                item.kind = Kind::Data;
            }
        }
        let text = self.source.text();
        for item in self.items.iter_mut().filter(|item| item.kind == Kind::Data) {
            let line = text.get(item.row.start..item.row.end).unwrap_or_default();
            let is_declaration = item.row.start == 0 && declared(line).is_some();
            let width = item.row.cells(text, self.delimiter).len();
            let is_comment =
                line.starts_with("#TYPE") || (line.starts_with('#') && width != self.shape.width);
            if !is_declaration && !is_comment {
                break;
            }
            item.kind = Kind::Above;
        }
        let filled: Vec<usize> = self.indices(Kind::Data).take(SAMPLE_ROWS).collect();
        let rows: Vec<_> = filled.iter().map(|at| self.values(*at)).collect();
        let Place { column, header, above, others } = column::find(&rows, column);
        for (index, at) in filled.iter().take(above).enumerate() {
            let kind = if Some(index) == header { Kind::Header } else { Kind::Above };
            if let Some(item) = self.items.get_mut(*at) {
                item.kind = kind;
            }
        }
        (self.column, self.others) = (column, others);
        let index = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let header = self.indices(Kind::Header).next().map(index);
        self.header = header;
        self.data = self.indices(Kind::Data).map(index).collect();
        let table = self.items.iter().filter(|item| matches!(item.kind, Kind::Header | Kind::Data));
        let width = |item: &Item| item.row.cells(self.source.text(), self.delimiter).len();
        self.width = table.map(width).max().unwrap_or(0);
        self.replaced = crate::copy::replaced(self.headings().unwrap_or_default().as_slice());
    }

    fn indices(&self, kind: Kind) -> impl Iterator<Item = usize> {
        let items = self.items.iter().enumerate();
        items.filter(move |(_, item)| item.kind == kind).map(|(at, _)| at)
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.data.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    #[must_use]
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Index of the column with the addresses; absent if no column has one.
    #[must_use]
    pub const fn column(&self) -> Option<usize> {
        self.column
    }

    #[must_use]
    pub fn other_columns(&self) -> &[usize] {
        &self.others
    }

    #[must_use]
    pub const fn delimiter(&self) -> u8 {
        self.delimiter
    }

    #[must_use]
    pub const fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    #[must_use]
    pub fn sheets(&self) -> Option<(&[String], usize)> {
        self.workbook.as_ref().map(|book| (book.sheets.as_slice(), book.sheet))
    }

    #[must_use]
    pub fn headings(&self) -> Option<Vec<String>> {
        self.header.map(|at| self.values(usize::try_from(at).unwrap_or(usize::MAX)))
    }

    #[must_use]
    pub fn cells(&self, row: usize) -> Vec<String> {
        self.item(row).map_or_else(Vec::new, |at| self.values(at))
    }

    /// The cell of a row with the address; empty if it has none.
    #[must_use]
    pub fn cell(&self, row: usize) -> Cow<'_, str> {
        let text = self.source.text();
        let cell = self.column.and_then(|column| {
            let item = self.items.get(self.item(row)?)?;
            item.row.cells(text, self.delimiter).into_iter().nth(column)
        });
        cell.map_or(Cow::Borrowed(""), |cell| Cow::Owned(cell.value(text)))
    }

    /// The number of a row in the file: of its first line, or of the row in its sheet. From 1.
    #[must_use]
    pub fn number(&self, row: usize) -> u32 {
        self.item(row).map_or(0, |at| self.number_of(at))
    }

    pub(crate) fn number_of(&self, at: usize) -> u32 {
        match &self.workbook {
            Some(book) => book.numbers.get(at).copied().unwrap_or(0),
            None => self.items.get(at).map_or(0, |item| item.row.line),
        }
    }

    fn item(&self, row: usize) -> Option<usize> {
        self.data.get(row).and_then(|at| usize::try_from(*at).ok())
    }

    fn values(&self, at: usize) -> Vec<String> {
        let text = self.source.text();
        self.cells_of(at).iter().map(|cell| cell.value(text)).collect()
    }

    pub(crate) fn cells_of(&self, at: usize) -> Vec<Cell> {
        let text = self.source.text();
        self.items.get(at).map_or_else(Vec::new, |item| item.row.cells(text, self.delimiter))
    }

    /// The oddities of the list, for a person. Each line of the file is in a row, or in a notice.
    #[must_use]
    pub fn notices(&self) -> Vec<Notice> {
        let mut notices = Vec::new();
        if let Some((encoding, count, first)) = self.encoding.odd_lines {
            notices.push(Notice::OddLines { count, first, encoding });
        }
        let of = |kind: Kind| self.indices(kind).map(|at| self.number_of(at)).collect::<Vec<_>>();
        let above = of(Kind::Above);
        if !above.is_empty() {
            notices.push(Notice::Above { lines: above });
        }
        let text = self.source.text();
        let has_stray_quote = |at: &usize| {
            self.items.get(*at).is_some_and(|item| item.row.has_stray_quote(text, self.delimiter))
        };
        let stray = self.indices(Kind::Data).filter(has_stray_quote);
        let stray: Vec<_> = stray.map(|at| self.number_of(at)).collect();
        if !stray.is_empty() {
            notices.push(Notice::StrayQuotes { lines: stray });
        }
        let expected = self.headings().map_or(self.shape.width, |headings| headings.len());
        let shifted: Vec<_> =
            (0..self.len()).filter(|row| self.is_shifted(*row, expected)).collect();
        if !shifted.is_empty() {
            let lines = shifted.into_iter().map(|row| self.number(row)).collect();
            notices.push(Notice::Shifted { lines });
        }
        let blank = of(Kind::Blank).len();
        if blank > 0 {
            notices.push(Notice::Blank { count: u32::try_from(blank).unwrap_or(u32::MAX) });
        }
        if !self.others.is_empty() && self.column.is_some() {
            let names = self.others.iter().map(|column| self.column_name(*column)).collect();
            notices.push(Notice::OtherColumns { names });
        }
        if let Some(book) = self.workbook.as_ref().filter(|book| !book.others.is_empty()) {
            let names = book.others.iter().filter_map(|at| book.sheets.get(*at)).cloned().collect();
            notices.push(Notice::OtherSheets { names });
        }
        notices
    }

    fn is_shifted(&self, row: usize, expected: usize) -> bool {
        let cells = self.cells(row);
        cells.len() > expected
            && !matches!(subject(&self.cell(row)), Subject::Addresses(_))
            && cells.iter().any(|cell| delimiter::is_address(cell))
    }

    #[must_use]
    pub fn column_name(&self, column: usize) -> String {
        let headings = self.headings().unwrap_or_default();
        let heading =
            headings.get(column).map(|heading| heading.trim()).filter(|it| !it.is_empty());
        heading.map_or_else(|| format!("column {}", column + 1), str::to_owned)
    }

    /// The file as it came; of a workbook, its sheet as CSV.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.source.into_bytes()
    }

    #[doc(hidden)]
    pub fn lines(&self) -> impl Iterator<Item = Range<u32>> {
        self.items.iter().map(|item| item.row.line..item.row.line + item.row.lines)
    }
}
