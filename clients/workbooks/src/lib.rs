//! Reads the sheets of a workbook (xlsx, xls, ods) as CSV. An xlsx is written again with our columns.

#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, clippy::expect_used)
)]

mod copy;
mod sheet;
#[cfg(target_arch = "wasm32")]
mod wasm;

use std::io::{self, Cursor, Read as _};

use calamine::{Data, Ods, Reader, Xls, Xlsx};
use zip::ZipArchive;

pub use copy::{Additions, copy, is_xlsx};

/// Why a workbook can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// Damaged, or with a password.
    Damaged,
    /// Too large when it is unpacked.
    TooLarge,
    /// Something else, such as `a Word document`; the second is what to do.
    Other(&'static str, &'static str),
}

/// All parts, unpacked: an archive of a megabyte can hold a thousand.
const UNPACKED_BYTES: u64 = 256 * 1024 * 1024;
/// Greatest number of cells of a sheet: a single cell at its end would otherwise make it 17 thousand million.
const CELLS: usize = 20_000_000;
const COLUMNS: u32 = 16_384;
/// Sheets, most of which are small, are all read to say which have addresses.
const SHEETS: usize = 50;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workbook {
    pub sheets: Vec<String>,
    /// The sheet that was read: the chosen one, else the first with an `@`.
    pub sheet: usize,
    pub others: Vec<usize>,
    /// Its rows as CSV, with commas and CRLF.
    pub text: String,
    /// The sheet's number of each row of the text, from 1.
    pub numbers: Vec<u32>,
}

type Rows = Vec<(u32, Vec<String>)>;

/// True if a file is a workbook, by its beginning.
#[must_use]
pub fn is_workbook(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"\xD0\xCF\x11\xE0")
}

/// By its index.
pub fn read(bytes: &[u8], chosen: Option<usize>) -> Result<Workbook, Unreadable> {
    let mut sheets = if bytes.starts_with(b"PK") { zipped(bytes)? } else { old(bytes)? };
    let has_at =
        |rows: &Rows| rows.iter().any(|(_, row)| row.iter().any(|cell| cell.contains('@')));
    let filled: Vec<bool> = sheets.iter().map(|(_, rows)| has_at(rows)).collect();
    // The first sheet is often a cover.
    let first = filled.iter().position(|filled| *filled).unwrap_or(0);
    let sheet = chosen.filter(|chosen| *chosen < sheets.len()).unwrap_or(first);
    let others = filled.iter().enumerate().filter(|(at, filled)| **filled && *at != sheet);
    let others = others.map(|(at, _)| at).collect();
    let names = sheets.iter().map(|(name, _)| name.clone()).collect();
    let rows = if sheet < sheets.len() { sheets.swap_remove(sheet).1 } else { Vec::new() };
    let mut text = String::new();
    let mut numbers = Vec::new();
    for (number, row) in rows {
        let cells: Vec<_> = row.iter().map(|cell| quoted(cell)).collect();
        text.push_str(&cells.join(","));
        text.push_str("\r\n");
        numbers.push(number);
    }
    Ok(Workbook { sheets: names, sheet, others, text, numbers })
}

fn zipped(bytes: &[u8]) -> Result<Vec<(String, Rows)>, Unreadable> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| Unreadable::Damaged)?;
    let has = |name: &str| archive.index_for_name(name).is_some();
    let begins =
        |start: &str| archive.file_names().any(|name| name.is_ok_and(|it| it.starts_with(start)));
    let is_ods = has("mimetype") && has("content.xml");
    if !is_ods && !begins("xl/") {
        let open = "Open it, and save its table as CSV.";
        return Err(match () {
            () if begins("word/") => Unreadable::Other("a Word document", open),
            () if begins("ppt/") => Unreadable::Other("a presentation", open),
            () if begins("Index/") || has("Index.zip") => {
                Unreadable::Other("a Numbers document", "Export it as CSV or Excel.")
            }
            () => Unreadable::Other("a zip archive", "Unpack it, then choose the file in it."),
        });
    }
    if has("xl/workbook.bin") {
        return Err(Unreadable::Other("a binary workbook (xlsb)", "Save it as xlsx or CSV."));
    }
    bounded(&mut archive)?;
    if is_ods {
        let mut book = Ods::new(Cursor::new(bytes)).map_err(|_| Unreadable::Damaged)?;
        return dense(&mut book);
    }
    let mut book = Xlsx::new(Cursor::new(bytes)).map_err(|_| Unreadable::Damaged)?;
    let names: Vec<_> = book.sheet_names().into_iter().take(SHEETS).collect();
    let mut sheets = Vec::new();
    for name in names {
        // A sheet of charts has no cells.
        let Ok(mut cells) = book.worksheet_cells_reader(&name) else {
            sheets.push((name, Vec::new()));
            continue;
        };
        let mut rows: Rows = Vec::new();
        let mut count = 0;
        while let Some(cell) = cells.next_cell().map_err(|_| Unreadable::Damaged)? {
            let (row, column) = cell.get_position();
            let text = text(&Data::from(cell.get_value().clone()));
            if text.is_empty() {
                continue;
            }
            count += 1;
            if count > CELLS || column >= COLUMNS {
                return Err(Unreadable::TooLarge);
            }
            put(&mut rows, row, column, text);
        }
        sheets.push((name, rows));
    }
    Ok(sheets)
}

fn put(rows: &mut Rows, row: u32, column: u32, text: String) {
    if rows.last().is_none_or(|(number, _)| *number != row + 1) {
        rows.push((row + 1, Vec::new()));
    }
    if let Some((_, cells)) = rows.last_mut() {
        let column = usize::try_from(column).unwrap_or(0);
        if cells.len() <= column {
            cells.resize(column + 1, String::new());
        }
        if let Some(cell) = cells.get_mut(column) {
            *cell = text;
        }
    }
}

fn old(bytes: &[u8]) -> Result<Vec<(String, Rows)>, Unreadable> {
    let mut book = Xls::new(Cursor::new(bytes)).map_err(|_| Unreadable::Damaged)?;
    dense(&mut book)
}

fn dense<'b, R: Reader<Cursor<&'b [u8]>>>(book: &mut R) -> Result<Vec<(String, Rows)>, Unreadable> {
    let mut sheets = Vec::new();
    for name in book.sheet_names().into_iter().take(SHEETS) {
        let mut rows: Rows = Vec::new();
        if let Ok(range) = book.worksheet_range(&name) {
            let (first_row, first_column) = range.start().unwrap_or_default();
            if range.height().saturating_mul(range.width()) > CELLS {
                return Err(Unreadable::TooLarge);
            }
            for (row, column, value) in range.used_cells() {
                let text = text(value);
                if text.is_empty() {
                    continue;
                }
                let row = first_row + u32::try_from(row).unwrap_or(0);
                let column = first_column + u32::try_from(column).unwrap_or(0);
                put(&mut rows, row, column, text);
            }
        }
        sheets.push((name, rows));
    }
    Ok(sheets)
}

/// Unpacks the archive into nothing, because its own word about its size can be wrong.
fn bounded(archive: &mut ZipArchive<Cursor<&[u8]>>) -> Result<(), Unreadable> {
    let mut left = UNPACKED_BYTES;
    for at in 0..archive.len() {
        let part = archive.by_index(at).map_err(|_| Unreadable::Damaged)?;
        let name = part.name().map_err(|_| Unreadable::Damaged)?;
        let is_read = [".xml", ".rels"].iter().any(|end| name.ends_with(end));
        if is_read {
            if part.size() > left {
                return Err(Unreadable::TooLarge);
            }
            let mut part = part.take(left + 1);
            let size = io::copy(&mut part, &mut io::sink()).map_err(|_| Unreadable::Damaged)?;
            left = left.checked_sub(size).ok_or(Unreadable::TooLarge)?;
        }
    }
    Ok(())
}

fn text(value: &Data) -> String {
    match value {
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.clone(),
        Data::Int(number) => number.to_string(),
        Data::Float(number) => number.to_string(),
        Data::Bool(true) => "TRUE".to_owned(),
        Data::Bool(false) => "FALSE".to_owned(),
        Data::DateTime(time) if time.is_datetime() => date(time),
        Data::DateTime(time) => time.as_f64().to_string(),
        Data::Error(error) => error.to_string(),
        Data::Empty => String::new(),
    }
}

fn date(time: &calamine::ExcelDateTime) -> String {
    let (year, month, day, hour, minute, second, _) = time.to_ymd_hms_milli();
    let date = format!("{year:04}-{month:02}-{day:02}");
    match (hour, minute, second) {
        (0, 0, 0) => date,
        _ => format!("{date} {hour:02}:{minute:02}:{second:02}"),
    }
}

fn quoted(text: &str) -> String {
    let needs = text.contains([',', '"', '\r', '\n']) || text.trim().len() < text.len();
    if needs { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
