//! The copy of a workbook (xlsx) with our columns; if rows are left out or split, a workbook of that sheet alone.

use std::io::{Cursor, Read as _, Write as _};

use quick_xml::{Reader, events::Event};
use zip::{ZipArchive, ZipWriter, write::SimpleFileOptions};

use crate::{
    Unreadable, bounded,
    sheet::{attribute, written},
};

#[derive(Debug, Default)]
pub struct Additions {
    pub sheet: usize,
    pub columns: Vec<u32>,
    pub address: u32,
    /// Numbers of the rows with values, ascending; a row that is split stands there several times.
    pub numbers: Vec<u32>,
    /// A value for each column, row after row, for each of `numbers`.
    pub values: Vec<String>,
    /// The address that replaces the cell, for each of `numbers`; empty if the cell stays.
    pub alone: Vec<String>,
    pub dropped: Vec<u32>,
}

impl Additions {
    pub(crate) fn moves(&self) -> bool {
        !self.dropped.is_empty() || self.alone.iter().any(|address| !address.is_empty())
    }

    pub(crate) fn is_dropped(&self, row: u32) -> bool {
        self.dropped.binary_search(&row).is_ok()
    }

    pub(crate) fn of_row(&self, row: u32) -> std::ops::Range<usize> {
        self.numbers.partition_point(|it| *it < row)..self.numbers.partition_point(|it| *it <= row)
    }

    pub(crate) fn values_of(&self, index: usize) -> &[String] {
        let first = index * self.columns.len();
        self.values.get(first..first + self.columns.len()).unwrap_or_default()
    }
}

#[must_use]
pub fn is_xlsx(bytes: &[u8]) -> bool {
    let archive = ZipArchive::new(Cursor::new(bytes));
    archive.is_ok_and(|archive| archive.index_for_name("xl/workbook.xml").is_some())
}

/// Only an xlsx can be written again.
pub fn copy(bytes: &[u8], additions: &Additions) -> Result<Vec<u8>, Unreadable> {
    let damaged = |_| Unreadable::Damaged;
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(damaged)?;
    bounded(&mut archive)?;
    let book = text(&mut archive, "xl/workbook.xml")?;
    let relations = text(&mut archive, "xl/_rels/workbook.xml.rels")?;
    let part = part_of(&book, &relations, additions.sheet).ok_or(Unreadable::Damaged)?;
    let sheet = written(&text(&mut archive, &part)?, additions)?;
    let mut to = ZipWriter::new(Cursor::new(Vec::new()));
    if additions.moves() {
        alone(&mut archive, &book, additions.sheet, &sheet, &mut to)?;
    } else {
        for at in 0..archive.len() {
            let file = archive.by_index(at).map_err(damaged)?;
            if file.name().is_ok_and(|name| name == part) {
                put(&mut to, &part, &sheet)?;
            } else {
                to.raw_copy_file(file).map_err(damaged)?;
            }
        }
    }
    to.finish().map(Cursor::into_inner).map_err(damaged)
}

type Writer = ZipWriter<Cursor<Vec<u8>>>;

fn put(to: &mut Writer, name: &str, content: &str) -> Result<(), Unreadable> {
    to.start_file(name, SimpleFileOptions::default()).map_err(|_| Unreadable::Damaged)?;
    to.write_all(content.as_bytes()).map_err(|_| Unreadable::Damaged)
}

/// Writes a workbook of a sheet that can do without the others. What is after its rows refers to them, and goes.
fn alone(
    archive: &mut ZipArchive<Cursor<&[u8]>>,
    book: &str,
    index: usize,
    sheet: &str,
    to: &mut Writer,
) -> Result<(), Unreadable> {
    let end = sheet.rfind("sheetData>").map_or(sheet.len(), |at| at + "sheetData>".len());
    let (rows, root) = (sheet.get(..end).unwrap_or_default(), root_of(sheet));
    put(to, "xl/worksheets/sheet1.xml", &format!("{rows}</{root}>"))?;
    let (mut types, mut links) = (String::new(), String::new());
    for (name, kind) in SHARED {
        let target = name.trim_start_matches("xl/");
        if let Ok(file) = archive.by_name(name) {
            to.raw_copy_file(file).map_err(|_| Unreadable::Damaged)?;
            types += &format!("<Override PartName=\"/{name}\" ContentType=\"{TYPE}.{kind}+xml\"/>");
            links += &format!(
                "<Relationship Id=\"{kind}\" Type=\"{OFFICE}/{kind}\" Target=\"{target}\"/>"
            );
        }
    }
    let is_1904 = ["1", "true"].iter().any(|it| book.contains(&format!("date1904=\"{it}\"")));
    let date = if is_1904 { " date1904=\"1\"" } else { "" };
    let name = name_of(book, index).unwrap_or_default();
    let name = quick_xml::escape::escape(&*name);
    let relations = format!("<Relationships xmlns=\"{PACKAGE}/relationships\">");
    put(
        to,
        "[Content_Types].xml",
        &format!(
            "<Types xmlns=\"{PACKAGE}/content-types\">\
             <Default Extension=\"rels\" ContentType=\"{RELATIONS}\"/>\
             <Override PartName=\"/xl/workbook.xml\" ContentType=\"{TYPE}.sheet.main+xml\"/>\
             <Override PartName=\"/xl/worksheets/sheet1.xml\" ContentType=\"{TYPE}.worksheet+xml\"/>\
             {types}</Types>"
        ),
    )?;
    put(
        to,
        "_rels/.rels",
        &format!(
            "{relations}<Relationship Id=\"book\" Type=\"{OFFICE}/officeDocument\" \
             Target=\"xl/workbook.xml\"/></Relationships>"
        ),
    )?;
    put(
        to,
        "xl/workbook.xml",
        &format!(
            "<workbook xmlns=\"{MAIN}\" xmlns:r=\"{OFFICE}\"><workbookPr{date}/><sheets>\
             <sheet name=\"{name}\" sheetId=\"1\" r:id=\"sheet\"/></sheets></workbook>"
        ),
    )?;
    put(
        to,
        "xl/_rels/workbook.xml.rels",
        &format!(
            "{relations}<Relationship Id=\"sheet\" Type=\"{OFFICE}/worksheet\" \
             Target=\"worksheets/sheet1.xml\"/>{links}</Relationships>"
        ),
    )
}

const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
const TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml";
const RELATIONS: &str = "application/vnd.openxmlformats-package.relationships+xml";
/// Parts that a sheet's cells need: texts and formats.
const SHARED: [(&str, &str); 2] =
    [("xl/sharedStrings.xml", "sharedStrings"), ("xl/styles.xml", "styles")];

fn text(archive: &mut ZipArchive<Cursor<&[u8]>>, name: &str) -> Result<String, Unreadable> {
    let mut text = String::new();
    let mut part = archive.by_name(name).map_err(|_| Unreadable::Damaged)?;
    part.read_to_string(&mut text).map_err(|_| Unreadable::Damaged)?;
    Ok(text)
}

fn part_of(book: &str, relations: &str, sheet: usize) -> Option<String> {
    let id = elements(book, "sheet", "id").into_iter().nth(sheet)?;
    let targets = elements(relations, "Relationship", "Target");
    let at = elements(relations, "Relationship", "Id").iter().position(|it| *it == id)?;
    let target = targets.get(at)?;
    Some(target.strip_prefix('/').map_or_else(|| format!("xl/{target}"), str::to_owned))
}

fn name_of(book: &str, sheet: usize) -> Option<String> {
    elements(book, "sheet", "name").into_iter().nth(sheet)
}

fn elements(xml: &str, name: &str, of: &str) -> Vec<String> {
    let mut reader = Reader::from_str(xml);
    let mut found = Vec::new();
    while let Ok(event) = reader.read_event() {
        match event {
            Event::Start(tag) | Event::Empty(tag) if tag.local_name().into_inner() == name => {
                found.push(attribute(&tag, of).unwrap_or_default());
            }
            Event::Eof => break,
            _ => {}
        }
    }
    found
}

fn root_of(xml: &str) -> String {
    let mut reader = Reader::from_str(xml);
    while let Ok(event) = reader.read_event() {
        match event {
            Event::Start(tag) => return tag.name().into_inner().to_owned(),
            Event::Eof => break,
            _ => {}
        }
    }
    "worksheet".to_owned()
}
